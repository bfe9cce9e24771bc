// Messages on their way to the server: kept until an answer that leaves no doubt, sent in order room by room.
// After a doubtful failure the room halts, and what is unanswered is repeated in order with the same nonces.
import { type Backoff, fullJitter } from "./backoff";
import { type FailureCode, WireError } from "./wire_error";

export interface Draft {
  roomId: string;
  /** As typed; what is shown while it is on its way. */
  text: string;
  replyRowKey?: string;
  /** What is sent in place of `text`. */
  body?: { message: string; format: "Text" | "Html" };
  files?: { fileId: string; hasThumbnail: boolean; filename: string }[];
  poll?: { question: string; options: { id: string; label: string }[] };
}

export interface OutboxItem extends Draft {
  nonce: string;
  /** Position among the unsent; only grows. */
  order: number;
  createdAt: number;
  state: "queued" | "sending" | "failed";
  /** Why it failed, or why it waits. */
  error?: { code: FailureCode; message: string };
  /** A doubtful answer: it may be stored already. */
  isUnsure?: boolean;
}

/** Survives reloads; one entry an item, so that two tabs do not overwrite each other's. */
export interface OutboxStorage {
  all(): OutboxItem[];
  put(item: OutboxItem): void;
  remove(nonce: string): void;
}

export interface OutboxHost {
  /** Resolves once stored; rejects with a `WireError`. Calls for one room are sent in the order they are made. */
  transmit(item: OutboxItem): Promise<void>;
  /** How many messages of a room may be unanswered at once. */
  window(roomId: string): number;
  changed(roomId: string): void;
  newNonce(): string;
  now(): number;
  random(): number;
  /** Calls back after a while; the answer cancels it. */
  after(ms: number, run: () => void): () => void;
}

interface Lane {
  inFlight: number;
  isHalted: boolean;
  attempt: number;
  waitMs: number;
  /** When a halted lane goes on, in the host's clock. */
  resumeAt?: number;
  cancel?: () => void;
}

const repeatBackoff: Backoff = { baseMs: 500, maxMs: 30_000 };
/** An answer of `internal` this many times in a row is shown as a failure. */
const internalTries = 5;

export class Outbox {
  private items: OutboxItem[];
  private lanes = new Map<string, Lane>();
  private internals = new Map<string, number>();
  private isOnline = false;
  private lastOrder: number;

  constructor(
    private readonly storage: OutboxStorage,
    private readonly host: OutboxHost,
  ) {
    this.items = storage
      .all()
      // What was on its way when the page went away has an unknown outcome.
      .map((item): OutboxItem => (item.state === "failed" ? item : { ...item, state: "queued", isUnsure: true }))
      .sort((a, b) => a.order - b.order);
    this.lastOrder = this.items.at(-1)?.order ?? 0;
  }

  get size(): number {
    return this.items.length;
  }

  rooms(): string[] {
    return [...new Set(this.items.map((item) => item.roomId))];
  }

  /** Unsent messages of a room in the order they will arrive, as copies. */
  of(roomId: string): OutboxItem[] {
    return this.items.filter((item) => item.roomId === roomId).map((item) => ({ ...item }));
  }

  /** Milliseconds until a halted room goes on. */
  waitOf(roomId: string): number | undefined {
    const at = this.lanes.get(roomId)?.resumeAt;
    return at === undefined ? undefined : Math.max(0, at - this.host.now());
  }

  add(draft: Draft): OutboxItem {
    const item: OutboxItem = {
      ...draft,
      nonce: this.host.newNonce(),
      order: this.nextOrder(),
      createdAt: this.host.now(),
      state: "queued",
    };
    this.items.push(item);
    this.storage.put(item);
    this.host.changed(item.roomId);
    this.pump(item.roomId);
    return item;
  }

  /** Sends a failed message again, behind all others, with its old nonce. Hurries a waiting one. */
  retry(nonce: string): void {
    const item = this.find(nonce);
    if (!item) return;
    if (item.state === "failed") {
      this.items = [...this.items.filter((other) => other !== item), item];
      item.order = this.nextOrder();
      item.state = "queued";
      item.error = undefined;
      this.internals.delete(nonce);
      this.storage.put(item);
      this.host.changed(item.roomId);
    }
    const lane = this.lane(item.roomId);
    if (lane.isHalted && lane.inFlight === 0) this.resume(item.roomId);
    else this.pump(item.roomId);
  }

  /** Gives a message up; not while it is on its way. */
  discard(nonce: string): void {
    const item = this.find(nonce);
    if (item && item.state !== "sending") this.forget(item);
  }

  /** The message of this nonce was seen in the room, or another tab had it answered. */
  confirm(nonce: string): void {
    const item = this.find(nonce);
    if (item && item.state !== "sending") this.forget(item);
  }

  setOnline(isOnline: boolean): void {
    this.isOnline = isOnline;
    for (const roomId of this.rooms()) {
      const lane = this.lane(roomId);
      lane.cancel?.();
      lane.cancel = undefined;
      lane.resumeAt = undefined;
      lane.attempt = 0;
      lane.waitMs = 0;
      if (isOnline && lane.inFlight === 0) this.resume(roomId);
    }
  }

  private pump(roomId: string): void {
    const lane = this.lane(roomId);
    if (!this.isOnline || lane.isHalted) return;
    const window = Math.max(1, this.host.window(roomId));
    for (const item of this.items) {
      if (lane.inFlight >= window) break;
      if (item.roomId !== roomId || item.state !== "queued") continue;
      lane.inFlight++;
      item.state = "sending";
      item.error = undefined;
      this.storage.put(item);
      this.host.transmit(item).then(
        () => this.settled(item, undefined),
        (error: unknown) => this.settled(item, error),
      );
    }
    this.host.changed(roomId);
  }

  private settled(item: OutboxItem, error: unknown): void {
    const lane = this.lane(item.roomId);
    lane.inFlight--;
    if (error === undefined) {
      lane.attempt = 0;
      this.forget(item);
    } else {
      this.refused(item, lane, error instanceof WireError ? error : new WireError({ code: "no_answer", message: "no answer" }));
    }
    if (!lane.isHalted) this.pump(item.roomId);
    else if (lane.inFlight === 0) this.scheduleResume(item.roomId, lane);
    this.host.changed(item.roomId);
  }

  private refused(item: OutboxItem, lane: Lane, error: WireError): void {
    const internals = error.code === "internal" ? (this.internals.get(item.nonce) ?? 0) + 1 : 0;
    this.internals.set(item.nonce, internals);
    const isWait = error.code === "slowmode" || error.code === "rate_limited";
    if (error.code === "not_found" && error.rowKey) {
      // Stored by an earlier try and deleted since.
      this.forget(item);
      return;
    }
    item.error = { code: error.code, message: error.message };
    if (isWait || error.code === "unauthenticated" || (error.isAmbiguous && internals < internalTries)) {
      item.state = "queued";
      if (error.isAmbiguous) item.isUnsure = true;
      lane.isHalted = true;
      const waitMs = isWait ? (error.retryAfterMs ?? 1000) : fullJitter(repeatBackoff, lane.attempt++, () => this.host.random());
      lane.waitMs = Math.max(lane.waitMs, waitMs);
    } else {
      item.state = "failed";
      item.isUnsure = error.isAmbiguous;
    }
    this.storage.put(item);
  }

  private scheduleResume(roomId: string, lane: Lane): void {
    lane.cancel?.();
    lane.cancel = undefined;
    if (!this.isOnline) return;
    lane.resumeAt = this.host.now() + lane.waitMs;
    lane.cancel = this.host.after(lane.waitMs, () => this.resume(roomId));
  }

  private resume(roomId: string): void {
    const lane = this.lane(roomId);
    lane.cancel?.();
    lane.cancel = undefined;
    lane.resumeAt = undefined;
    lane.waitMs = 0;
    lane.isHalted = false;
    this.pump(roomId);
  }

  private forget(item: OutboxItem): void {
    this.items = this.items.filter((other) => other !== item);
    this.internals.delete(item.nonce);
    this.storage.remove(item.nonce);
    this.host.changed(item.roomId);
  }

  private find(nonce: string): OutboxItem | undefined {
    return this.items.find((item) => item.nonce === nonce);
  }

  private lane(roomId: string): Lane {
    let lane = this.lanes.get(roomId);
    if (!lane) {
      lane = { inFlight: 0, isHalted: false, attempt: 0, waitMs: 0 };
      this.lanes.set(roomId, lane);
    }
    return lane;
  }

  private nextOrder(): number {
    this.lastOrder = Math.max(this.lastOrder + 1, this.host.now());
    return this.lastOrder;
  }
}
