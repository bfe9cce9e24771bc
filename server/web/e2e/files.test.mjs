// Files, pictures, custom emoji, webhooks and search on the page.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Pair } from "./harness.mjs";

/** A real picture of the size, drawn by the browser. */
async function picture(page, width, height) {
  const bytes = await page.evaluate(
    async ([width, height]) => {
      const canvas = new OffscreenCanvas(width, height);
      canvas.getContext("2d").fillRect(0, 0, width / 2, height / 2);
      return [...new Uint8Array(await (await canvas.convertToBlob({ type: "image/png" })).arrayBuffer())];
    },
    [width, height],
  );
  return Buffer.from(bytes);
}

describe("files and what else a room holds", { concurrency: 1 }, () => {
  let pair;
  let ada;
  let bob;

  before(async () => {
    pair = await Pair.meet({ room: "Archive" });
    ({ ada, bob } = pair);
  });
  after(() => pair?.part());

  const chooser = (person) => person.page.locator('.composer input[type="file"]');

  test("a file is attached, sent with its message, and downloaded by the other", async () => {
    await chooser(ada).setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("about the engine") });
    await ada.page.locator(".tray .ready").waitFor();
    await ada.say("the notes");
    const link = bob.message("the notes").getByRole("link", { name: /notes.txt/ });
    await bob.message("the notes").locator("a[href]", { hasText: "notes.txt" }).waitFor();
    const [download] = await Promise.all([bob.page.waitForEvent("download"), link.click()]);
    assert.equal(download.suggestedFilename(), "notes.txt");
    const { createReadStream } = await import("node:fs");
    let text = "";
    for await (const chunk of createReadStream(await download.path())) text += chunk;
    assert.equal(text, "about the engine");
  });

  test("a picture is shown small, from a thumbnail that was made here", async () => {
    await chooser(ada).setInputFiles({ name: "loom.png", mimeType: "image/png", buffer: await picture(ada.page, 1200, 600) });
    await ada.page.locator(".tray .ready").waitFor();
    await ada.composer.focus();
    await ada.composer.press("Enter");
    const image = bob.page.getByRole("img", { name: "loom.png" });
    await image.waitFor();
    await bob.page.waitForFunction(() => document.querySelector('img[alt="loom.png"]')?.naturalWidth > 0);
    assert.deepEqual(await image.evaluate((image) => [image.naturalWidth, image.naturalHeight]), [320, 160]);
  });

  test("a pasted file and one that is dropped are attached, and can be taken away", async () => {
    await ada.composer.evaluate((field) => {
      const data = new DataTransfer();
      data.items.add(new File(["pasted"], "pasted.txt", { type: "text/plain" }));
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    });
    await ada.page.locator(".tray .ready", { hasText: "pasted.txt" }).waitFor();
    await ada.page.locator("form.composer").evaluate((form) => {
      const data = new DataTransfer();
      data.items.add(new File(["dropped"], "dropped.txt", { type: "text/plain" }));
      form.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    });
    await ada.page.locator(".tray .ready", { hasText: "dropped.txt" }).waitFor();
    await ada.page.getByRole("button", { name: "Remove pasted.txt" }).click();
    await ada.page.getByRole("button", { name: "Remove dropped.txt" }).click();
    await ada.page.locator(".tray").waitFor({ state: "detached" });
  });

  test("a file is deleted from its message for everybody", async () => {
    await ada.message("the notes").getByRole("button", { name: "Delete notes.txt" }).click();
    await ada.dialog.getByRole("button", { name: "Delete" }).click();
    await bob.message("the notes").locator(".files").waitFor({ state: "detached" });
    await bob.message("the notes").getByText("edited").waitFor();
  });

  test("a custom emoji is uploaded, written by name, and used as a reaction", async () => {
    await ada.roomAction("Room settings");
    await ada.dialog.getByRole("button", { name: "Emoji", exact: true }).click();
    await ada.dialog.getByLabel("Name").fill("gear_wheel");
    await ada.dialog.getByLabel("Picture").setInputFiles({ name: "gear.png", mimeType: "image/png", buffer: await picture(ada.page, 64, 64) });
    await ada.dialog.getByRole("button", { name: "Add emoji" }).click();
    await ada.dialog.getByRole("button", { name: "Delete :gear_wheel:" }).waitFor();
    await ada.page.keyboard.press("Escape");
    await ada.say("turn the :gear_wheel: now");
    await bob.page.locator(".body img.custom-emoji").waitFor();
    await bob.page.locator(".message", { hasText: "turn the" }).hover();
    await bob.page.locator(".message", { hasText: "turn the" }).getByRole("button", { name: "React" }).click();
    await bob.page.getByRole("button", { name: ":gear_wheel:" }).click();
    await ada.page.locator(".reaction img.custom-emoji").waitFor();
  });

  test("a webhook is made, its address shown once, and what it posts is in the room", async () => {
    await ada.roomAction("Room settings");
    await ada.dialog.getByRole("button", { name: "Webhooks", exact: true }).click();
    await ada.dialog.getByLabel("Name").fill("Builds");
    await ada.dialog.getByRole("button", { name: "Create webhook" }).click();
    const address = await ada.dialog.getByLabel("Webhook address").inputValue();
    const call = (body) => fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    assert.equal((await call({ content: "all green", username: "Builder" })).status, 202);
    await bob.sees("all green");
    await bob.message("all green").getByText("Bot").waitFor();
    await ada.dialog.getByRole("button", { name: "New address for Builds" }).click();
    await ada.page.waitForFunction((old) => ![...document.querySelectorAll(".copy-field")].some((field) => field.value === old), address);
    const fresh = await ada.dialog.getByLabel("Webhook address").inputValue();
    assert.equal((await call({ content: "to the old address" })).status, 404);
    const posted = await fetch(fresh, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ content: "to the new address" }) });
    assert.equal(posted.status, 202);
    await bob.sees("to the new address");
    await ada.dialog.getByRole("button", { name: "Disable Builds" }).click();
    await ada.dialog.getByText("Off").waitFor();
    const unheard = await fetch(fresh, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ content: "unheard" }) });
    assert.equal(unheard.status, 404);
    await ada.dialog.getByRole("button", { name: "Delete Builds" }).click();
    await ada.dialog.getByText("There are no webhooks.").waitFor();
    await ada.page.keyboard.press("Escape");
  });

  test("a message is found by its words and by who wrote it, and opened in its place", async (context) => {
    const probe = await ada.page.evaluate(async (roomId) => (await (await fetch("/v1/rpc/message.search", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ roomId, query: "x" }) })).json()).code, pair.roomId);
    if (probe === "unsupported") return context.skip("this server does not search");
    await bob.say("a needle in a haystack");
    await ada.sees("a needle in a haystack");
    await ada.roomAction("Search");
    const search = ada.page.getByRole("complementary", { name: "Search" });
    await search.getByLabel("Text").fill("needle");
    await search.getByLabel("Text").press("Enter");
    await search.getByText("1 message found.").waitFor();
    await search.getByRole("button", { name: /a needle in a haystack/ }).click();
    await ada.page.waitForFunction(() => document.activeElement?.matches("article") && document.activeElement.textContent.includes("needle"));
    await search.getByText("Filters").click();
    await search.getByLabel("From").selectOption({ label: "Ada" });
    await search.getByRole("button", { name: "Search", exact: true }).click();
    await search.getByText("Nothing found.").waitFor();
    await search.getByLabel("From").selectOption({ label: "Bob" });
    const day = await ada.page.evaluate(() => [new Date().getFullYear(), new Date().getMonth() + 1, new Date().getDate()].map((part) => String(part).padStart(2, "0")).join("-"));
    await search.getByLabel("During").fill(day);
    await search.getByRole("button", { name: "Search", exact: true }).click();
    await search.getByText("1 message found.").waitFor();
    await search.getByLabel("During").fill("2020-02-02");
    await search.getByRole("button", { name: "Search", exact: true }).click();
    await search.getByText("Nothing found.").waitFor();
    await search.getByLabel("During").fill("");
    await search.getByLabel("Mentions").selectOption({ label: "Ada" });
    await search.getByRole("button", { name: "Search", exact: true }).click();
    await search.getByText("Nothing found.").waitFor();
  });

  test("a message of another room is found from here, and opened there", async () => {
    await ada.page.keyboard.press("Escape");
    await ada.makeRoom("Annex");
    await ada.roomAction("Search");
    const search = ada.page.getByRole("complementary", { name: "Search" });
    await search.getByLabel("Text").fill("needle");
    await search.getByText("Filters").click();
    await search.getByLabel("In", { exact: true }).selectOption({ label: "Archive" });
    await search.getByRole("button", { name: "Search", exact: true }).click();
    await search.getByText("1 message found.").waitFor();
    await search.getByRole("button", { name: /a needle in a haystack/ }).click();
    await ada.inRoom("Archive");
    await ada.page.waitForFunction(() => document.activeElement?.matches("article") && document.activeElement.textContent.includes("needle"));
    await ada.page.keyboard.press("Escape");
  });

  test("a custom emoji is renamed, and deleted", async () => {
    await ada.roomAction("Room settings");
    await ada.dialog.getByRole("button", { name: "Emoji", exact: true }).click();
    await ada.dialog.getByRole("button", { name: "Rename :gear_wheel:" }).click();
    await ada.dialog.getByLabel("New name").fill("cog");
    await ada.dialog.getByRole("button", { name: "Save" }).click();
    await ada.dialog.getByRole("button", { name: "Delete :cog:" }).click();
    await ada.dialog.getByText("There are none yet.").waitFor();
    await ada.page.keyboard.press("Escape");
    await ada.say("no more :cog: here");
    await bob.sees("no more :cog: here");
    assert.equal(await bob.message("no more :cog: here").locator("img").count(), 0);
  });

  test("a picture of the room and what it accepts are settings of it", async () => {
    await ada.roomAction("Room settings");
    await ada.dialog.getByLabel("Picture", { exact: true }).setInputFiles({ name: "room.png", mimeType: "image/png", buffer: await picture(ada.page, 96, 96) });
    await ada.dialog.getByLabel("Largest file in megabytes").fill("0.001");
    await ada.dialog.getByLabel("Sound").uncheck();
    await ada.dialog.getByRole("button", { name: "Save" }).click();
    await ada.dialog.waitFor({ state: "detached" });
    await bob.page.waitForFunction(() => document.querySelector(".room-head .avatar img")?.naturalWidth === 96);
    await chooser(bob).setInputFiles({ name: "big.txt", mimeType: "text/plain", buffer: Buffer.alloc(5000, "x") });
    await bob.page.locator(".tray .failed", { hasText: "big.txt" }).waitFor();
    await bob.page.getByRole("button", { name: "Remove big.txt" }).click();
  });

  test("the pages had no errors of their own", () => {
    assert.deepEqual(ada.faults, []);
    assert.deepEqual(bob.faults, []);
  });
});
