// The page as a whole: who is logged in and where the address points decide what is shown.
import { effect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { connectionState, reconnectNow, session } from "../link";
import { notices, spoken } from "../notices";
import { currentRoom, homeRoom, isListed, unreadTotal } from "../rooms";
import { go, route } from "../route";
import { dialog, isDrawerOpen, isNarrow } from "../screen";
import type { User } from "../wire/generated";
import { Dialogs } from "./dialogs";
import { Entry } from "./entry";
import { InvitePage } from "./invite_page";
import { Mark } from "./mark";
import { SidePanel } from "./panel";
import { DrawerButton, RoomPane } from "./room_pane";
import { Sidebar } from "./sidebar";

effect(() => {
  const name = currentRoom.value?.name;
  const count = unreadTotal.value;
  document.title = `${count > 0 ? `(${count >= 100 ? "99+" : count}) ` : ""}${name ? `${name} · ` : ""}Parlour`;
});

export function App(): JSX.Element {
  const current = session.value;
  return (
    <>
      {current.kind === "starting" ? <Starting /> : current.kind === "signedOut" ? <Entry /> : <Home user={current.user} />}
      <Notices />
      <div class="hidden" role="log" aria-live="polite" aria-relevant="additions" aria-label="New messages" id="spoken">
        {spoken.value.map((line) => (
          <p key={line.id}>{line.text}</p>
        ))}
      </div>
    </>
  );
}

function Starting(): JSX.Element {
  const isWaiting = connectionState.value.kind === "waiting";
  return (
    <main class="starting">
      <Mark size={56} />
      <p role="status">{isWaiting ? "The server cannot be reached. Trying again…" : "Connecting…"}</p>
      {isWaiting && (
        <button type="button" class="button quiet" onClick={reconnectNow}>
          Try now
        </button>
      )}
    </main>
  );
}

function Home({ user }: { user: User }): JSX.Element {
  const at = route.value;
  const room = currentRoom.value;
  const isCovered = isNarrow.value && isDrawerOpen.value;
  useEffect(() => {
    if (at.kind !== "home" || !isListed.value) return;
    const roomId = homeRoom();
    if (roomId) go({ kind: "room", roomId }, { replace: true });
  }, [at, isListed.value]);

  return (
    <div class="home">
      <a
        class="skip"
        href="#composer"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("composer")?.focus();
        }}
      >
        Skip to the message field
      </a>
      <Sidebar user={user} />
      <main class="pane" inert={isCovered} aria-label={room?.name ?? "Parlour"}>
        {at.kind === "invite" ? (
          <InvitePage key={at.inviteId} inviteId={at.inviteId} />
        ) : room ? (
          <RoomPane room={room} selfId={user.userId} />
        ) : (
          <Nothing isLost={at.kind === "room" && isListed.value} />
        )}
      </main>
      {room && <SidePanel room={room} />}
      <Dialogs />
    </div>
  );
}

function Nothing({ isLost }: { isLost: boolean }): JSX.Element {
  return (
    <div class="centre">
      <div class="corner">
        <DrawerButton />
      </div>
      {!isListed.value ? (
        <span class="spinner" role="status" aria-label="Loading" />
      ) : (
        <div class="card">
          <Mark size={48} />
          <h1>{isLost ? "No such room" : "A quiet place, so far"}</h1>
          <p class="card-text">
            {isLost ? "It does not exist, or you are not in it." : "Make a room and invite somebody, or follow an invite of theirs."}
          </p>
          <div class="card-actions">
            <button type="button" class="button primary" onClick={() => (dialog.value = { kind: "newRoom" })}>
              New room
            </button>
            <button type="button" class="button quiet" onClick={() => (dialog.value = { kind: "joinRoom" })}>
              Join with an invite
            </button>
          </div>
        </div>
      )}
    </div>
  );
}

function Notices(): JSX.Element {
  return (
    <div class="notices" role="status">
      {notices.value.map((notice) => (
        <p key={notice.id} class="notice">
          {notice.text}
        </p>
      ))}
    </div>
  );
}
