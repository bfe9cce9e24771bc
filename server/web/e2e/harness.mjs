// The real binary on a port and a data folder of its own, and Chromium pages that use it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = fileURLToPath(new URL(".", import.meta.url));
const binary = resolve(process.env.PARLOUR_BIN ?? join(here, "../../../target/debug/parlour"));
const chromiumPath = process.env.PARLOUR_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const startDeadlineMs = 30_000;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

export class Server {
  static async start(...settings) {
    if (!existsSync(binary)) throw new Error(`no binary at ${binary}: build it, or set PARLOUR_BIN`);
    const server = new Server(await freePort(), mkdtempSync(join(tmpdir(), "parlour-e2e-")), settings);
    await server.up();
    return server;
  }

  /** `settings` as `name=value`. */
  constructor(port, folder, settings) {
    this.port = port;
    this.settings = settings;
    this.folder = folder;
    this.url = `http://127.0.0.1:${port}`;
    this.output = "";
  }

  /** Starts the process (again); resolves once it is ready. */
  async up() {
    // The server takes every PARLOUR_ variable for a setting of its own.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PARLOUR_")));
    const settings = this.settings.flatMap((setting) => ["--set", setting]);
    const child = spawn(binary, ["serve", "--listen", `127.0.0.1:${this.port}`, "--data-dir", this.folder, ...settings], { env, stdio: ["ignore", "pipe", "pipe"] });
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (this.output = (this.output + chunk).slice(-20_000)));
    const deadline = Date.now() + startDeadlineMs;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}:\n${this.output}`);
      if (Date.now() > deadline) throw new Error(`the server does not become ready:\n${this.output}`);
      const isReady = await fetch(`${this.url}/readyz`).then((response) => response.ok, () => false);
      if (isReady) return;
      await new Promise((next) => setTimeout(next, 25));
    }
  }

  /** As a power cut does it: no goodbye to anybody. */
  async kill() {
    const gone = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await gone;
  }

  async stop() {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A command over HTTP, as somebody who is logged in on `page`. */
  rpc(page, op, data) {
    return page.evaluate(
      async ([op, data]) => {
        const response = await fetch(`/v1/rpc/${op}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(data) });
        const body = await response.json();
        if (!response.ok) throw new Error(`${op}: ${JSON.stringify(body)}`);
        return body;
      },
      [op, data],
    );
  }
}

/** A wire between a page and the server that can be cut, or fall silent without a word. */
export class Wire {
  static async to(server) {
    const wire = new Wire(server);
    wire.listener = createServer({ allowHalfOpen: false }, (near) => wire.accept(near)).listen(0, "127.0.0.1");
    await once(wire.listener, "listening");
    wire.url = `http://127.0.0.1:${wire.listener.address().port}`;
    return wire;
  }

  constructor(server) {
    this.server = server;
    this.pairs = new Set();
    this.isRefusing = false;
  }

  accept(near) {
    if (this.isRefusing) return near.destroy();
    const far = connect(this.server.port, "127.0.0.1");
    const pair = { near, far, isDeaf: false, isMute: false };
    this.pairs.add(pair);
    near.on("data", (chunk) => pair.isDeaf || far.write(chunk));
    far.on("data", (chunk) => pair.isMute || near.write(chunk));
    const end = () => {
      this.pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on("close", end).on("error", end);
  }

  cut() {
    this.isRefusing = true;
    for (const { near, far } of this.pairs) {
      near.destroy();
      far.destroy();
    }
  }

  mend() {
    this.isRefusing = false;
  }

  /** Open connections carry nothing any more from the server, nor (unless `halfway`) to it. New ones are fine. */
  silence({ halfway = false } = {}) {
    for (const pair of this.pairs) {
      pair.isMute = true;
      pair.isDeaf = !halfway;
    }
  }

  stop() {
    this.cut();
    this.listener.close();
  }
}

export function launch() {
  return chromium.launch({
    executablePath: chromiumPath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** Everything an account can see on the page, and do with it. */
export class Person {
  static async register(browser, server, name, { path = "/", url = server.url, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1180, height: 780 }, reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(Number(process.env.E2E_TIMEOUT ?? 20_000));
    const page = await context.newPage();
    const person = new Person(name, server, context, page);
    page.on("pageerror", (error) => person.faults.push(String(error)));
    page.on("console", (message) => {
      const isNetwork = /ERR_CONNECTION|WebSocket connection|Failed to load resource/.test(message.text());
      if (message.type() === "error" && !isNetwork) person.faults.push(message.text());
    });
    await page.goto(url + path);
    if (path === "/") await page.getByRole("button", { name: "Create an account" }).click();
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Password").fill("correct horse battery");
    await page.getByRole("button", { name: "Create account" }).click();
    if (path === "/") await page.getByRole("navigation", { name: "Rooms" }).waitFor();
    return person;
  }

  constructor(name, server, context, page) {
    this.name = name;
    this.server = server;
    this.context = context;
    this.page = page;
    /** Errors of the page's own scripts. */
    this.faults = [];
    this.composer = page.locator("#composer");
    this.log = page.locator(".scroller");
    this.bubbles = page.locator(".message:not(.pending) .body");
  }

  async makeRoom(name, topic) {
    await this.page.getByRole("button", { name: "New room" }).first().click();
    await this.page.getByLabel("Name").fill(name);
    if (topic) await this.page.getByLabel("Topic (optional)").fill(topic);
    await this.page.getByRole("button", { name: "Create room" }).click();
    await this.inRoom(name);
  }

  inRoom(name) {
    return this.page.getByRole("heading", { level: 1, name }).waitFor();
  }

  open(name) {
    return this.page.getByRole("navigation", { name: "Rooms" }).getByRole("link", { name }).click();
  }

  /** A button of a message. */
  async act(text, name) {
    await this.message(text).hover();
    await this.message(text).getByRole("button", { name }).first().click();
  }

  /** Something from the head of the room, which on narrow screens is in a menu. */
  async roomAction(name) {
    const button = this.page.locator(".room-actions").getByRole("button", { name, exact: true });
    if (await button.isVisible()) return button.click();
    await this.page.getByRole("button", { name: "More about this room" }).click();
    await this.page.getByRole("menuitem", { name, exact: true }).click();
  }

  get dialog() {
    return this.page.getByRole("dialog");
  }

  get roomId() {
    return this.page.url().split("/").at(-1);
  }

  async inviteLink() {
    await this.roomAction("Invite people");
    const field = this.page.getByLabel("Invite link");
    await this.page.waitForFunction(() => document.querySelector(".copy-field")?.value.includes("/invite/"));
    const link = await field.inputValue();
    await this.page.keyboard.press("Escape");
    return link;
  }

  async say(text) {
    await this.composer.fill(text);
    await this.composer.press("Enter");
  }

  /** Waits until a stored message with this text is on the screen. */
  async sees(text) {
    await this.message(text).waitFor();
  }

  message(text) {
    return this.page.locator(".message:not(.pending)").filter({ has: this.page.locator(".body", { hasText: new RegExp(`^${escaped(text)}$`) }) });
  }

  pending(text) {
    return this.page.locator(".message.pending").filter({ hasText: text });
  }

  texts() {
    return this.bubbles.allInnerTexts();
  }

  /** Waits until the page shows exactly these texts at its end, and none unsent. */
  async endsWith(expected) {
    const shown = () =>
      this.page.evaluate((count) => {
        const texts = (selector) => [...document.querySelectorAll(selector)].map((body) => body.innerText);
        return { stored: texts(".message:not(.pending) .body").slice(-count), unsent: texts(".message.pending .body"), state: texts(".presence") };
      }, expected.length);
    const isThere = (expected) => {
      const texts = [...document.querySelectorAll(".message:not(.pending) .body")].map((body) => body.innerText);
      return JSON.stringify(texts.slice(-expected.length)) === JSON.stringify(expected) && !document.querySelector(".message.pending");
    };
    try {
      await this.page.waitForFunction(isThere, expected, { timeout: 60_000 });
    } catch (error) {
      throw new Error(`${this.name} does not see ${JSON.stringify(expected)}, but ${JSON.stringify(await shown())}`, { cause: error });
    }
  }

  /** Waits until the page says that it is connected, or not. */
  connection(text) {
    return this.page.locator(".presence", { hasText: text }).waitFor({ timeout: 60_000 });
  }
}

/** A server, a browser and two people in one room: what most of the tests begin with. */
export class Pair {
  static async meet({ room, topic, settings = [], names = ["Ada", "Bob"], through } = {}) {
    const pair = new Pair();
    pair.server = await Server.start(...settings);
    try {
      pair.browser = await launch();
      pair.ada = await Person.register(pair.browser, pair.server, names[0]);
      await pair.ada.makeRoom(room, topic);
      pair.roomId = pair.ada.roomId;
      pair.bob = await pair.join(names[1], { url: await through?.(pair.server) });
    } catch (error) {
      await pair.part();
      throw error;
    }
    return pair;
  }

  /** One more person, in the room that Ada has open. */
  async join(name, { url, ...options } = {}) {
    const room = await this.ada.page.getByRole("heading", { level: 1 }).innerText();
    const link = await this.ada.inviteLink();
    const person = await Person.register(this.browser, this.server, name, { path: new URL(link).pathname, url: url ?? this.server.url, ...options });
    await person.page.getByRole("button", { name: "Join room" }).click();
    await person.composer.waitFor();
    await person.inRoom(room);
    return person;
  }

  async part() {
    await this.browser?.close();
    await this.server?.stop();
  }
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
