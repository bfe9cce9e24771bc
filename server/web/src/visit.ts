// Going to a message further up than the page has read: its surroundings take the place of the newest messages.
import { Excerpt } from "./excerpt";
import { connection, selfId } from "./link";
import { mergedByKey } from "./message_order";
import type { RoomModel, Visit } from "./room";
import { WireError } from "./wire_error";
import type { RowKey } from "./wire/generated";

const surroundings = 40;

/** Makes the message one of those that are shown; false when it is gone. */
export async function bring(room: RoomModel, rowKey: RowKey): Promise<boolean> {
  const visit = room.visited.peek();
  if (visit?.excerpt.get(rowKey)) return true;
  if (room.timeline.get(rowKey)) {
    leaveVisit(room);
    room.refresh();
    return true;
  }
  const excerpt = new Excerpt(selfId());
  room.excerpts.add(excerpt);
  excerpt.beginRead();
  try {
    const page = await connection.request("message.list", { roomId: room.roomId, around: rowKey, limit: surroundings });
    excerpt.take((page.items ?? []).toReversed());
    leaveVisit(room);
    room.excerpts.add(excerpt);
    room.isAtEnd.value = false;
    room.visited.value = {
      target: rowKey,
      excerpt,
      olderCursor: page.hasMore ? page.nextCursor : undefined,
      newerCursor: page.hasMoreNewer ? page.prevCursor : undefined,
    };
    return true;
  } catch (error) {
    room.excerpts.delete(excerpt);
    if (error instanceof WireError && error.code === "not_found") return false;
    throw error;
  }
}

export function leaveVisit(room: RoomModel): void {
  const visit = room.visited.peek();
  if (!visit) return;
  room.excerpts.delete(visit.excerpt);
  room.visited.value = undefined;
}

export async function goOn(room: RoomModel, visit: Visit, way: "older" | "newer"): Promise<void> {
  const cursor = way === "older" ? visit.olderCursor : visit.newerCursor;
  const page = await connection.request("message.list", { roomId: room.roomId, cursor, order: way === "older" ? "Desc" : "Asc", limit: surroundings });
  if (room.visited.peek() !== visit) return;
  const items = page.items ?? [];
  visit.excerpt.messages.value = mergedByKey(visit.excerpt.messages.peek(), items);
  const next = page.hasMore ? page.nextCursor : undefined;
  room.visited.value = way === "older" ? { ...visit, olderCursor: next } : { ...visit, newerCursor: next };
}
