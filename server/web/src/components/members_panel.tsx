// Who is in the room, by name; each opens what one can do with them.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { people } from "../people";
import { statusOf, watch } from "../presence";
import type { RoomModel } from "../room";
import { dialog } from "../screen";
import type { Member } from "../wire/generated";
import { Avatar } from "./avatar";
import { Panel } from "./panel";
import { StatusDot } from "./status_dot";

const byName = new Intl.Collator(undefined, { sensitivity: "base", numeric: true });

export function memberName(member: Member): string {
  return member.nickname || people.get(member.userId).value?.name || (member.user.name ?? "");
}

export function MembersPanel({ room }: { room: RoomModel }): JSX.Element {
  const members = [...(room.members.value ?? [])].sort((a, b) => byName.compare(memberName(a), memberName(b)));
  const ownerId = room.view.value.room.userId;
  useEffect(() => watch(members.map((member) => member.userId)), [room.members.value]);
  return (
    <Panel id="members" title="Members" note={room.members.value ? members.length : ""}>
      <ul class="panel-body">
        {members.map((member) => (
          <li key={member.userId}>
            <button type="button" class="member" onClick={() => (dialog.value = { kind: "member", userId: member.userId })}>
              <span class="with-dot">
                <Avatar id={member.userId} name={memberName(member)} image={people.get(member.userId).value?.image} size="small" />
                <StatusDot userId={member.userId} />
              </span>
              <span class="member-name">
                <bdi>{memberName(member)}</bdi>
                {statusOf(member.userId).value?.message && <bdi class="member-note">{statusOf(member.userId).value?.message}</bdi>}
              </span>
              {member.userId === ownerId && <span class="tag">Owner</span>}
            </button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
