// The files of a message: pictures as such, everything else by name and size.
import type { JSX } from "preact";
import { addressOf } from "../file_addresses";
import { fileSize } from "../format_size";
import type { RoomModel } from "../room";
import { dialog } from "../screen";
import type { File, Message } from "../wire/generated";
import { selfId } from "../link";
import { Icon, IconButton } from "./icon";
import { mayEdit } from "./message_tools";

const drawn = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);

export function FilesView({ room, message }: { room: RoomModel; message: Message }): JSX.Element | null {
  if (!message.files?.length) return null;
  const mayRemove = !message.isForward && mayEdit(room, message, message.userId === selfId());
  return (
    <ul class="files" aria-label="Files">
      {message.files.map((file) => (
        <li key={file.fileId} class="file">
          <OneFile message={message} file={file} />
          {mayRemove && <IconButton icon="trash" label={`Delete ${file.filename}`} onClick={() => (dialog.value = { kind: "deleteFile", message, file })} />}
        </li>
      ))}
    </ul>
  );
}

function OneFile({ message, file }: { message: Message; file: File }): JSX.Element {
  const address = addressOf(message, file.fileId).value;
  const picture = drawn.has(file.mimetype) ? (address?.thumbnailUrl ?? address?.url) : undefined;
  return (
    <a class={`file-link ${drawn.has(file.mimetype) ? "picture" : ""}`} href={address?.url} download={file.filename} title={file.filename}>
      {drawn.has(file.mimetype) ? (
        <span class="picture-frame">{picture && <img src={picture} alt={file.filename} loading="lazy" />}</span>
      ) : (
        <>
          <Icon name="download" size={18} />
          <bdi class="file-name">{file.filename}</bdi>
          <span class="file-size">{fileSize(file.size)}</span>
        </>
      )}
    </a>
  );
}
