// Sending a message on into other rooms; what came of it is said for each.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { plainText } from "../body_text";
import { forward } from "../message_actions";
import { roomList, roomOf } from "../rooms";
import { focusComposer } from "../screen";
import { WireError, explain } from "../wire_error";
import type { ForwardResult, Message } from "../wire/generated";
import { Check, Field, Form, Modal, close, closeTo } from "./dialog";

export function ForwardDialog({ message }: { message: Message }): JSX.Element {
  const [chosen, setChosen] = useState<string[]>([]);
  const [note, setNote] = useState("");
  const [results, setResults] = useState<ForwardResult[]>();
  // A repeat after a lost answer forwards nothing twice; another choice is another forward.
  const attempt = useRef({ of: "", nonce: "" });
  const nonceFor = (of: string) => {
    if (attempt.current.of !== of) attempt.current = { of, nonce: crypto.randomUUID() };
    return attempt.current.nonce;
  };
  if (results) {
    return (
      <Modal title="Forwarded">
        <ul class="outcomes" role="status">
          {results.map(({ roomId, error }) => (
            <li key={roomId} class={error ? "failed" : ""}>
              <bdi>{roomOf(roomId)?.name ?? "A room"}</bdi>: {error ? explain(new WireError(error)) : "sent"}
            </li>
          ))}
        </ul>
        <div class="form-actions">
          <button type="button" class="button primary" onClick={() => closeTo(focusComposer)}>
            Done
          </button>
        </div>
      </Modal>
    );
  }
  return (
    <Modal title="Forward message">
      <blockquote class="modal-quote">{plainText(message).slice(0, 280)}</blockquote>
      <Form
        submit="Forward"
        isReady={chosen.length > 0}
        onCancel={close}
        onSubmit={async () => {
          setResults(await forward(message, chosen, note.trim(), nonceFor(JSON.stringify([chosen, note.trim()]))));
        }}
      >
        <fieldset class="choices">
          <legend>To</legend>
          {roomList.value.map((room) => (
            <Check
              key={room.roomId}
              label={room.name}
              isOn={chosen.includes(room.roomId)}
              onChange={(isOn) => setChosen(isOn ? [...chosen, room.roomId] : chosen.filter((roomId) => roomId !== room.roomId))}
            />
          ))}
        </fieldset>
        <Field label="A note with it (optional)" value={note} onInput={setNote} maxLength={10_000} />
      </Form>
    </Modal>
  );
}
