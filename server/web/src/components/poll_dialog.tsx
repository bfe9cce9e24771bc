// Asking a question with two to ten answers.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post } from "../outgoing";
import type { RoomModel } from "../room";
import { focusComposer } from "../screen";
import { Field, Form, Modal, close, closeTo } from "./dialog";

const optionsMax = 10;

export function PollDialog({ room }: { room: RoomModel }): JSX.Element {
  const [question, setQuestion] = useState("");
  const [labels, setLabels] = useState(["", ""]);
  const filled = labels.map((label) => label.trim()).filter((label) => label !== "");
  return (
    <Modal title="New poll">
      <Form
        submit="Ask"
        isReady={question.trim() !== "" && filled.length >= 2}
        onCancel={close}
        onSubmit={async () => {
          const options = filled.map((label) => ({ id: crypto.randomUUID(), label }));
          post(room, { text: question.trim(), poll: { question: question.trim(), options } });
          closeTo(focusComposer);
        }}
      >
        <Field label="Question" value={question} onInput={setQuestion} maxLength={300} required autoFocus />
        {labels.map((label, index) => (
          <Field
            key={index}
            label={`Answer ${index + 1}`}
            value={label}
            onInput={(value) => setLabels(labels.with(index, value))}
            maxLength={100}
            required={index < 2}
          />
        ))}
        {labels.length < optionsMax && (
          <button type="button" class="button quiet small" onClick={() => setLabels([...labels, ""])}>
            Add an answer
          </button>
        )}
      </Form>
    </Modal>
  );
}
