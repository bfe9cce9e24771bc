// Name, picture, topic and the rules of writing in a room.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { RoomModel } from "../room";
import { updateRoom } from "../room_actions";
import { uploadImage } from "../profile";
import type { MimeCategory, RoomUpdate } from "../wire/generated";
import { WireError } from "../wire_error";
import { Avatar } from "./avatar";
import { Check, Field, Form, close } from "./dialog";

const kinds: MimeCategory[] = ["Audio", "Document", "Image", "Video"];
const kindNames: Record<MimeCategory, string> = { Audio: "Sound", Document: "Documents", Image: "Pictures", Video: "Videos" };
const bytesAMegabyte = 1_000_000;

type Changes = Omit<RoomUpdate, "roomId">;

export function GeneralSettings({ room }: { room: RoomModel }): JSX.Element {
  const before = room.view.peek().room;
  const [name, setName] = useState(before.name ?? "");
  const [topic, setTopic] = useState(before.topic ?? "");
  const [isReadOnly, setReadOnly] = useState(before.isReadOnly ?? false);
  const [isInvitePaused, setInvitePaused] = useState(before.isInvitePaused ?? false);
  const [slow, setSlow] = useState(String((before.slowmodeMs ?? 0) / 1000));
  const [image, setImage] = useState(before.image);
  const picture = useRef<HTMLInputElement>(null);
  const [megabytes, setMegabytes] = useState(before.maxFileSizeBytes ? String(before.maxFileSizeBytes / bytesAMegabyte) : "");
  const allowed = before.allowedMimeCategories ?? kinds;
  const [accepted, setAccepted] = useState(allowed);
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
        const chosen = picture.current?.files?.[0];
        const address = chosen ? await uploadImage(chosen, crypto.randomUUID(), room.roomId) : image;
        if (address !== before.image) changes.image = address ?? null;
        const maxFileSizeBytes = Math.round(Number(megabytes) * bytesAMegabyte) || 0;
        if (maxFileSizeBytes !== (before.maxFileSizeBytes ?? 0)) changes.maxFileSizeBytes = maxFileSizeBytes || null;
        if (accepted.length === 0) throw new WireError({ code: "refused", message: "a room accepts one kind of files at least" });
        if (kinds.some((kind) => accepted.includes(kind) !== allowed.includes(kind))) changes.allowedMimeCategories = accepted;
        if (Object.keys(changes).length > 0) await updateRoom(room, changes);
        close();
      }}
    >
      <Field label="Name" value={name} onInput={setName} maxLength={100} required autoFocus />
      <div class="picture-row">
        <Avatar id={room.roomId} name={name} image={image} shape="room" />
        <label class="field">
          <span>Picture</span>
          <input ref={picture} type="file" accept="image/*" />
        </label>
        {image && (
          <button type="button" class="button quiet small" onClick={() => setImage(undefined)}>
            No picture
          </button>
        )}
      </div>
      <Field label="Topic" value={topic} onInput={setTopic} maxLength={500} />
      <Field label="Slow mode: seconds between two messages" type="number" value={slow} onInput={setSlow} hint="0 is off." />
      <Field label="Largest file in megabytes" type="number" value={megabytes} onInput={setMegabytes} hint="Empty: as large as the server takes." />
      <fieldset class="choices">
        <legend>Files that are accepted</legend>
        {kinds.map((kind) => (
          <Check key={kind} label={kindNames[kind]} isOn={accepted.includes(kind)} onChange={(isOn) => setAccepted(isOn ? [...accepted, kind] : accepted.filter((one) => one !== kind))} />
        ))}
      </fieldset>
      <Check label="Read-only: only those who manage messages may write" isOn={isReadOnly} onChange={setReadOnly} />
      <Check label="Invites are paused" isOn={isInvitePaused} onChange={setInvitePaused} />
    </Form>
  );
}
