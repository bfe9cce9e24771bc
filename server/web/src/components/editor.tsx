// A message's text under change, in its place.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { editable } from "../body_text";
import { edit } from "../outgoing";
import { composeBody } from "../composed_body";
import type { RoomModel } from "../room";
import { dialog, focusComposer } from "../screen";
import { explain } from "../wire_error";
import type { Message } from "../wire/generated";
import { grow } from "./grow";

export function Editor({ room, message }: { room: RoomModel; message: Message }): JSX.Element {
  // What was there when editing began: a change by somebody else meanwhile must not slip away under it.
  const [before] = useState(() => ({ message, ...editable(message) }));
  const [text, setText] = useState(before.text);
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    grow(area);
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }, []);

  const done = () => {
    room.editing.value = undefined;
    focusComposer();
  };
  const save = async () => {
    if (isBusy) return;
    if (text.trim() === "") {
      done();
      dialog.value = { kind: "delete", message };
      return;
    }
    if (text === before.text) return done();
    setBusy(true);
    setError("");
    try {
      const body = before.format === "Text" ? composeBody(text, before.mentions, room.emoji.peek()) : { message: text, format: before.format };
      await edit(room, before.message, body);
      done();
    } catch (failure) {
      setError(explain(failure));
      setBusy(false);
    }
  };

  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <textarea
        ref={field}
        rows={1}
        aria-label="Edit message"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          grow(event.currentTarget);
        }}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === "Escape") done();
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            void save();
          }
        }}
      />
      {error && (
        <p class="form-error" role="alert">
          {error}
        </p>
      )}
      <div class="editor-actions">
        <span class="hint">Enter to save, Escape to cancel</span>
        <button type="button" class="button quiet small" onClick={done}>
          Cancel
        </button>
        <button type="submit" class="button primary small" aria-busy={isBusy}>
          Save
        </button>
      </div>
    </form>
  );
}
