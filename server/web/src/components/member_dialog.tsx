// One member: who they are, talking to them, their roles, and what a moderator can do.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { openDirect } from "../direct_messages";
import { askFriend, blocked, friendRequests, isFriend, readBlocked, setBlocked } from "../friends";
import { connection, selfId } from "../link";
import { attempt } from "../message_actions";
import { isBelow, memberActions } from "../moderation";
import { people } from "../people";
import { statusOf } from "../presence";
import type { RoomModel } from "../room";
import { dialog } from "../screen";
import { type UserId, permission } from "../wire/generated";
import { Avatar } from "./avatar";
import { Check, Field, Form, Modal, close } from "./dialog";
import { MemberNotes } from "./member_notes";
import { ModerationForm } from "./moderation_form";
import { StatusDot } from "./status_dot";

export function MemberDialog({ room, userId }: { room: RoomModel; userId: UserId }): JSX.Element {
  const member = room.members.value?.find((one) => one.userId === userId);
  const user = people.get(userId).value ?? member?.user;
  const name = member?.nickname || user?.name || "…";
  const isSelf = userId === selfId();
  const isDirect = room.view.value.room.type === "DirectMessage";
  const mayModerate = !isSelf && !isDirect && isBelow(room, userId) && Object.values(memberActions).some(({ bit }) => room.may(bit));
  const status = statusOf(userId).value;
  return (
    <Modal title={name}>
      <div class="picture-row">
        <Avatar id={userId} name={name} image={user?.image} />
        <div>
          <p>
            <bdi>{user?.name}</bdi> <StatusDot userId={userId} /> {status?.message && <bdi class="member-note">{status.message}</bdi>}
          </p>
          {user?.biography && <p class="modal-text"><bdi>{user.biography}</bdi></p>}
        </div>
      </div>
      {isSelf ? (
        <button type="button" class="button quiet small" onClick={() => (dialog.value = { kind: "profile" })}>
          Edit my profile
        </button>
      ) : (
        <Between userId={userId} />
      )}
      {!isDirect && !isSelf && room.may(permission.ManageNicknames) && <Nickname room={room} userId={userId} nickname={member?.nickname ?? ""} />}
      {!isDirect && <Roles room={room} userId={userId} />}
      {mayModerate && (
        <details>
          <summary>Moderation</summary>
          <ModerationForm room={room} userId={userId} name={name} />
          {room.may(permission.KickMembers) && <MemberNotes room={room} userId={userId} />}
        </details>
      )}
    </Modal>
  );
}

/** Friendship, conversation, block. */
function Between({ userId }: { userId: UserId }): JSX.Element {
  const isBlocked = blocked.value.some((user) => user.userId === userId);
  const isAsked = friendRequests.value.some((request) => request.user.userId === userId);
  useEffect(() => void readBlocked().catch(() => undefined), []);
  return (
    <div class="button-row">
      {isFriend(userId) ? (
        <button type="button" class="button quiet small" onClick={async () => (await attempt(openDirect([userId], crypto.randomUUID()))) && close()}>
          Message
        </button>
      ) : (
        !isBlocked && (
          <button type="button" class="button quiet small" disabled={isAsked} onClick={() => void attempt(askFriend({ userId }, crypto.randomUUID()))}>
            {isAsked ? "Friend request open" : "Add as a friend"}
          </button>
        )
      )}
      <button type="button" class="button quiet small" onClick={() => void attempt(setBlocked(userId, !isBlocked))}>
        {isBlocked ? "Unblock" : "Block"}
      </button>
    </div>
  );
}

function Nickname({ room, userId, nickname }: { room: RoomModel; userId: UserId; nickname: string }): JSX.Element {
  const [value, setValue] = useState(nickname);
  return (
    <Form
      submit="Set name"
      isReady={value.trim() !== nickname}
      onSubmit={async () => {
        await connection.request("membership.update", { roomId: room.roomId, userId, nickname: value.trim() || null });
      }}
    >
      <Field label="Name in this room" value={value} onInput={setValue} maxLength={32} />
    </Form>
  );
}

function Roles({ room, userId }: { room: RoomModel; userId: UserId }): JSX.Element | null {
  const held = room.members.value?.find((member) => member.userId === userId)?.roleIds ?? [];
  const { isRoomOwner, topRolePosition = -1 } = room.view.value;
  const mayAssign = room.may(permission.ManageRoles) && (isRoomOwner || isBelow(room, userId));
  const roles = (room.roles.value ?? []).filter((role) => !role.isEveryone && (mayAssign || held.includes(role.roleId)));
  if (roles.length === 0) return null;
  return (
    <fieldset class="choices">
      <legend>Roles</legend>
      {roles.map((role) => (
        <Check
          key={role.roleId}
          label={role.name ?? "Role"}
          isOn={held.includes(role.roleId)}
          isDisabled={!mayAssign || !(isRoomOwner || (role.position ?? 0) < topRolePosition)}
          onChange={(isOn) => void attempt(connection.request(isOn ? "role.assign" : "role.revoke", { roomId: room.roomId, roleId: role.roleId, userId }))}
        />
      ))}
    </fieldset>
  );
}
