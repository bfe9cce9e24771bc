// Asking before a message, or one of its files, goes for good.
import type { JSX } from "preact";
import { plainText } from "../body_text";
import { deleteFile } from "../message_actions";
import { remove } from "../outgoing";
import type { RoomModel } from "../room";
import { focusComposer } from "../screen";
import type { File, Message } from "../wire/generated";
import { Form, Modal, close, closeTo } from "./dialog";

export function DeleteDialog({ room, message }: { room: RoomModel; message: Message }): JSX.Element {
  return (
    <Modal title="Delete this message?">
      <blockquote class="modal-quote">{plainText(message).slice(0, 280)}</blockquote>
      <Form
        submit="Delete"
        isDangerous
        onCancel={close}
        onSubmit={async () => {
          await remove(room, message);
          closeTo(focusComposer);
        }}
      />
    </Modal>
  );
}

export function DeleteFileDialog({ message, file }: { message: Message; file: File }): JSX.Element {
  return (
    <Modal title="Delete this file?">
      <p class="modal-text">
        <bdi>{file.filename}</bdi> goes from the message, for everybody.
      </p>
      <Form
        submit="Delete"
        isDangerous
        onCancel={close}
        onSubmit={async () => {
          await deleteFile(message, file.fileId);
          closeTo(focusComposer);
        }}
      />
    </Modal>
  );
}
