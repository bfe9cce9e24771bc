import { beforeEach, describe, expect, it } from "vitest";
import { Excerpt } from "../src/excerpt";
import type { DurableEvent, Message } from "../src/wire/generated";
import { ModelRoom, roomId } from "./model_room";

let room: ModelRoom;
let root: Message;
let excerpt: Excerpt;
let asked: string[];

beforeEach(() => {
  room = new ModelRoom();
  root = room.create("root");
  asked = [];
  excerpt = new Excerpt("me", (message) => message.replyRowKey === root.rowKey, (rowKeys) => asked.push(...rowKeys));
});

const texts = () => excerpt.messages.value.map((message) => message.message);

function reply(text: string): DurableEvent {
  const message = { ...room.create(text), replyRowKey: root.rowKey };
  return { event: "message.created", roomId, seq: room.head, data: { message } };
}

describe("a thread", () => {
  it("s_102: shows a reply that lands live, and one that lands during its read, once", () => {
    excerpt.beginRead();
    const during = reply("during");
    excerpt.apply(during, false);
    excerpt.take([root]);
    expect(texts()).toEqual(["root", "during"]);
    excerpt.apply(reply("after"), false);
    excerpt.apply(during, false);
    expect(texts()).toEqual(["root", "during", "after"]);
  });

  it("ignores what belongs elsewhere", () => {
    excerpt.take([root]);
    room.create("other");
    excerpt.apply(room.eventAt(room.head), false);
    expect(texts()).toEqual(["root"]);
  });

  it("a message deleted during the read does not come back with it", () => {
    excerpt.beginRead();
    const stale = { ...root };
    room.delete(root.rowKey);
    excerpt.apply(room.eventAt(room.head), false);
    excerpt.take([stale]);
    expect(texts()).toEqual([]);
  });
});

describe("changes", () => {
  beforeEach(() => excerpt.take([root]));

  it("come once, in the order of their revisions", () => {
    room.edit(root.rowKey, "changed");
    const edit = room.eventAt(room.head);
    excerpt.apply(edit, false);
    excerpt.apply(edit, false);
    expect(excerpt.messages.value[0]).toMatchObject({ message: "changed", rev: 2 });
    expect(asked).toEqual([]);
  });

  it("one that is not the next makes the message be read again, and the older state is not kept over it", () => {
    room.edit(root.rowKey, "first");
    room.edit(root.rowKey, "second");
    excerpt.apply(room.eventAt(room.head), false);
    expect(asked).toEqual([root.rowKey]);
    excerpt.renew(room.get([root.rowKey]).items);
    excerpt.apply(room.eventAt(room.head - 1), false);
    expect(texts()).toEqual(["second"]);
  });

  it("one's own reactions and votes are known from their events", () => {
    const reaction = (event: "reaction.added" | "reaction.removed", rev: number, count?: number): DurableEvent => ({
      event, roomId, seq: room.head + rev, data: { rowKey: root.rowKey, rev, emoji: "🦆", userId: "me", count, userIds: count ? ["me"] : undefined },
    }); // prettier-ignore
    excerpt.apply(reaction("reaction.added", 2, 1), false);
    expect(excerpt.messages.value[0]).toMatchObject({ mine: { reactions: ["🦆"] }, reactions: [{ emoji: "🦆", count: 1 }] });
    excerpt.apply(reaction("reaction.removed", 3), false);
    expect(excerpt.messages.value[0]).toMatchObject({ mine: { reactions: [] }, reactions: [] });
  });
});
