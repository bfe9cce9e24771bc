import { describe, expect, it } from "vitest";
import { Outbox, type OutboxItem, type OutboxStorage } from "../src/outbox";
import { type FailureCode, WireError } from "../src/wire_error";
import { Random } from "./random";

const room = "3f9e7b20-6c1d-4e5a-b8f2-0a4d5c6e7f03";

class MemoryStorage implements OutboxStorage {
  readonly entries = new Map<string, string>();
  all() {
    return [...this.entries.values()].map((text) => JSON.parse(text) as OutboxItem);
  }
  put(item: OutboxItem) {
    this.entries.set(item.nonce, JSON.stringify(item));
  }
  remove(nonce: string) {
    this.entries.delete(nonce);
  }
}

/** An outbox whose sends wait to be answered by hand, on a clock that is moved by hand. */
class Bench {
  now = 1_000_000;
  window = 16;
  readonly storage;
  readonly sent: { item: OutboxItem; done: () => void; fail: (error: WireError) => void }[] = [];
  private timers: { at: number; run: () => void }[] = [];
  private nonces = 0;
  readonly outbox: Outbox;

  constructor(storage = new MemoryStorage()) {
    this.storage = storage;
    this.outbox = new Outbox(storage, {
      transmit: (item) => new Promise((done, fail) => this.sent.push({ item: { ...item }, done, fail })),
      window: () => this.window,
      changed: () => undefined,
      newNonce: () => `n${++this.nonces}`,
      now: () => this.now,
      random: () => 0.5,
      after: (ms, run) => {
        const timer = { at: this.now + ms, run };
        this.timers.push(timer);
        return () => void (this.timers = this.timers.filter((other) => other !== timer));
      },
    });
  }

  add(...texts: string[]) {
    for (const text of texts) this.outbox.add({ roomId: room, text });
  }

  async pass(ms: number) {
    this.now += ms;
    const due = this.timers.filter((timer) => timer.at <= this.now);
    this.timers = this.timers.filter((timer) => timer.at > this.now);
    for (const timer of due) timer.run();
    await settle();
  }

  async answer(index: number, error?: WireError) {
    if (error) this.sent[index]!.fail(error);
    else this.sent[index]!.done();
    await settle();
  }

  texts() {
    return this.sent.map(({ item }) => item.text);
  }

  states() {
    return this.outbox.of(room).map((item) => `${item.text} ${item.state}`);
  }
}

// Node has it; the page's types do not know it.
declare function setImmediate(run: () => void): void;
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const refusal = (code: FailureCode, more: { retryAfterMs?: number; rowKey?: string } = {}) => new WireError({ code, message: code, ...more });

describe("sending", () => {
  it("waits for the connection, then sends all in order without waiting for answers", () => {
    const bench = new Bench();
    bench.add("a", "b", "c");
    expect(bench.sent).toHaveLength(0);
    bench.outbox.setOnline(true);
    expect(bench.texts()).toEqual(["a", "b", "c"]);
  });

  it("keeps no more unanswered than the window", async () => {
    const bench = new Bench();
    bench.window = 1;
    bench.outbox.setOnline(true);
    bench.add("a", "b");
    expect(bench.texts()).toEqual(["a"]);
    await bench.answer(0);
    expect(bench.texts()).toEqual(["a", "b"]);
  });

  it("forgets what was stored", async () => {
    const bench = new Bench();
    bench.outbox.setOnline(true);
    bench.add("a");
    await bench.answer(0);
    expect(bench.states()).toEqual([]);
    expect(bench.storage.entries.size).toBe(0);
  });
});

describe("refusals", () => {
  it.each(["bad_request", "forbidden", "timed_out", "read_only", "word_filtered", "conflict", "not_found"] as const)(
    "%s fails that message alone",
    async (code) => {
      const bench = new Bench();
      bench.outbox.setOnline(true);
      bench.add("bad", "good");
      await bench.answer(0, refusal(code));
      await bench.answer(1);
      expect(bench.states()).toEqual(["bad failed"]);
    },
  );

  it("bl_126: a failed message survives a reload, keeps its place below, and is sent again with its nonce", async () => {
    const first = new Bench();
    first.outbox.setOnline(true);
    first.add("failed", "fine");
    await first.answer(0, refusal("read_only"));
    await first.answer(1);
    const bench = new Bench(first.storage);
    bench.outbox.setOnline(true);
    expect(bench.states()).toEqual(["failed failed"]);
    expect(bench.sent).toHaveLength(0);
    bench.outbox.retry("n1");
    expect(bench.sent[0]!.item.nonce).toBe("n1");
    await bench.answer(0);
    expect(bench.states()).toEqual([]);
  });

  it("a repeat of a message that was stored and deleted since is done", async () => {
    const bench = new Bench();
    bench.outbox.setOnline(true);
    bench.add("gone");
    await bench.answer(0, refusal("not_found", { rowKey: "1".repeat(30) }));
    expect(bench.states()).toEqual([]);
  });

  it("a discarded message is never sent", async () => {
    const bench = new Bench();
    bench.add("a", "b");
    bench.outbox.discard("n1");
    bench.outbox.setOnline(true);
    expect(bench.texts()).toEqual(["b"]);
    expect(bench.storage.entries.size).toBe(1);
  });

  it("what is on its way cannot be discarded", () => {
    const bench = new Bench();
    bench.outbox.setOnline(true);
    bench.add("a");
    bench.outbox.discard("n1");
    expect(bench.states()).toEqual(["a sending"]);
  });
});

describe("waiting", () => {
  it.each(["slowmode", "rate_limited"] as const)("%s is waited for, and nothing overtakes", async (code) => {
    const bench = new Bench();
    bench.outbox.setOnline(true);
    bench.add("a", "b");
    await bench.answer(0, refusal(code, { retryAfterMs: 4000 }));
    await bench.answer(1, refusal(code, { retryAfterMs: 3900 }));
    bench.add("c");
    expect(bench.outbox.waitOf(room)).toBe(4000);
    await bench.pass(3999);
    expect(bench.texts()).toEqual(["a", "b"]);
    await bench.pass(1);
    expect(bench.texts()).toEqual(["a", "b", "a", "b", "c"]);
  });

  it("retry hurries a room that waits", async () => {
    const bench = new Bench();
    bench.outbox.setOnline(true);
    bench.add("a");
    await bench.answer(0, refusal("unavailable"));
    bench.outbox.retry("n1");
    expect(bench.texts()).toEqual(["a", "a"]);
  });
});

describe("doubtful answers", () => {
  it.each(["unavailable", "internal", "no_answer"] as const)("%s halts the room and repeats in order", async (code) => {
    const bench = new Bench();
    bench.outbox.setOnline(true);
    bench.add("a", "b", "c");
    await bench.answer(0);
    await bench.answer(1, refusal(code));
    bench.add("d");
    expect(bench.texts(), "nothing goes out while c is unanswered").toEqual(["a", "b", "c"]);
    await bench.answer(2, refusal(code));
    await bench.pass(1000);
    expect(bench.texts().slice(3)).toEqual(["b", "c", "d"]);
    expect(bench.sent[3]!.item.nonce).toBe(bench.sent[1]!.item.nonce);
  });

  it("another room goes on", async () => {
    const bench = new Bench();
    bench.outbox.setOnline(true);
    bench.add("a");
    await bench.answer(0, refusal("unavailable"));
    bench.outbox.add({ roomId: "another", text: "x" });
    expect(bench.texts()).toEqual(["a", "x"]);
  });

  it("a lost connection repeats everything unanswered on the next one", async () => {
    const bench = new Bench();
    bench.outbox.setOnline(true);
    bench.add("a", "b");
    bench.outbox.setOnline(false);
    await bench.answer(0, refusal("no_answer"));
    await bench.answer(1, refusal("no_answer"));
    await bench.pass(60_000);
    expect(bench.texts()).toEqual(["a", "b"]);
    bench.outbox.setOnline(true);
    expect(bench.texts()).toEqual(["a", "b", "a", "b"]);
  });

  it("internal five times over is shown as failed, with its nonce kept", async () => {
    const bench = new Bench();
    bench.outbox.setOnline(true);
    bench.add("a");
    for (let index = 0; index < 5; index++) {
      await bench.answer(index, refusal("internal"));
      await bench.pass(30_000);
    }
    expect(bench.states()).toEqual(["a failed"]);
    expect(bench.outbox.of(room)[0]!.isUnsure).toBe(true);
    bench.outbox.retry("n1");
    expect(bench.sent[5]!.item.nonce).toBe("n1");
  });

  it("a message that shows up in the room while it waits is not sent again", async () => {
    const bench = new Bench();
    bench.outbox.setOnline(true);
    bench.add("a");
    bench.outbox.setOnline(false);
    await bench.answer(0, refusal("no_answer"));
    bench.outbox.confirm("n1");
    bench.outbox.setOnline(true);
    expect(bench.texts()).toEqual(["a"]);
    expect(bench.storage.entries.size).toBe(0);
  });

  it("the order outlives reloads and a clock that steps back", () => {
    const first = new Bench();
    first.add("a");
    first.now -= 500_000;
    first.add("b");
    first.add("c");
    const bench = new Bench(first.storage);
    bench.outbox.setOnline(true);
    expect(bench.texts()).toEqual(["a", "b", "c"]);
  });
});

describe("whatever the server answers", () => {
  it.each(Array.from({ length: 100 }, (_, seed) => seed))("every message is stored once, in order (seed %i)", async (seed) => {
    const random = new Random(seed * 104_729 + 17);
    const server = new Server(random);
    let storage = new MemoryStorage();
    const timers: { at: number; run: () => void }[] = [];
    let now = 0;
    let nonces = 0;
    let outbox = open();
    function open() {
      const generation = {};
      current = generation;
      return new Outbox(storage, {
        transmit: (item) =>
          server.receive(item).finally(() => {
            if (current !== generation) throw refusal("no_answer");
          }),
        window: () => 4,
        changed: () => undefined,
        newNonce: () => `n${++nonces}`,
        now: () => now,
        random: () => random.next(),
        after: (ms, run) => {
          const timer = { at: now + ms, run };
          timers.push(timer);
          return () => void (timer.run = () => undefined);
        },
      });
    }
    const written: string[] = [];
    server.isOnline = true;
    outbox.setOnline(true);
    for (let step = 0; step < 150; step++) {
      const roll = random.below(10);
      if (roll < 4) {
        written.push(`m${written.length}`);
        outbox.add({ roomId: room, text: written.at(-1)! });
      } else if (roll < 8) {
        server.answerNext();
      } else if (roll < 9) {
        now += random.below(5000);
        for (const timer of timers.filter((timer) => timer.at <= now)) timer.run();
      } else if (server.isOnline) {
        outbox.setOnline(false);
        server.drop();
      } else if (random.chance(0.3)) {
        // The page is loaded again: only what was written to the storage is left.
        storage = Object.assign(new MemoryStorage(), { entries: new Map(storage.entries) });
        outbox = open();
        server.isOnline = true;
        outbox.setOnline(true);
      } else {
        server.isOnline = true;
        outbox.setOnline(true);
      }
      await settle();
    }
    server.isKind = true;
    if (!server.isOnline) {
      server.isOnline = true;
      outbox.setOnline(true);
    }
    for (let round = 0; outbox.size > 0 && round < 2000; round++) {
      server.answerNext();
      await settle();
      now += 1000;
      for (const timer of timers.filter((timer) => timer.at <= now)) timer.run();
    }
    expect(outbox.size).toBe(0);
    expect(server.stored).toEqual(written);
  });
  let current: object;
});

/** One room of a server: in order, idempotent by nonce, with stores that fail, replies that get lost and slow mode. */
class Server {
  readonly stored: string[] = [];
  isOnline = false;
  isKind = false;
  private nonces = new Set<string>();
  private queue: { item: OutboxItem; resolve: () => void; reject: (error: WireError) => void }[] = [];

  constructor(private readonly random: Random) {}

  receive(item: OutboxItem): Promise<void> {
    return new Promise((resolve, reject) => this.queue.push({ item: { ...item }, resolve, reject }));
  }

  answerNext(): void {
    const next = this.queue.shift();
    if (!next) return;
    const { item, resolve, reject } = next;
    const roll = this.isKind ? 99 : this.random.below(100);
    if (roll < 10) {
      // The store went away, before or after the commit; all that was received behind it shares its fate.
      if (roll < 5) this.store(item);
      reject(refusal("unavailable"));
      for (const behind of this.queue.splice(0)) behind.reject(refusal("unavailable"));
    } else if (roll < 18) {
      // Refused for a while, and so is all that came with it.
      reject(refusal("rate_limited", { retryAfterMs: 1 + this.random.below(3000) }));
      for (const behind of this.queue.splice(0)) behind.reject(refusal("rate_limited", { retryAfterMs: 1000 }));
    } else {
      this.store(item);
      resolve();
    }
  }

  /** The connection goes away; of what was received, some was stored. */
  drop(): void {
    this.isOnline = false;
    let isStoring = true;
    for (const { item, reject } of this.queue.splice(0)) {
      isStoring &&= this.random.chance(0.6);
      if (isStoring) this.store(item);
      reject(refusal("no_answer"));
    }
  }

  private store(item: OutboxItem): void {
    if (this.nonces.has(item.nonce)) return;
    this.nonces.add(item.nonce);
    this.stored.push(item.text);
  }
}
