// Where a message is written: Enter sends, Shift+Enter begins a line, Up in the empty field edits one's last message.
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { attach } from "../attachments";
import { plainText } from "../body_text";
import { session } from "../link";
import { send, setDraft, stoppedTyping, typing } from "../outgoing";
import type { RoomModel } from "../room";
import { shownName } from "../rooms";
import { dialog, hasKeyboard } from "../screen";
import { type Slash, literalText, readSlash } from "../slash";
import { runSlash } from "../slash_run";
import { describeWhen, here } from "../when";
import { explain } from "../wire_error";
import { AttachButton, AttachmentTray } from "./attachment_tray";
import { EmojiPicker } from "./emoji_picker";
import { Icon, IconButton } from "./icon";
import { MentionField } from "./mention_field";
import { SlashHint } from "./slash_hint";

const messageMax = 10_000;
const countdownFrom = 500;

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

  useEffect(() => {
    if (hasKeyboard) field.current?.focus();
  }, [room]);

  const attachments = room.attachments.value;
  const isUploaded = attachments.every(({ state }) => state === "ready");
  const isSendable = (text.trim() !== "" || attachments.length > 0) && isUploaded && length <= messageMax && !silence;
  const [slashError, setSlashError] = useState("");
  // What was asked to be confirmed, and the nonce of a command that may be repeated.
  const asked = useRef("");
  const repeated = useRef<{ text: string; nonce: string }>(undefined);
  const isRunning = useRef(false);

  const run = async (slash: Slash) => {
    if (attachments.length > 0) return setSlashError("A command takes no files: remove them, or begin with // to send it as it is.");
    if ("when" in slash && slash.when.change && asked.current !== text) {
      asked.current = text;
      return setSlashError(`${describeWhen(slash.when)}. Press Enter again if that is what you mean.`);
    }
    if (isRunning.current) return;
    isRunning.current = true;
    if (repeated.current?.text !== text) repeated.current = { text, nonce: crypto.randomUUID() };
    try {
      await runSlash(room, slash, repeated.current.nonce);
      repeated.current = undefined;
      asked.current = "";
      setSlashError("");
      if (slash.name !== "topic" && slash.name !== "remind") room.replyingTo.value = undefined;
      room.draftMentions.clear();
      // What was typed meanwhile is another message.
      if (room.draft.peek() === text) setDraft(room, "");
      onSent();
    } catch (failure) {
      setSlashError(explain(failure));
    } finally {
      isRunning.current = false;
    }
  };
  const submit = () => {
    if (!isSendable) return;
    const slash = readSlash(text, here());
    if (slash && "error" in slash) return setSlashError(slash.error);
    if (slash) {
      stoppedTyping();
      return void run(slash);
    }
    send(room, literalText(text.trim()));
    stoppedTyping();
    field.current?.focus();
    onSent();
  };

  const insert = (piece: string) => {
    const area = field.current;
    const at = area?.selectionStart ?? text.length;
    setDraft(room, text.slice(0, at) + piece + text.slice(area?.selectionEnd ?? at));
    setTimeout(() => {
      area?.focus();
      area?.setSelectionRange(at + piece.length, at + piece.length);
    });
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
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(room, [...(event.dataTransfer?.files ?? [])]);
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
      <AttachmentTray room={room} />
      <div class="composer-row">
        <AttachButton room={room} />
        <MentionField
          id="composer"
          room={room}
          field={field}
          value={text}
          placeholder={`Message ${room.name}`}
          aria-label={`Message ${room.name}`}
          aria-describedby={length > messageMax - countdownFrom ? "composer-count" : text.startsWith("/") ? "slash-hint" : undefined}
          hasCommands
          enterkeyhint="send"
          onMention={(mention) => room.draftMentions.set(mention.id, mention)}
          onInput={(value) => {
            setDraft(room, value);
            setSlashError("");
            if (!value.startsWith("/") && value.trim() !== "") typing(room);
          }}
          onPaste={(event: ClipboardEvent) => {
            const files = [...(event.clipboardData?.files ?? [])];
            if (files.length === 0) return;
            event.preventDefault();
            void attach(room, files);
          }}
          onKeyDown={(event) => {
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
        <EmojiPicker room={room} label="Insert an emoji" onPick={(_, shown) => insert(shown)} />
        <IconButton icon="poll" label="New poll" class="poll-button" onClick={() => (dialog.value = { kind: "poll" })} />
        <button type="submit" class="send" aria-label="Send" title="Send (Enter)" disabled={!isSendable}>
          <Icon name="send" />
        </button>
      </div>
      <SlashHint text={text} error={slashError} />
      {length > messageMax - countdownFrom && (
        <p id="composer-count" class={`count ${length > messageMax ? "over" : ""}`} role="status">
          {length > messageMax ? `${length - messageMax} characters too many` : `${messageMax - length} characters left`}
        </p>
      )}
    </form>
  );
}
