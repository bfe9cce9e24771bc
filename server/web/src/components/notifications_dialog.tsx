// One's own settings of a room: what notifies, the name one has there, and marking it unread.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { connection } from "../link";
import { markUnreadFrom } from "../message_actions";
import type { RoomModel } from "../room";
import type { NotificationType } from "../wire/generated";
import { PushSettings } from "./push_settings";
import { Field, Form, Modal, Select, close } from "./dialog";

const kinds: { value: NotificationType; label: string }[] = [
  { value: "All", label: "Every message" },
  { value: "DirectMessage", label: "Mentions only" },
  { value: "Never", label: "Nothing" },
];

export function NotificationsDialog({ room }: { room: RoomModel }): JSX.Element {
  const { membership } = room.view.peek();
  const [kind, setKind] = useState<NotificationType>(membership.notificationType ?? "DirectMessage");
  const [nickname, setNickname] = useState(membership.nickname ?? "");
  const newest = room.messages.value.findLast((message) => message.userId !== membership.userId);
  return (
    <Modal title={`You in ${room.name}`}>
      <Form
        submit="Save"
        onCancel={close}
        onSubmit={async () => {
          const changes = {
            ...(kind !== (membership.notificationType ?? "DirectMessage") && { notificationType: kind }),
            ...(nickname.trim() !== (membership.nickname ?? "") && { nickname: nickname.trim() || null }),
          };
          if (Object.keys(changes).length > 0) {
            const reply = await connection.request("membership.update", { roomId: room.roomId, ...changes });
            if (reply.membership) room.view.value = { ...room.view.peek(), membership: reply.membership };
          }
          close();
        }}
      >
        <Select label="Notify me of" value={kind} options={kinds} onChange={(value) => setKind(value as NotificationType)} />
        <Field label="My name in this room" value={nickname} onInput={setNickname} maxLength={32} hint="Empty: your account name." />
      </Form>
      <PushSettings />
      {newest && (
        <div class="modal-foot">
          <Form
            submit="Mark the room as unread"
            onSubmit={async () => {
              await markUnreadFrom(room, newest);
              close();
            }}
          />
        </div>
      )}
    </Modal>
  );
}
