import { describe, expect, it } from "vitest";
import { type Read, Timeline } from "../src/timeline";
import type { CatchUp, DurableEvent, Message, Subscribed } from "../src/wire/generated";
import { ModelRoom, roomId } from "./model_room";
import { Random } from "./random";

function recorded() {
  const asked = { resubscribes: 0, reloads: 0, rereads: [] as string[][], applied: [] as number[] };
  const timeline = new Timeline(roomId, {
    resubscribe: () => void asked.resubscribes++,
    reload: () => void asked.reloads++,
    reread: (rowKeys) => void asked.rereads.push(rowKeys),
    applied: (event) => void asked.applied.push(event.seq ?? 0),
    changed: () => undefined,
  });
  return { timeline, asked };
}

/** A room that is subscribed, caught up and shown, with `count` messages. */
function opened(count: number) {
  const room = new ModelRoom();
  const sent = Array.from({ length: count }, (_, index) => room.create(`message ${index + 1}`));
  const { timeline, asked } = recorded();
  timeline.position = { epoch: room.epoch, seq: room.head };
  subscribe(timeline, room, 1);
  timeline.hold();
  timeline.takeNewest(timeline.beginRead(), room.list(undefined, 50));
  return { room, sent, timeline, asked };
}

function subscribe(timeline: Timeline, room: ModelRoom, sub: number): void {
  const since = timeline.subscribing();
  timeline.subscribed({ roomId, sub, epoch: room.epoch, seq: room.head, verdict: "exact" });
  for (const page of room.fold(since!.seq, 100)) timeline.catchUp(sub, page);
}

const texts = (timeline: Timeline) => timeline.snapshot().map((message) => message.message);

describe("live events", () => {
  it("a message comes once, however often it is told", () => {
    const { room, timeline } = opened(1);
    const message = room.create("hello");
    timeline.event(room.eventAt(2));
    timeline.event(room.eventAt(2));
    timeline.takeReply(timeline.beginRead(), message);
    expect(texts(timeline)).toEqual(["message 1", "hello"]);
    expect(timeline.position).toEqual({ epoch: "e1", seq: 2 });
  });

  it("a skipped seq is a hole: subscribed again, nothing applied", () => {
    const { room, timeline, asked } = opened(1);
    room.create("lost");
    room.create("seen");
    timeline.event(room.eventAt(3));
    expect(asked.resubscribes).toBe(1);
    expect(timeline.position?.seq).toBe(1);
    subscribe(timeline, room, 2);
    expect(texts(timeline)).toEqual(["message 1", "lost", "seen"]);
  });

  it("while a subscription is asked for, further holes ask for no second one", () => {
    const { room, timeline, asked } = opened(1);
    for (const text of ["a", "b", "c"]) room.create(text);
    timeline.event(room.eventAt(3));
    timeline.event(room.eventAt(4));
    expect(asked.resubscribes).toBe(1);
  });

  it("control frames of an earlier subscription are ignored", () => {
    const { room, timeline } = opened(1);
    room.create("x");
    subscribe(timeline, room, 2);
    timeline.catchUp(1, { entries: [], seq: 99, done: true });
    timeline.behind(1, { seq: 1, head: 99, verdict: "gap" });
    timeline.advanced(1, 3);
    expect(timeline.unsubscribed(1)).toBe(false);
    expect(timeline.position?.seq).toBe(2);
  });

  it("an own event spared by echo counts as its seq", () => {
    const { room, timeline } = opened(1);
    room.create("mine");
    room.create("theirs");
    timeline.advanced(1, 2);
    timeline.event(room.eventAt(3));
    expect(timeline.position?.seq).toBe(3);
  });

  it("a lagging head is repaired at the second ping that shows it", () => {
    const { timeline, asked } = opened(1);
    timeline.pinged(5);
    expect(asked.resubscribes).toBe(0);
    timeline.pinged(undefined);
    expect(asked.resubscribes).toBe(1);
  });

  it("a reaction replaces that reaction and no other", () => {
    const { room, sent, timeline } = opened(1);
    room.react(sent[0]!.rowKey, "👍", 1);
    room.react(sent[0]!.rowKey, "🎉", 1);
    room.react(sent[0]!.rowKey, "👍", 2);
    room.react(sent[0]!.rowKey, "🎉", 0);
    for (const seq of [2, 3, 4, 5]) timeline.event(room.eventAt(seq));
    expect(timeline.snapshot()[0]?.reactions).toEqual([{ emoji: "👍", count: 2, userIds: [] }]);
  });

  it("a changed field that is null has no value any more", () => {
    const { room, sent, timeline } = opened(1);
    const { rowKey } = sent[0]!;
    timeline.event({ event: "message.updated", roomId, seq: room.head + 1, data: { rowKey, rev: 2, changes: { linkPreview: null } } });
    expect(timeline.snapshot()[0]).toHaveProperty("linkPreview", undefined);
  });
});

describe("revisions", () => {
  it("bl_055: a delete is final, whatever arrives after it", () => {
    const { room, sent, timeline } = opened(1);
    const { rowKey } = sent[0]!;
    const read = timeline.beginRead();
    const stale = room.list(undefined, 50);
    room.delete(rowKey);
    timeline.event(room.eventAt(2));
    timeline.event({ event: "message.updated", roomId, seq: 3, data: { rowKey, rev: 2, changes: { message: "back?" } } });
    timeline.takeReply(read, stale.items![0]!);
    expect(texts(timeline)).toEqual([]);
  });

  it("bl_043: a read that is answered late does not undo a newer edit", () => {
    const { room, sent, timeline } = opened(1);
    const late = timeline.beginRead();
    const older = room.get([sent[0]!.rowKey]);
    room.edit(sent[0]!.rowKey, "edited");
    timeline.event(room.eventAt(2));
    timeline.takeGot(late, [sent[0]!.rowKey], older);
    expect(texts(timeline)).toEqual(["edited"]);
  });

  it("a delta that skips a revision makes the message be read again, once", () => {
    const { room, sent, timeline, asked } = opened(1);
    const { rowKey } = sent[0]!;
    timeline.event({ event: "message.updated", roomId, seq: 2, data: { rowKey, rev: 3, changes: { message: "third" } } });
    timeline.event({ event: "message.updated", roomId, seq: 3, data: { rowKey, rev: 4, changes: { message: "fourth" } } });
    expect(asked.rereads).toEqual([[rowKey]]);
    for (const text of ["second", "third"]) room.edit(rowKey, text);
    timeline.takeGot(timeline.beginRead(), [rowKey], room.get([rowKey]));
    expect(asked.rereads, "revision 3 is not yet what the events told").toEqual([[rowKey], [rowKey]]);
    room.edit(rowKey, "fourth");
    timeline.takeGot(timeline.beginRead(), [rowKey], room.get([rowKey]));
    expect(texts(timeline)).toEqual(["fourth"]);
  });

  it("a re-read that was lost with the connection is asked for again", () => {
    const { room, sent, timeline, asked } = opened(1);
    const { rowKey } = sent[0]!;
    timeline.event({ event: "message.updated", roomId, seq: 2, data: { rowKey, rev: 3, changes: {} } });
    timeline.disconnected();
    room.head = 2;
    subscribe(timeline, room, 2);
    expect(asked.rereads).toEqual([[rowKey], [rowKey]]);
  });

  it("a message that a re-read does not find is gone", () => {
    const { room, sent, timeline } = opened(2);
    room.delete(sent[0]!.rowKey);
    timeline.takeGot(timeline.beginRead(), [sent[0]!.rowKey], room.get([sent[0]!.rowKey]));
    expect(texts(timeline)).toEqual(["message 2"]);
  });
});

describe("reads against events", () => {
  it("a listed message that was deleted while the list was on its way is not shown", () => {
    const { room, timeline } = shownLate();
    const target = room.live()[0]!.rowKey;
    const read = timeline.beginRead();
    const page = room.list(undefined, 50);
    room.delete(target);
    timeline.event(room.eventAt(room.head));
    timeline.takeNewest(read, page);
    expect(timeline.get(target)).toBeUndefined();
  });

  it("a listed message that changed while the list was on its way is read again", () => {
    const { room, timeline, asked } = shownLate();
    const target = room.live()[1]!.rowKey;
    const read = timeline.beginRead();
    const page = room.list(undefined, 50);
    room.edit(target, "newer");
    timeline.event(room.eventAt(room.head));
    timeline.takeNewest(read, page);
    expect(asked.rereads).toEqual([[target]]);
    timeline.takeGot(timeline.beginRead(), [target], room.get([target]));
    expect(timeline.get(target)?.message).toBe("newer");
  });

  it("a list that is ahead of the events is not undone by them", () => {
    const { room, timeline } = shownLate();
    const [newest] = room.live();
    room.edit(newest!.rowKey, "edited");
    room.delete(room.live()[1]!.rowKey);
    timeline.takeNewest(timeline.beginRead(), room.list(undefined, 50));
    timeline.event(room.eventAt(room.head - 1));
    timeline.event(room.eventAt(room.head));
    expect(texts(timeline)).toEqual(["message 1", "edited"]);
  });

  it("more messages than a page while it is on its way leave no hole behind it", () => {
    const { room, timeline } = shownLate();
    const read = timeline.beginRead();
    for (let index = 0; index < 10; index++) {
      room.create(`burst ${index}`);
      timeline.event(room.eventAt(room.head));
    }
    timeline.takeNewest(read, room.list(undefined, 4));
    expect(texts(timeline)).toEqual(["burst 6", "burst 7", "burst 8", "burst 9"]);
    timeline.takeOlder(timeline.beginRead(), timeline.olderCursor!, room.list(timeline.olderCursor, 50));
    expect(timeline.size).toBe(13);
  });

  function shownLate() {
    const room = new ModelRoom();
    for (let index = 1; index <= 3; index++) room.create(`message ${index}`);
    const { timeline, asked } = recorded();
    timeline.position = { epoch: room.epoch, seq: room.head };
    subscribe(timeline, room, 1);
    timeline.hold();
    return { room, timeline, asked };
  }
});

describe("catch-up", () => {
  it("folded entries bring messages to their present state", () => {
    const { room, sent, timeline } = opened(3);
    timeline.disconnected();
    const a = room.create("A");
    const b = room.create("B");
    room.react(sent[0]!.rowKey, "👍", 1);
    room.edit(a.rowKey, "A, edited");
    room.delete(b.rowKey);
    room.delete(sent[1]!.rowKey);
    subscribe(timeline, room, 2);
    expect(texts(timeline)).toEqual(["message 1", "message 3", "A, edited"]);
    expect(timeline.snapshot()[0]?.reactions).toEqual([{ emoji: "👍", count: 1, userIds: [] }]);
    expect(timeline.position?.seq).toBe(9);
    expect(timeline.phase).toBe("live");
  });

  it("a changed message that is older than what is shown stays in the history", () => {
    const { room, timeline } = opened(60);
    expect(timeline.size).toBe(50);
    timeline.disconnected();
    room.edit(room.live().at(-1)!.rowKey, "old, edited");
    subscribe(timeline, room, 2);
    expect(timeline.size).toBe(50);
  });

  it("bl_018: catching up twice changes nothing", () => {
    const { room, timeline, asked } = opened(2);
    timeline.disconnected();
    room.create("three");
    subscribe(timeline, room, 2);
    const before = timeline.snapshot();
    timeline.catchUp(2, { entries: [room.eventAt(3)], seq: 3, done: true });
    subscribe(timeline, room, 3);
    expect(timeline.snapshot()).toEqual(before);
    expect(asked.applied).toEqual([3]);
  });

  it("bl_016: beyond reach, only the newest page is read again", () => {
    const { room, timeline, asked } = opened(5);
    timeline.disconnected();
    for (let index = 0; index < 50_000; index++) room.create(`missed ${index}`);
    timeline.subscribing();
    timeline.subscribed({ roomId, sub: 2, epoch: room.epoch, seq: room.head, verdict: "gap" });
    expect(asked.reloads).toBe(1);
    expect(texts(timeline), "what was there is shown until the page is").toHaveLength(5);
    timeline.takeNewest(timeline.beginRead(), room.list(undefined, 50));
    expect(timeline.size).toBe(50);
    expect(timeline.hasOlder).toBe(true);
    expect(timeline.position?.seq).toBe(room.head);
  });

  it("a page that was asked for before a gap is not joined to what is read after it", () => {
    const { room, timeline } = opened(60);
    const read = timeline.beginRead();
    const cursor = timeline.olderCursor!;
    const page = room.list(cursor, 50);
    for (let index = 0; index < 100; index++) room.create(`missed ${index}`);
    timeline.behind(1, { seq: timeline.position!.seq, head: room.head, verdict: "gap" });
    timeline.takeNewest(timeline.beginRead(), room.list(undefined, 50));
    timeline.takeOlder(read, cursor, page);
    expect(timeline.size).toBe(50);
  });

  it("another epoch voids what was cached and is kept", () => {
    const { room, timeline, asked } = opened(3);
    room.restore("e2");
    timeline.subscribing();
    timeline.subscribed({ roomId, sub: 2, epoch: "e2", seq: room.head, verdict: "reset" });
    expect(asked.reloads).toBe(1);
    expect(timeline.position).toEqual({ epoch: "e2", seq: room.head });
  });

  it("a message that a reply brought early and that was deleted before the catch-up is in none of its entries, and goes", () => {
    const { room, timeline } = opened(1);
    const early = room.create("early");
    timeline.takeReply(timeline.beginRead(), early);
    timeline.disconnected();
    room.delete(early.rowKey);
    room.create("later");
    subscribe(timeline, room, 2);
    expect(texts(timeline)).toEqual(["message 1", "later"]);
  });

  it("a reply that comes after the catch-up that folded its message away does not bring it back", () => {
    const { room, timeline } = opened(1);
    const read = timeline.beginRead();
    const late = room.create("late");
    room.delete(late.rowKey);
    subscribe(timeline, room, 2);
    timeline.takeReply(read, late);
    expect(texts(timeline)).toEqual(["message 1"]);
  });

  it("a catch-up that was broken off is gone on with, not begun anew", () => {
    const { room, timeline, asked } = opened(1);
    timeline.disconnected();
    for (const text of ["two", "three", "four"]) room.create(text);
    const since = timeline.subscribing()!;
    timeline.subscribed({ roomId, sub: 2, epoch: room.epoch, seq: room.head, verdict: "exact" });
    timeline.catchUp(2, room.fold(since.seq, 2)[0]!);
    timeline.disconnected();
    expect(timeline.subscribing()).toEqual({ epoch: "e1", seq: 3 });
    subscribe(timeline, room, 3);
    expect(texts(timeline)).toEqual(["message 1", "two", "three", "four"]);
    expect(asked.applied).toEqual([2, 3, 4]);
  });

  it("behind within reach goes on from the store", () => {
    const { room, timeline } = opened(1);
    room.create("two");
    room.create("three");
    timeline.behind(1, { seq: 1, head: 3, verdict: "exact" });
    for (const page of room.fold(1, 1)) timeline.catchUp(1, page);
    room.create("four");
    timeline.event(room.eventAt(4));
    expect(texts(timeline)).toEqual(["message 1", "two", "three", "four"]);
  });
});

describe("a room that was never opened", () => {
  it("keeps its position and no messages", () => {
    const room = new ModelRoom();
    const { timeline, asked } = recorded();
    timeline.position = { epoch: room.epoch, seq: 0 };
    subscribe(timeline, room, 1);
    room.create("unseen");
    timeline.event(room.eventAt(1));
    expect(timeline.size).toBe(0);
    expect(timeline.position.seq).toBe(1);
    expect(asked.applied).toEqual([1]);
  });
});

describe("whatever the network does", () => {
  it.each(Array.from({ length: 200 }, (_, seed) => seed))("client and server agree in the end (seed %i)", (seed) => {
    const world = new World(seed);
    for (let step = 0; step < 400; step++) world.step();
    world.heal();
    const { timeline, room } = world;
    const floor = timeline.olderCursor;
    const expected = room.live().filter((message) => floor === undefined || message.rowKey <= floor).reverse();
    expect(timeline.snapshot().map(essence)).toEqual(expected.map(essence));
    expect(timeline.position).toEqual({ epoch: room.epoch, seq: room.head });
    expect(world.asked.applied.every((seq, index, all) => index === 0 || world.restarts.has(index) || seq > all[index - 1]!)).toBe(true);
  });
});

function essence({ rowKey, rev, message, reactions }: Message) {
  return { rowKey, rev, message, reactions: (reactions ?? []).toSorted((a, b) => (a.emoji < b.emoji ? -1 : 1)) };
}

type Frame =
  | { kind: "event"; event: DurableEvent }
  | { kind: "subscribed"; reply: Subscribed }
  | { kind: "page"; sub: number; page: CatchUp }
  | { kind: "behind"; sub: number; seq: number; head: number; verdict: "exact" | "gap" }
  | { kind: "heads"; head: number | undefined };

/** A reply on its way: read from the server's state at some moment, delivered at a later one. */
interface Reply {
  answered?: () => void;
  answer: () => () => void;
  lost: () => void;
}

class World {
  readonly room = new ModelRoom();
  readonly timeline: Timeline;
  readonly asked = { applied: [] as number[] };
  readonly restarts = new Set<number>();
  private readonly random: Random;
  private frames: Frame[] = [];
  private replies: Reply[] = [];
  private isConnected = false;
  private sub = 0;
  /** The server's side of the subscription: up to where it has sent. */
  private sentTo = 0;
  private pingedHead = -1;
  private maxCatchUp: number;
  private isLossy = true;

  constructor(seed: number) {
    this.random = new Random(seed * 7919 + 1);
    this.maxCatchUp = this.random.pick([8, 40, 1000]);
    for (let index = this.random.below(30); index > 0; index--) this.room.create(`start ${index}`);
    this.timeline = new Timeline(roomId, {
      resubscribe: () => this.subscribe(),
      reload: () => {
        this.restarts.add(this.asked.applied.length);
        this.readNewest();
      },
      reread: (rowKeys) => this.reread(rowKeys),
      applied: (event) => void this.asked.applied.push(event.seq ?? 0),
      changed: () => undefined,
    });
    this.timeline.position = { epoch: this.room.epoch, seq: this.room.head };
    this.connect();
    this.readNewest();
  }

  step(): void {
    const roll = this.random.below(100);
    if (roll < 34) this.write();
    else if (roll < 62) this.deliver();
    else if (roll < 72) this.answerSome();
    else if (roll < 80) this.handOverSome();
    else if (roll < 83) this.readOlder();
    else if (roll < 85) this.behind();
    else if (roll < 87) this.ping();
    else if (roll < 88) this.timeline.trim(5 + this.random.below(20));
    else if (roll < 91) this.send();
    else if (roll < 92 && this.random.chance(0.2)) this.restore();
    else if (roll < 95) this.isConnected ? this.disconnect() : this.connect();
  }

  heal(): void {
    this.isLossy = false;
    if (!this.isConnected) this.connect();
    for (let round = 0; round < 200; round++) {
      while (this.frames.length > 0) this.deliver();
      for (const reply of this.replies) reply.answered ??= reply.answer();
      const ready = this.replies;
      this.replies = [];
      for (const reply of ready) reply.answered!();
      if (round % 3 === 2) this.ping();
      if (!this.timeline.isLoaded && this.replies.length === 0) this.readNewest();
      if (round > 6 && this.frames.length === 0 && this.replies.length === 0) return;
    }
    throw new Error("never comes to rest");
  }

  private write(): void {
    const { room, random } = this;
    const live = room.live();
    const near = live.slice(0, 25);
    const roll = random.below(10);
    if (near.length === 0 || roll < 5) room.create(`text ${room.head}`);
    else if (roll < 7) room.edit(random.pick(random.chance(0.8) ? near : live).rowKey, `edit ${room.head}`);
    else if (roll < 9) room.react(random.pick(near).rowKey, random.pick(["👍", "🎉"]), random.below(3));
    else room.delete(random.pick(near).rowKey);
    this.publish();
  }

  private publish(): void {
    if (!this.isConnected || this.sentTo >= this.room.head || this.sub === 0) return;
    while (this.sentTo < this.room.head) {
      this.sentTo++;
      const event = this.room.eventAt(this.sentTo);
      if (this.isLossy && this.random.chance(0.03)) continue;
      this.frames.push({ kind: "event", event });
      if (this.isLossy && this.random.chance(0.05)) this.frames.push({ kind: "event", event: structuredClone(event) });
    }
  }

  private deliver(): void {
    const frame = this.frames.shift();
    if (!frame) return;
    switch (frame.kind) {
      case "event":
        return this.timeline.event(frame.event);
      case "subscribed":
        return this.timeline.subscribed(frame.reply);
      case "page":
        return this.timeline.catchUp(frame.sub, frame.page);
      case "behind":
        return this.timeline.behind(frame.sub, frame);
      case "heads":
        return this.timeline.pinged(frame.head);
    }
  }

  private connect(): void {
    this.isConnected = true;
    this.sub = 0;
    this.pingedHead = -1;
    this.subscribe();
    if (!this.timeline.isLoaded) this.readNewest();
  }

  private disconnect(): void {
    this.isConnected = false;
    this.frames = [];
    this.timeline.disconnected();
    const lost = this.replies;
    this.replies = [];
    for (const reply of lost) reply.lost();
  }

  /** The server answers at once; that it travels for a while is in `frames`. */
  private subscribe(): void {
    if (!this.isConnected) return;
    const since = this.timeline.subscribing()!;
    const sub = ++this.subs;
    this.sub = sub;
    const { room } = this;
    const reply = { roomId, sub, epoch: room.epoch, seq: room.head };
    this.sentTo = room.head;
    if (since.epoch !== room.epoch || since.seq > room.head) {
      this.frames.push({ kind: "subscribed", reply: { ...reply, verdict: "reset" } });
    } else if (room.head - since.seq > this.maxCatchUp) {
      this.frames.push({ kind: "subscribed", reply: { ...reply, verdict: "gap" } });
    } else {
      this.frames.push({ kind: "subscribed", reply: { ...reply, verdict: "exact" } });
      for (const page of room.fold(since.seq, 1 + this.random.below(6))) this.frames.push({ kind: "page", sub, page });
    }
  }
  private subs = 0;

  private behind(): void {
    if (!this.isConnected || this.sub === 0) return;
    // The last events of the room are dropped from the queue, as an overflow does.
    let from = this.sentTo;
    while (this.frames.at(-1)?.kind === "event") {
      const frame = this.frames.pop() as { event: DurableEvent };
      from = Math.min(from, frame.event.seq! - 1);
    }
    const { room, sub } = this;
    this.sentTo = room.head;
    const verdict = room.head - from > this.maxCatchUp ? "gap" : "exact";
    this.frames.push({ kind: "behind", sub, seq: from, head: room.head, verdict });
    if (verdict === "exact") for (const page of room.fold(from, 4)) this.frames.push({ kind: "page", sub, page });
  }

  private ping(): void {
    if (!this.isConnected) return;
    const { head } = this.room;
    this.frames.push({ kind: "heads", head: head === this.pingedHead ? undefined : head });
    this.pingedHead = head;
  }

  private restore(): void {
    this.room.restore(`e${this.room.head}-${this.random.below(1000)}`);
    this.disconnect();
  }

  private readNewest(): void {
    this.timeline.hold();
    this.ask(
      () => this.room.list(undefined, 10),
      (read, page) => this.timeline.takeNewest(read, page),
    );
  }

  private readOlder(): void {
    const cursor = this.timeline.olderCursor;
    if (cursor === undefined) return;
    this.ask(
      () => this.room.list(cursor, 10),
      (read, page) => this.timeline.takeOlder(read, cursor, page),
    );
  }

  private reread(rowKeys: string[]): void {
    this.ask(
      () => this.room.get(rowKeys),
      (read, reply) => this.timeline.takeGot(read, rowKeys, reply),
    );
  }

  private send(): void {
    if (!this.isConnected) return;
    this.ask(
      () => {
        const message = this.room.create("own", `n-${this.room.head}`);
        this.publish();
        return structuredClone(message);
      },
      (read, message) => this.timeline.takeReply(read, message),
    );
  }

  private ask<T>(serve: () => T, take: (read: Read, reply: T) => void): void {
    if (!this.isConnected) return;
    const read = this.timeline.beginRead();
    this.replies.push({
      answer: () => {
        const reply = serve();
        return () => take(read, reply);
      },
      lost: () => this.timeline.endRead(read),
    });
  }

  private answerSome(): void {
    const waiting = this.replies.filter((reply) => !reply.answered);
    if (waiting.length > 0) {
      const reply = this.random.pick(waiting);
      reply.answered = reply.answer();
    }
  }

  private handOverSome(): void {
    const ready = this.replies.filter((reply) => reply.answered);
    if (ready.length === 0) return;
    const reply = this.random.pick(ready);
    this.replies = this.replies.filter((other) => other !== reply);
    reply.answered!();
  }
}

describe("replies to a message", () => {
  const countOf = (timeline: Timeline, rowKey: string) => timeline.get(rowKey)?.replyCount ?? 0;

  it("are counted by the server, and from there on by what is seen live", () => {
    const { room, sent, timeline } = opened(1);
    const root = sent[0]!.rowKey;
    const read = timeline.beginRead();
    const counted = { ...room.get([root]), items: [{ ...sent[0]!, replyCount: 3 }] };
    timeline.takeGot(read, [root], counted);
    expect(countOf(timeline, root)).toBe(3);
    room.create("fourth");
    const reply = room.eventAt(room.head) as DurableEvent & { event: "message.created" };
    reply.data.message.replyRowKey = root;
    timeline.event(reply);
    expect(countOf(timeline, root)).toBe(4);
    room.delete(reply.data.message.rowKey);
    timeline.event(room.eventAt(room.head));
    expect(countOf(timeline, root)).toBe(3);
  });

  it("one that an answer has counted already is not counted again by its event", () => {
    const { room, sent, timeline } = opened(1);
    const root = sent[0]!.rowKey;
    room.create("reply");
    const reply = room.eventAt(room.head) as DurableEvent & { event: "message.created" };
    reply.data.message.replyRowKey = root;
    timeline.takeGot(timeline.beginRead(), [root], { items: [{ ...sent[0]!, replyCount: 1 }], asOf: room.head });
    timeline.event(reply);
    expect(countOf(timeline, root)).toBe(1);
  });
});
