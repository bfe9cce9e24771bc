// Name, topic and the rules of writing in a room.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RoomModel } from "../room";
import { updateRoom } from "../room_actions";
import type { RoomUpdate } from "../wire/generated";
import { Check, Field, Form, close } from "./dialog";

type Changes = Omit<RoomUpdate, "roomId">;

export function GeneralSettings({ room }: { room: RoomModel }): JSX.Element {
  const before = room.view.peek().room;
  const [name, setName] = useState(before.name ?? "");
  const [topic, setTopic] = useState(before.topic ?? "");
  const [isReadOnly, setReadOnly] = useState(before.isReadOnly ?? false);
  const [isInvitePaused, setInvitePaused] = useState(before.isInvitePaused ?? false);
  const [slow, setSlow] = useState(String((before.slowmodeMs ?? 0) / 1000));
  return (
    <Form
      submit="Save"
      isReady={name.trim() !== ""}
      onCancel={close}
      onSubmit={async () => {
        const changes: Changes = {};
        const slowmodeMs = Math.round(Number(slow) * 1000) || 0;
        if (name.trim() !== (before.name ?? "")) changes.name = name.trim();
        if (topic.trim() !== (before.topic ?? "")) changes.topic = topic.trim() || null;
        if (isReadOnly !== (before.isReadOnly ?? false)) changes.isReadOnly = isReadOnly;
        if (isInvitePaused !== (before.isInvitePaused ?? false)) changes.isInvitePaused = isInvitePaused;
        if (slowmodeMs !== (before.slowmodeMs ?? 0)) changes.slowmodeMs = slowmodeMs || null;
        if (Object.keys(changes).length > 0) await updateRoom(room, changes);
        close();
      }}
    >
      <Field label="Name" value={name} onInput={setName} maxLength={100} required autoFocus />
      <Field label="Topic" value={topic} onInput={setTopic} maxLength={500} />
      <Field label="Slow mode: seconds between two messages" type="number" value={slow} onInput={setSlow} hint="0 is off." />
      <Check label="Read-only: only those who manage messages may write" isOn={isReadOnly} onChange={setReadOnly} />
      <Check label="Invites are paused" isOn={isInvitePaused} onChange={setInvitePaused} />
    </Form>
  );
}
