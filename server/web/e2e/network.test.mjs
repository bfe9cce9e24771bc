// What a bad network does, and the page's answer to it.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Pair, Person, Server, Wire, launch } from "./harness.mjs";

describe("on a bad network", { concurrency: 1 }, () => {
  let pair;
  let server;
  let wire;
  let ada;
  let bob;
  let roomId;

  /** Many messages by Ada, in order. */
  async function flood(prefix, count) {
    await ada.page.evaluate(
      async ([roomId, prefix, count]) => {
        for (let index = 1; index <= count; index++) {
          const response = await fetch("/v1/rpc/message.send", {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ roomId, message: `${prefix} ${index}`, nonce: `${prefix}-${index}` }),
          });
          if (!response.ok) throw new Error(await response.text());
        }
      },
      [roomId, prefix, count],
    );
  }

  async function away(whileAway) {
    wire.cut();
    await bob.connection(/Offline|Connecting/);
    await whileAway();
    wire.mend();
    await bob.page.evaluate(() => dispatchEvent(new Event("online")));
    await bob.connection("Connected");
  }

  before(async () => {
    pair = await Pair.meet({
      room: "Far away",
      settings: ["rates.standard.points=1000000"],
      through: async (server) => (wire = await Wire.to(server)).url,
    });
    ({ server, ada, bob, roomId } = pair);
    await bob.page.evaluate(() => (window.isSamePage = true));
  });
  after(async () => {
    wire?.stop();
    await pair?.part();
  });

  test("bl_001: what was written, changed and deleted meanwhile is there when the connection is back", async () => {
    for (const text of ["stays", "will change", "will go"]) await ada.say(text);
    await bob.endsWith(["stays", "will change", "will go"]);
    await away(async () => {
      await ada.act("will change", "Edit");
      await ada.page.getByLabel("Edit message").fill("changed");
      await ada.page.getByLabel("Edit message").press("Enter");
      await ada.sees("changed");
      await ada.act("will go", "Delete");
      await ada.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await ada.message("will go").waitFor({ state: "detached" });
      for (const text of ["new 1", "new 2", "new 3", "new 4", "new 5"]) await ada.say(text);
      await ada.sees("new 5");
    });
    await bob.endsWith(["stays", "changed", "new 1", "new 2", "new 3", "new 4", "new 5"]);
    assert.ok(await bob.page.evaluate(() => window.isSamePage), "without a reload");
  });

  test("bl_010: twenty drops, a message in each: all arrive, once", async () => {
    const expected = [];
    for (let turn = 1; turn <= 20; turn++) {
      await away(async () => {
        expected.push(`drop ${turn}`);
        await ada.say(expected.at(-1));
        await ada.sees(expected.at(-1));
      });
    }
    await bob.endsWith(expected);
  });

  test("a message whose answer is lost arrives once", async () => {
    wire.silence({ halfway: true });
    await bob.say("was it stored?");
    await ada.sees("was it stored?");
    await bob.pending("was it stored?").waitFor();
    wire.cut();
    wire.mend();
    await bob.endsWith(["was it stored?"]);
    assert.equal(await ada.message("was it stored?").count(), 1);
    assert.equal(await bob.message("was it stored?").count(), 1);
  });

  test("a connection that fell silent is noticed when the machine wakes up, and what waited is sent", async () => {
    wire.silence();
    await bob.say("into the void");
    await ada.say("from afar");
    await bob.page.evaluate(() => dispatchEvent(new Event("online")));
    await ada.sees("into the void");
    await bob.sees("from afar");
    await bob.page.waitForFunction(() => !document.querySelector(".pending"));
    assert.equal(await ada.message("into the void").count(), 1);
  });

  test("an edit without a connection is not lost: it is said, and can be saved later", async () => {
    await bob.say("first thoughts");
    await bob.endsWith(["first thoughts"]);
    await bob.composer.press("ArrowUp");
    await bob.page.getByLabel("Edit message").fill("second thoughts");
    wire.cut();
    await bob.connection(/Offline|Connecting/);
    await bob.page.getByLabel("Edit message").press("Enter");
    await bob.page.getByText("The server did not answer.").waitFor();
    assert.equal(await bob.page.getByLabel("Edit message").inputValue(), "second thoughts");
    wire.mend();
    await bob.page.evaluate(() => dispatchEvent(new Event("online")));
    await bob.connection("Connected");
    await bob.page.getByLabel("Edit message").press("Enter");
    await ada.sees("second thoughts");
  });

  test("bl_016: nine hundred missed messages come without freezing the page", async () => {
    let longest = Infinity;
    // A busy machine makes a task longer, never shorter: the best of three tells what the page itself takes.
    for (let turn = 1; turn <= 3 && longest > 200; turn++) {
      await away(async () => {
        await flood(`missed ${turn},`, 900);
        await bob.page.evaluate(() => {
          window.longest = 0;
          window.observer?.disconnect();
          window.observer = new PerformanceObserver((list) => {
            for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
          });
          window.observer.observe({ type: "longtask" });
        });
      });
      await bob.endsWith([898, 899, 900].map((index) => `missed ${turn}, ${index}`));
      longest = Math.min(longest, await bob.page.evaluate(() => window.longest));
    }
    const rows = await bob.page.locator("[data-key]").count();
    assert.ok(rows <= 300, `${rows} rows`);
    assert.ok(longest <= 200, `the page stood still for ${longest} ms`);
  });

  test("beyond reach: the newest page is shown, what waits is still sent, and the rest is there on scrolling back", async () => {
    await away(async () => {
      await bob.say("kept in the outbox");
      await flood("beyond", 1100);
    });
    await ada.sees("kept in the outbox");
    await bob.endsWith(["beyond 1099", "beyond 1100", "kept in the outbox"]);
    assert.ok((await bob.page.locator("[data-key]").count()) < 200);
    for (let turn = 0; turn < 120 && !(await bob.page.getByText(/^missed \d, 900$/).last().isVisible()); turn++) {
      const before = await bob.page.locator("[data-key]").count();
      await bob.page.evaluate(() => (document.querySelector(".scroller").scrollTop = 0));
      await bob.page.waitForFunction((before) => document.querySelectorAll("[data-key]").length > before, before);
    }
    const texts = (await bob.texts()).filter((text) => text.startsWith("beyond")).map((text) => Number(text.slice(7)));
    assert.deepEqual(texts, Array.from({ length: 1100 }, (_, index) => index + 1));
    await bob.page.getByRole("button", { name: "Latest" }).click();
    await bob.endsWith(["kept in the outbox"]);
  });

  test("bl_022: each connection subscribes each room once", async () => {
    for (const name of ["Second", "Third"]) await ada.makeRoom(name);
    await ada.page.addInitScript(() => {
      const sockets = new Map();
      window.subscribed = sockets;
      const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (text) {
        const frame = JSON.parse(text);
        if (!sockets.has(this)) sockets.set(this, []);
        if (frame.op === "room.subscribe") sockets.get(this).push(...frame.data.rooms.map((room) => room.roomId));
        return send.call(this, text);
      };
    });
    await ada.page.reload();
    await ada.inRoom("Third");
    await ada.connection("Connected");
    for (let turn = 0; turn < 3; turn++) {
      await server.kill();
      await ada.connection(/Offline|Connecting/);
      await server.up();
      await ada.page.evaluate(() => dispatchEvent(new Event("online")));
      await ada.connection("Connected");
      await ada.say(`alive ${turn}`);
      await ada.endsWith([`alive ${turn}`]);
    }
    const perSocket = await ada.page.evaluate(() => [...window.subscribed.values()].filter((rooms) => rooms.length > 0).map((rooms) => rooms.toSorted()));
    assert.equal(perSocket.length, 4);
    for (const rooms of perSocket) {
      assert.equal(rooms.length, 3);
      assert.equal(new Set(rooms).size, 3);
    }
  });

  test("two tabs of one account show the same, and one's own messages in both", async () => {
    const tab = await ada.context.newPage();
    const other = new Person("Ada", server, ada.context, tab);
    await ada.open("Far away");
    await ada.inRoom("Far away");
    await tab.goto(`${server.url}/room/${roomId}`);
    await other.inRoom("Far away");
    await ada.say("from the first tab");
    await other.sees("from the first tab");
    await tab.locator("#composer").fill("from the second tab");
    await tab.locator("#composer").press("Enter");
    await ada.endsWith(["from the first tab", "from the second tab"]);
    await bob.endsWith(["from the first tab", "from the second tab"]);
    assert.equal(await other.message("from the first tab").count(), 1);
    await tab.close();
  });

  test("the pages had no errors of their own", () => {
    assert.deepEqual(ada.faults, []);
    assert.deepEqual(bob.faults, []);
  });
});

describe("registration by invite", { concurrency: 1 }, () => {
  let server;
  let browser;

  before(async () => {
    server = await Server.start("registration=invite");
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test("the first account needs none, a stranger is told to ask for one, a link is enough", async () => {
    const ada = await Person.register(browser, server, "Ada");
    await ada.makeRoom("By invitation");
    const link = await ada.inviteLink();

    const page = await (await browser.newContext()).newPage();
    await page.goto(server.url);
    await page.getByRole("button", { name: "Create an account" }).click();
    await page.getByLabel("Name").fill("Stranger");
    await page.getByLabel("Password").fill("correct horse battery");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByText("New accounts need an invite here: ask a member for a link.").waitFor();
    await page.getByLabel("Invite code").fill(link.split("/").at(-1));
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("navigation", { name: "Rooms" }).waitFor();

    const bob = await Person.register(browser, server, "Bob", { path: new URL(link).pathname });
    await bob.page.getByRole("button", { name: "Join room" }).click();
    await bob.inRoom("By invitation");
  });
});
