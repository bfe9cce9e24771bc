// Two people in two browsers, on the real binary.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Person, Server, launch } from "./harness.mjs";

describe("two people chat", { concurrency: 1 }, () => {
  let server;
  let browser;
  let ada;
  let bob;

  before(async () => {
    server = await Server.start();
    browser = await launch();
    ada = await Person.register(browser, server, "Ada Byron");
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test("a room is made, and an invite link brings somebody in", async () => {
    await ada.makeRoom("Tea at four", "Biscuits, and what became of the engine");
    const link = await ada.inviteLink();
    assert.match(link, new RegExp(`^${server.url}/invite/\\w{8}$`));
    bob = await Person.register(browser, server, "Bob", { path: new URL(link).pathname });
    await bob.page.getByRole("heading", { name: "Tea at four" }).waitFor();
    await bob.page.getByRole("button", { name: "Join room" }).click();
    await bob.inRoom("Tea at four");
    await ada.page.locator(".line", { hasText: "Bob joined" }).waitFor();
    await bob.page.goto(link);
    await bob.page.getByRole("button", { name: "Open room" }).click();
    await bob.inRoom("Tea at four");
  });

  test("the copy button puts the link on the clipboard", async () => {
    await ada.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await ada.page.getByRole("button", { name: "Invite people" }).click();
    await ada.page.locator(".copy-row button").click();
    await ada.page.getByRole("button", { name: "Copied" }).waitFor();
    assert.match(await ada.page.evaluate(() => navigator.clipboard.readText()), /\/invite\/\w{8}$/);
    await ada.page.keyboard.press("Escape");
  });

  test("messages arrive at the other, as typed", async () => {
    await ada.say("Is the kettle on?");
    await bob.sees("Is the kettle on?");
    await bob.say("It is. <b>Not</b> bold & *not* italic");
    await ada.sees("It is. <b>Not</b> bold & *not* italic");
    await ada.composer.fill("two");
    await ada.composer.press("Shift+Enter");
    await ada.composer.pressSequentially("lines");
    await ada.composer.press("Enter");
    await bob.endsWith(["Is the kettle on?", "It is. <b>Not</b> bold & *not* italic", "two\nlines"]);
  });

  test("an address in a message can be followed", async () => {
    await ada.say("see https://example.org/engine?x=1.");
    const link = bob.page.getByRole("link", { name: "https://example.org/engine?x=1" });
    await link.waitFor();
    assert.equal(await link.getAttribute("href"), "https://example.org/engine?x=1");
    assert.equal(await link.getAttribute("rel"), "noopener noreferrer nofollow");
  });

  test("typing is shown to the other and ends with the message", async () => {
    await bob.composer.pressSequentially("Hm");
    await ada.page.getByText("Bob is typing", { exact: true }).waitFor();
    await bob.composer.press("Enter");
    await ada.sees("Hm");
    await ada.page.getByText("Bob is typing", { exact: true }).waitFor({ state: "detached" });
  });

  test("an edit is seen by the other, marked as one", async () => {
    await bob.composer.press("ArrowUp");
    const editor = bob.page.getByLabel("Edit message");
    assert.equal(await editor.inputValue(), "Hm");
    await editor.fill("Hmm.");
    await editor.press("Enter");
    await ada.sees("Hmm.");
    await ada.message("Hmm.").getByText("edited").waitFor();
    await bob.page.waitForFunction(() => document.activeElement?.id === "composer");
  });

  test("bl_056: Up edits the last of one's messages that is still there", async () => {
    await bob.say("a slip");
    await ada.sees("a slip");
    await bob.act("a slip", "Delete");
    await bob.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await ada.message("a slip").waitFor({ state: "detached" });
    await bob.message("a slip").waitFor({ state: "detached" });
    await bob.composer.press("ArrowUp");
    assert.equal(await bob.page.getByLabel("Edit message").inputValue(), "Hmm.");
    await bob.page.keyboard.press("Escape");
    await bob.page.getByLabel("Edit message").waitFor({ state: "detached" });
  });

  test("a reply shows what it answers, and follows its changes", async () => {
    await ada.act("Hmm.", "Reply");
    await ada.say("Hmm what?");
    const quote = bob.message("Hmm what?").locator(".quote");
    await quote.getByText("Hmm.", { exact: true }).waitFor();
    await bob.act("Hmm.", "Edit");
    await bob.page.getByLabel("Edit message").fill("Hmm, tea");
    await bob.page.getByLabel("Edit message").press("Enter");
    await quote.getByText("Hmm, tea", { exact: true }).waitFor();
    await quote.click();
    await bob.page.waitForFunction(() => document.activeElement?.textContent.includes("Hmm, tea"));
  });

  test("the name and topic of a room change for everybody", async () => {
    await ada.page.getByRole("button", { name: "Room settings" }).click();
    await ada.page.getByLabel("Name").fill("Tea at five");
    await ada.page.getByLabel("Topic").fill("");
    await ada.page.getByRole("button", { name: "Save" }).click();
    await bob.inRoom("Tea at five");
    await bob.page.locator(".topic").waitFor({ state: "detached" });
    await bob.page.getByText("renamed the room to “Tea at five”").waitFor();
  });

  test("members are listed, and the owner is marked", async () => {
    await bob.page.getByRole("button", { name: "Members" }).click();
    const members = bob.page.getByRole("complementary", { name: "Members" }).getByRole("listitem");
    await members.filter({ hasText: "Ada Byron" }).getByText("Owner").waitFor();
    assert.equal(await members.count(), 2);
    await bob.page.getByRole("button", { name: "Close members" }).click();
  });

  test("bl_132: each room keeps its own draft, over a reload too", async () => {
    await ada.makeRoom("Second");
    const second = ada.roomId;
    await ada.composer.fill("half a thought");
    await ada.open("Tea at five");
    await ada.inRoom("Tea at five");
    assert.equal(await ada.composer.inputValue(), "");
    await ada.composer.fill("another half");
    await ada.open("Second");
    await ada.inRoom("Second");
    assert.equal(await ada.composer.inputValue(), "half a thought");
    await ada.page.reload();
    await ada.inRoom("Second");
    assert.equal(await ada.composer.inputValue(), "half a thought");
    assert.equal(ada.roomId, second);
    await ada.composer.fill("");
    await ada.open("Tea at five");
    await ada.inRoom("Tea at five");
    await ada.composer.fill("");
  });

  test("what is missed is counted in the room list and read by looking", async () => {
    await ada.open("Second");
    await ada.inRoom("Second");
    for (const text of ["one", "two", "three"]) await bob.say(text);
    const entry = ada.page.getByRole("navigation", { name: "Rooms" }).getByRole("link", { name: "Tea at five" });
    await entry.locator(".badge", { hasText: /^3/ }).waitFor();
    await ada.page.waitForFunction(() => document.title.startsWith("(3)"));
    await bob.act("three", "Delete");
    await bob.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await entry.locator(".badge", { hasText: /^2/ }).waitFor();
    await ada.page.reload();
    await entry.locator(".badge", { hasText: /^2/ }).waitFor();
    await ada.open("Tea at five");
    await ada.page.locator(".new-mark").waitFor();
    await entry.locator(".badge").waitFor({ state: "detached" });
    await ada.page.reload();
    await ada.inRoom("Tea at five");
    await ada.sees("two");
    await ada.connection("Connected");
    assert.equal(await entry.locator(".badge").count(), 0);
  });

  test("bl_134: new messages are announced once each, history silently", async () => {
    await ada.page.evaluate(() => {
      window.heard = [];
      new MutationObserver((changes) => {
        for (const change of changes) for (const node of change.addedNodes) window.heard.push(node.textContent);
      }).observe(document.getElementById("spoken"), { childList: true, subtree: true });
    });
    for (const text of ["first", "second", "third"]) await bob.say(text);
    await ada.sees("third");
    await ada.page.waitForFunction(() => window.heard.length >= 3);
    assert.deepEqual(await ada.page.evaluate(() => window.heard), ["Bob: first", "Bob: second", "Bob: third"]);
    assert.equal(await ada.log.getAttribute("aria-live"), "off");
    assert.equal(await ada.page.locator("#spoken").getAttribute("aria-live"), "polite");
  });

  test("history is read while scrolling back, and nothing jumps", async () => {
    const { roomId } = ada;
    const sending = Array.from({ length: 180 }, (_, index) => index + 1);
    for (const index of sending) {
      await server.rpc(ada.page, "message.send", { roomId, message: `history ${index}${index % 9 === 0 ? "\nwith a second line" : ""}`, nonce: `history-${index}` });
    }
    await bob.sees("history 179");
    await ada.page.reload();
    await ada.sees("history 179");
    await ada.page.evaluate(() => {
      const view = document.querySelector(".scroller");
      window.jumps = [];
      window.spokenLines = document.getElementById("spoken").childElementCount;
      // What is in the middle of the view may move only as far as the view was scrolled.
      const middle = () => {
        const box = view.getBoundingClientRect();
        const row = [...view.querySelectorAll("[data-key]")].find((row) => row.getBoundingClientRect().bottom > box.top + 300);
        return { row, top: row?.getBoundingClientRect().top };
      };
      let last = middle();
      new MutationObserver(() => {
        if (!last.row?.isConnected) return;
        const moved = last.row.getBoundingClientRect().top - last.top;
        if (Math.abs(moved) > 1.5) window.jumps.push(moved);
      }).observe(view.querySelector(".rows"), { childList: true });
      view.addEventListener("scroll", () => (last = middle()));
    });
    for (let turn = 0; turn < 60 && !(await ada.page.locator(".beginning").isVisible()); turn++) {
      const before = await ada.page.evaluate(() => document.querySelectorAll("[data-key]").length);
      await ada.page.evaluate(async () => {
        const view = document.querySelector(".scroller");
        view.scrollTop -= 700;
        await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
        view.dispatchEvent(new Event("scroll"));
      });
      if (await ada.page.evaluate(() => document.querySelector(".scroller").getAttribute("aria-busy") === "true")) {
        await ada.page.waitForFunction((before) => document.querySelectorAll("[data-key]").length > before, before);
      }
    }
    await ada.page.locator(".beginning").waitFor();
    await ada.sees("history 1");
    assert.deepEqual(await ada.page.evaluate(() => window.jumps), []);
    assert.equal(await ada.page.evaluate(() => document.getElementById("spoken").childElementCount - window.spokenLines), 0);
    const texts = (await ada.texts()).filter((text) => text.startsWith("history")).map((text) => Number(/\d+/.exec(text)[0]));
    assert.deepEqual(texts, sending);
  });

  test("a new message does not move somebody who reads further up; a button leads down to it", async () => {
    const place = () => ada.page.evaluate(() => document.querySelector(".scroller").scrollTop);
    const before = await place();
    await bob.say("down here");
    const button = ada.page.getByRole("button", { name: "1 new" });
    await button.waitFor();
    assert.equal(await place(), before);
    await button.click();
    await button.waitFor({ state: "detached" });
    await ada.message("down here").waitFor();
    assert.ok(await ada.page.evaluate(() => {
      const view = document.querySelector(".scroller");
      return view.scrollHeight - view.scrollTop - view.clientHeight < 2;
    }));
  });

  test("the server dies in mid-conversation: what was written meanwhile arrives once, in order, on both sides", async () => {
    await ada.say("before");
    await bob.sees("before");
    await server.kill();
    await Promise.all([ada.connection(/Offline|Connecting/), bob.connection(/Offline|Connecting/)]);
    for (const text of ["while down 1", "while down 2", "while down 3"]) await ada.say(text);
    await bob.say("also while down");
    await ada.pending("while down 3").waitFor();
    await ada.page.getByText("Waiting for the connection.").first().waitFor();
    // What is on its way outlives the page as well.
    await server.up();
    await Promise.all([ada.connection("Connected"), bob.connection("Connected")]);
    await Promise.all([ada.page.locator(".pending").first().waitFor({ state: "detached" }), bob.page.locator(".pending").first().waitFor({ state: "detached" })]);
    await bob.say("after");
    await ada.sees("after");
    await bob.sees("while down 3");
    const [left, right] = await Promise.all([ada.texts(), bob.texts()]);
    const since = (texts) => texts.slice(texts.lastIndexOf("before"));
    assert.deepEqual(since(left), since(right));
    assert.deepEqual(since(left).filter((text) => text.startsWith("while down")), ["while down 1", "while down 2", "while down 3"]);
    assert.deepEqual(since(left).toSorted(), ["after", "also while down", "before", "while down 1", "while down 2", "while down 3"]);
  });

  test("killed while messages are on their way, ten times: each arrives once and in order", async () => {
    const expected = [];
    for (let round = 1; round <= 10; round++) {
      for (let index = 1; index <= 5; index++) {
        expected.push(`round ${round}.${index}`);
        await ada.composer.fill(expected.at(-1));
        await ada.composer.press("Enter");
      }
      await server.kill();
      await server.up();
    }
    await Promise.all([ada.endsWith(expected), bob.endsWith(expected)]);
  });

  test("unsent messages outlive the page", async () => {
    await server.kill();
    await ada.connection(/Offline|Connecting/);
    await ada.say("kept over a reload");
    await ada.pending("kept over a reload").waitFor();
    const stored = await ada.page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("parlour.outbox.")).length);
    assert.equal(stored, 1);
    await server.up();
    await ada.page.reload();
    await bob.connection("Connected");
    await bob.sees("kept over a reload");
    await ada.endsWith(["kept over a reload"]);
    assert.equal(await bob.message("kept over a reload").count(), 1);
  });

  test("bl_126: a refused message stays below, through new ones and a reload, and can be tried again or discarded", async () => {
    const { roomId } = ada;
    await server.rpc(ada.page, "room.update", { roomId, isReadOnly: true });
    await bob.page.getByText("This room is read-only.").waitFor();
    await server.rpc(ada.page, "room.update", { roomId, isReadOnly: false });
    await bob.composer.waitFor();
    // The refusal comes on the way, as it does when the rule changes while one is writing.
    await bob.page.evaluate(() => {
      const send = WebSocket.prototype.send;
      window.restore = () => (WebSocket.prototype.send = send);
      WebSocket.prototype.send = function (text) {
        return send.call(this, text.includes('"message.send"') ? text.replace('"format":"Text"', '"format":"Nonsense"') : text);
      };
    });
    await bob.say("refused");
    await bob.pending("refused").getByText("Not sent.").waitFor();
    await ada.say("newer");
    await bob.sees("newer");
    const isLast = () => bob.page.evaluate(() => [...document.querySelectorAll(".message")].at(-1).innerText.includes("refused"));
    assert.ok(await isLast());
    await bob.page.reload();
    await bob.sees("newer");
    await bob.pending("refused").getByText("Not sent.").waitFor();
    assert.ok(await isLast());
    await bob.pending("refused").getByRole("button", { name: "Try again" }).click();
    await ada.sees("refused");
    await bob.endsWith(["newer", "refused"]);
    await bob.page.evaluate(() => {
      const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (text) {
        return send.call(this, text.replace('"format":"Text"', '"format":"Nonsense"'));
      };
    });
    await bob.say("never mind");
    await bob.pending("never mind").getByRole("button", { name: "Discard" }).click();
    await bob.pending("never mind").waitFor({ state: "detached" });
    await bob.page.reload();
    await bob.sees("refused");
    assert.equal(await bob.page.locator(".pending").count(), 0);
  });

  test("bl_042: with a clock that is ten minutes slow, one's messages stand where the server put them", async () => {
    await bob.page.addInitScript(() => {
      const RealDate = Date;
      const slowMs = 600_000;
      window.Date = class extends RealDate {
        constructor(...parts) {
          if (parts.length === 0) super(RealDate.now() - slowMs);
          else super(...parts);
        }
        static now() {
          return RealDate.now() - slowMs;
        }
      };
    });
    await bob.page.reload();
    await bob.sees("refused");
    const expected = [];
    for (let turn = 1; turn <= 5; turn++) {
      for (const person of [bob, ada]) {
        expected.push(`${person.name} ${turn}`);
        await person.say(expected.at(-1));
        await Promise.all([ada.sees(expected.at(-1)), bob.sees(expected.at(-1))]);
      }
    }
    await Promise.all([ada.endsWith(expected), bob.endsWith(expected)]);
    const times = (person) => person.page.evaluate(() => [...document.querySelectorAll(".message time")].slice(-5).map((time) => time.dateTime));
    assert.deepEqual(await times(bob), await times(ada));
  });

  test("slow mode is waited for, and said", async () => {
    const { roomId } = ada;
    await server.rpc(ada.page, "room.update", { roomId, slowmodeMs: 1500 });
    await bob.page.waitForFunction(() => !document.querySelector(".pending"));
    await bob.say("slow one");
    await ada.sees("slow one");
    await bob.say("slow two");
    await bob.say("slow three");
    await bob.page.getByText(/Slow mode: goes out in \d s/).first().waitFor();
    await ada.endsWith(["slow one", "slow two", "slow three"]);
    await bob.endsWith(["slow one", "slow two", "slow three"]);
    await server.rpc(ada.page, "room.update", { roomId, slowmodeMs: null });
  });

  test("leaving takes the room away, and its owner's leaving ends it", async () => {
    await bob.page.getByRole("button", { name: "Leave room" }).click();
    await bob.page.getByRole("dialog").getByRole("button", { name: "Leave room" }).click();
    await bob.page.getByRole("heading", { name: "A quiet place, so far" }).waitFor();
    await ada.page.locator(".line", { hasText: "Bob left" }).waitFor();
    await ada.open("Second");
    await ada.inRoom("Second");
    await ada.page.getByRole("button", { name: "Leave room" }).click();
    await ada.page.getByRole("button", { name: "Leave and delete" }).click();
    await ada.inRoom("Tea at five");
    assert.equal(await ada.page.getByRole("link", { name: "Second" }).count(), 0);
  });

  test("logging out ends the session here, logging in brings everything back", async () => {
    await ada.page.getByRole("button", { name: "Log out" }).click();
    await ada.page.getByRole("dialog").getByRole("button", { name: "Log out" }).click();
    await ada.page.getByRole("heading", { name: "Welcome back" }).waitFor();
    await ada.page.reload();
    await ada.page.getByRole("heading", { name: "Welcome back" }).waitFor();
    await ada.page.getByLabel("Name").fill("Ada Byron");
    await ada.page.getByLabel("Password").fill("wrong horse battery");
    await ada.page.getByRole("button", { name: "Log in" }).click();
    await ada.page.getByText("That name and password do not belong together.").waitFor();
    await ada.page.getByLabel("Password").fill("correct horse battery");
    await ada.page.getByRole("button", { name: "Log in" }).click();
    await ada.inRoom("Tea at five");
    await ada.sees("slow three");
  });

  test("a session that was ended elsewhere asks to log in again, and keeps what was being written", async () => {
    const elsewhere = await browser.newContext({ storageState: await ada.context.storageState() });
    const page = await elsewhere.newPage();
    await page.goto(`${server.url}/room/${ada.roomId}`);
    await page.locator(".presence", { hasText: "Connected" }).waitFor();
    await ada.composer.fill("not finished");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Log out" }).click();
    await ada.page.getByText("Your session has ended. Log in to go on.").waitFor();
    await ada.page.reload();
    await ada.page.getByRole("heading", { name: "Welcome back" }).waitFor();
    await ada.page.getByLabel("Name").fill("Ada Byron");
    await ada.page.getByLabel("Password").fill("correct horse battery");
    await ada.page.getByRole("button", { name: "Log in" }).click();
    await ada.inRoom("Tea at five");
    assert.equal(await ada.composer.inputValue(), "not finished");
    await elsewhere.close();
  });

  test("the pages had no errors of their own", () => {
    assert.deepEqual(ada.faults, []);
    assert.deepEqual(bob.faults, []);
  });
});
