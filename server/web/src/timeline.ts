// One room's position and messages: what to do with each event, catch-up page and reply, whatever order they come in.
// Pure: no network, no DOM, no clock. What has to be asked of the server is told to the callbacks.
import { type MessageChange, changeOf, removedBy } from "./message_change";
import type {
  Behind,
  CatchUp,
  DurableEvent,
  Message,
  MessageListReply,
  RowKey,
  Subscribed,
  UserId,
} from "./wire/generated";

export interface Position {
  epoch: string;
  seq: number;
}

export type Phase = "idle" | "subscribing" | "catchingUp" | "live";

export interface TimelineCallbacks {
  /** Events were missed: subscribe again from `position`. */
  resubscribe(): void;
  /** What was cached is void: read the newest page, and all else that is shown of the room. */
  reload(): void;
  /** These messages changed in a way that their events do not tell: `message.get` them. */
  reread(rowKeys: RowKey[]): void;
  /** Each durable event, once and in order; `folded` when it is an entry of a catch-up. */
  applied(event: DurableEvent, folded: boolean): void;
  changed(): void;
}

/** A read (or any command that answers with messages) that has begun; its reply is judged by what came since. */
export interface Read {
  readonly ticket: number;
  readonly generation: number;
}

interface Mark {
  rev: number;
  isDeleted: boolean;
  /** Reads with a lower ticket began before this mark. */
  since: number;
  /** The held state is known to be old; cleared by a read that brings `rev`. */
  isWanted: boolean;
}

/** Of the messages created in (from, to], only the named ones were alive at `to`. */
interface Fold {
  from: number;
  to: number;
  named: ReadonlySet<RowKey>;
  since: number;
}

const rowKeyForm = /^\d{30}$/;

export class Timeline {
  position: Position | undefined;
  phase: Phase = "idle";
  /** The newest page was read: what is held is everything newer than `floor`. */
  isLoaded = false;

  private sub: number | undefined;
  private isHolding = false;
  private floor: RowKey | undefined;
  private held = new Map<RowKey, Message>();
  /** Keys of `held`, oldest first. */
  private order: RowKey[] = [];
  private shownWhileReloading: Message[] = [];

  private generation = 0;
  private nextTicket = 1;
  private openReads = new Set<number>();
  private marks = new Map<RowKey, Mark>();
  /** Catch-ups that ended while reads were open. */
  private folds: Fold[] = [];
  private laggingHead: number | undefined;
  /** Of the catch-up under way (or broken off and to be gone on with): where it began, and the messages it named. */
  private catchUpFrom: number | undefined;
  /** Where to go on with it. Live events can have moved the position further. */
  private caughtUpTo: number | undefined;
  private askedFrom = 0;
  private named = new Set<RowKey>();
  /** Up to where the replies of a message were counted. */
  private countedAsOf = new Map<RowKey, number>();

  constructor(
    readonly roomId: string,
    private readonly callbacks: TimelineCallbacks,
    private readonly selfId: UserId = "",
  ) {}

  // --- what is shown -------------------------------------------------------------------------------------------

  /** Oldest first. While a reload is under way, what was there before it. */
  snapshot(): Message[] {
    return this.isLoaded ? this.order.map((key) => this.held.get(key)!) : this.shownWhileReloading;
  }

  get(rowKey: RowKey): Message | undefined {
    return this.held.get(rowKey);
  }

  get size(): number {
    return this.order.length;
  }

  get hasOlder(): boolean {
    return this.isLoaded && this.floor !== undefined;
  }

  /** Where the next older page begins. */
  get olderCursor(): RowKey | undefined {
    return this.floor;
  }

  /** Forgets all but the newest `keep` messages; they can be read again. */
  trim(keep: number): void {
    if (!this.isLoaded || this.openReads.size > 0 || this.order.length <= keep) return;
    const dropped = this.order.splice(0, this.order.length - keep);
    for (const key of dropped) {
      this.held.delete(key);
      this.countedAsOf.delete(key);
    }
    this.floor = this.order[0] ?? this.floor;
    this.callbacks.changed();
  }

  // --- subscription --------------------------------------------------------------------------------------------

  /** A subscribe frame for this room is being sent; the answer is what it says as `since`. */
  subscribing(): Position | undefined {
    this.phase = "subscribing";
    if (!this.position) return undefined;
    this.askedFrom = this.caughtUpTo ?? this.position.seq;
    return { epoch: this.position.epoch, seq: this.askedFrom };
  }

  subscribed(reply: Subscribed): void {
    this.laggingHead = undefined;
    if (reply.verdict === "error") {
      this.phase = "idle";
      this.sub = undefined;
      return;
    }
    this.sub = reply.sub;
    const head = { epoch: reply.epoch ?? this.position?.epoch ?? "", seq: reply.seq ?? 0 };
    switch (reply.verdict) {
      case "exact":
        this.phase = "catchingUp";
        this.position ??= head;
        this.catchingUpFrom(this.askedFrom);
        break;
      case "live":
        this.phase = "live";
        this.position = head;
        break;
      case "gap":
      case "reset":
        this.phase = "live";
        this.restart(head);
        break;
    }
    const wanted = [...this.marks].filter(([, mark]) => mark.isWanted).map(([key]) => key);
    if (wanted.length > 0) this.callbacks.reread(wanted);
  }

  /** The connection is gone; position and messages stay. */
  disconnected(): void {
    this.phase = "idle";
    this.sub = undefined;
    this.laggingHead = undefined;
  }

  catchUp(sub: number | undefined, page: CatchUp): void {
    if (sub !== this.sub || !this.position) return;
    for (const entry of page.entries ?? []) {
      if (entry.event === "message.created") this.named.add(entry.data.message.rowKey);
      else if (entry.event === "message.updated") this.named.add(entry.data.rowKey);
      // What a lower seq tells was applied live, before this subscription replaced the last one.
      if ((entry.seq ?? 0) > this.position.seq) this.apply(entry, true);
    }
    this.caughtUpTo = page.seq ?? 0;
    this.position.seq = Math.max(this.position.seq, this.caughtUpTo);
    if (page.done) this.caughtUp(page.seq ?? 0);
    this.callbacks.changed();
  }

  behind(sub: number | undefined, notice: Behind): void {
    if (sub !== this.sub || !this.position) return;
    if (notice.verdict === "gap") {
      if (this.phase === "catchingUp") this.phase = "live";
      this.restart({ epoch: this.position.epoch, seq: notice.head ?? 0 });
    } else if ((notice.seq ?? 0) > this.position.seq) {
      // What follows begins beyond what was lost, so it must not move the position.
      this.sub = undefined;
      this.hole();
    } else {
      if (this.phase === "live") this.phase = "catchingUp";
      this.catchingUpFrom(notice.seq ?? 0);
    }
  }

  /** True when it was the current subscription that ended. */
  unsubscribed(sub: number | undefined): boolean {
    if (sub !== this.sub || this.sub === undefined) return false;
    this.disconnected();
    return true;
  }

  /** A live durable event. */
  event(event: DurableEvent): void {
    if (this.step(event.seq ?? 0)) {
      this.apply(event, false);
      this.callbacks.changed();
    }
  }

  /** An event of one's own that was not sent because of `echo: false`. */
  advanced(sub: number | undefined, seq: number): void {
    if (sub === this.sub) this.step(seq);
  }

  /** The room's head as a ping answered it; lagging behind the same head at the next answer means that events were lost. */
  pinged(head: number | undefined): void {
    const lagging = this.laggingHead;
    this.laggingHead = undefined;
    if (!this.position || this.phase !== "live") return;
    if (lagging !== undefined && this.position.seq < lagging) {
      this.hole();
    } else if (head !== undefined && this.position.seq < head) {
      this.laggingHead = head;
    }
  }

  private catchingUpFrom(seq: number): void {
    this.catchUpFrom = Math.min(seq, this.catchUpFrom ?? seq);
    this.caughtUpTo = seq;
  }

  /**
   * A message that was created and deleted since the catch-up's beginning is in none of its entries, yet a reply
   * that was ahead of the events may have brought it: what is held from that time and was not named is gone.
   */
  private caughtUp(seq: number): void {
    if (this.phase === "catchingUp") this.phase = "live";
    const from = this.catchUpFrom ?? seq;
    for (const { rowKey, seq: createdAt = 0 } of [...this.held.values()]) {
      if (createdAt > from && createdAt <= seq && !this.named.has(rowKey)) this.removeForGood(rowKey);
    }
    if (this.openReads.size > 0) this.folds.push({ from, to: seq, named: this.named, since: this.nextTicket });
    this.catchUpFrom = undefined;
    this.caughtUpTo = undefined;
    this.named = new Set();
  }

  private step(seq: number): boolean {
    if (!this.position || seq <= this.position.seq) return false;
    if (seq > this.position.seq + 1) {
      this.hole();
      return false;
    }
    this.position.seq = seq;
    return true;
  }

  private hole(): void {
    if (this.phase === "subscribing") return;
    this.phase = "subscribing";
    this.callbacks.resubscribe();
  }

  private restart(position: Position): void {
    this.position = position;
    if (this.isLoaded) this.shownWhileReloading = this.snapshot();
    this.generation++;
    this.catchUpFrom = undefined;
    this.caughtUpTo = undefined;
    this.named = new Set();
    this.folds = [];
    this.held.clear();
    this.countedAsOf.clear();
    this.order = [];
    this.marks.clear();
    this.floor = undefined;
    this.isLoaded = false;
    this.callbacks.reload();
    this.callbacks.changed();
  }

  // --- reads ---------------------------------------------------------------------------------------------------

  /** From now on messages are kept; to be followed by a read of the newest page. */
  hold(): void {
    this.isHolding = true;
  }

  get isHeld(): boolean {
    return this.isHolding;
  }

  /** Before any command is sent that answers with messages of this room. Ends with one `take…` or `endRead`. */
  beginRead(): Read {
    const ticket = this.nextTicket++;
    this.openReads.add(ticket);
    return { ticket, generation: this.generation };
  }

  endRead(read: Read): void {
    this.openReads.delete(read.ticket);
    let oldestOpen = Infinity;
    for (const ticket of this.openReads) oldestOpen = Math.min(oldestOpen, ticket);
    for (const [key, mark] of this.marks) {
      if (!mark.isWanted && mark.since <= oldestOpen) this.marks.delete(key);
    }
    this.folds = this.folds.filter((fold) => fold.since > oldestOpen);
  }

  takeNewest(read: Read, page: MessageListReply): void {
    if (read.generation === this.generation && !this.isLoaded) {
      const items = page.items ?? [];
      this.floor = this.floorOf(page, items);
      this.isLoaded = true;
      this.shownWhileReloading = [];
      this.merge(items, page.asOf);
      // Events of the meantime can be older than the page reaches; they are read with the next one.
      const floor = this.floor;
      if (floor !== undefined) {
        for (const key of this.order.filter((key) => key > floor)) this.remove(key);
      }
    }
    this.endRead(read);
    this.callbacks.changed();
  }

  /** The page that `olderCursor` asked for. */
  takeOlder(read: Read, cursor: RowKey, page: MessageListReply): void {
    if (read.generation === this.generation && this.isLoaded && this.floor === cursor) {
      const items = page.items ?? [];
      this.floor = this.floorOf(page, items);
      this.merge(items, page.asOf);
    }
    this.endRead(read);
    this.callbacks.changed();
  }

  /** The reply of `message.get`: absent from both `items` and `rest` means deleted. */
  takeGot(read: Read, asked: RowKey[], reply: { items?: Message[]; rest?: RowKey[]; asOf?: number }): void {
    if (read.generation === this.generation) {
      const items = reply.items ?? [];
      this.merge(items.filter((item) => this.held.has(item.rowKey)), reply.asOf);
      const present = new Set(items.map((item) => item.rowKey));
      const rest = (reply.rest ?? []).filter((key) => this.held.has(key));
      for (const key of rest) present.add(key);
      for (const key of asked) {
        if (!present.has(key)) this.removeForGood(key);
        else if (!this.held.has(key)) this.marks.delete(key);
      }
      if (rest.length > 0) this.callbacks.reread(rest);
    }
    this.endRead(read);
    this.callbacks.changed();
  }

  /** The message that a send or an edit answered with. */
  takeReply(read: Read, message: Message): void {
    if (read.generation === this.generation && this.reaches(message.rowKey)) this.merge([message]);
    this.endRead(read);
    this.callbacks.changed();
  }

  /** A delete of one's own was answered. */
  takeDeleted(read: Read, rowKey: RowKey): void {
    this.removeForGood(rowKey);
    this.endRead(read);
    this.callbacks.changed();
  }

  private floorOf(page: MessageListReply, items: Message[]): RowKey | undefined {
    if (!page.hasMore) return undefined;
    if (page.nextCursor && rowKeyForm.test(page.nextCursor)) return page.nextCursor;
    return items.at(-1)?.rowKey ?? this.floor;
  }

  private merge(items: Message[], asOf = 0): void {
    const again: RowKey[] = [];
    for (const item of items) {
      const mark = this.marks.get(item.rowKey);
      if (mark?.isDeleted || this.isFoldedAway(item)) continue;
      this.put(item);
      if (asOf > 0) this.takeCounted(item, asOf);
      if (!mark) continue;
      if (this.held.get(item.rowKey)!.rev < mark.rev) {
        mark.isWanted = true;
        again.push(item.rowKey);
      } else {
        mark.isWanted = false;
      }
    }
    if (again.length > 0) this.callbacks.reread(again);
  }

  private isFoldedAway({ rowKey, seq = 0 }: Message): boolean {
    return !this.held.has(rowKey) && this.folds.some((fold) => seq > fold.from && seq <= fold.to && !fold.named.has(rowKey));
  }

  // --- events --------------------------------------------------------------------------------------------------

  private apply(event: DurableEvent, folded: boolean): void {
    switch (event.event) {
      case "message.created":
        this.insert(event.data.message);
        this.countReply(event.data.message, 1, event.seq);
        break;
      case "message.updated":
        if (folded) this.insert(event.data.changes as Message);
        else this.change(changeOf(event, this.selfId));
        break;
      default:
        for (const key of removedBy(event)) {
          this.countReply(this.held.get(key), -1, event.seq);
          this.removeForGood(key);
        }
        this.change(changeOf(event, this.selfId));
    }
    this.callbacks.applied(event, folded);
  }

  private reaches(rowKey: RowKey): boolean {
    return this.isHolding && (!this.isLoaded || this.floor === undefined || rowKey < this.floor || this.held.has(rowKey));
  }

  /** A whole message out of an event. */
  private insert(message: Message): void {
    if (this.reaches(message.rowKey)) {
      if (this.marks.get(message.rowKey)?.isDeleted) return;
      const old = this.held.get(message.rowKey);
      this.put(old ? { ...message, mine: old.mine, replyCount: old.replyCount } : message);
      this.satisfy(message.rowKey, message.rev);
    } else {
      this.mark(message.rowKey, message.rev, false);
    }
  }

  private change(change: MessageChange | undefined): void {
    if (!change) return;
    const { rowKey, rev } = change;
    const message = this.held.get(rowKey);
    if (!message) {
      this.mark(rowKey, rev, false);
    } else if (rev === message.rev + 1) {
      this.held.set(rowKey, { ...message, ...change.apply(message), rev });
      this.satisfy(rowKey, rev);
    } else if (rev > message.rev) {
      const isAsked = this.marks.get(rowKey)?.isWanted ?? false;
      this.mark(rowKey, rev, false, true);
      if (!isAsked) this.callbacks.reread([rowKey]);
    }
  }

  /** What only answers tell, of a message whose `rev` they do not raise. */
  private takeCounted({ rowKey, replyCount, mine }: Message, asOf: number): void {
    const message = this.held.get(rowKey);
    if (!message || asOf < (this.countedAsOf.get(rowKey) ?? 0)) return;
    this.countedAsOf.set(rowKey, asOf);
    if (message.replyCount !== replyCount || (mine && !message.mine)) this.held.set(rowKey, { ...message, replyCount, mine: message.mine ?? mine });
  }

  /** Replies are counted in answers only; from there on the room's events count them. */
  private countReply(reply: Message | undefined, by: 1 | -1, seq = 0): void {
    const message = reply?.replyRowKey ? this.held.get(reply.replyRowKey) : undefined;
    // A line of the server about a message is no reply to it.
    if (reply?.type === "PinMessage" || reply?.type === "Call") return;
    if (!message || seq <= (this.countedAsOf.get(message.rowKey) ?? 0)) return;
    this.countedAsOf.set(message.rowKey, seq);
    this.held.set(message.rowKey, { ...message, replyCount: Math.max(0, (message.replyCount ?? 0) + by) });
  }

  private removeForGood(rowKey: RowKey): void {
    this.marks.delete(rowKey);
    this.mark(rowKey, Infinity, true);
    this.remove(rowKey);
  }

  private satisfy(rowKey: RowKey, rev: number): void {
    const mark = this.marks.get(rowKey);
    if (mark && rev >= mark.rev) mark.isWanted = false;
  }

  private mark(rowKey: RowKey, rev: number, isDeleted: boolean, isWanted = false): void {
    if (this.openReads.size === 0 && !isWanted) return;
    const old = this.marks.get(rowKey);
    this.marks.set(rowKey, {
      rev: Math.max(rev, old?.rev ?? 0),
      isDeleted: isDeleted || (old?.isDeleted ?? false),
      since: this.nextTicket,
      isWanted: isWanted || (old?.isWanted ?? false),
    });
  }

  private put(message: Message): void {
    const old = this.held.get(message.rowKey);
    if (old && old.rev >= message.rev) return;
    if (!old) this.order.splice(this.indexOf(message.rowKey), 0, message.rowKey);
    this.held.set(message.rowKey, message);
  }

  private remove(rowKey: RowKey): void {
    this.countedAsOf.delete(rowKey);
    if (this.held.delete(rowKey)) this.order.splice(this.indexOf(rowKey), 1);
  }

  /** Where a key stands, or would stand; keys fall from oldest to newest. */
  private indexOf(rowKey: RowKey): number {
    let low = 0;
    let high = this.order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.order[middle]! > rowKey) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
