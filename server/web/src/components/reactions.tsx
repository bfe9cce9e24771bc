// The reactions of a message; a click adds one's own or takes it back.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { selfId } from "../link";
import { attempt, hasReacted, toggleReaction } from "../message_actions";
import { people } from "../people";
import type { RoomModel } from "../room";
import type { Message, Reaction } from "../wire/generated";
import { EmojiText } from "./custom_emoji";

export function Reactions({ room, message }: { room: RoomModel; message: Message }): JSX.Element | null {
  const shown = message.reactions?.filter((reaction) => reaction.count) ?? [];
  if (shown.length === 0) return null;
  return (
    <ul class="reactions" aria-label="Reactions">
      {shown.map((reaction) => (
        <li key={reaction.emoji}>
          <ReactionButton room={room} message={message} reaction={reaction} />
        </li>
      ))}
    </ul>
  );
}

function ReactionButton({ room, message, reaction }: { room: RoomModel; message: Message; reaction: Reaction }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const isOwn = hasReacted(message, reaction.emoji, selfId());
  const names = namesOf(room, reaction);
  return (
    <button
      type="button"
      class="reaction"
      aria-pressed={isOwn}
      aria-disabled={isBusy}
      title={names}
      onClick={async () => {
        if (isBusy) return;
        setBusy(true);
        await attempt(toggleReaction(message, reaction.emoji, selfId()));
        setBusy(false);
      }}
    >
      <EmojiText room={room} emoji={reaction.emoji} /> {reaction.count}
      <span class="hidden"> by {names}</span>
    </button>
  );
}

function namesOf(room: RoomModel, { userIds = [], count = 0 }: Reaction): string {
  const names = userIds.map((userId) => (userId === selfId() ? "you" : (room.nicknameOf(userId) ?? people.get(userId).value?.name ?? "…")));
  const others = count - names.length;
  if (others > 0) names.push(others === 1 ? "1 other" : `${others} others`);
  return names.join(", ");
}
