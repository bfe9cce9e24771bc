// A room as a server keeps it, small enough to be read at a glance: what a client has to agree with in the end.
import type { CatchUp, DurableEvent, Message, MessageListReply } from "../src/wire/generated";

export const roomId = "3f9e7b20-6c1d-4e5a-b8f2-0a4d5c6e7f03";
export const userId = "0b6f2c1e-4a57-4d0e-9d3a-1f5f0c7a2e01";

export function rowKeyAt(tick: number): string {
  return (10n ** 30n - 1n - BigInt(tick)).toString().padStart(30, "0");
}

interface Entry {
  seq: number;
  rowKey: string;
  event: DurableEvent;
}

export class ModelRoom {
  epoch = "e1";
  head = 0;
  private tick = 1_000_000;
  private entries: Entry[] = [];
  private alive = new Map<string, Message>();
  private born = new Map<string, number>();
  private revs = new Map<string, number>();

  /** Newest first. */
  live(): Message[] {
    return [...this.alive.values()].sort((a, b) => (a.rowKey < b.rowKey ? -1 : 1));
  }

  create(text: string, nonce?: string): Message {
    const rowKey = rowKeyAt(this.tick++);
    const seq = this.head + 1;
    const time = new Date(1_800_000_000_000 + this.tick).toISOString();
    const message: Message = {
      roomId, rowKey, seq, rev: 1, bodyRev: 1, type: "Message", userId, message: text, nonce, createdAt: time, updatedAt: time,
    }; // prettier-ignore
    this.born.set(rowKey, seq);
    this.revs.set(rowKey, 1);
    this.alive.set(rowKey, message);
    this.log(rowKey, { event: "message.created", roomId, seq, data: { message: { ...message } } });
    return message;
  }

  edit(rowKey: string, text: string): void {
    const message = this.alive.get(rowKey)!;
    const rev = this.nextRev(rowKey);
    this.alive.set(rowKey, { ...message, message: text, rev, bodyRev: rev, isEdited: true });
    this.log(rowKey, { event: "message.updated", roomId, seq: this.head + 1, data: { rowKey, rev, changes: { message: text, bodyRev: rev, isEdited: true } } });
  }

  react(rowKey: string, emoji: string, count: number): void {
    const message = this.alive.get(rowKey)!;
    const rev = this.nextRev(rowKey);
    const others = (message.reactions ?? []).filter((reaction) => reaction.emoji !== emoji);
    this.alive.set(rowKey, { ...message, rev, reactions: count > 0 ? [...others, { emoji, count, userIds: [] }] : others });
    const event = count > 0 ? "reaction.added" : "reaction.removed";
    this.log(rowKey, { event, roomId, seq: this.head + 1, data: { rowKey, rev, emoji, userId, count: count || undefined } });
  }

  delete(rowKey: string): void {
    const rev = this.nextRev(rowKey);
    this.alive.delete(rowKey);
    this.log(rowKey, { event: "message.deleted", roomId, seq: this.head + 1, data: { rowKey, rev } });
  }

  /** As after a restore from a copy that lacked the newest message. */
  restore(epoch: string): void {
    this.epoch = epoch;
    const [newest] = this.live();
    if (newest) this.alive.delete(newest.rowKey);
  }

  eventAt(seq: number): DurableEvent {
    return structuredClone(this.entries.find((entry) => entry.seq === seq)!.event);
  }

  list(cursor: string | undefined, limit: number): MessageListReply {
    const all = this.live().filter((message) => cursor === undefined || message.rowKey > cursor);
    const items = structuredClone(all.slice(0, limit));
    return { items, hasMore: all.length > limit, nextCursor: items.at(-1)?.rowKey, asOf: this.head };
  }

  get(rowKeys: string[]): { items: Message[]; asOf: number } {
    return { items: structuredClone(this.live().filter((message) => rowKeys.includes(message.rowKey))), asOf: this.head };
  }

  /** What a catch-up from `since` holds, page by page. */
  fold(since: number, pageSize: number): CatchUp[] {
    const last = new Map<string, Entry>();
    for (const entry of this.entries) if (entry.seq > since) last.set(entry.rowKey, entry);
    const folded: DurableEvent[] = [];
    for (const { rowKey, seq, event } of [...last.values()].sort((a, b) => a.seq - b.seq)) {
      const message = structuredClone(this.alive.get(rowKey));
      const isNew = this.born.get(rowKey)! > since;
      if (message && isNew) folded.push({ event: "message.created", roomId, seq, data: { message } });
      else if (message) folded.push({ event: "message.updated", roomId, seq, data: { rowKey, rev: message.rev, changes: message } });
      else if (!isNew) folded.push({ ...structuredClone(event), seq } as DurableEvent);
    }
    const pages: CatchUp[] = [];
    for (let at = 0; at < folded.length; at += pageSize) {
      const entries = folded.slice(at, at + pageSize);
      pages.push({ entries, seq: entries.at(-1)!.seq });
    }
    pages.push({ seq: this.head, done: true });
    return pages;
  }

  private nextRev(rowKey: string): number {
    const rev = this.revs.get(rowKey)! + 1;
    this.revs.set(rowKey, rev);
    return rev;
  }

  private log(rowKey: string, event: DurableEvent): void {
    this.head++;
    this.entries.push({ seq: this.head, rowKey, event });
  }
}
