// What one does around a message: reactions, polls, pins, threads, mentions, forwards.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { Pair } from "./harness.mjs";

describe("around a message", { concurrency: 1 }, () => {
  let pair;
  let ada;
  let bob;
  let site;

  before(async () => {
    site = createServer((_, response) => {
      response.setHeader("Content-Type", "text/html");
      response.end('<title>The engine</title><meta property="og:title" content="Notes &lt;on&gt; the engine"><meta property="og:description" content="By A. A. L.">');
    }).listen(0, "127.0.0.1");
    await once(site, "listening");
    pair = await Pair.meet({ room: "Workshop", settings: ["previews.networks=127.0.0.0/8", `previews.ports=${site.address().port}`] });
    ({ ada, bob } = pair);
  });
  after(async () => {
    await pair?.part();
    site?.close();
  });

  test("a reaction is counted for both, named, and taken back by another click", async () => {
    await ada.say("The engine runs");
    await bob.sees("The engine runs");
    await bob.act("The engine runs", "React");
    await bob.page.getByRole("button", { name: "🎉" }).click();
    const seen = ada.message("The engine runs").locator(".reaction");
    await seen.filter({ hasText: "🎉 1" }).waitFor();
    assert.equal(await seen.getAttribute("title"), "Bob");
    assert.equal(await seen.getAttribute("aria-pressed"), "false");
    await seen.click();
    const own = bob.message("The engine runs").locator(".reaction");
    await own.filter({ hasText: "🎉 2" }).waitFor();
    assert.equal(await own.getAttribute("title"), "you, Ada");
    assert.equal(await own.getAttribute("aria-pressed"), "true");
    await own.click();
    await seen.filter({ hasText: "🎉 1" }).waitFor();
    await seen.click();
    await own.waitFor({ state: "detached" });
  });

  test("any other emoji can be typed; what is none cannot be used", async () => {
    await ada.act("The engine runs", "React");
    const field = ada.page.getByLabel("Any other emoji");
    await field.fill("no");
    assert.ok(await ada.page.getByRole("button", { name: "Use", exact: true }).isDisabled());
    await field.fill("🦆");
    await field.press("Enter");
    await bob.message("The engine runs").locator(".reaction", { hasText: "🦆 1" }).waitFor();
  });

  test("bl_059: fifty quick clicks leave one reaction or none, the same for everybody", async () => {
    const button = ada.message("The engine runs").locator(".reaction", { hasText: "🦆" });
    for (let turn = 0; turn < 50; turn++) await button.click({ timeout: 200 }).catch(() => undefined);
    await ada.page.waitForFunction(() => !document.querySelector('.reaction[aria-disabled="true"]'));
    const { roomId } = pair;
    const { items } = await pair.server.rpc(ada.page, "message.list", { roomId, limit: 5 });
    const count = items.find((message) => message.message === "The engine runs").reactions?.[0]?.count ?? 0;
    assert.ok(count <= 1);
    await bob.page.waitForFunction((count) => (Number(document.querySelector(".reaction")?.innerText.match(/\d+/)?.[0]) || 0) === count, count);
  });

  test("a poll is asked, voted in, and the vote withdrawn; tallies are the same for both", async () => {
    await ada.page.getByRole("button", { name: "New poll" }).click();
    await ada.page.getByLabel("Question").fill("Tea or coffee?");
    await ada.page.getByLabel("Answer 1").fill("Tea");
    await ada.page.getByLabel("Answer 2").fill("Coffee");
    await ada.page.getByRole("button", { name: "Ask" }).click();
    const tea = (person) => person.page.getByRole("group", { name: "Poll: Tea or coffee?" }).locator(".poll-option", { hasText: "Tea" });
    const coffee = (person) => person.page.getByRole("group", { name: "Poll: Tea or coffee?" }).locator(".poll-option", { hasText: "Coffee" });
    await tea(bob).click();
    await tea(ada).locator(".poll-count", { hasText: /^1/ }).waitFor();
    await tea(ada).click();
    await tea(bob).locator(".poll-count", { hasText: /^2/ }).waitFor();
    await coffee(bob).click();
    await coffee(ada).locator(".poll-count", { hasText: /^1/ }).waitFor();
    await tea(ada).locator(".poll-count", { hasText: /^1/ }).waitFor();
    assert.equal(await tea(ada).getAttribute("aria-pressed"), "true");
    await ada.page.getByRole("button", { name: "Withdraw my vote" }).click();
    await tea(bob).locator(".poll-count", { hasText: /^0/ }).waitFor();
    assert.equal(await coffee(bob).getAttribute("aria-pressed"), "true");
  });

  test("a pinned message is in the list of pins, and leads to its place", async () => {
    await ada.act("The engine runs", "More actions");
    await ada.page.getByRole("menuitem", { name: "Pin" }).click();
    await bob.message("The engine runs").locator(".pinned").waitFor();
    await bob.page.locator(".line", { hasText: "Ada pinned a message" }).waitFor();
    await bob.page.getByRole("button", { name: "Pinned messages" }).click();
    const pins = bob.page.getByRole("complementary", { name: "Pinned messages" });
    await pins.getByRole("button", { name: /The engine runs/ }).click();
    await bob.page.waitForFunction(() => document.activeElement?.matches("article") && document.activeElement.textContent.includes("The engine runs"));
    await ada.act("The engine runs", "More actions");
    await ada.page.getByRole("menuitem", { name: "Unpin" }).click();
    await pins.getByText("Nothing is pinned here.").waitFor();
    await bob.page.getByRole("button", { name: "Close pinned messages" }).click();
  });

  test("a thread shows replies live, takes one, and can be followed", async () => {
    await bob.act("The engine runs", "More actions");
    await bob.page.getByRole("menuitem", { name: "Open thread" }).click();
    const thread = bob.page.getByRole("complementary", { name: "Thread" });
    await thread.getByLabel("Reply in the thread").fill("How fast?");
    await thread.getByLabel("Reply in the thread").press("Enter");
    await thread.locator(".message:not(.pending)", { hasText: "How fast?" }).waitFor();
    await ada.message("The engine runs").getByRole("button", { name: "1 reply" }).click();
    const other = ada.page.getByRole("complementary", { name: "Thread" });
    await other.getByLabel("Reply in the thread").fill("Fast enough");
    await other.getByLabel("Reply in the thread").press("Enter");
    await thread.getByText("Fast enough").waitFor();
    await bob.message("The engine runs").first().getByRole("button", { name: "2 replies" }).waitFor();
    await thread.getByRole("button", { name: "Following" }).click();
    await thread.getByRole("button", { name: "Follow", exact: true }).waitFor();
    await thread.getByRole("button", { name: "Follow", exact: true }).click();
    await thread.getByRole("button", { name: "Following" }).waitFor();
    await bob.page.getByRole("button", { name: "Close thread" }).click();
    await bob.page.getByRole("button", { name: "Followed threads" }).click();
    await bob.page.getByRole("complementary", { name: "Followed threads" }).getByText("2 replies").waitFor();
    await bob.page.getByRole("button", { name: "Close followed threads" }).click();
    await ada.page.getByRole("button", { name: "Close thread" }).click();
  });

  test("a member is mentioned by keyboard from the suggestions, and told", async () => {
    await bob.makeRoom("Elsewhere");
    await ada.page.getByRole("button", { name: "Members" }).click();
    await ada.page.getByRole("complementary", { name: "Members" }).getByText("Bob").waitFor();
    await ada.page.getByRole("button", { name: "Close members" }).click();
    await ada.composer.pressSequentially("Hey @bo");
    await ada.page.getByRole("option", { name: "@Bob" }).waitFor();
    await ada.composer.press("Enter");
    assert.equal(await ada.composer.inputValue(), "Hey @Bob ");
    await ada.composer.pressSequentially("come <b>over</b>");
    await ada.composer.press("Enter");
    await ada.sees("Hey @Bob come <b>over</b>");
    const entry = bob.page.getByRole("navigation", { name: "Rooms" }).getByRole("link", { name: "Workshop" });
    await entry.locator(".badge.mention", { hasText: "1 mention" }).waitFor();
    await bob.open("Workshop");
    await bob.message("Hey @Bob come <b>over</b>").locator(".mention.me", { hasText: "@Bob" }).waitFor();
    await entry.locator(".badge").waitFor({ state: "detached" });
  });

  test("an edit keeps the mention", async () => {
    await ada.composer.press("ArrowUp");
    const editor = ada.page.getByLabel("Edit message");
    assert.equal(await editor.inputValue(), "Hey @Bob come <b>over</b>");
    await editor.fill("@Bob, please");
    await editor.press("Enter");
    await bob.message("@Bob, please").locator(".mention.me").waitFor();
  });

  test("a message is forwarded into two rooms, and what became of each is said", async () => {
    await ada.makeRoom("Attic");
    await ada.open("Workshop");
    await ada.inRoom("Workshop");
    await bob.say("Worth keeping");
    await ada.sees("Worth keeping");
    await ada.act("Worth keeping", "More actions");
    await ada.page.getByRole("menuitem", { name: "Forward" }).click();
    await ada.dialog.getByLabel("Attic").check();
    await ada.dialog.getByLabel("Workshop").check();
    await ada.dialog.getByRole("button", { name: "Forward" }).click();
    await ada.dialog.getByText("Attic: sent").waitFor();
    await ada.dialog.getByText("Workshop: sent").waitFor();
    await ada.dialog.getByRole("button", { name: "Done" }).click();
    await bob.page.locator(".forwarded").waitFor();
    await ada.open("Attic");
    await ada.sees("Worth keeping");
    await ada.open("Workshop");
    await ada.inRoom("Workshop");
  });

  test("a message that is marked unread stays so until the room is opened anew", async () => {
    await bob.act("@Bob, please", "More actions");
    await bob.page.getByRole("menuitem", { name: "Mark unread from here" }).click();
    const entry = bob.page.getByRole("navigation", { name: "Rooms" }).getByRole("link", { name: "Workshop" });
    await entry.locator(".badge").waitFor();
    await bob.open("Elsewhere");
    await bob.inRoom("Elsewhere");
    await bob.open("Workshop");
    await entry.locator(".badge").waitFor({ state: "detached" });
  });

  test("a link shows what it leads to, until the author removes that", async () => {
    const address = `http://127.0.0.1:${site.address().port}/notes`;
    await ada.say(`read ${address}`);
    const card = (person) => person.message(`read ${address}`).locator("a.preview");
    await card(bob).getByText("Notes <on> the engine").waitFor();
    await card(bob).getByText("By A. A. L.").waitFor();
    assert.deepEqual(await card(bob).evaluate((link) => [link.href, link.rel]), [address, "noopener noreferrer nofollow"]);
    await ada.act(`read ${address}`, "More actions");
    await ada.page.getByRole("menuitem", { name: "Remove the link preview" }).click();
    await card(bob).waitFor({ state: "detached" });
    await bob.message(`read ${address}`).getByRole("link", { name: address }).waitFor();
  });

  test("a message far up is opened in its place, and a button leads back", async () => {
    const { roomId } = pair;
    for (let index = 1; index <= 130; index++) await pair.server.rpc(bob.page, "message.send", { roomId, message: `filler ${index}`, nonce: `filler-${index}` });
    const { items } = await pair.server.rpc(ada.page, "message.list", { roomId, order: "Asc", limit: 10 });
    const first = items.find((message) => message.message === "The engine runs");
    await pair.server.rpc(ada.page, "message.pin", { roomId, rowKey: first.rowKey });
    await ada.page.reload();
    await ada.sees("filler 130");
    await ada.page.getByRole("button", { name: "Pinned messages" }).click();
    await ada.page.getByRole("complementary", { name: "Pinned messages" }).getByRole("button", { name: /The engine runs/ }).click();
    await ada.page.waitForFunction(() => document.activeElement?.matches("article") && document.activeElement.textContent.includes("The engine runs"));
    assert.equal(await ada.message("filler 130").count(), 0);
    await ada.page.getByRole("button", { name: "Later messages" }).click();
    await ada.page.getByRole("button", { name: "Latest" }).click();
    await ada.sees("filler 130");
  });

  test("the pages had no errors of their own", () => {
    assert.deepEqual(ada.faults, []);
    assert.deepEqual(bob.faults, []);
  });
});
