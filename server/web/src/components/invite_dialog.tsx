// A link that brings people into the room.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RoomModel } from "../room";
import { inviteTo, newInvite } from "../room_actions";
import { explain } from "../wire_error";
import type { Invite } from "../wire/generated";
import { CopyRow } from "./copy_row";
import { Form, Modal, Select } from "./dialog";

const lifetimes = [
  [1_800_000, "30 minutes"],
  [3_600_000, "1 hour"],
  [21_600_000, "6 hours"],
  [43_200_000, "12 hours"],
  [86_400_000, "1 day"],
  [604_800_000, "7 days"],
  [0, "For ever"],
].map(([value, label]) => ({ value: String(value), label: String(label) }));
const uses = [0, 1, 5, 10, 25, 50, 100].map((count) => ({ value: String(count), label: count === 0 ? "Any number" : String(count) }));

export function InvitePeople({ room }: { room: RoomModel }): JSX.Element {
  const [invite, setInvite] = useState<Invite>();
  const [error, setError] = useState("");
  const [lifetime, setLifetime] = useState("604800000");
  const [maxUses, setMaxUses] = useState("0");
  const load = (making: Promise<Invite>) => {
    setError("");
    making.then(setInvite, (failure: unknown) => setError(explain(failure)));
  };
  useEffect(() => load(inviteTo(room, crypto.randomUUID())), []);
  const link = invite ? new URL(invite.url ?? `/invite/${invite.inviteId}`, location.origin).href : "";
  return (
    <Modal title={`Invite people to ${room.name}`}>
      <p class="modal-text">Whoever has this link can join the room.</p>
      <CopyRow label="Invite link" value={link} />
      <p class="form-error" role="alert">
        {error}
      </p>
      <div class="modal-foot">
        <span role="status">{invite ? `${expiry(invite)} ${usesOf(invite)}` : ""}</span>
      </div>
      <details>
        <summary>Another link</summary>
        <p class="modal-text">It takes the place of this one, which ends.</p>
        <Form
          submit="Make a new link"
          onSubmit={async () => {
            setInvite(await newInvite(room, crypto.randomUUID(), { expiresInMs: Number(lifetime), maxUses: Number(maxUses) }));
            setError("");
          }}
        >
          <Select label="Lasts" value={lifetime} options={lifetimes} onChange={setLifetime} />
          <Select label="Can be used" value={maxUses} options={uses} onChange={setMaxUses} />
        </Form>
      </details>
    </Modal>
  );
}

function usesOf({ maxUses, uses: used = 0 }: Invite): string {
  return maxUses ? `Used ${used} of ${maxUses} times.` : "";
}

function expiry(invite: Invite): string {
  if (!invite.expiresAt) return "Does not expire.";
  const hours = (Date.parse(invite.expiresAt) - Date.now()) / 3_600_000;
  if (hours >= 36) return `Expires in ${Math.round(hours / 24)} days.`;
  return hours > 1.5 ? `Expires in ${Math.round(hours)} hours.` : "Expires within the hour.";
}
