// Where a message is written: Enter sends, Shift+Enter begins a line, Up in the empty field edits one's last message.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { plainText } from "../body_text";
import { session } from "../link";
import { send, setDraft, stoppedTyping, typing } from "../outgoing";
import type { RoomModel } from "../room";
import { shownName } from "../rooms";
import { hasKeyboard } from "../screen";
import { Icon, IconButton } from "./icon";

const messageMax = 10_000;
const countdownFrom = 500;

/** As high as its text, up to the limit of the style sheet. */
export function grow(area: HTMLTextAreaElement): void {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

/** The newest message of one's own that can still be edited. */
function lastOwn(room: RoomModel): string | undefined {
  const current = session.peek();
  const selfId = current.kind === "signedIn" ? current.user.userId : "";
  return room.messages.peek().findLast((message) => message.type === "Message" && message.userId === selfId && !message.isForward)?.rowKey;
}

export function Composer({ room, onSent }: { room: RoomModel; onSent: () => void }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  const text = room.draft.value;
  const silence = room.silence;
  const length = [...text].length;
  const replied = room.replyingTo.value ? room.timeline.get(room.replyingTo.value) : undefined;

  useLayoutEffect(() => {
    if (field.current) grow(field.current);
  }, [text, room]);
  useEffect(() => {
    if (hasKeyboard) field.current?.focus();
  }, [room]);

  const isSendable = text.trim() !== "" && length <= messageMax && !silence;
  const submit = () => {
    if (!isSendable) return;
    send(room, text.trim());
    stoppedTyping();
    field.current?.focus();
    onSent();
  };

  if (silence) {
    return (
      <div class="composer silent" role="note">
        {silence}
      </div>
    );
  }
  return (
    <form
      class="composer"
      aria-label="Write a message"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {room.replyingTo.value && (
        <div class="replying">
          <Icon name="reply" size={16} />
          <span class="replying-text">
            {replied ? (
              <>
                Reply to <strong>{shownName(room, replied)}</strong>: {plainText(replied).slice(0, 120)}
              </>
            ) : (
              "Reply to a message that is gone"
            )}
          </span>
          <IconButton icon="close" label="Do not reply" onClick={() => ((room.replyingTo.value = undefined), field.current?.focus())} />
        </div>
      )}
      <div class="composer-row">
        <textarea
          id="composer"
          ref={field}
          rows={1}
          value={text}
          placeholder={`Message ${room.name}`}
          aria-label={`Message ${room.name}`}
          aria-describedby={length > messageMax - countdownFrom ? "composer-count" : undefined}
          enterkeyhint="send"
          onInput={(event) => {
            setDraft(room, event.currentTarget.value);
            if (event.currentTarget.value.trim() !== "") typing(room);
          }}
          onKeyDown={(event) => {
            if (event.isComposing) return;
            if (event.key === "Enter" && !event.shiftKey) {
              event.preventDefault();
              submit();
            } else if (event.key === "ArrowUp" && text === "") {
              const rowKey = lastOwn(room);
              if (rowKey) {
                event.preventDefault();
                room.editing.value = rowKey;
              }
            } else if (event.key === "Escape" && room.replyingTo.peek()) {
              room.replyingTo.value = undefined;
            }
          }}
        />
        <button type="submit" class="send" aria-label="Send" title="Send (Enter)" disabled={!isSendable}>
          <Icon name="send" />
        </button>
      </div>
      {length > messageMax - countdownFrom && (
        <p id="composer-count" class={`count ${length > messageMax ? "over" : ""}`} role="status">
          {length > messageMax ? `${length - messageMax} characters too many` : `${messageMax - length} characters left`}
        </p>
      )}
    </form>
  );
}
