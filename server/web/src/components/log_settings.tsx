// What moderators, and the word filter, did in a room.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { dateAndTime, duration } from "../format_time";
import { connection } from "../link";
import { actionNames, autoMod } from "../moderation";
import { people } from "../people";
import type { RoomModel } from "../room";
import type { ModerationAction, UserId } from "../wire/generated";
import { Select } from "./dialog";
import { Listed, useList } from "./listed";

const shown: ModerationAction[] = ["Warn", "TimeoutUser", "KickFromRoom", "CreateBan", "SoftBan", "DeleteBan"];
const nameOf = (userId: UserId) => (userId === autoMod ? "AutoMod" : (people.get(userId).value?.name ?? "…"));

export function LogSettings({ room }: { room: RoomModel }): JSX.Element {
  const { roomId } = room;
  const [type, setType] = useState("");
  const entries = useList(
    (cursor) => connection.request("moderation.log", { roomId, cursor, limit: 50, type: (type || undefined) as ModerationAction | undefined }),
    [roomId, type],
  );
  return (
    <>
      <Select
        label="Show"
        value={type}
        options={[{ value: "", label: "Everything" }, ...shown.map((value) => ({ value, label: actionNames[value] }))]}
        onChange={setType}
      />
      <Listed list={entries} empty="Nothing has happened.">
        {(entry) => (
          <li key={entry.id}>
            <bdi>{nameOf(entry.actorUserId)}</bdi> {actionNames[entry.type]} <bdi>{nameOf(entry.targetUserId)}</bdi>
            {entry.durationMs ? ` for ${duration(entry.durationMs)}` : ""}
            <span class="field-hint">
              {" "}
              {entry.createdAt && dateAndTime(entry.createdAt)} {entry.reason}
            </span>
          </li>
        )}
      </Listed>
    </>
  );
}
