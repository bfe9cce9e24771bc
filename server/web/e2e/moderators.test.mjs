// Keeping order in a room: roles, members, bans, the word filter, the rules of writing.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Pair } from "./harness.mjs";

describe("keeping order", { concurrency: 1 }, () => {
  let pair;
  let ada;
  let bob;

  before(async () => {
    pair = await Pair.meet({ room: "Court" });
    ({ ada, bob } = pair);
  });
  after(() => pair?.part());

  /** The dialog of a member, from the list of members. */
  async function member(name) {
    if (!(await ada.page.getByRole("complementary", { name: "Members" }).isVisible())) await ada.roomAction("Members");
    await ada.page.getByRole("complementary", { name: "Members" }).getByRole("button", { name }).click();
    return ada.page.getByRole("dialog", { name });
  }

  async function moderate(name, action, { reason } = {}) {
    const dialog = await member(name);
    await dialog.getByText("Moderation", { exact: true }).click();
    await dialog.getByLabel("Action").selectOption({ label: action });
    if (reason) await dialog.getByLabel("Reason (optional)").fill(reason);
    await dialog.getByRole("button", { name: `${action} ${name}` }).click();
    await dialog.waitFor({ state: "detached" });
  }

  async function settings(section) {
    await ada.roomAction("Room settings");
    await ada.dialog.getByRole("button", { name: section, exact: true }).click();
    return ada.dialog;
  }

  test("a role is made, given to a member, and its bits are theirs at once", async () => {
    const dialog = await settings("Roles");
    await dialog.getByLabel("Name", { exact: true }).fill("Steward");
    await dialog.getByLabel("Manage the room").check();
    await dialog.getByRole("button", { name: "Create role" }).click();
    await dialog.getByRole("button", { name: "Delete this role" }).waitFor();
    await ada.page.keyboard.press("Escape");
    assert.equal(await bob.page.locator(".room-actions").getByRole("button", { name: "Room settings" }).count(), 0);
    await (await member("Bob")).getByLabel("Steward").check();
    await bob.page.locator(".room-actions").getByRole("button", { name: "Room settings" }).waitFor();
    await ada.dialog.getByLabel("Steward").uncheck();
    await bob.page.locator(".room-actions").getByRole("button", { name: "Room settings" }).waitFor({ state: "detached" });
    await ada.page.keyboard.press("Escape");
  });

  test("a warning reaches the member with its reason, and stands in the audit log", async () => {
    await moderate("Bob", "Warn", { reason: "mind the tea" });
    await bob.page.getByText("You were warned in Court. Reason: mind the tea").waitFor();
    const dialog = await settings("Audit log");
    await dialog.getByText("mind the tea").waitFor();
    await ada.page.keyboard.press("Escape");
  });

  test("a filtered word is refused in words, and the message can be discarded", async () => {
    const dialog = await settings("Word filter");
    await dialog.getByLabel("Words").fill('marmalade\n"jam"');
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await bob.say("so much Marmalade!");
    await bob.pending("so much Marmalade!").getByText("This message contains a word that the room does not allow.").waitFor();
    await bob.pending("so much Marmalade!").getByRole("button", { name: "Discard" }).click();
    await bob.say("a jammed door");
    await ada.sees("a jammed door");
    await settings("Word filter");
    assert.equal(await ada.dialog.getByLabel("Words").inputValue(), 'marmalade\n"jam"');
    await ada.page.keyboard.press("Escape");
  });

  test("slow mode and read-only are set in the settings", async () => {
    let dialog = await settings("General");
    await dialog.getByLabel("Slow mode").fill("4");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await bob.say("first");
    await bob.say("second");
    await bob.page.getByText("Slow mode: goes out in 2 s").waitFor();
    await ada.sees("second");
    dialog = await settings("General");
    await dialog.getByLabel("Slow mode").fill("0");
    await dialog.getByLabel("Read-only").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await bob.page.getByText("This room is read-only.").waitFor();
    await pair.server.rpc(ada.page, "room.update", { roomId: pair.roomId, isReadOnly: false });
    await bob.composer.waitFor();
  });

  test("a timeout closes the field, and says for how long", async () => {
    await moderate("Bob", "Time out");
    await bob.page.getByText(/You are timed out in this room for another [45] min/).waitFor();
    await pair.server.rpc(ada.page, "moderation.execute", { roomId: pair.roomId, userId: await idOf("Bob"), type: "TimeoutUser", durationMs: 1 });
    await bob.composer.waitFor();
  });

  async function idOf(name) {
    const { items } = await pair.server.rpc(ada.page, "room.members", { roomId: pair.roomId });
    return items.find((one) => one.user.name === name).userId;
  }

  test("a note about a member is kept for moderators", async () => {
    const dialog = await member("Bob");
    await dialog.getByText("Moderation", { exact: true }).click();
    await dialog.getByLabel("Note").fill("likes marmalade");
    await dialog.getByRole("button", { name: "Add note" }).click();
    await dialog.getByText("likes marmalade").waitFor();
    await ada.page.keyboard.press("Escape");
  });

  test("a soft ban takes the member and all their messages", async () => {
    const dora = await pair.join("Dora");
    await dora.say("soon to be gone");
    await bob.sees("soon to be gone");
    await moderate("Dora", "Soft ban");
    await dora.page.getByText("You were banned from Court.").waitFor();
    await bob.message("soon to be gone").waitFor({ state: "detached" });
    assert.equal(await ada.message("soon to be gone").count(), 0);
    await bob.page.reload();
    await bob.composer.waitFor();
    assert.equal(await bob.message("soon to be gone").count(), 0);
    await dora.context.close();
  });

  test("a ban takes the room away, and can be lifted", async () => {
    await moderate("Bob", "Ban", { reason: "enough" });
    await bob.page.getByText("You were banned from Court.").waitFor();
    await bob.page.getByRole("heading", { name: "A quiet place, so far" }).waitFor();
    const dialog = await settings("Bans");
    await dialog.getByRole("button", { name: "Unban Bob" }).click();
    await dialog.getByRole("button", { name: "Unban Bob" }).waitFor({ state: "detached" });
    await ada.page.keyboard.press("Escape");
  });

  test("an invite is listed and revoked", async () => {
    const dialog = await settings("Invites");
    await dialog.getByRole("button", { name: /^Revoke/ }).click();
    await dialog.getByText("There are no invites.").waitFor();
    await ada.page.keyboard.press("Escape");
  });

  test("the pages had no errors of their own", () => {
    assert.deepEqual(ada.faults, []);
    assert.deepEqual(bob.faults, []);
  });
});
