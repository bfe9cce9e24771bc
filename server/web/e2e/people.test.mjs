// Friends, conversations, blocks, and one's own profile.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Pair } from "./harness.mjs";

describe("people", { concurrency: 1 }, () => {
  let pair;
  let ada;
  let bob;

  before(async () => {
    pair = await Pair.meet({ room: "Garden" });
    ({ ada, bob } = pair);
  });
  after(() => pair?.part());

  test("a friend is asked by name and accepts", async () => {
    await ada.page.getByRole("button", { name: "Friends" }).click();
    await ada.dialog.getByLabel("Ask somebody by account name").fill("Bob");
    await ada.dialog.getByRole("button", { name: "Send request" }).click();
    await ada.dialog.getByText("Asked by you").waitFor();
    await bob.page.getByText("Ada would like to be your friend.").waitFor();
    await bob.page.getByRole("button", { name: "Friends, 1 request" }).click();
    await bob.dialog.getByRole("button", { name: "Accept: Ada" }).click();
    await bob.dialog.getByRole("checkbox", { name: "Ada" }).waitFor();
    await ada.dialog.getByRole("checkbox", { name: "Bob" }).waitFor();
    await bob.page.keyboard.press("Escape");
  });

  test("a conversation is opened, named after the other, and arrives there with its message", async () => {
    await ada.dialog.getByRole("checkbox", { name: "Bob" }).check();
    await ada.dialog.getByRole("button", { name: "Open conversation" }).click();
    await ada.inRoom("Bob");
    await ada.say("between us");
    const link = bob.page.getByRole("navigation", { name: "Rooms" }).getByRole("link", { name: "Ada" });
    await link.locator(".badge", { hasText: /^1/ }).waitFor();
    await link.click();
    await bob.inRoom("Ada");
    await bob.sees("between us");
    await bob.say("so it is");
    await ada.sees("so it is");
    await bob.page.reload();
    await bob.sees("so it is");
  });

  test("a friend is added to a conversation, and taken out again", async () => {
    await ada.open("Garden");
    const cleo = await pair.join("Cleo");
    await cleo.page.getByRole("button", { name: "Friends" }).click();
    await cleo.dialog.getByLabel("Ask somebody by account name").fill("Ada");
    await cleo.dialog.getByRole("button", { name: "Send request" }).click();
    await ada.page.getByRole("button", { name: "Friends, 1 request" }).click();
    await ada.dialog.getByRole("button", { name: "Accept: Cleo" }).click();
    await ada.dialog.getByRole("checkbox", { name: "Cleo" }).waitFor();
    await ada.page.keyboard.press("Escape");
    await cleo.page.keyboard.press("Escape");
    await ada.open("Bob");
    await ada.roomAction("Add or take out people");
    await ada.dialog.getByLabel("Cleo").check();
    await ada.dialog.getByRole("button", { name: "Add", exact: true }).click();
    await ada.dialog.getByRole("button", { name: "Take out Cleo" }).waitFor();
    await ada.dialog.getByText("All your friends are here.").waitFor();
    const link = cleo.page.getByRole("navigation", { name: "Rooms" }).getByRole("link", { name: /Ada.*Bob|Bob.*Ada/ });
    await link.waitFor();
    await ada.dialog.getByRole("button", { name: "Take out Cleo" }).click();
    await ada.dialog.getByLabel("Cleo").waitFor();
    await link.waitFor({ state: "detached" });
    await ada.page.keyboard.press("Escape");
    await ada.inRoom("Bob");
    await cleo.context.close();
  });

  test("a conversation is hidden and comes back when it is opened again", async () => {
    await bob.roomAction("Hide conversation");
    await bob.dialog.getByRole("button", { name: "Hide" }).click();
    await bob.inRoom("Garden");
    assert.equal(await bob.page.getByRole("navigation", { name: "Rooms" }).getByRole("link", { name: "Ada" }).count(), 0);
    await bob.roomAction("Members");
    await bob.page.getByRole("complementary", { name: "Members" }).getByRole("button", { name: "Ada" }).click();
    await bob.dialog.getByRole("button", { name: "Message" }).click();
    await bob.inRoom("Ada");
    await bob.sees("so it is");
  });

  test("nothing can be sent across a block, and it is said", async () => {
    await bob.open("Garden");
    await bob.page.getByRole("complementary", { name: "Members" }).getByRole("button", { name: "Ada" }).click();
    await bob.dialog.getByRole("button", { name: "Block" }).click();
    await bob.dialog.getByRole("button", { name: "Unblock" }).waitFor();
    await bob.page.keyboard.press("Escape");
    await ada.say("are you there?");
    await ada.pending("are you there?").getByText("You are not allowed to do that here.").waitFor();
    await ada.pending("are you there?").getByRole("button", { name: "Discard" }).click();
    await bob.page.getByRole("button", { name: "Friends" }).click();
    await bob.dialog.getByRole("button", { name: "Unblock: Ada" }).click();
    await bob.dialog.getByText("Blocked").waitFor({ state: "detached" });
    await bob.page.keyboard.press("Escape");
  });

  test("somebody's status is a dot that follows, and a picture is shown everywhere", async () => {
    const row = () => bob.page.getByRole("complementary", { name: "Members" }).getByRole("button", { name: "Ada" });
    await row().getByText("Online", { exact: true }).waitFor({ state: "attached" });
    await ada.page.getByRole("button", { name: "Your profile" }).click();
    await ada.dialog.getByLabel("Status", { exact: true }).selectOption({ label: "Do not disturb" });
    await ada.dialog.getByLabel("Status message").fill("weaving");
    const bytes = await ada.page.evaluate(async () => {
      const canvas = new OffscreenCanvas(48, 48);
      canvas.getContext("2d").fillRect(0, 0, 24, 24);
      return [...new Uint8Array(await (await canvas.convertToBlob({ type: "image/png" })).arrayBuffer())];
    });
    await ada.dialog.getByLabel("Picture").setInputFiles({ name: "me.png", mimeType: "image/png", buffer: Buffer.from(bytes) });
    await ada.dialog.getByRole("button", { name: "Save" }).click();
    await ada.dialog.waitFor({ state: "detached" });
    await row().getByText("Do not disturb").waitFor({ state: "attached" });
    await row().getByText("weaving").waitFor();
    await bob.page.waitForFunction(() => [...document.querySelectorAll("#members .member")].some((row) => row.textContent.includes("Ada") && row.querySelector(".avatar img")?.naturalWidth === 48));
  });

  test("one's name and words change for everybody", async () => {
    await ada.page.getByRole("button", { name: "Your profile" }).click();
    await ada.dialog.getByLabel("Name").fill("Ada Byron");
    await ada.dialog.getByLabel("About you").fill("Weaves patterns");
    await ada.dialog.getByRole("button", { name: "Save" }).click();
    await ada.dialog.waitFor({ state: "detached" });
    await bob.page.getByRole("complementary", { name: "Members" }).getByRole("button", { name: "Ada Byron" }).click();
    await bob.dialog.getByText("Weaves patterns").waitFor();
    await bob.page.keyboard.press("Escape");
  });

  test("a nickname and what notifies are settings of one room", async () => {
    await bob.roomAction("Notifications");
    await bob.dialog.getByLabel("Notify me of").selectOption({ label: "Nothing" });
    await bob.dialog.getByLabel("My name in this room").fill("Bobby");
    await bob.dialog.getByRole("button", { name: "Save" }).click();
    await bob.page.getByRole("complementary", { name: "Members" }).getByRole("button", { name: "Bobby" }).waitFor();
    await bob.roomAction("Notifications");
    assert.equal(await bob.dialog.getByLabel("Notify me of").inputValue(), "Never");
    await bob.page.keyboard.press("Escape");
  });

  test("the pages had no errors of their own", () => {
    assert.deepEqual(ada.faults, []);
    assert.deepEqual(bob.faults, []);
  });
});
