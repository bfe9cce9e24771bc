// Some messages of a room beside its timeline: pins, a thread, results of a search, the surroundings of a message.
// Kept as they are now by the same events; what an event alone does not tell is asked for with `reread`.
import { signal } from "@preact/signals";
import { changeOf, removedBy } from "./message_change";
import type { DurableEvent, Message, RowKey, UserId } from "./wire/generated";

export class Excerpt {
  /** In the order that they were given in. */
  readonly messages = signal<Message[]>([]);
  /** Events of the meantime, while a read is under way. */
  private missed: { event: DurableEvent; folded: boolean }[] | undefined;

  constructor(
    private readonly selfId: UserId,
    /** Which new messages belong to it; they come last. */
    private readonly belongs: (message: Message) => boolean = () => false,
    private readonly reread: (rowKeys: RowKey[]) => void = () => undefined,
  ) {}

  get(rowKey: RowKey): Message | undefined {
    return this.messages.peek().find((message) => message.rowKey === rowKey);
  }

  /** Before the read whose answer is given to `take`. */
  beginRead(): void {
    this.missed = [];
  }

  take(messages: Message[]): void {
    const missed = this.missed ?? [];
    this.missed = undefined;
    this.messages.value = messages;
    for (const { event, folded } of missed) this.apply(event, folded);
  }

  /** Newer states of messages that it has. */
  renew(messages: Message[]): void {
    for (const message of messages) this.replace(message);
  }

  apply(event: DurableEvent, folded: boolean): void {
    this.missed?.push({ event, folded });
    if (event.event === "message.created") {
      const { message } = event.data;
      if (this.get(message.rowKey)) this.replace(message);
      else if (this.belongs(message)) this.messages.value = [...this.messages.peek(), message];
      return;
    }
    const gone = removedBy(event);
    if (gone.length > 0) {
      if (gone.some((rowKey) => this.get(rowKey))) this.messages.value = this.messages.peek().filter((message) => !gone.includes(message.rowKey));
      return;
    }
    if (folded && event.event === "message.updated") return this.replace(event.data.changes as Message);
    const change = changeOf(event, this.selfId);
    const held = change && this.get(change.rowKey);
    if (!change || !held || change.rev <= held.rev) return;
    if (change.rev === held.rev + 1) this.put({ ...held, ...change.apply(held), rev: change.rev });
    else this.reread([change.rowKey]);
  }

  private replace(message: Message): void {
    const held = this.get(message.rowKey);
    if (held && held.rev < message.rev) this.put({ ...message, mine: message.mine ?? held.mine, replyCount: message.replyCount ?? held.replyCount });
  }

  private put(message: Message): void {
    this.messages.value = this.messages.peek().map((other) => (other.rowKey === message.rowKey ? message : other));
  }
}
