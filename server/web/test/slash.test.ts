import { describe, expect, test } from "vitest";
import { commandOf, completions, literalText, readSlash, slashCommands, usage } from "../src/slash";

const where = { now: Date.parse("2026-03-04T11:00:00.000Z"), zone: "Europe/Vienna" };
const read = (line: string) => readSlash(line, where);
const at = (time: string) => ({ at: Date.parse(time) });

describe("slash commands", () => {
  test("a reminder is a time and a text, with names or without", () => {
    for (const [line, time, text] of [
      ["/remind in 2h take the tea out", "2026-03-04T13:00:00Z", "take the tea out"],
      ["/remind tomorrow at 9am | call Ada", "2026-03-05T08:00:00Z", "call Ada"],
      ["/schedule next friday 14:30, see you", "2026-03-06T13:30:00Z", "see you"],
      ["/Remind 1h30m 3 eggs", "2026-03-04T12:30:00Z", "3 eggs"],
      ["/remind when|tomorrow 9am text|call Ada", "2026-03-05T08:00:00Z", "call Ada"],
      ["/remind text|when | is a word when|in 1h", "2026-03-04T12:00:00Z", "when | is a word"],
      ["/schedule when|in 1h message|one two", "2026-03-04T12:00:00Z", "one two"],
      ["/schedule in 1h one\ntwo", "2026-03-04T12:00:00Z", "one\ntwo"],
    ] as const) {
      expect(read(line), line).toMatchObject({ when: at(time), text });
    }
  });

  test("what is wrong says what to do", () => {
    for (const [line, error] of [
      ["/remind", "/remind <when> <text>"],
      ["/remind in 2h", "/remind <when> <text>"],
      ["/remind text|tea", "/remind <when> <text>"],
      ["/remind soon tea", "Try “in 2h”"],
      ["/remind today 9am tea", "has passed"],
      ["/me", "/me <message>"],
      ["/roll twice", "takes nothing"],
      ["/poll Tea?", "two to ten answers"],
      ["/poll Tea? | yes", "two to ten answers"],
      ["/poll | yes | no", "two to ten answers"],
      ["/rollo", "begin with //"],
    ] as const) {
      expect(read(line), line).toEqual({ error: expect.stringContaining(error) });
    }
  });

  test("a poll is a question and its answers", () => {
    expect(read("/poll Tea at four? | yes | no, later")).toEqual({ name: "poll", question: "Tea at four?", options: ["yes", "no, later"] });
    expect(read("/poll Tea? yes, no")).toEqual({ name: "poll", question: "Tea?", options: ["yes", "no"] });
  });

  test("the rest is one text or nothing", () => {
    expect(read("/me  waves | twice ")).toEqual({ name: "me", text: "waves | twice" });
    expect(read("/me message|waves")).toEqual({ name: "me", text: "waves" });
    expect(read("/shrug")).toEqual({ name: "shrug", text: "" });
    expect(read("/topic All about tea")).toEqual({ name: "topic", text: "All about tea" });
    expect(["/roll", "/flip", "/tableflip", "/unflip"].map(read)).toEqual([{ name: "roll" }, { name: "flip" }, { name: "tableflip" }, { name: "unflip" }]);
  });

  test("other lines are messages, and two slashes begin one with a slash", () => {
    for (const line of ["hello", "/", "//roll", "/usr/bin/env", "a /roll", "/ roll", "/8"]) expect(read(line), line).toBeUndefined();
    expect(literalText("//roll")).toBe("/roll");
    expect(literalText("/usr/bin")).toBe("/usr/bin");
  });

  test("a begun name is completed, a whole one says what follows", () => {
    const names = (line: string) => completions(line).map(({ name }) => name);
    expect(names("/")).toHaveLength(slashCommands.length);
    expect(names("/r")).toEqual(["remind", "roll"]);
    expect(names("/T")).toEqual(["tableflip", "topic"]);
    for (const line of ["/roll", "/roll ", "r", "//", "/me x", ""]) expect(names(line), line).toEqual([]);
    expect(commandOf("/remind noon")?.name).toBe("remind");
    expect(commandOf("/re")).toBeUndefined();
    expect(usage(slashCommands.find(({ name }) => name === "topic")!)).toBe("/topic [text]");
  });
});
