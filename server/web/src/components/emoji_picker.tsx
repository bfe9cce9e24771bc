// Choosing an emoji: a short set, those of the room, or any other that one types.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RoomModel } from "../room";
import { CustomEmojiImage } from "./custom_emoji";
import { Popover } from "./popover";

const short = ["👍", "👎", "❤️", "😄", "😂", "😮", "😢", "🎉", "🙏", "👀", "🔥", "✅", "❌", "🚀", "☕", "🤔"];
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The one emoji in a text, if that is all there is. */
export function singleEmoji(text: string): string | undefined {
  const parts = [...graphemes.segment(text.trim())];
  return parts.length === 1 && /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3/u.test(parts[0]!.segment) ? parts[0]!.segment : undefined;
}

export function EmojiPicker(props: { room: RoomModel; label: string; class?: string; onPick: (emoji: string, shown: string) => void }): JSX.Element {
  return (
    <Popover icon="smile" label={props.label} class={props.class}>
      {(close) => (
        <Choices
          room={props.room}
          onPick={(emoji, shown) => {
            close();
            props.onPick(emoji, shown);
          }}
        />
      )}
    </Popover>
  );
}

function Choices({ room, onPick }: { room: RoomModel; onPick: (emoji: string, shown: string) => void }): JSX.Element {
  const [typed, setTyped] = useState("");
  const one = singleEmoji(typed);
  const custom = room.emoji.value ?? [];
  return (
    <div class="emoji-choices">
      <div class="emoji-grid">
        {short.map((emoji) => (
          <button key={emoji} type="button" class="emoji-choice" aria-label={emoji} onClick={() => onPick(emoji, emoji)}>
            {emoji}
          </button>
        ))}
        {custom.map((emoji) => (
          <button key={emoji.emojiId} type="button" class="emoji-choice" aria-label={`:${emoji.name}:`} title={`:${emoji.name}:`} onClick={() => onPick(`custom:${emoji.emojiId}`, `:${emoji.name}:`)}>
            <CustomEmojiImage emoji={emoji} />
          </button>
        ))}
      </div>
      <form
        class="emoji-other"
        onSubmit={(event) => {
          event.preventDefault();
          if (one) onPick(one, one);
        }}
      >
        <input aria-label="Any other emoji" placeholder="Any other emoji" autoComplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        <button type="submit" class="button quiet small" disabled={!one}>
          Use
        </button>
      </form>
    </div>
  );
}
