// Shows what the server pushes, and opens the room at the message. Holds no cache: the page itself always comes from
// the server.

const answerMs = 500;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

/** The path of an address on this server, whatever name the server knows itself by. */
function pathOf(url) {
  try {
    return new URL(url || "/", self.location.origin).pathname;
  } catch {
    return "/";
  }
}

function pages() {
  return self.clients.matchAll({ type: "window", includeUncontrolled: true });
}

/** Asks the pages: a worker knows only with which address they were loaded. One that does not answer looks elsewhere. */
async function isLookedAt(roomId) {
  const answers = (await pages()).map(
    (page) =>
      new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = ({ data }) => resolve(data === true);
        setTimeout(() => resolve(false), answerMs);
        page.postMessage({ kind: "looking", roomId }, [port2]);
      }),
  );
  return (await Promise.all(answers)).includes(true);
}

async function show(push) {
  const data = push.data ?? {};
  const path = pathOf(data.url);
  // Who looks at the room sees the message itself.
  if (data.type === "Message" && (await isLookedAt(data.roomId))) return;
  await self.registration.showNotification(push.title || "Parlour", {
    body: push.body,
    icon: push.icon || "/favicon.svg",
    // The same push may come twice.
    tag: data.rowKey || `${data.type ?? ""}:${data.roomId ?? ""}:${push.body ?? ""}`,
    data: { path, roomId: data.roomId },
  });
}

self.addEventListener("push", (event) => {
  let push = {};
  try {
    push = event.data?.json() ?? {};
  } catch {
    // Not from this server; a browser wants something shown all the same.
  }
  event.waitUntil(show(push));
});

async function open(path) {
  const all = await pages();
  const [page] = all.toSorted((a, b) => Number(b.focused) - Number(a.focused) || Number(b.visibilityState === "visible") - Number(a.visibilityState === "visible"));
  if (!page) return void (await self.clients.openWindow(path));
  page.postMessage({ kind: "open", path });
  // Only allowed as an answer to a click.
  await page.focus().catch(() => undefined);
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.path ?? "/"));
});

/** The browser has replaced the address by another. */
async function renew(old, fresh) {
  const options = old?.options ?? { userVisibleOnly: true };
  const { endpoint, expirationTime, keys } = (fresh ?? (await self.registration.pushManager.subscribe(options))).toJSON();
  const call = (op, data) => fetch(`/v1/rpc/${op}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(data) });
  await call("push.subscribe", { endpoint, keys, expirationTime: expirationTime ? new Date(expirationTime).toISOString() : undefined });
  if (old && old.endpoint !== endpoint) await call("push.unsubscribe", { endpoint: old.endpoint });
}

self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event.oldSubscription, event.newSubscription)));
