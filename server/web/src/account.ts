// Making an account, logging in and out, and keeping the session alive.
import * as auth from "./auth";
import { becomeUser, connection, listen, session } from "./link";
import { endPush } from "./push";
import { go } from "./route";
import { WireError } from "./wire_error";

listen({
  event(frame) {
    if (frame.event === "session.expiring") void renewSession();
  },
});

export async function register(account: { name: string; password: string; invite?: string }): Promise<void> {
  await auth.register(account);
  connection.start();
}

export async function logIn(account: { name: string; password: string }): Promise<void> {
  await auth.logIn(account);
  connection.start();
}

export async function logOut(): Promise<void> {
  await endPush();
  // The server closes the sockets of an ended session; this one is gone before that can be told as news.
  connection.stop();
  try {
    await auth.logOut();
  } catch (error) {
    if (!(error instanceof WireError && error.code === "unauthenticated")) {
      connection.start();
      throw error;
    }
  }
  becomeUser(undefined);
  go({ kind: "home" });
  session.value = { kind: "signedOut" };
}

/** The cookie is renewed over HTTP; a new socket then carries the new one. */
async function renewSession(): Promise<void> {
  try {
    await auth.refresh();
    connection.stop();
    connection.start();
  } catch {
    // The server ends the session when its time comes, and the page asks to log in.
  }
}
