// Making, joining and leaving a room.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { hideDirect } from "../direct_messages";
import type { RoomModel } from "../room";
import { createRoom, leaveRoom } from "../room_actions";
import { go, inviteIdIn } from "../route";
import { focusComposer } from "../screen";
import { WireError } from "../wire_error";
import { Field, Form, Modal, close, closeTo } from "./dialog";

const nameMax = 100;
const topicMax = 500;

export function NewRoom(): JSX.Element {
  const [name, setName] = useState("");
  const [topic, setTopic] = useState("");
  // A repeat after a lost answer must not make a second room.
  const nonce = useRef(crypto.randomUUID());
  return (
    <Modal title="New room">
      <Form
        submit="Create room"
        isReady={name.trim() !== ""}
        onCancel={close}
        onSubmit={async () => {
          await createRoom({ name: name.trim(), topic: topic.trim() || undefined }, nonce.current);
          closeTo(focusComposer);
        }}
      >
        <Field label="Name" value={name} onInput={setName} maxLength={nameMax} required autoFocus />
        <Field label="Topic (optional)" value={topic} onInput={setTopic} maxLength={topicMax} hint="One line about what happens here." />
      </Form>
    </Modal>
  );
}

export function JoinRoom(): JSX.Element {
  const [link, setLink] = useState("");
  return (
    <Modal title="Join with an invite">
      <Form
        submit="Continue"
        isReady={link.trim() !== ""}
        onCancel={close}
        onSubmit={async () => {
          const inviteId = inviteIdIn(link);
          if (!inviteId) throw new WireError({ code: "bad_request", message: "that is not an invite link" });
          close();
          go({ kind: "invite", inviteId });
        }}
      >
        <Field label="Invite link" value={link} onInput={setLink} required autoFocus hint="Paste the link or the code at its end." />
      </Form>
    </Modal>
  );
}

export function Leave({ room }: { room: RoomModel }): JSX.Element {
  const isOwner = room.view.value.isRoomOwner;
  if (room.view.value.room.type === "DirectMessage") return <Hide room={room} />;
  return (
    <Modal title={isOwner ? `Delete ${room.name}?` : `Leave ${room.name}?`}>
      <p class="modal-text">
        {isOwner
          ? "You own this room. Leaving deletes it with all its messages, for everybody."
          : "You can come back with an invite."}
      </p>
      <Form
        submit={isOwner ? "Leave and delete" : "Leave room"}
        isDangerous
        onCancel={close}
        onSubmit={async () => {
          await leaveRoom(room);
          close();
        }}
      />
    </Modal>
  );
}

function Hide({ room }: { room: RoomModel }): JSX.Element {
  return (
    <Modal title="Hide this conversation?">
      <p class="modal-text">It comes back with the next message, or when you open it again.</p>
      <Form
        submit="Hide"
        onCancel={close}
        onSubmit={async () => {
          await hideDirect(room);
          close();
        }}
      />
    </Modal>
  );
}
