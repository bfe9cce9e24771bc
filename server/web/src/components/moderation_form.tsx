// Warning, timing out, kicking or banning one member.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { type MemberAction, actOn, memberActions } from "../moderation";
import { notify } from "../notices";
import type { RoomModel } from "../room";
import type { UserId } from "../wire/generated";
import { Field, Form, Select, close } from "./dialog";

const minute = 60_000;
const durations = [
  { value: String(5 * minute), label: "5 minutes" },
  { value: String(60 * minute), label: "1 hour" },
  { value: String(24 * 60 * minute), label: "1 day" },
  { value: String(7 * 24 * 60 * minute), label: "1 week" },
];

export function ModerationForm({ room, userId, name }: { room: RoomModel; userId: UserId; name: string }): JSX.Element {
  const allowed = (Object.keys(memberActions) as MemberAction[]).filter((type) => room.may(memberActions[type].bit));
  const [type, setType] = useState<MemberAction>(allowed[0]!);
  const [duration, setDuration] = useState(durations[0]!.value);
  const [reason, setReason] = useState("");
  const nonce = useRef(crypto.randomUUID());
  return (
    <Form
      submit={`${memberActions[type].label} ${name}`}
      isDangerous={type !== "Warn"}
      onSubmit={async () => {
        await actOn(room, userId, type, { reason: reason.trim() || undefined, durationMs: type === "TimeoutUser" ? Number(duration) : undefined }, nonce.current);
        notify(`Done: ${memberActions[type].label.toLowerCase()}, ${name}.`);
        close();
      }}
    >
      <Select
        label="Action"
        value={type}
        options={allowed.map((value) => ({ value, label: memberActions[value].label }))}
        onChange={(value) => {
          setType(value as MemberAction);
          nonce.current = crypto.randomUUID();
        }}
      />
      <p class="field-hint">{memberActions[type].note}</p>
      {type === "TimeoutUser" && <Select label="For" value={duration} options={durations} onChange={setDuration} />}
      <Field label="Reason (optional)" value={reason} onInput={setReason} maxLength={2000} />
    </Form>
  );
}
