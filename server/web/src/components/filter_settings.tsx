// The words that a room does not allow, and what follows from them.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { connection } from "../link";
import type { RoomModel } from "../room";
import { linesOf, wordsOf } from "../word_list";
import { explain } from "../wire_error";
import type { FilterAction } from "../wire/generated";
import { Field, Form, Select, close } from "./dialog";

const actions: { value: FilterAction; label: string }[] = [
  { value: "Reject", label: "Refuse the message" },
  { value: "Warn", label: "Refuse it and warn" },
  { value: "Timeout", label: "Refuse it and time out" },
];

export function FilterSettings({ room }: { room: RoomModel }): JSX.Element {
  const [text, setText] = useState<string>();
  const [action, setAction] = useState<FilterAction>("Reject");
  const [minutes, setMinutes] = useState("10");
  const [error, setError] = useState("");
  useEffect(() => {
    connection.request("filter.get", { roomId: room.roomId }).then(
      ({ filter }) => {
        setText(linesOf(filter?.words));
        setAction(filter?.action ?? "Reject");
        if (filter?.timeoutDurationMs) setMinutes(String(filter.timeoutDurationMs / 60_000));
      },
      (failure: unknown) => setError(explain(failure)),
    );
  }, [room]);
  if (text === undefined) return error ? <p class="form-error" role="alert">{error}</p> : <p class="panel-note">Loading…</p>;
  return (
    <Form
      submit="Save"
      onCancel={close}
      onSubmit={async () => {
        await connection.request("filter.set", {
          roomId: room.roomId,
          words: wordsOf(text),
          action,
          timeoutDurationMs: action === "Timeout" ? Math.round(Number(minutes) * 60_000) : undefined,
        });
        close();
      }}
    >
      <Field label="Words" value={text} onInput={setText} rows={8} hint={'One a line, found inside longer words as well. In quotes ("word"): only as a whole word.'} />
      <Select label="When one is used" value={action} options={actions} onChange={(value) => setAction(value as FilterAction)} />
      {action === "Timeout" && <Field label="Minutes" type="number" value={minutes} onInput={setMinutes} />}
    </Form>
  );
}
