// What one writes: the outbox of this account, drafts, edits, deletions, and that one is typing.
import { type Mentionable, composeBody } from "./composed_body";
import { connection, isOnline, listen, reconnectNow, selfId } from "./link";
import { speak } from "./notices";
import { type Draft, Outbox, type OutboxItem } from "./outbox";
import { localOutboxStorage } from "./outbox_storage";
import { drafts } from "./preferences";
import { offerPush } from "./push";
import type { RoomModel } from "./room";
import { currentRoom, roomOf } from "./rooms";
import { WireError, explain } from "./wire_error";
import { type Format, type Message, type MessageSend, type RoomId, type User, permission } from "./wire/generated";

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
  const { roomId, replyRowKey, nonce, poll, files = [] } = item;
  const timeline = roomOf(roomId)?.timeline;
  const read = timeline?.beginRead();
  try {
    const content: Partial<MessageSend> = poll ? { type: "Poll", poll } : (item.body ?? { message: item.text, format: "Text" });
    if (files.length > 0) content.files = files.map(({ fileId, hasThumbnail }) => ({ fileId, hasThumbnail }));
    const { message } = await connection.request("message.send", { roomId, replyRowKey, nonce, ...content });
    if (timeline && read) timeline.takeReply(read, message);
  } catch (error) {
    if (timeline && read) timeline.endRead(read);
    throw error;
  }
}

/** Messages sent from this page: their row on the screen keeps its identity once they are stored. */
export const sentNonces = new Set<string>();

/** What is in the composer. */
export function send(room: RoomModel, text: string): void {
  const files = room.attachments.peek().flatMap(({ fileId, hasThumbnail, file }) => (fileId ? [{ fileId, hasThumbnail, filename: file.name }] : []));
  const body = composeBody(text, mentionables(room, text), room.emoji.peek());
  post(room, { text, body: body.format === "Html" ? body : undefined, files: files.length > 0 ? files : undefined, replyRowKey: room.replyingTo.peek() });
  // Somebody is to answer: that is when one would like to be told.
  if (room.view.peek().room.type === "DirectMessage" || body.message.includes('data-type="mention"')) offerPush();
  room.replyingTo.value = undefined;
  room.attachments.value = [];
  room.draftMentions.clear();
  setDraft(room, "");
}

export function post(room: RoomModel, draft: Omit<Draft, "roomId">): void {
  sentNonces.add(outbox!.add({ roomId: room.roomId, ...draft }).nonce);
}

/** Whom a text can mention: those who were chosen for it, and everybody by the one word where that is allowed. */
export function mentionables(room: RoomModel, text: string): Mentionable[] {
  const chosen = [...room.draftMentions.values()];
  const broadcasts = room.may(permission.MentionEveryone) ? ["everyone", "here"].filter((word) => text.includes(`@${word}`)) : [];
  return [...chosen, ...broadcasts.map((label): Mentionable => ({ id: `@${label}`, kind: "broadcast", label }))];
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

export async function edit(room: RoomModel, message: Message, body: { message: string; format: Format }): Promise<void> {
  const { timeline } = room;
  const read = timeline.beginRead();
  try {
    const reply = await connection.request("message.edit", {
      roomId: room.roomId,
      rowKey: message.rowKey,
      ...body,
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
