// The files that go with what is being written.
import type { JSX } from "preact";
import { attach, detach, retryAttachment } from "../attachments";
import { fileSize } from "../format_size";
import type { RoomModel } from "../room";
import { focusComposer } from "../screen";
import { useRef } from "preact/hooks";
import { IconButton } from "./icon";

export function AttachmentTray({ room }: { room: RoomModel }): JSX.Element | null {
  const attachments = room.attachments.value;
  if (attachments.length === 0) return null;
  return (
    <ul class="tray" aria-label="Files to send">
      {attachments.map((attachment) => (
        <li key={attachment.key} class={attachment.state}>
          <bdi class="file-name">{attachment.file.name}</bdi>
          <span class="file-size">{fileSize(attachment.file.size)}</span>
          {attachment.state === "uploading" && <progress max={1} value={attachment.progress} aria-label={`Uploading ${attachment.file.name}`} />}
          {attachment.state === "failed" && (
            <>
              <span role="alert">{attachment.error}</span>
              <button type="button" class="button link" onClick={() => retryAttachment(room, attachment)}>
                Try again
              </button>
            </>
          )}
          <IconButton icon="close" label={`Remove ${attachment.file.name}`} onClick={() => (detach(room, attachment), focusComposer())} />
        </li>
      ))}
    </ul>
  );
}

export function AttachButton({ room }: { room: RoomModel }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={(event) => {
          void attach(room, [...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
          focusComposer();
        }}
      />
      <IconButton icon="clip" label="Attach files" onClick={() => input.current?.click()} />
    </>
  );
}
