// The one socket of the page: hello, request and reply with deadlines, heartbeat, reconnecting with full jitter.
// It knows nothing about rooms; events and the end of a connection are handed to its listener.
import { fullJitter, reconnectBackoff } from "./backoff";
import { WireError, noAnswer } from "./wire_error";
import { type EventFrame, type HelloReply, type OperationName, type Operations, type ServerFrame, closeCode } from "./wire/generated";

export type ConnectionState =
  | { kind: "connecting" }
  | { kind: "online" }
  /** Between two tries; `at` is in the clock of `performance.now()`. */
  | { kind: "waiting"; at: number }
  /** Ended for good: log in again, or (fatal) this page and the server do not understand each other. */
  | { kind: "ended"; reason: "unauthenticated" | "closed" | "fatal" };

export interface ConnectionListener {
  state(state: ConnectionState): void;
  /** Right after hello, before anything else is sent or received. */
  hello(reply: HelloReply): void;
  event(frame: EventFrame): void;
  heads(heads: Record<string, number>): void;
  lost(): void;
}

interface Pending {
  settle(result: { data: unknown } | { error: WireError }): void;
  deadline: ReturnType<typeof setTimeout>;
}

type DataOf<O extends OperationName> = Operations[O]["data"];
type ReplyOf<O extends OperationName> = Operations[O]["reply"];

const requestDeadlineMs = 15_000;
const connectDeadlineMs = 15_000;
const probeDeadlineMs = 5_000;
/** A connection that lived this long makes the next wait short again. */
const settledAfterMs = 30_000;
const silentIntervals = 2.5;

export class Connection {
  private socket: WebSocket | undefined;
  private isOnline = false;
  private isStopped = true;
  private attempt = 0;
  private onlineSince = 0;
  private nextId = 1;
  private pending = new Map<number, Pending>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private heartbeat: ReturnType<typeof setTimeout> | undefined;
  private heartbeatMs = 15_000;
  private lastFrameAt = 0;
  private isPingOpen = false;

  constructor(
    private readonly url: string,
    private readonly listener: ConnectionListener,
  ) {}

  start(): void {
    if (!this.isStopped) return;
    this.isStopped = false;
    this.attempt = 0;
    this.open();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    const socket = this.socket;
    this.forget();
    socket?.close(closeCode.normal);
  }

  /** Does not wait any longer when it is waiting; asks whether the server is there when it believes to be online. */
  hurry(): void {
    if (this.isStopped) return;
    this.attempt = 0;
    if (!this.socket) {
      clearTimeout(this.timer);
      this.open();
    } else if (this.isOnline) {
      const { socket, lastFrameAt } = this;
      this.ping();
      setTimeout(() => {
        if (this.socket === socket && this.lastFrameAt === lastFrameAt) this.drop(socket);
      }, probeDeadlineMs);
    }
  }

  request<O extends OperationName>(op: O, data: DataOf<O>): Promise<ReplyOf<O>> {
    return new Promise((resolve, reject) => {
      this.call(op, data, (result) => ("error" in result ? reject(result.error) : resolve(result.data)));
    });
  }

  /** As `request`, with a callback that runs before the next frame is looked at. */
  call<O extends OperationName>(op: O, data: DataOf<O>, settled: (result: { data: ReplyOf<O> } | { error: WireError }) => void): void {
    if (!this.socket || (!this.isOnline && op !== "session.hello")) {
      queueMicrotask(() => settled({ error: noAnswer("not connected") }));
      return;
    }
    const id = this.nextId++;
    const deadline = setTimeout(() => this.settle(id, { error: noAnswer(`no answer to ${op}`) }), requestDeadlineMs);
    this.pending.set(id, { settle: settled as Pending["settle"], deadline });
    this.socket.send(JSON.stringify({ id, op, data }));
  }

  private open(): void {
    this.listener.state({ kind: "connecting" });
    const socket = new WebSocket(this.url, "parlour.v1.json");
    this.socket = socket;
    this.nextId = 1;
    this.isPingOpen = false;
    this.timer = setTimeout(() => this.drop(socket), connectDeadlineMs);
    socket.onopen = () => this.sayHello(socket);
    socket.onmessage = (message) => {
      if (this.socket === socket) this.received(String(message.data));
    };
    socket.onclose = (close) => {
      if (this.socket === socket) this.closed(close.code, close.reason);
    };
  }

  private sayHello(socket: WebSocket): void {
    this.call("session.hello", { client: { name: "parlour-web", version: __VERSION__ } }, (result) => {
      if (this.socket !== socket) return;
      if ("error" in result) {
        if (result.error.code === "unauthenticated") this.end("unauthenticated");
        else this.drop(socket);
        return;
      }
      clearTimeout(this.timer);
      this.isOnline = true;
      this.onlineSince = performance.now();
      this.heartbeatMs = result.data.heartbeatMs || 15_000;
      this.scheduleHeartbeat();
      this.listener.hello(result.data);
      this.listener.state({ kind: "online" });
    });
  }

  private received(text: string): void {
    this.lastFrameAt = performance.now();
    const frame = JSON.parse(text) as ServerFrame;
    if ("event" in frame) {
      this.listener.event(frame);
    } else if (frame.id !== undefined) {
      this.settle(frame.id, frame.error ? { error: new WireError(frame.error) } : { data: frame.data ?? {} });
    }
  }

  private settle(id: number, result: { data: unknown } | { error: WireError }): void {
    const pending = this.pending.get(id);
    if (!pending) return;
    this.pending.delete(id);
    clearTimeout(pending.deadline);
    pending.settle(result);
  }

  private scheduleHeartbeat(): void {
    this.heartbeat = setTimeout(() => {
      // A sleeping tab runs its timers late: silence counts only while an answer is owed.
      if (this.isPingOpen && performance.now() - this.lastFrameAt > silentIntervals * this.heartbeatMs) {
        if (this.socket) this.drop(this.socket);
        return;
      }
      this.ping();
      this.scheduleHeartbeat();
    }, this.heartbeatMs);
  }

  private ping(): void {
    const { socket } = this;
    this.isPingOpen = true;
    this.call("session.ping", {}, (result) => {
      if (this.socket !== socket || "error" in result) return;
      this.isPingOpen = false;
      this.listener.heads(result.data.heads ?? {});
    });
  }

  /** Gives the socket up without waiting for a closing handshake that may never come. */
  private drop(socket: WebSocket): void {
    if (this.socket !== socket) return;
    socket.close();
    this.closed(1006, "");
  }

  private closed(code: number, reason: string): void {
    const livedMs = this.isOnline ? performance.now() - this.onlineSince : 0;
    this.forget();
    switch (code) {
      case closeCode.normal:
        return this.end("closed");
      case closeCode.unauthenticated:
        return this.end("unauthenticated");
      case closeCode.wrongFrameKind:
      case closeCode.invalidUtf8:
      case closeCode.tooBig:
      case closeCode.badFrame:
        return this.end("fatal");
    }
    if (livedMs >= settledAfterMs) this.attempt = 0;
    let wait = fullJitter(reconnectBackoff, this.attempt++, Math.random);
    if (code === closeCode.goingAway) wait = Math.random() * 5000;
    if (code === closeCode.tooMany) wait += Number(/retryAfterMs=(\d+)/.exec(reason)?.[1] ?? 1000);
    this.listener.state({ kind: "waiting", at: performance.now() + wait });
    this.timer = setTimeout(() => this.open(), wait);
  }

  private end(reason: "unauthenticated" | "closed" | "fatal"): void {
    this.stop();
    this.listener.state({ kind: "ended", reason });
  }

  private forget(): void {
    const wasOnline = this.isOnline;
    this.socket = undefined;
    this.isOnline = false;
    clearTimeout(this.timer);
    clearTimeout(this.heartbeat);
    // First the timelines and the outbox learn of it, so that what they do about the unanswered commands waits for the next connection.
    if (wasOnline) this.listener.lost();
    for (const id of [...this.pending.keys()]) this.settle(id, { error: noAnswer("the connection was lost") });
  }
}
