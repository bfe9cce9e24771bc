// Notifications while the page is not looked at: asked for when the person wants them, given anew after each log-in,
// ended at log-out.
import { signal } from "@preact/signals";
import { connection, listen, selfId, session } from "./link";
import { pushChoice } from "./preferences";
import { go, parse, route } from "./route";
import { WireError } from "./wire_error";
import type { PushSubscribe } from "./wire/generated";

export type PushState = "unsupported" | "blocked" | "off" | "on";

const worker = "/sw.js";
const farewellMs = 3000;

export const pushState = signal<PushState>(canPush() ? "off" : "unsupported");
/** Whether the page offers notifications right now. */
export const isPushOffered = signal(false);

function canPush(): boolean {
  return isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
}

listen({
  account: () => (isPushOffered.value = false),
  hello: () => void resume(),
});

if (canPush()) {
  navigator.serviceWorker.addEventListener("message", ({ data, ports }: MessageEvent<{ kind?: string; path?: string; roomId?: string }>) => {
    // A notification was clicked, and this page is the one that is to show what it is about.
    if (data.kind === "open" && data.path) go(parse(data.path));
    if (data.kind === "looking") ports[0]?.postMessage(isLookingAt(data.roomId));
  });
}

function isLookingAt(roomId: string | undefined): boolean {
  const at = route.peek();
  return document.hasFocus() && !document.hidden && session.peek().kind === "signedIn" && at.kind === "room" && at.roomId === roomId;
}

/** What was wanted in this browser by this account goes on without a question. */
async function resume(): Promise<void> {
  if (!canPush()) return;
  if (Notification.permission === "denied") pushState.value = "blocked";
  else if (pushChoice.get(selfId()) !== "on" || Notification.permission !== "granted") pushState.value = "off";
  else await subscribe().catch(() => undefined);
}

/** To be called by a click: browsers ask for the permission then only. */
export async function turnPushOn(): Promise<void> {
  isPushOffered.value = false;
  const permission = await Notification.requestPermission();
  if (permission !== "granted") {
    pushState.value = permission === "denied" ? "blocked" : "off";
    throw new WireError({ code: "refused", message: "this browser does not allow notifications of this page; its settings for the site can change that" });
  }
  pushChoice.set(selfId(), "on");
  await subscribe();
}

async function subscribe(): Promise<void> {
  const { publicKey } = await connection.request("push.key", {});
  await navigator.serviceWorker.register(worker);
  const { pushManager } = await navigator.serviceWorker.ready;
  const key = bytesOf(publicKey);
  let known = await pushManager.getSubscription();
  if (known && !isSame(known.options?.applicationServerKey, key)) {
    // Made for another key: the server could not use it.
    await known.unsubscribe();
    known = null;
  }
  const made = known ?? (await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
  const { endpoint, keys, expirationTime } = made.toJSON();
  if (!endpoint || !keys?.auth || !keys.p256dh) throw new WireError({ code: "refused", message: "the browser made no address for notifications" });
  const address: PushSubscribe = { endpoint, keys: { auth: keys.auth, p256dh: keys.p256dh } };
  if (expirationTime) address.expirationTime = new Date(expirationTime).toISOString();
  await connection.request("push.subscribe", address);
  pushState.value = "on";
}

export async function turnPushOff(): Promise<void> {
  pushChoice.set(selfId(), "off");
  await unsubscribe();
  pushState.value = "off";
}

async function unsubscribe(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration(worker);
  const made = await registration?.pushManager.getSubscription();
  if (!made) return;
  await made.unsubscribe();
  await connection.request("push.unsubscribe", { endpoint: made.endpoint }).catch((error: unknown) => {
    // Known to the server no more; with the session it goes in any case.
    if (!(error instanceof WireError && error.code === "not_found")) throw error;
  });
}

/** Before a log-out: nothing of this account is shown here any more. It never holds the log-out up. */
export async function endPush(): Promise<void> {
  if (!canPush() || pushState.peek() !== "on") return;
  const late = new Promise((resolve) => setTimeout(resolve, farewellMs));
  await Promise.race([unsubscribe().catch(() => undefined), late]);
  pushState.value = "off";
}

/** Called when a notification would have been of use: the page offers it, once, without the browser asking yet. */
export function offerPush(): void {
  if (pushState.peek() !== "off" || Notification.permission !== "default" || pushChoice.get(selfId()) !== undefined) return;
  isPushOffered.value = true;
}

export function declinePush(): void {
  isPushOffered.value = false;
  pushChoice.set(selfId(), "off");
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}

function isSame(known: ArrayBuffer | null | undefined, key: Uint8Array): boolean {
  if (!known) return false;
  const bytes = new Uint8Array(known);
  return bytes.length === key.length && bytes.every((byte, at) => byte === key[at]);
}
