// Who is in the room, by name.
import type { JSX } from "preact";
import { people } from "../people";
import type { RoomModel } from "../room";
import { isMembersOpen } from "../screen";
import type { Member } from "../wire/generated";
import { Avatar } from "./avatar";
import { IconButton } from "./icon";

const byName = new Intl.Collator(undefined, { sensitivity: "base", numeric: true });

export function MembersPanel({ room }: { room: RoomModel }): JSX.Element | null {
  if (!isMembersOpen.value) return null;
  const nameOf = (member: Member) => member.nickname || people.get(member.userId).value?.name || (member.user.name ?? "");
  const members = [...(room.members.value ?? [])].sort((a, b) => byName.compare(nameOf(a), nameOf(b)));
  const ownerId = room.view.value.room.userId;
  return (
    <aside
      id="members"
      class="members"
      aria-label="Members"
      onKeyDown={(event) => {
        if (event.key === "Escape") isMembersOpen.value = false;
      }}
    >
      <header class="members-head">
        <h2>
          Members <span class="members-count">{room.members.value ? members.length : ""}</span>
        </h2>
        <IconButton icon="close" label="Close members" onClick={() => (isMembersOpen.value = false)} />
      </header>
      <ul>
        {members.map((member) => (
          <li key={member.userId}>
            <Avatar id={member.userId} name={nameOf(member)} size="small" />
            <bdi class="member-name">{nameOf(member)}</bdi>
            {member.userId === ownerId && <span class="tag">Owner</span>}
          </li>
        ))}
      </ul>
    </aside>
  );
}
