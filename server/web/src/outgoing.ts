// What one writes: the outbox of this account, drafts, edits, deletions, and that one is typing.
import { connection, isOnline, listen, reconnectNow, selfId } from "./link";
import { speak } from "./notices";
import { Outbox, type OutboxItem } from "./outbox";
import { localOutboxStorage } from "./outbox_storage";
import { drafts } from "./preferences";
import type { RoomModel } from "./room";
import { currentRoom, roomOf } from "./rooms";
import { WireError, explain } from "./wire_error";
import type { Message, RoomId, User } from "./wire/generated";

const typingEveryMs = 1500;
const sendWindow = 16;

export let outbox: Outbox | undefined;
let outboxPrefix = "";

listen({
  account: openOutbox,
  lost: () => outbox?.setOnline(false),
});

addEventListener("storage", (change) => {
  // Another tab of this account had the message answered.
  if (outboxPrefix && change.key?.startsWith(outboxPrefix) && change.newValue === null) outbox?.confirm(change.key.slice(outboxPrefix.length));
});

function openOutbox(user: User | undefined): void {
  outbox?.setOnline(false);
  outbox = undefined;
  outboxPrefix = "";
  if (!user) return;
  const storage = localOutboxStorage(user.userId);
  outboxPrefix = storage.prefix;
  outbox = new Outbox(storage, {
    transmit,
    window: (roomId) => (roomOf(roomId)?.view.peek().room.slowmodeMs ? 1 : sendWindow),
    changed: (roomId) => showPending(roomId),
    newNonce: () => crypto.randomUUID(),
    now: () => Date.now(),
    random: () => Math.random(),
    after(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  });
}

export function unsentCount(): number {
  return outbox?.size ?? 0;
}

async function transmit(item: OutboxItem): Promise<void> {
  const { roomId, text, replyRowKey, nonce } = item;
  const timeline = roomOf(roomId)?.timeline;
  const read = timeline?.beginRead();
  try {
    const { message } = await connection.request("message.send", { roomId, message: text, format: "Text", replyRowKey, nonce });
    if (timeline && read) timeline.takeReply(read, message);
  } catch (error) {
    if (timeline && read) timeline.endRead(read);
    throw error;
  }
}

/** Messages sent from this page: their row on the screen keeps its identity once they are stored. */
export const sentNonces = new Set<string>();

export function send(room: RoomModel, text: string): void {
  const item = outbox!.add({ roomId: room.roomId, text, replyRowKey: room.replyingTo.peek() });
  sentNonces.add(item.nonce);
  room.replyingTo.value = undefined;
  setDraft(room, "");
}

export function retry(item: OutboxItem): void {
  outbox?.retry(item.nonce);
  if (!isOnline()) reconnectNow();
}

export function discard(item: OutboxItem): void {
  outbox?.discard(item.nonce);
}

export function waitOf(room: RoomModel): number | undefined {
  return outbox?.waitOf(room.roomId);
}

export function showPending(roomId: RoomId): void {
  const room = roomOf(roomId);
  if (!room || !outbox) return;
  const before = new Set(room.pending.peek().map((item) => (item.state === "failed" ? item.nonce : "")));
  const items = outbox.of(roomId);
  room.pending.value = items;
  for (const { state, nonce, error } of items) {
    if (state === "failed" && error && !before.has(nonce) && currentRoom.peek() === room) speak(`Message not sent. ${explain(new WireError(error))}`);
  }
}

export function setDraft(room: RoomModel, text: string): void {
  room.draft.value = text;
  drafts.set(selfId(), room.roomId, text);
}

export async function edit(room: RoomModel, message: Message, body: { text: string; format: "Text" | "Markdown" }): Promise<void> {
  const { timeline } = room;
  const read = timeline.beginRead();
  try {
    const reply = await connection.request("message.edit", {
      roomId: room.roomId,
      rowKey: message.rowKey,
      message: body.text,
      format: body.format,
      rev: message.bodyRev ?? message.rev,
    });
    timeline.takeReply(read, reply.message);
  } catch (error) {
    timeline.endRead(read);
    throw error;
  }
}

export async function remove(room: RoomModel, message: Message): Promise<void> {
  const { timeline } = room;
  const read = timeline.beginRead();
  try {
    await connection.request("message.delete", { roomId: room.roomId, rowKey: message.rowKey });
    timeline.takeDeleted(read, message.rowKey);
  } catch (error) {
    if (error instanceof WireError && error.code === "not_found") return timeline.takeDeleted(read, message.rowKey);
    timeline.endRead(read);
    throw error;
  }
}

let lastTypingAt = -Infinity;

export function typing(room: RoomModel): void {
  const now = performance.now();
  if (!isOnline() || now - lastTypingAt < typingEveryMs) return;
  lastTypingAt = now;
  connection.call("typing.start", { roomId: room.roomId }, () => undefined);
}

export function stoppedTyping(): void {
  lastTypingAt = -Infinity;
}
