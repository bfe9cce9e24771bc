// Logging out, and what stays behind.
import type { JSX } from "preact";
import { logOut } from "../account";
import { unsentCount } from "../outgoing";
import { Form, Modal, close } from "./dialog";

export function LogOut(): JSX.Element {
  const unsent = unsentCount();
  return (
    <Modal title="Log out?">
      <p class="modal-text">
        {unsent === 0
          ? "You can log in again at any time."
          : `${unsent === 1 ? "One message has" : `${unsent} messages have`} not been sent yet. They stay in this browser and are sent when you log in here again.`}
      </p>
      <Form
        submit="Log out"
        onCancel={close}
        onSubmit={async () => {
          await logOut();
          close();
        }}
      />
    </Modal>
  );
}
