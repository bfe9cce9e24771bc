// The room's own emoji: upload, rename, delete.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { readEmoji } from "../history";
import { connection } from "../link";
import { attempt } from "../message_actions";
import type { RoomModel } from "../room";
import { upload } from "../upload";
import { WireError } from "../wire_error";
import { CustomEmojiImage } from "./custom_emoji";
import { Field, Form } from "./dialog";

const namePattern = /^[a-z0-9_]{1,32}$/;

export function EmojiSettings({ room }: { room: RoomModel }): JSX.Element {
  const { roomId } = room;
  const [name, setName] = useState("");
  const [renamed, setRenamed] = useState<string>();
  const [newName, setNewName] = useState("");
  const picture = useRef<HTMLInputElement>(null);
  useEffect(() => void readEmoji(room), [room]);
  const create = async () => {
    const file = picture.current?.files?.[0];
    if (!file) throw new WireError({ code: "refused", message: "choose a picture first" });
    const nonce = crypto.randomUUID();
    const grant = await connection.request("emoji.createUpload", { roomId, mimetype: file.type, size: file.size, nonce });
    await upload(grant.uploadUrl, file, file.type);
    await connection.request("emoji.create", { roomId, emojiId: grant.emojiId, name: name.trim(), nonce });
    setName("");
    if (picture.current) picture.current.value = "";
    await readEmoji(room);
  };
  return (
    <>
      <Form submit="Add emoji" isReady={namePattern.test(name.trim())} onSubmit={create}>
        <Field label="Name" value={name} onInput={setName} maxLength={32} hint="Small letters, digits and _. Used as :name:." />
        <label class="field">
          <span>Picture</span>
          <input ref={picture} type="file" accept="image/*" />
        </label>
      </Form>
      {room.emoji.value?.length === 0 && <p class="panel-note">There are none yet.</p>}
      <ul class="listed">
        {room.emoji.value?.map((emoji) => (
          <li key={emoji.emojiId} class="listed-row">
            <span>
              <CustomEmojiImage emoji={emoji} /> :{emoji.name}:
            </span>
            <span class="button-row">
            <button
              type="button"
              class="button quiet small"
              aria-label={`Rename :${emoji.name}:`}
              aria-expanded={renamed === emoji.emojiId}
              onClick={() => {
                setRenamed(renamed === emoji.emojiId ? undefined : emoji.emojiId);
                setNewName(emoji.name);
              }}
            >
              Rename
            </button>
            <button
              type="button"
              class="button quiet small"
              aria-label={`Delete :${emoji.name}:`}
              onClick={async () => (await attempt(connection.request("emoji.delete", { roomId, emojiId: emoji.emojiId }))) && readEmoji(room)}
            >
              Delete
            </button>
            </span>
            {renamed === emoji.emojiId && (
              <Form
                submit="Save"
                isReady={namePattern.test(newName.trim()) && newName.trim() !== emoji.name}
                onCancel={() => setRenamed(undefined)}
                onSubmit={async () => {
                  await connection.request("emoji.update", { roomId, emojiId: emoji.emojiId, name: newName.trim() });
                  setRenamed(undefined);
                  await readEmoji(room);
                }}
              >
                <Field label="New name" value={newName} onInput={setNewName} maxLength={32} autoFocus />
              </Form>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
