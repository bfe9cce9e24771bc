// What one does to a stored message. What it changed comes back as an event of the room, to everybody alike.
import { connection } from "./link";
import { notify } from "./notices";
import type { RoomModel } from "./room";
import { WireError, explain } from "./wire_error";
import type { ForwardResult, Message, OptionId, RoomId } from "./wire/generated";

function keyOf({ roomId, rowKey }: Message): { roomId: RoomId; rowKey: string } {
  return { roomId, rowKey };
}

/** Says what went wrong; for actions that have no form to say it in. */
export async function attempt(action: Promise<unknown>): Promise<boolean> {
  try {
    await action;
    return true;
  } catch (error) {
    notify(explain(error));
    return false;
  }
}

export function hasReacted(message: Message, emoji: string, selfId: string): boolean {
  if (message.mine?.reactions?.includes(emoji)) return true;
  return message.reactions?.find((reaction) => reaction.emoji === emoji)?.userIds?.includes(selfId) ?? false;
}

export function toggleReaction(message: Message, emoji: string, selfId: string): Promise<unknown> {
  const op = hasReacted(message, emoji, selfId) ? "reaction.remove" : "reaction.add";
  return connection.request(op, { ...keyOf(message), emoji });
}

export function ownVote(message: Message, selfId: string): OptionId | undefined {
  return message.mine?.optionId ?? message.poll?.votes?.[selfId];
}

/** Without an option: withdraws. */
export function vote(message: Message, optionId: OptionId | null): Promise<unknown> {
  return connection.request("poll.vote", { ...keyOf(message), optionId });
}

export function setPinned(message: Message, isPinned: boolean): Promise<unknown> {
  return connection.request(isPinned ? "message.pin" : "message.unpin", keyOf(message));
}

export async function forward(message: Message, roomIds: RoomId[], note: string, nonce: string): Promise<ForwardResult[]> {
  const reply = await connection.request("message.forward", { ...keyOf(message), roomIds, message: note || undefined, format: note ? "Text" : undefined, nonce });
  return reply.results ?? [];
}

export async function deletePreview(message: Message): Promise<void> {
  await gone(connection.request("preview.delete", keyOf(message)));
}

export async function deleteFile(message: Message, fileId: string): Promise<void> {
  await gone(connection.request("file.delete", { ...keyOf(message), fileId }));
}

/** What is not there any more has been deleted. */
async function gone(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof WireError && error.code === "not_found")) throw error;
  }
}

/** This message and what came after it count as unread again. */
export async function markUnreadFrom(room: RoomModel, message: Message): Promise<void> {
  const lastReadAt = new Date(Date.parse(message.createdAt) - 1).toISOString();
  const { membership } = await connection.request("membership.update", { roomId: room.roomId, lastReadAt });
  if (!membership) return;
  room.isKeptUnread = true;
  room.view.value = { ...room.view.peek(), membership };
  room.unread.counted(membership.unreadCount ?? 0, membership.mentionCount ?? 0, room.timeline.position?.seq ?? 0);
  room.showUnread();
}
