import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fullJitter, reconnectBackoff } from "../src/backoff";
import { Connection, type ConnectionState } from "../src/connection";
import type { WireError } from "../src/wire_error";
import { Random } from "./random";

class FakeSocket {
  static opened: FakeSocket[] = [];
  readonly frames: { id: number; op: string; data: unknown }[] = [];
  onopen?: () => void;
  onmessage?: (message: { data: string }) => void;
  onclose?: (close: { code: number; reason: string }) => void;
  isClosed = false;

  constructor(readonly url: string) {
    FakeSocket.opened.push(this);
  }
  send(text: string) {
    this.frames.push(JSON.parse(text));
  }
  close() {
    this.isClosed = true;
  }
  /** Opens, and answers the hello. */
  accept() {
    this.onopen?.();
    this.answer("session.hello", { user: { userId: "u" }, heartbeatMs: 15_000 });
  }
  answer(op: string, data: unknown) {
    const frame = this.frames.findLast((frame) => frame.op === op)!;
    this.onmessage?.({ data: JSON.stringify({ id: frame.id, data }) });
  }
  end(code: number, reason = "") {
    this.onclose?.({ code, reason });
  }
}

let states: ConnectionState[];
let lost: number;
let connection: Connection;
const last = () => FakeSocket.opened.at(-1)!;
const state = () => states.at(-1)!;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.spyOn(Math, "random").mockReturnValue(0.999);
  FakeSocket.opened = [];
  states = [];
  lost = 0;
  connection = new Connection("ws://here/v1/ws", {
    state: (state) => void states.push(state),
    hello: () => undefined,
    event: () => undefined,
    heads: () => undefined,
    lost: () => void lost++,
  });
  connection.start();
});
afterEach(() => {
  connection.stop();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("reconnecting", () => {
  it("waits a random time below a bound that doubles from half a second to thirty", () => {
    const random = new Random(1);
    for (let attempt = 0; attempt < 40; attempt++) {
      const bound = Math.min(30_000, 500 * 2 ** attempt);
      const waits = Array.from({ length: 200 }, () => fullJitter(reconnectBackoff, attempt, () => random.next()));
      expect(Math.max(...waits)).toBeLessThan(bound);
      expect(Math.max(...waits)).toBeGreaterThan(bound * 0.9);
      expect(Math.min(...waits)).toBeLessThan(bound * 0.1);
    }
  });

  it("a connection that lived half a minute makes the next wait short again", () => {
    for (let index = 0; index < 4; index++) {
      last().accept();
      last().end(1006);
      vi.runOnlyPendingTimers();
    }
    last().accept();
    vi.advanceTimersByTime(10_000);
    last().end(1006);
    expect(waitMs()).toBeGreaterThan(7000);
    vi.runOnlyPendingTimers();
    last().accept();
    for (let index = 0; index < 3; index++) {
      vi.advanceTimersByTime(15_000);
      last().answer("session.ping", {});
    }
    last().end(1006);
    expect(waitMs()).toBeLessThan(500);
  });

  it("a server that restarts is given up to five seconds", () => {
    last().accept();
    last().end(1001);
    expect(waitMs()).toBeGreaterThan(4900);
    expect(waitMs()).toBeLessThanOrEqual(5000);
  });

  it("too many connections: after the time that the server names", () => {
    last().accept();
    last().end(4429, "retryAfterMs=12000");
    expect(waitMs()).toBeGreaterThanOrEqual(12_000);
  });

  it.each([
    [4401, "unauthenticated"],
    [1000, "closed"],
    [4400, "fatal"],
    [1009, "fatal"],
  ])("close %i ends it: %s", (code, reason) => {
    last().accept();
    last().end(code);
    expect(state()).toEqual({ kind: "ended", reason });
    vi.advanceTimersByTime(120_000);
    expect(FakeSocket.opened).toHaveLength(1);
  });

  it("without a session there is nothing to try again", () => {
    last().onopen?.();
    last().onmessage?.({ data: '{"id":1,"error":{"code":"unauthenticated","message":"no"}}' });
    expect(state()).toEqual({ kind: "ended", reason: "unauthenticated" });
  });

  it("does not wait when hurried", () => {
    last().accept();
    last().end(1006);
    connection.hurry();
    expect(FakeSocket.opened).toHaveLength(2);
  });

  it("a socket that never opens is given up", () => {
    vi.advanceTimersByTime(15_000);
    expect(last().isClosed).toBe(true);
    expect(state().kind).toBe("waiting");
  });

  function waitMs(): number {
    const now = state();
    return now.kind === "waiting" ? now.at - performance.now() : NaN;
  }
});

describe("liveness", () => {
  it("bl_020: a half-open socket is closed after two and a half silent intervals, unanswered commands are told", async () => {
    last().accept();
    const request = connection.request("room.list", {}).catch((error: WireError) => error.code);
    vi.advanceTimersByTime(15_000);
    vi.advanceTimersByTime(15_000);
    expect(last().isClosed).toBe(false);
    vi.advanceTimersByTime(15_000);
    expect(last().isClosed).toBe(true);
    expect(lost).toBe(1);
    expect(await request).toBe("no_answer");
  });

  it("bl_019: a missed answer counts on its own socket only", () => {
    last().accept();
    vi.advanceTimersByTime(45_000);
    expect(last().isClosed).toBe(true);
    vi.advanceTimersByTime(600);
    const second = last();
    second.accept();
    for (let beat = 0; beat < 10; beat++) {
      vi.advanceTimersByTime(15_000);
      second.answer("session.ping", {});
    }
    expect(second.isClosed).toBe(false);
    expect(FakeSocket.opened).toHaveLength(2);
  });

  it("a tab whose timers run late is not taken for dead", () => {
    const now = performance.now.bind(performance);
    let held = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + held);
    last().accept();
    for (let beat = 0; beat < 5; beat++) {
      vi.advanceTimersByTime(15_000);
      last().answer("session.ping", {});
      // The browser holds the next tick back for a minute; the last frame is old by then.
      held += 60_000;
    }
    expect(last().isClosed).toBe(false);
  });

  it("after waking up it asks whether anybody is there, and does not wait long for it", () => {
    last().accept();
    vi.advanceTimersByTime(1000);
    connection.hurry();
    vi.advanceTimersByTime(5000);
    expect(last().isClosed).toBe(true);
  });
});

describe("commands", () => {
  it("without an answer in time the outcome is unknown", async () => {
    last().accept();
    const request = connection.request("room.list", {}).catch((error: WireError) => error.isAmbiguous);
    vi.advanceTimersByTime(15_000);
    expect(await request).toBe(true);
  });

  it("while not connected nothing is sent", async () => {
    const request = connection.request("room.list", {}).catch((error: WireError) => error.code);
    expect(await request).toBe("no_answer");
    expect(last().frames).toHaveLength(0);
  });

  it("a refusal carries what the server said", async () => {
    last().accept();
    const request = connection.request("message.send", { roomId: "r", message: "x", nonce: "n" }).catch((error: WireError) => error);
    last().onmessage?.({ data: JSON.stringify({ id: last().frames.at(-1)!.id, error: { code: "slowmode", message: "wait", retryAfterMs: 4000 } }) });
    expect(await request).toMatchObject({ code: "slowmode", retryAfterMs: 4000, isAmbiguous: false });
  });
});
