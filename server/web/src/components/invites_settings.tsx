// The invites of a room.
import type { JSX } from "preact";
import { dateAndTime } from "../format_time";
import { connection } from "../link";
import { attempt } from "../message_actions";
import { people } from "../people";
import type { RoomModel } from "../room";
import { Listed, useList } from "./listed";

export function InvitesSettings({ room }: { room: RoomModel }): JSX.Element {
  const { roomId } = room;
  const invites = useList((cursor) => connection.request("invite.list", { roomId, cursor, limit: 50 }), [roomId]);
  return (
    <Listed list={invites} empty="There are no invites.">
      {(invite) => (
        <li key={invite.inviteId} class="listed-row">
          <span>
            <code>{invite.inviteId}</code> by <bdi>{invite.userId ? people.get(invite.userId).value?.name : "…"}</bdi>
            <span class="field-hint">
              {" "}
              used {invite.uses ?? 0}
              {invite.maxUses ? ` of ${invite.maxUses}` : ""} times, {invite.expiresAt ? `until ${dateAndTime(invite.expiresAt)}` : "for ever"}
            </span>
          </span>
          <button
            type="button"
            class="button quiet small"
            aria-label={`Revoke ${invite.inviteId}`}
            onClick={async () => (await attempt(connection.request("invite.revoke", { roomId, inviteId: invite.inviteId }))) && invites.reload()}
          >
            Revoke
          </button>
        </li>
      )}
    </Listed>
  );
}
