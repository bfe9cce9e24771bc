// One's own name, picture, words, and whether one is there.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { selfId, session } from "../link";
import { setStatus, statusOf } from "../presence";
import { updateProfile, uploadImage } from "../profile";
import type { PresenceStatus, UserUpdate } from "../wire/generated";
import { Avatar } from "./avatar";
import { Field, Form, Modal, Select, close } from "./dialog";
import { statusNames } from "./status_dot";

const statuses = [{ value: "", label: "As connected" }, ...Object.entries(statusNames).map(([value, label]) => ({ value, label }))];

export function ProfileDialog(): JSX.Element {
  const current = session.value;
  const user = current.kind === "signedIn" ? current.user : undefined;
  const status = statusOf(selfId()).peek();
  const [name, setName] = useState(user?.name ?? "");
  const [biography, setBiography] = useState(user?.biography ?? "");
  const [image, setImage] = useState<string | undefined>(user?.image);
  const [presence, setPresence] = useState<string>();
  const [message, setMessage] = useState(status?.message ?? "");
  const picture = useRef<HTMLInputElement>(null);
  const save = async () => {
    const chosen = picture.current?.files?.[0];
    const address = chosen ? await uploadImage(chosen, crypto.randomUUID()) : image;
    const changes: UserUpdate = {
      ...(name.trim() !== (user?.name ?? "") && { name: name.trim() }),
      ...(biography.trim() !== (user?.biography ?? "") && { biography: biography.trim() || null }),
      ...(address !== user?.image && { image: address ?? null }),
    };
    if (Object.keys(changes).length > 0) await updateProfile(changes);
    if (presence !== undefined || message.trim() !== (status?.message ?? "")) {
      await setStatus({
        ...(presence !== undefined && { status: (presence || null) as PresenceStatus | null }),
        ...(message.trim() !== (status?.message ?? "") && { message: message.trim() || null }),
      });
    }
    close();
  };
  return (
    <Modal title="Your profile">
      <Form submit="Save" isReady={name.trim() !== ""} onCancel={close} onSubmit={save}>
        <div class="picture-row">
          <Avatar id={selfId()} name={name} image={image} />
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
        <Field label="Name" value={name} onInput={setName} maxLength={100} required autoFocus />
        <Field label="About you" value={biography} onInput={setBiography} maxLength={160} />
        <Select label="Status" value={presence ?? ""} options={statuses} onChange={setPresence} />
        <Field label="Status message" value={message} onInput={setMessage} maxLength={64} />
      </Form>
    </Modal>
  );
}
