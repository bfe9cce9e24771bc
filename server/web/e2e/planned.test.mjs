// Slash commands, and what is planned: reminders and scheduled messages.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Pair } from "./harness.mjs";

describe("slash commands", { concurrency: 1 }, () => {
  let pair;
  let ada;
  let bob;

  before(async () => {
    pair = await Pair.meet({ room: "Loom" });
    ({ ada, bob } = pair);
  });
  after(() => pair?.part());

  const hint = () => ada.page.locator("#slash-hint");

  test("a begun command is completed by keyboard and says what follows", async () => {
    await ada.composer.fill("/");
    const list = ada.page.getByRole("listbox", { name: "Commands" });
    await list.getByRole("option").nth(9).waitFor();
    await ada.composer.fill("/r");
    assert.equal(await list.getByRole("option").count(), 2);
    const active = () => ada.composer.getAttribute("aria-activedescendant");
    assert.equal(await list.locator(`[id="${await active()}"]`).innerText().then((text) => text.includes("/remind")), true);
    await ada.composer.press("ArrowDown");
    assert.equal(await list.locator(`[id="${await active()}"]`).innerText().then((text) => text.includes("/roll")), true);
    await ada.composer.press("ArrowUp");
    await ada.composer.press("Enter");
    assert.equal(await ada.composer.inputValue(), "/remind ");
    await hint().getByText("/remind <when> <text>").waitFor();
    await ada.composer.fill("");
    await hint().waitFor({ state: "detached" });
  });

  test("what they write is seen by the other", async () => {
    await ada.say("/me waves <here>");
    await bob.sees("waves <here>");
    assert.equal(await bob.message("waves <here>").locator(".body em").innerText(), "waves <here>");
    await ada.say("/shrug who knows");
    await bob.sees("who knows ¯\\_(ツ)_/¯");
    await ada.say("/tableflip");
    await bob.sees("(╯°□°)╯︵ ┻━┻");
    await ada.say("/unflip");
    await bob.sees("┬─┬ノ( º _ ºノ)");
    await ada.say("/roll");
    await bob.page.waitForFunction(() => /^([1-9]\d?|100)$/.test([...document.querySelectorAll(".message .body")].at(-1)?.innerText ?? ""));
    await ada.say("/flip");
    await bob.page.waitForFunction(() => /^(heads|tails)$/.test([...document.querySelectorAll(".message .body")].at(-1)?.innerText ?? ""));
  });

  test("a poll and a topic are made by one line", async () => {
    await ada.say("/poll Tea at four? | yes | no, later");
    const poll = bob.page.getByRole("group", { name: "Poll: Tea at four?" });
    await poll.getByRole("button", { name: "yes" }).waitFor();
    await poll.getByRole("button", { name: "no, later" }).waitFor();
    await ada.say("/topic All about tea");
    await bob.page.locator(".room-title .topic", { hasText: "All about tea" }).waitFor();
    await bob.say("/topic Mine");
    await bob.page.getByRole("alert").getByText("You are not allowed to do that here.").waitFor();
    assert.equal(await bob.composer.inputValue(), "/topic Mine");
    await bob.composer.fill("");
  });

  test("what is no command, or a wrong one, is kept and says what to do; two slashes send one", async () => {
    for (const [line, error] of [
      ["/rollo", "To send it as it is, begin with //."],
      ["/me", "Write it as /me <message>"],
      ["/remind soon tea", "That is not a time."],
    ]) {
      await ada.say(line);
      await ada.page.getByRole("alert").getByText(error).waitFor();
      assert.equal(await ada.composer.inputValue(), line);
    }
    await ada.say("//rollo");
    await bob.sees("/rollo");
  });

  test("the pages had no errors of their own", () => {
    assert.deepEqual(ada.faults, []);
    assert.deepEqual(bob.faults, []);
  });
});

describe("what is planned", { concurrency: 1 }, () => {
  let pair;
  let ada;
  let bob;

  before(async () => {
    pair = await Pair.meet({ room: "Loom" });
    ({ ada, bob } = pair);
  });
  after(() => pair?.part());

  const panel = (person) => person.page.getByRole("complementary", { name: "Planned" });

  test("a time that the clocks skip is shown as what it will be, and confirmed", async () => {
    const viewer = await pair.join("Cleo", { timezoneId: "Europe/Stockholm" });
    // The last Sunday of the next March: 02:00 becomes 03:00.
    const now = new Date();
    const march = new Date(Date.UTC(now.getUTCFullYear() + (now.getUTCMonth() < 2 ? 0 : 1), 2, 31));
    march.setUTCDate(31 - march.getUTCDay());
    const day = march.toISOString().slice(0, 10);
    await viewer.composer.fill(`/remind ${day} 02:30 change the clocks`);
    await viewer.page.locator("#slash-hint").getByText(/0?3:30/).waitFor();
    await viewer.composer.press("Enter");
    await viewer.page.getByRole("alert").getByText("Press Enter again").waitFor();
    await viewer.composer.press("Enter");
    await viewer.page.getByText("You will be reminded:").waitFor();
    assert.equal(await viewer.composer.inputValue(), "");
    const { items } = await pair.server.rpc(viewer.page, "schedule.mine", {});
    assert.deepEqual(items.map(({ job }) => [job.payload, job.runAt]), [[{ type: "Reminder", text: "change the clocks" }, `${day}T01:30:00.000Z`]]);
    await viewer.context.close();
  });

  test("a reminder and a message are listed, in the order of their times, and cancelled", async () => {
    await ada.say("/remind in 3h feed the cat");
    await ada.page.getByText("You will be reminded:").waitFor();
    await ada.roomAction("Planned");
    await panel(ada).getByText("feed the cat").waitFor();
    await ada.say("/schedule in 2h good <evening>");
    await panel(ada).getByText("good <evening>").waitFor();
    assert.deepEqual(await panel(ada).locator(".job-text").allInnerTexts(), ["good <evening>", "feed the cat"]);
    await panel(ada).getByRole("button", { name: "Cancel: feed the cat" }).click();
    await panel(ada).getByText("feed the cat").waitFor({ state: "detached" });
    const { items } = await pair.server.rpc(ada.page, "schedule.mine", {});
    assert.equal(items.length, 1);
  });

  test("a message is moved to another time", async () => {
    await panel(ada).getByRole("button", { name: "Another time: good <evening>" }).click();
    await panel(ada).getByLabel("New time").fill("soonish");
    await panel(ada).getByText("That is not a time.").waitFor();
    assert.equal(await panel(ada).getByRole("button", { name: "Move" }).isEnabled(), false);
    const later = `${new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 10)}T18:00:00.000Z`;
    await panel(ada).getByLabel("New time").fill(later);
    await panel(ada).getByRole("button", { name: "Move" }).click();
    await panel(ada).locator(`time[datetime="${later}"]`).waitFor();
    assert.deepEqual(await panel(ada).locator(".job-text").allInnerTexts(), ["good <evening>"]);
  });

  test("another device of the account follows, and a message is sent now, once", async () => {
    const other = await ada.context.newPage();
    await other.goto(`${pair.server.url}/room/${pair.roomId}`);
    await other.locator(".room-actions").getByRole("button", { name: "Planned" }).click();
    const there = other.getByRole("complementary", { name: "Planned" });
    await there.getByText("good <evening>").waitFor();
    await panel(ada).getByRole("button", { name: "Send now: good <evening>" }).click();
    await bob.sees("good <evening>");
    await there.getByText("Nothing is planned.").waitFor();
    await panel(ada).getByText("Nothing is planned.").waitFor();
    assert.equal(await bob.message("good <evening>").count(), 1);
    await other.close();
  });

  test("a message that is due is posted by itself and leaves the list", async () => {
    await ada.say("/schedule in 2s tick");
    await panel(ada).getByText("tick").waitFor();
    await bob.sees("tick");
    await panel(ada).getByText("Nothing is planned.").waitFor();
  });

  test("the list of all rooms names them", async () => {
    await ada.say("/remind in 5h water the plants");
    await ada.makeRoom("Second");
    await panel(ada).getByText("Nothing is planned.").waitFor();
    await panel(ada).getByLabel("Of").selectOption({ label: "All rooms" });
    await panel(ada).getByText("water the plants").waitFor();
    await panel(ada).getByText("in Loom").waitFor();
    await ada.page.keyboard.press("Escape");
  });

  test("the pages had no errors of their own", () => {
    assert.deepEqual(ada.faults, []);
    assert.deepEqual(bob.faults, []);
  });
});
