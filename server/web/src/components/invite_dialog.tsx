// A link that brings people into the room.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RoomModel } from "../room";
import { inviteTo, newInvite } from "../room_actions";
import { explain } from "../wire_error";
import type { Invite } from "../wire/generated";
import { CopyRow } from "./copy_row";
import { Modal } from "./dialog";

export function InvitePeople({ room }: { room: RoomModel }): JSX.Element {
  const [invite, setInvite] = useState<Invite>();
  const [error, setError] = useState("");
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
        <span>{invite ? expiry(invite) : ""}</span>
        <button type="button" class="button link" onClick={() => load(newInvite(room, crypto.randomUUID()))}>
          Make a new link
        </button>
      </div>
    </Modal>
  );
}

function expiry(invite: Invite): string {
  if (!invite.expiresAt) return "Does not expire.";
  const hours = (Date.parse(invite.expiresAt) - Date.now()) / 3_600_000;
  if (hours >= 36) return `Expires in ${Math.round(hours / 24)} days.`;
  return hours > 1.5 ? `Expires in ${Math.round(hours)} hours.` : "Expires within the hour.";
}
