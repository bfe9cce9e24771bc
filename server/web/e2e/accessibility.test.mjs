// The page without a mouse, and what axe finds on each of its faces.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { Person, Server, launch } from "./harness.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function findings(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(" | ")}`);
  });
}

/** Resolves once the page is drawn in the scheme. */
async function scheme(page, colorScheme) {
  await page.emulateMedia({ colorScheme });
  await page.waitForFunction((colorScheme) => document.documentElement.dataset.theme === colorScheme, colorScheme);
  await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
}

const faces = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  narrow: { colorScheme: "light", viewport: { width: 375, height: 720 } },
  "narrow and dark": { colorScheme: "dark", viewport: { width: 375, height: 720 } },
};

describe("the page for everybody", { concurrency: 1 }, () => {
  let server;
  let browser;
  let ada;
  let bob;

  before(async () => {
    server = await Server.start();
    browser = await launch();
    ada = await Person.register(browser, server, "Ada");
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test("everything on the way is done with the keyboard alone", async () => {
    const { page } = ada;
    const { keyboard } = page;
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent);
    const tabTo = async (name, key = "Tab") => {
      for (let presses = 0; presses < 40; presses++) {
        if ((await focused())?.startsWith(name)) return;
        await keyboard.press(key);
      }
      assert.fail(`no way to ${name}; at ${await focused()}`);
    };

    await page.reload();
    await page.getByRole("navigation", { name: "Rooms" }).waitFor();
    await keyboard.press("Tab");
    assert.equal(await focused(), "Skip to the message field");
    await tabTo("New room");
    await keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await keyboard.type("By keyboard");
    await keyboard.press("Enter");
    await ada.inRoom("By keyboard");
    await page.waitForFunction(() => document.activeElement?.id === "composer");

    for (const text of ["alpha", "beta", "gamma"]) {
      await keyboard.type(text);
      await keyboard.press("Enter");
    }
    await ada.endsWith(["alpha", "beta", "gamma"]);

    // Up in the empty field edits the last message; Escape leaves it as it was.
    await keyboard.press("ArrowUp");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Edit message");
    await keyboard.type(" and more");
    await keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.id === "composer");
    await ada.endsWith(["alpha", "beta", "gamma"]);

    // Back into the messages, along them, and each action by its key.
    await tabTo("Messages in By keyboard", "Shift+Tab");
    await keyboard.press("ArrowUp");
    await keyboard.press("ArrowUp");
    await page.waitForFunction(() => document.activeElement?.textContent.includes("beta"));
    await keyboard.press("e");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Edit message");
    await keyboard.press("End");
    await keyboard.type(" plus");
    await keyboard.press("Enter");
    await ada.sees("beta plus");

    await tabTo("Messages in By keyboard", "Shift+Tab");
    for (let presses = 0; presses < 3; presses++) await keyboard.press("ArrowUp");
    await page.waitForFunction(() => document.activeElement?.textContent.includes("alpha"));
    await keyboard.press("r");
    await page.waitForFunction(() => document.activeElement?.id === "composer");
    await keyboard.type("to alpha");
    await keyboard.press("Enter");
    await ada.message("to alpha").locator(".quote").getByText("alpha").waitFor();

    await tabTo("Messages in By keyboard", "Shift+Tab");
    await keyboard.press("ArrowUp");
    await tabTo("Delete");
    await keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo("Delete");
    await keyboard.press("Enter");
    await ada.endsWith(["alpha", "beta plus", "gamma"]);
    await page.waitForFunction(() => document.activeElement?.id === "composer");

    // A dialog keeps the focus inside and gives it back.
    await tabTo("Room settings", "Shift+Tab");
    await keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    for (let presses = 0; presses < 12; presses++) {
      await keyboard.press("Tab");
      assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest("dialog") !== null));
    }
    await keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal(await focused(), "Room settings");

    await tabTo("Members", "Shift+Tab");
    await keyboard.press("Enter");
    await page.getByRole("complementary", { name: "Members" }).waitFor();
    await keyboard.press("Enter");
    await page.getByRole("complementary", { name: "Members" }).waitFor({ state: "detached" });
  });

  test("the theme follows the system until one is chosen", async () => {
    const { page } = ada;
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await scheme(page, "dark");
    const dark = await ground();
    await scheme(page, "light");
    const light = await ground();
    assert.notEqual(dark, light);
    await page.getByRole("button", { name: "Theme: as the system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).click();
    assert.equal(await ground(), dark);
    await page.reload();
    await ada.inRoom("By keyboard");
    assert.equal(await ground(), dark);
    await page.getByRole("button", { name: "Theme: dark" }).click();
    assert.equal(await ground(), light);
  });

  test("axe finds nothing serious on the way in", async () => {
    for (const [name, options] of Object.entries(faces)) {
      const context = await browser.newContext({ ...options, reducedMotion: "reduce" });
      const page = await context.newPage();
      await page.goto(server.url);
      await page.getByRole("heading", { name: "Welcome back" }).waitFor();
      assert.deepEqual(await findings(page), [], `${name}: log in`);
      await page.getByLabel("Name").fill("Ada");
      await page.getByLabel("Password").fill("not the password");
      await page.getByRole("button", { name: "Log in" }).click();
      await page.locator(".form-error:not(:empty)").waitFor();
      assert.deepEqual(await findings(page), [], `${name}: refused`);
      await page.getByRole("button", { name: "Create an account" }).click();
      await page.getByRole("heading", { name: "Welcome to Parlour" }).waitFor();
      assert.deepEqual(await findings(page), [], `${name}: register`);
      await context.close();
    }
  });

  test("axe finds nothing serious in an invite and in a lively room, wide and narrow, light and dark", async () => {
    const link = await ada.inviteLink();
    bob = await Person.register(browser, server, "Bob", { path: new URL(link).pathname });
    await bob.page.getByRole("button", { name: "Join room" }).waitFor();
    assert.deepEqual(await findings(bob.page), [], "invite");
    await bob.page.getByRole("button", { name: "Join room" }).click();
    await bob.inRoom("By keyboard");
    await bob.say("hello, see https://example.org/x");
    await ada.act("hello, see https://example.org/x", "Reply");
    await ada.say("with a quote");
    await bob.sees("with a quote");
    await bob.page.evaluate(() => {
      const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (text) {
        return send.call(this, text.replace('"format":"Text"', '"format":"Nonsense"'));
      };
    });
    await bob.say("refused");
    await bob.pending("refused").getByText("Not sent.").waitFor();
    for (const [name, { colorScheme, viewport = { width: 1180, height: 780 } }] of Object.entries(faces)) {
      await bob.page.setViewportSize(viewport);
      await scheme(bob.page, colorScheme);
      assert.deepEqual(await findings(bob.page), [], `${name}: room`);
      await bob.message("with a quote").focus();
      assert.deepEqual(await findings(bob.page), [], `${name}: focused message`);
      await bob.composer.focus();
      await bob.page.getByRole("button", { name: "Members" }).click();
      await bob.page.getByRole("complementary", { name: "Members" }).waitFor();
      assert.deepEqual(await findings(bob.page), [], `${name}: members`);
      await bob.page.getByRole("button", { name: "Close members" }).click();
      await bob.roomAction("Invite people");
      await bob.page.getByRole("dialog").waitFor();
      assert.deepEqual(await findings(bob.page), [], `${name}: dialog`);
      await bob.page.keyboard.press("Escape");
      if (viewport.width < 760) {
        await bob.page.getByRole("button", { name: "Rooms" }).click();
        await bob.page.locator(".sidebar.open").waitFor();
        await bob.page.waitForFunction(() => document.activeElement?.closest(".sidebar"));
        assert.deepEqual(await findings(bob.page), [], `${name}: room list`);
        await bob.page.keyboard.press("Escape");
        await bob.page.locator(".sidebar.open").waitFor({ state: "detached" });
        await bob.page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Rooms");
      }
    }
  });

  test("axe finds nothing serious in the panels and dialogs; each has a name, takes the focus and gives it back", async () => {
    await ada.page.bringToFront();
    for (const text of ["/remind in 3h feed the cat", "/schedule in 4h good evening"]) {
      await ada.say(text);
      await ada.page.waitForFunction(() => document.getElementById("composer").value === "");
    }
    const isInside = (selector) => ada.page.waitForFunction((selector) => document.activeElement?.closest(selector) !== null, selector);
    for (const [name, { colorScheme, viewport = { width: 1180, height: 780 } }] of Object.entries(faces)) {
      await ada.page.setViewportSize(viewport);
      await scheme(ada.page, colorScheme);
      for (const panel of ["Search", "Pinned messages", "Followed threads", "Planned", "Members"]) {
        await ada.roomAction(panel);
        await ada.page.getByRole("complementary", { name: panel }).waitFor();
        if (panel !== "Members") await isInside(".panel");
        assert.deepEqual(await findings(ada.page), [], `${name}: ${panel}`);
        await ada.page.getByRole("button", { name: `Close ${panel.toLowerCase()}` }).click();
      }
      await ada.roomAction("Members");
      await ada.page.getByRole("complementary", { name: "Members" }).getByRole("button", { name: /Bob/ }).click();
      await ada.page.getByRole("dialog", { name: "Bob" }).getByText("Moderation").click();
      assert.deepEqual(await findings(ada.page), [], `${name}: member`);
      await ada.page.keyboard.press("Escape");
      await ada.page.waitForFunction(() => document.activeElement?.matches(".member"));
      await ada.page.getByRole("button", { name: "Close members" }).click();
      await ada.roomAction("Room settings");
      for (const section of ["General", "Roles", "Invites", "Word filter", "Bans", "Audit log", "Webhooks", "Emoji"]) {
        await ada.dialog.getByRole("button", { name: section, exact: true }).click();
        assert.deepEqual(await findings(ada.page), [], `${name}: ${section}`);
      }
      await isInside("dialog");
      await ada.page.keyboard.press("Escape");
      await ada.roomAction("Notifications");
      assert.deepEqual(await findings(ada.page), [], `${name}: notifications`);
      await ada.page.keyboard.press("Escape");
      await ada.act("with a quote", "React");
      await isInside(".popover");
      assert.deepEqual(await findings(ada.page), [], `${name}: emoji`);
      await ada.page.keyboard.press("Escape");
      await ada.page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "React");
      await ada.act("with a quote", "More actions");
      await ada.page.waitForFunction(() => document.activeElement?.role === "menuitem" || document.activeElement?.getAttribute("role") === "menuitem");
      await ada.page.keyboard.press("ArrowDown");
      assert.deepEqual(await findings(ada.page), [], `${name}: menu`);
      await ada.page.getByRole("menuitem", { name: "Open thread" }).click();
      await isInside(".panel");
      assert.deepEqual(await findings(ada.page), [], `${name}: thread`);
      await ada.page.keyboard.press("Escape");
      await ada.act("with a quote", "More actions");
      await ada.page.getByRole("menuitem", { name: "Forward" }).click();
      assert.deepEqual(await findings(ada.page), [], `${name}: forward`);
      await ada.page.keyboard.press("Escape");
      await ada.composer.pressSequentially("@");
      await ada.page.getByRole("option").first().waitFor();
      assert.deepEqual(await findings(ada.page), [], `${name}: mention`);
      await ada.composer.fill("/");
      await ada.page.getByRole("listbox", { name: "Commands" }).waitFor();
      assert.deepEqual(await findings(ada.page), [], `${name}: commands`);
      await ada.composer.fill("/remind tomorrow 9am");
      await ada.composer.press("Enter");
      await ada.page.getByRole("alert").getByText("Write it as").waitFor();
      assert.deepEqual(await findings(ada.page), [], `${name}: command`);
      await ada.composer.fill("");
    }
    await ada.page.setViewportSize({ width: 1180, height: 780 });
    for (const dialog of ["Your profile", "Friends", "New poll"]) {
      const opener = ada.page.getByRole("button", { name: dialog, exact: true });
      await opener.click();
      await ada.page.getByRole("dialog", { name: dialog }).waitFor();
      await isInside("dialog");
      assert.deepEqual(await findings(ada.page), [], dialog);
      await ada.page.keyboard.press("Escape");
      assert.ok(await opener.evaluate((button) => button === document.activeElement), dialog);
    }
  });

  test("nothing is cut off or scrolls sideways on a narrow screen", async () => {
    await bob.page.setViewportSize({ width: 320, height: 600 });
    await bob.say("a-very-long-word-".repeat(12));
    await ada.say("another-very-long-word-".repeat(12));
    await bob.page.waitForFunction(() => document.querySelectorAll(".message.other .body").length > 0);
    const overflow = await bob.page.evaluate(() => {
      const scroller = document.querySelector(".scroller");
      return [document.documentElement.scrollWidth - innerWidth, scroller.scrollWidth - scroller.clientWidth];
    });
    assert.deepEqual(overflow, [0, 0]);
  });

  test("bl_086: names and topics that try to break the layout stay in their place", async () => {
    await ada.makeRoom(`\u202Ereversed ${"e\u0301\u0302\u0303\u0304".repeat(15)}`, `\u202E${"topic ".repeat(60)}`);
    const height = await ada.page.evaluate(() => document.querySelector(".room-head").getBoundingClientRect().height);
    const entry = await ada.page.evaluate(() => document.querySelector(".room-link").getBoundingClientRect().height);
    assert.ok(height <= 70 && entry <= 70, `${height} and ${entry}`);
    assert.ok(await ada.page.evaluate(() => [...document.querySelectorAll(".room-link-name, .room-title h1 bdi")].every((name) => name.localName === "bdi")));
  });

  test("the pages had no errors of their own", () => {
    assert.deepEqual(ada.faults, []);
    assert.deepEqual(bob.faults, []);
  });
});
