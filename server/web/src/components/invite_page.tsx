// What an invite leads to, and the button that follows it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { connectionState } from "../link";
import { join, lookAtInvite } from "../room_actions";
import { go } from "../route";
import { WireError, explain } from "../wire_error";
import type { InviteGetReply } from "../wire/generated";
import { Avatar } from "./avatar";
import { Form } from "./dialog";
import { DrawerButton } from "./room_pane";

export function InvitePage({ inviteId }: { inviteId: string }): JSX.Element {
  const [preview, setPreview] = useState<InviteGetReply>();
  const [error, setError] = useState("");
  const nonce = useRef(crypto.randomUUID());
  const isOnline = connectionState.value.kind === "online";
  useEffect(() => {
    if (!isOnline) return;
    let isCurrent = true;
    setError("");
    lookAtInvite(inviteId).then(
      (found) => isCurrent && setPreview(found),
      (failure: unknown) => {
        if (!isCurrent) return;
        const isGone = failure instanceof WireError && failure.code === "not_found";
        setError(isGone ? "This invite is not valid any more. Ask for a new one." : explain(failure));
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [inviteId, isOnline]);

  const room = preview?.room;
  const count = room?.memberCount ?? 0;
  return (
    <div class="centre">
      <div class="corner">
        <DrawerButton />
      </div>
      <div class="card">
        {room ? (
          <>
            <Avatar id={room.roomId} name={room.name ?? ""} shape="room" size="large" />
            <p class="card-over">You are invited to</p>
            <h1>
              <bdi>{room.name}</bdi>
            </h1>
            {room.topic && (
              <p class="card-text">
                <bdi>{room.topic}</bdi>
              </p>
            )}
            <p class="card-note">{count === 1 ? "1 member" : `${count} members`}</p>
            {preview.isMember ? (
              <button type="button" class="button primary" onClick={() => go({ kind: "room", roomId: room.roomId }, { replace: true })}>
                Open room
              </button>
            ) : (
              <Form submit="Join room" onSubmit={() => join(inviteId, room.roomId, nonce.current)} />
            )}
          </>
        ) : error ? (
          <>
            <h1>Invite</h1>
            <p class="card-text" role="alert">
              {error}
            </p>
            <button type="button" class="button quiet" onClick={() => go({ kind: "home" }, { replace: true })}>
              To my rooms
            </button>
          </>
        ) : (
          <span class="spinner" role="status" aria-label="Loading" />
        )}
      </div>
    </div>
  );
}
