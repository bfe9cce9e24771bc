// The page's one connection: its state, who is logged in on it, and the parts of the page that listen to it.
import { signal } from "@preact/signals";
import { Connection, type ConnectionListener, type ConnectionState } from "./connection";
import type { HelloReply, User, UserId } from "./wire/generated";

export type Session = { kind: "starting" } | { kind: "signedOut"; note?: string } | { kind: "signedIn"; user: User };

export const session = signal<Session>({ kind: "starting" });
export const connectionState = signal<ConnectionState>({ kind: "connecting" });

export type LinkListener = Partial<Omit<ConnectionListener, "state">> & {
  /** Another account than before, or (undefined) none: what was known of the old one is to be forgotten. */
  account?(user: User | undefined): void;
};

const listeners: LinkListener[] = [];
let self: UserId = "";

/** In the order of their registration; to be called while the page is loaded. */
export function listen(listener: LinkListener): void {
  listeners.push(listener);
}

export function selfId(): UserId {
  return self;
}

export function isOnline(): boolean {
  return connectionState.peek().kind === "online";
}

function hello(reply: HelloReply): void {
  if (self !== reply.user.userId) becomeUser(reply.user);
  session.value = { kind: "signedIn", user: reply.user };
  for (const listener of listeners) listener.hello?.(reply);
}

export function becomeUser(user: User | undefined): void {
  self = user?.userId ?? "";
  for (const listener of listeners) listener.account?.(user);
}

export const connection = new Connection(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/ws`, {
  state(state) {
    connectionState.value = state;
    if (state.kind === "ended" && state.reason === "unauthenticated") {
      const wasIn = session.peek().kind === "signedIn";
      session.value = { kind: "signedOut", note: wasIn ? "Your session has ended. Log in to go on." : undefined };
    }
  },
  hello,
  event(frame) {
    for (const listener of listeners) listener.event?.(frame);
  },
  heads(heads) {
    for (const listener of listeners) listener.heads?.(heads);
  },
  lost() {
    for (const listener of listeners) listener.lost?.();
  },
});

export function start(): void {
  connection.start();
  addEventListener("online", () => connection.hurry());
  addEventListener("visibilitychange", () => {
    if (!document.hidden) connection.hurry();
  });
}

export function reconnectNow(): void {
  if (connectionState.peek().kind === "ended") connection.start();
  else connection.hurry();
}
