// Notifications: when the page asks, what the service worker shows, where a click leads, and their end at log-out.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Pair } from "./harness.mjs";

/** Headless browsers have no push service: one whose addresses lead nowhere, and a permission that is not decided yet. */
function stub() {
  let permission = localStorage.getItem("test.permission") ?? "default";
  window.asked = 0;
  Object.defineProperty(Notification, "permission", { get: () => permission });
  Notification.requestPermission = async () => {
    window.asked++;
    permission = "granted";
    localStorage.setItem("test.permission", permission);
    return permission;
  };
  // A browser keeps it over a reload.
  const subscription = (kept) => ({
    endpoint: kept.endpoint,
    options: { applicationServerKey: new Uint8Array(kept.server).buffer },
    toJSON: () => ({ endpoint: kept.endpoint, keys: kept.keys, expirationTime: null }),
    unsubscribe: async () => (localStorage.removeItem("test.push"), true),
  });
  const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  PushManager.prototype.getSubscription = async () => {
    const kept = localStorage.getItem("test.push");
    return kept ? subscription(JSON.parse(kept)) : null;
  };
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly || applicationServerKey.length !== 65) throw new Error("as no browser takes it");
    const pair = await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]);
    const keys = { p256dh: base64url(await crypto.subtle.exportKey("raw", pair.publicKey)), auth: base64url(crypto.getRandomValues(new Uint8Array(16))) };
    const endpoint = `https://push.example.com/${crypto.randomUUID()}`;
    const kept = { endpoint, keys, server: [...applicationServerKey] };
    localStorage.setItem("test.push", JSON.stringify(kept));
    return subscription(kept);
  };
}

async function until(isTrue) {
  const deadline = Date.now() + 20_000;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error("it does not come");
    await new Promise((next) => setTimeout(next, 25));
  }
}

describe("notifications", { concurrency: 1 }, () => {
  let pair;
  let ada;
  let bob;
  let deliver;

  before(async () => {
    pair = await Pair.meet({ room: "Loom" });
    ({ ada } = pair);
    bob = await pair.join("Cleo");
    await bob.context.grantPermissions(["notifications"], { origin: pair.server.url });
    await bob.context.addInitScript(stub);
    await bob.page.reload();
    await bob.composer.waitFor();
    await ada.say("where it all began");
    for (let line = 1; line <= 60; line++) await ada.server.rpc(ada.page, "message.send", { roomId: pair.roomId, message: `line ${line}`, format: "Text" });
    await bob.sees("line 60");
  });
  after(() => pair?.part());

  const settings = () => bob.dialog.getByRole("region", { name: "This device" });
  const shown = () => bob.page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(({ title, body, tag }) => ({ title, body, tag })));
  const addresses = async () => (await pair.server.rpc(bob.page, "push.list", {})).items ?? [];

  test("nothing is asked at load; it is offered when it would be of use, and asked at a click", async () => {
    assert.equal(await bob.page.evaluate(() => window.asked), 0);
    assert.equal(await bob.page.getByRole("region", { name: "Notifications" }).count(), 0);
    await bob.composer.fill("@Ad");
    await bob.page.getByRole("option", { name: "@Ada" }).waitFor();
    await bob.composer.press("Enter");
    await bob.composer.press("Enter");
    const offer = bob.page.getByRole("region", { name: "Notifications" });
    await offer.waitFor();
    assert.equal(await bob.page.evaluate(() => window.asked), 0);
    await offer.getByRole("button", { name: "Turn on" }).click();
    await offer.waitFor({ state: "detached" });
    await bob.page.waitForFunction(() => window.asked === 1);
    await bob.roomAction("Notifications");
    await settings().getByText("Notifications are on").waitFor();
    assert.match((await addresses())[0].endpoint, /^https:\/\/push\.example\.com\//);
    await bob.page.keyboard.press("Escape");
  });

  test("what is wanted goes on after a reload, without a question", async () => {
    await bob.page.reload();
    await bob.composer.waitFor();
    await bob.roomAction("Notifications");
    await settings().getByText("Notifications are on").waitFor();
    assert.equal(await bob.page.evaluate(() => window.asked), 0);
    await bob.page.keyboard.press("Escape");
  });

  test("the service worker shows what is pushed, once however often it comes", async () => {
    const cdp = await bob.context.newCDPSession(bob.page);
    const registered = new Promise((resolve) => cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations: [first] }) => first && resolve(first.registrationId)));
    await cdp.send("ServiceWorker.enable");
    const registrationId = await registered;
    deliver = (push) => cdp.send("ServiceWorker.deliverPushMessage", { origin: pair.server.url, registrationId, data: JSON.stringify(push) });
    const { items } = await pair.server.rpc(bob.page, "message.list", { roomId: pair.roomId, limit: 100 });
    const first = items.find(({ message }) => message?.includes("where it all began"));
    // Not looking at the room, which is open in no page.
    await bob.page.goto(`${pair.server.url}/invite/aaaaaaaa`);
    const push = { title: "Ada", body: "where it all began", data: { type: "Message", url: `https://elsewhere.example.org/room/${pair.roomId}/${first.rowKey}`, roomId: pair.roomId, rowKey: first.rowKey } };
    // The browser forgets what it is asked about before it is drawn: what was shown is counted where that is done.
    const [worker] = bob.context.serviceWorkers();
    await worker.evaluate(() => {
      self.shownCount = 0;
      const show = self.registration.showNotification.bind(self.registration);
      self.registration.showNotification = async (...about) => {
        await show(...about);
        self.shownCount++;
      };
    });
    await deliver(push);
    await deliver(push);
    await deliver({ title: "Reminder", body: "tea", data: { type: "Reminder", url: `/room/${pair.roomId}`, roomId: pair.roomId } });
    await until(async () => (await worker.evaluate(() => self.shownCount)) === 3);
    const all = await shown();
    assert.deepEqual(all.map(({ title, body }) => `${title}: ${body}`).toSorted(), ["Ada: where it all began", "Reminder: tea"]);
    assert.equal(all.find(({ title }) => title === "Ada").tag, first.rowKey);
  });

  test("a click closes it and opens the room at the message, in the page that is there", async () => {
    const [worker] = bob.context.serviceWorkers();
    await worker.evaluate(async () => {
      const notification = (await self.registration.getNotifications()).find(({ title }) => title === "Ada");
      self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
    });
    await bob.inRoom("Loom");
    await bob.page.waitForFunction(() => document.activeElement?.matches("article") && document.activeElement.textContent.includes("where it all began"));
    assert.equal(new URL(bob.page.url()).pathname, `/room/${pair.roomId}`);
    assert.equal(bob.context.pages().length, 1);
    assert.deepEqual((await shown()).map(({ title }) => title), ["Reminder"]);
  });

  test("who looks at the room is not told what they see", async () => {
    const [worker] = bob.context.serviceWorkers();
    const before = await worker.evaluate(() => self.shownCount);
    await deliver({ title: "Ada", body: "seen", data: { type: "Message", url: `/room/${pair.roomId}/seen`, roomId: pair.roomId, rowKey: "seen" } });
    await deliver({ title: "Ada", body: "elsewhere", data: { type: "Message", url: "/room/other/unseen", roomId: "other", rowKey: "unseen" } });
    await until(async () => (await worker.evaluate(() => self.shownCount)) > before);
    const titles = (await shown()).map(({ body }) => body);
    assert.deepEqual([titles.includes("seen"), titles.includes("elsewhere")], [false, true]);
  });

  test("the address of a message opens it in a new page as well", async () => {
    const { items } = await pair.server.rpc(bob.page, "message.list", { roomId: pair.roomId, limit: 100 });
    const { rowKey } = items.find(({ message }) => message?.includes("where it all began"));
    const other = await bob.context.newPage();
    await other.goto(`${pair.server.url}/room/${pair.roomId}/${rowKey}`);
    await other.waitForFunction(() => document.activeElement?.matches("article") && document.activeElement.textContent.includes("where it all began"));
    await other.close();
  });

  test("they are turned off and on in the settings", async () => {
    await bob.roomAction("Notifications");
    await settings().getByRole("button", { name: "Turn off for this device" }).click();
    await settings().getByText("Notifications are off").waitFor();
    assert.deepEqual(await addresses(), []);
    await settings().getByRole("button", { name: "Turn on for this device" }).click();
    await settings().getByText("Notifications are on").waitFor();
    assert.equal((await addresses()).length, 1);
    await bob.page.keyboard.press("Escape");
  });

  test("a log-out ends them", async () => {
    await bob.page.getByRole("button", { name: "Log out" }).click();
    await bob.dialog.getByRole("button", { name: "Log out" }).click();
    await bob.page.getByLabel("Password").waitFor();
    assert.equal(await bob.page.evaluate(async () => (await (await navigator.serviceWorker.ready).pushManager.getSubscription()) === null), true);
    await bob.page.getByLabel("Name").fill("Cleo");
    await bob.page.getByLabel("Password").fill("correct horse battery");
    await bob.page.getByRole("button", { name: "Log in" }).click();
    await bob.composer.waitFor();
    // The same account in the same browser: as it was wanted.
    await bob.roomAction("Notifications");
    await settings().getByText("Notifications are on").waitFor();
    assert.equal((await addresses()).length, 1);
  });

  test("the pages had no errors of their own", () => {
    assert.deepEqual(ada.faults, []);
    assert.deepEqual(bob.faults, []);
  });
});
