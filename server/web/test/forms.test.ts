import { describe, expect, it } from "vitest";
import { duration } from "../src/format_time";
import { fileSize } from "../src/format_size";
import { mergedByKey } from "../src/message_order";
import { permissionNames, withBit } from "../src/permission_names";
import { filtersOf } from "../src/search_filters";
import { fitted } from "../src/thumbnail";
import { permission } from "../src/wire/generated";
import { linesOf, wordsOf } from "../src/word_list";
import { ModelRoom } from "./model_room";

describe("the words of a filter", () => {
  it("are lines; quotes ask for the whole word", () => {
    const words = wordsOf('  plum \n\n"pear"\nsour "apple"');
    expect(words).toEqual([
      { word: "plum", matchWholeWord: false },
      { word: "pear", matchWholeWord: true },
      { word: 'sour "apple"', matchWholeWord: false },
    ]);
    expect(wordsOf(linesOf(words))).toEqual(words);
  });
});

it("only filters that say something are sent", () => {
  expect(filtersOf({ text: "x", from: "", mentions: "u", inRoom: "r", has: "Image", before: "", after: "2026-01-02", during: "2026-02-03", isPinned: true })).toEqual([
    { type: "Mentions", value: "u" },
    { type: "In", value: "r" },
    { type: "Has", value: "Image" },
    { type: "After", value: "2026-01-02" },
    { type: "During", value: "2026-02-03" },
    { type: "Pinned", value: "true" },
  ]);
});

it.each([
  [1600, 800, 320, 160],
  [800, 1600, 160, 320],
  [100, 40, 100, 40],
  [10_000, 1, 320, 1],
])("a picture of %i × %i has a thumbnail of %i × %i", (width, height, ...expected) => {
  expect(Object.values(fitted(width, height))).toEqual(expected);
});

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1400, "1.4 kB"],
  [10_485_760, "10.5 MB"],
])("%i bytes are %s", (bytes, text) => {
  expect(fileSize(bytes)).toBe(text);
});

it.each([
  [1, "1 s"],
  [89_000, "89 s"],
  [300_000, "5 min"],
  [2 * 3_600_000, "2 h"],
  [7 * 86_400_000, "7 days"],
])("%i ms are %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

it("a permission is set and taken without touching the others", () => {
  const all = Object.values(permission).reduce((set, bit) => set | bit, 0);
  expect(withBit(all, permission.BanMembers, false)).toBe(all - permission.BanMembers);
  expect(withBit(permission.SendMessages, permission.ManageRoom, true)).toBe(18);
  expect(new Set(permissionNames.map(([bit]) => bit)).size).toBe(permissionNames.length);
});

it("lists of messages are merged by key, each in its newest state", () => {
  const room = new ModelRoom();
  const [first, second] = [room.create("one"), room.create("two")];
  expect(mergedByKey([second], [first, { ...second, rev: 2, message: "two!" }]).map((message) => message.message)).toEqual(["one", "two!"]);
});
