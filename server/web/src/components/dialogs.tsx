// The dialogs of the page, one at a time.
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { logOut } from "../account";
import { plainText } from "../body_text";
import { speak } from "../notices";
import { remove, unsentCount } from "../outgoing";
import type { RoomModel } from "../room";
import { createRoom, inviteTo, leaveRoom, newInvite, updateRoom } from "../room_actions";
import { currentRoom } from "../rooms";
import { go, inviteIdIn } from "../route";
import { dialog, focusComposer } from "../screen";
import { WireError, explain } from "../wire_error";
import type { Invite, Message } from "../wire/generated";
import { Field, Form, Modal, close, closeTo } from "./dialog";
import { Icon } from "./icon";

const nameMax = 100;
const topicMax = 500;

export function Dialogs(): JSX.Element | null {
  const open = dialog.value;
  const room = currentRoom.value;
  switch (open?.kind) {
    case "newRoom":
      return <NewRoom />;
    case "joinRoom":
      return <JoinRoom />;
    case "logOut":
      return <LogOut />;
    case "invite":
      return room ? <InvitePeople room={room} /> : null;
    case "settings":
      return room ? <Settings room={room} /> : null;
    case "leave":
      return room ? <Leave room={room} /> : null;
    case "delete":
      return room ? <Delete room={room} message={open.message} /> : null;
    default:
      return null;
  }
}

function NewRoom(): JSX.Element {
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

function JoinRoom(): JSX.Element {
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

function InvitePeople({ room }: { room: RoomModel }): JSX.Element {
  const [invite, setInvite] = useState<Invite>();
  const [error, setError] = useState("");
  const [isCopied, setCopied] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const load = (making: Promise<Invite>) => {
    setError("");
    making.then(setInvite, (failure: unknown) => setError(explain(failure)));
  };
  useEffect(() => load(inviteTo(room, crypto.randomUUID())), []);
  const link = invite ? new URL(invite.url ?? `/invite/${invite.inviteId}`, location.origin).href : "";
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(link);
    } catch {
      // Without the clipboard's permission: the old way, through the selection.
      field.current?.select();
      document.execCommand("copy");
    }
    setCopied(true);
    speak("Link copied");
    setTimeout(() => setCopied(false), 2500);
  };
  return (
    <Modal title={`Invite people to ${room.name}`}>
      <p class="modal-text">Whoever has this link can join the room.</p>
      <div class="copy-row">
        <input ref={field} class="copy-field" readOnly aria-label="Invite link" value={link} onFocus={(event) => event.currentTarget.select()} />
        <button type="button" class="button primary" disabled={!invite} onClick={() => void copy()}>
          <Icon name={isCopied ? "check" : "link"} size={18} />
          {isCopied ? "Copied" : "Copy"}
        </button>
      </div>
      <p class="form-error" role="alert">
        {error}
      </p>
      <div class="modal-foot">
        <span>{invite ? expiry(invite) : ""}</span>
        <button type="button" class="button link" onClick={() => load(newInvite(room, crypto.randomUUID()))}>
          Make a new link
        </button>
      </div>
    </Modal>
  );
}

function expiry(invite: Invite): string {
  if (!invite.expiresAt) return "Does not expire.";
  const hours = (Date.parse(invite.expiresAt) - Date.now()) / 3_600_000;
  if (hours >= 36) return `Expires in ${Math.round(hours / 24)} days.`;
  return hours > 1.5 ? `Expires in ${Math.round(hours)} hours.` : "Expires within the hour.";
}

function Settings({ room }: { room: RoomModel }): JSX.Element {
  const before = room.view.peek().room;
  const [name, setName] = useState(before.name ?? "");
  const [topic, setTopic] = useState(before.topic ?? "");
  return (
    <Modal title="Room settings">
      <Form
        submit="Save"
        isReady={name.trim() !== ""}
        onCancel={close}
        onSubmit={async () => {
          const changes: { name?: string; topic?: string | null } = {};
          if (name.trim() !== (before.name ?? "")) changes.name = name.trim();
          if (topic.trim() !== (before.topic ?? "")) changes.topic = topic.trim() || null;
          if (Object.keys(changes).length > 0) await updateRoom(room, changes);
          close();
        }}
      >
        <Field label="Name" value={name} onInput={setName} maxLength={nameMax} required autoFocus />
        <Field label="Topic" value={topic} onInput={setTopic} maxLength={topicMax} />
      </Form>
    </Modal>
  );
}

function Leave({ room }: { room: RoomModel }): JSX.Element {
  const isOwner = room.view.value.isRoomOwner;
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

function Delete({ room, message }: { room: RoomModel; message: Message }): JSX.Element {
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

function LogOut(): JSX.Element {
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
