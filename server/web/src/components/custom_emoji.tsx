// A room's own emoji by its id: its picture, or its name while (or where) there is none.
import type { JSX } from "preact";
import type { RoomModel } from "../room";
import type { CustomEmoji } from "../wire/generated";

export function CustomEmojiImage({ emoji }: { emoji: CustomEmoji }): JSX.Element {
  if (!emoji.url) return <span>:{emoji.name}:</span>;
  return <img class="custom-emoji" src={emoji.url} alt={`:${emoji.name}:`} title={`:${emoji.name}:`} />;
}

export function EmojiText({ room, emoji, name }: { room: RoomModel; emoji: string; name?: string }): JSX.Element {
  if (!emoji.startsWith("custom:")) return <span>{emoji}</span>;
  const known = room.emoji.value?.find(({ emojiId }) => emojiId === emoji.slice("custom:".length));
  return known ? <CustomEmojiImage emoji={known} /> : <span>{name ?? "▢"}</span>;
}
