import { expect, it } from "vitest";
import { Unread } from "../src/unread";

it("counts what comes after the server's count", () => {
  const unread = new Unread();
  unread.counted(3, 1, 40);
  unread.arrived(41, false);
  unread.arrived(42, true);
  expect([unread.count, unread.mentionCount]).toEqual([5, 2]);
});

it("a message that the server's count holds already is not counted again", () => {
  const unread = new Unread();
  unread.counted(3, 0, 40);
  unread.arrived(40, false);
  unread.arrived(41, false);
  unread.arrived(41, false);
  expect(unread.count).toBe(4);
});

it("a count that arrives late keeps what came after it", () => {
  const unread = new Unread();
  for (const seq of [41, 42, 43]) unread.arrived(seq, false);
  unread.counted(10, 0, 42);
  expect(unread.count).toBe(11);
});

it("a hundred means a hundred or more", () => {
  const unread = new Unread();
  unread.counted(99, 0, 0);
  for (let seq = 1; seq < 500; seq++) unread.arrived(seq, true);
  expect([unread.count, unread.mentionCount]).toEqual([100, 100]);
});

it("reading leaves nothing but what comes later", () => {
  const unread = new Unread();
  unread.counted(5, 2, 10);
  unread.arrived(11, false);
  unread.arrived(12, false);
  unread.readAll(11);
  expect([unread.count, unread.mentionCount]).toEqual([1, 0]);
});
