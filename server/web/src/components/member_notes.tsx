// What moderators noted about a member, for each other.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { dateAndTime } from "../format_time";
import { connection } from "../link";
import { people } from "../people";
import type { RoomModel } from "../room";
import type { UserId } from "../wire/generated";
import { Field, Form } from "./dialog";
import { Listed, useList } from "./listed";

export function MemberNotes({ room, userId }: { room: RoomModel; userId: UserId }): JSX.Element {
  const notes = useList((cursor) => connection.request("note.list", { roomId: room.roomId, userId, cursor, limit: 50 }), [userId]);
  const [note, setNote] = useState("");
  const nonce = useRef(crypto.randomUUID());
  return (
    <section>
      <h3 class="section-title">Notes</h3>
      <Form
        submit="Add note"
        isReady={note.trim() !== ""}
        onSubmit={async () => {
          await connection.request("note.create", { roomId: room.roomId, userId, note: note.trim(), nonce: nonce.current });
          nonce.current = crypto.randomUUID();
          setNote("");
          notes.reload();
        }}
      >
        <Field label="Note" value={note} onInput={setNote} maxLength={2000} />
      </Form>
      <Listed list={notes} empty="No notes.">
        {(one) => (
          <li key={one.id}>
            <p>{one.note}</p>
            <p class="field-hint">
              <bdi>{people.get(one.actorUserId).value?.name ?? "…"}</bdi>, {dateAndTime(one.createdAt)}
            </p>
          </li>
        )}
      </Listed>
    </section>
  );
}
