// The replies to one message, read and then followed live; and the threads that one follows.
import { signal } from "@preact/signals";
import { Excerpt } from "./excerpt";
import { connection, selfId } from "./link";
import { mergedByKey } from "./message_order";
import type { RoomModel } from "./room";
import { explain } from "./wire_error";
import type { Message, RowKey } from "./wire/generated";

const repliesPage = 100;

/** A line of the server about a message is no reply to it. */
const isReply = (message: Message) => message.type !== "PinMessage" && message.type !== "Call";

export class Thread {
  readonly root = new Excerpt(selfId());
  readonly replies: Excerpt;
  readonly state = signal<"loading" | "ready" | "failed">("loading");
  readonly error = signal("");
  readonly isFollowed = signal<boolean | undefined>(undefined);
  readonly hasOlder = signal(false);
  private cursor: string | undefined;

  constructor(
    readonly room: RoomModel,
    readonly rowKey: RowKey,
  ) {
    const reread = (rowKeys: RowKey[]) => void this.reread(rowKeys);
    this.replies = new Excerpt(selfId(), (message) => message.replyRowKey === rowKey && isReply(message), reread);
    const known = room.timeline.get(rowKey);
    if (known) this.root.take([known]);
  }

  get rootMessage(): Message | undefined {
    return this.root.messages.value[0];
  }

  open(): void {
    this.room.excerpts.add(this.root).add(this.replies);
    void this.read();
    void this.readFollowed();
  }

  close(): void {
    this.room.excerpts.delete(this.root);
    this.room.excerpts.delete(this.replies);
  }

  async read(): Promise<void> {
    this.state.value = "loading";
    this.replies.beginRead();
    this.root.beginRead();
    try {
      const page = await connection.request("message.thread", { roomId: this.room.roomId, rowKey: this.rowKey, limit: repliesPage });
      this.replies.take((page.items ?? []).filter(isReply).toReversed());
      this.root.take(page.root ? [page.root] : []);
      this.cursor = page.hasMore ? page.nextCursor : undefined;
      this.hasOlder.value = this.cursor !== undefined;
      this.state.value = "ready";
    } catch (error) {
      this.replies.take(this.replies.messages.peek());
      this.root.take(this.root.messages.peek());
      this.error.value = explain(error);
      this.state.value = "failed";
    }
  }

  async readOlder(): Promise<void> {
    const page = await connection.request("message.thread", { roomId: this.room.roomId, rowKey: this.rowKey, limit: repliesPage, cursor: this.cursor });
    this.replies.messages.value = mergedByKey((page.items ?? []).toReversed(), this.replies.messages.peek());
    this.cursor = page.hasMore ? page.nextCursor : undefined;
    this.hasOlder.value = this.cursor !== undefined;
  }

  async setFollowed(isFollowed: boolean): Promise<void> {
    await connection.request(isFollowed ? "thread.follow" : "thread.unfollow", { roomId: this.room.roomId, rowKey: this.rowKey });
    this.isFollowed.value = isFollowed;
  }

  async readFollowed(): Promise<void> {
    try {
      const { rowKeys = [] } = await connection.request("thread.followed", { roomId: this.room.roomId });
      this.isFollowed.value = rowKeys.includes(this.rowKey);
    } catch {
      // Without it the button is not shown.
    }
  }

  private async reread(rowKeys: RowKey[]): Promise<void> {
    try {
      this.replies.renew((await connection.request("message.get", { roomId: this.room.roomId, rowKeys })).items ?? []);
    } catch {
      // The next change of the message tries again.
    }
  }
}
