// Who is banned from a room, and letting them back.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { dateAndTime } from "../format_time";
import { connection } from "../link";
import { attempt } from "../message_actions";
import type { RoomModel } from "../room";
import { Field } from "./dialog";
import { Listed, useList } from "./listed";

export function BansSettings({ room }: { room: RoomModel }): JSX.Element {
  const { roomId } = room;
  const [query, setQuery] = useState("");
  const bans = useList((cursor) => connection.request("moderation.bans", { roomId, cursor, limit: 50, query: query.trim() || undefined }), [roomId, query]);
  return (
    <>
      <Field label="Find by name" value={query} onInput={setQuery} maxLength={100} />
      <Listed list={bans} empty="Nobody is banned.">
        {({ user, reason, createdAt }) => (
          <li key={user.userId} class="listed-row">
            <span>
              <bdi>{user.name}</bdi>
              <span class="field-hint">
                {" "}
                {createdAt && dateAndTime(createdAt)} {reason}
              </span>
            </span>
            <button
              type="button"
              class="button quiet small"
              aria-label={`Unban ${user.name}`}
              onClick={async () => (await attempt(connection.request("moderation.unban", { roomId, userId: user.userId }))) && bans.reload()}
            >
              Unban
            </button>
          </li>
        )}
      </Listed>
    </>
  );
}
