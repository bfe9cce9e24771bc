// What has been read of each room: the server's counts, counted on with what arrives, and the marker that one moves.
import { connection } from "./link";
import type { RoomModel } from "./room";
import type { Membership } from "./wire/generated";

const membershipsMax = 1000;

let lastArrival = 0;

/** A message by somebody else was seen just now. */
export function arrived(): void {
  lastArrival = performance.now();
}

export function takeMembership(room: RoomModel, membership: Membership): void {
  const view = room.view.peek();
  room.view.value = { ...view, membership };
  room.unread.counted(membership.unreadCount ?? 0, membership.mentionCount ?? 0, room.timeline.position?.seq ?? 0);
  room.showUnread();
  // User events and room events are not ordered against each other: count again when both moved at once.
  if (performance.now() - lastArrival < 1000) scheduleMembershipRead(room);
}

const toCount = new Set<RoomModel>();

export function scheduleMembershipRead(room: RoomModel): void {
  if (toCount.size === 0) {
    setTimeout(async () => {
      const asked = [...toCount].slice(0, membershipsMax);
      toCount.clear();
      const versions = asked.map((room) => room.unread.version);
      const positions = asked.map((room) => room.timeline.position?.seq ?? 0);
      try {
        const reply = await connection.request("membership.get", { roomIds: asked.map((room) => room.roomId) });
        const byRoom = new Map((reply.items ?? []).map((membership) => [membership.roomId, membership]));
        asked.forEach((room, index) => {
          const membership = byRoom.get(room.roomId);
          if (!membership) return;
          if (room.unread.version !== versions[index]) return scheduleMembershipRead(room);
          room.unread.counted(membership.unreadCount ?? 0, membership.mentionCount ?? 0, positions[index]!);
          room.showUnread();
        });
      } catch {
        // The next hello reads the room list with all counts.
      }
    }, 400);
  }
  toCount.add(room);
}

const marking = new Set<RoomModel>();

/** The newest message is on the screen. */
export function markRead(room: RoomModel): void {
  const newest = room.messages.peek().at(-1);
  if (!newest || room.isKeptUnread || room.unreadCount.peek() === 0 || marking.has(room)) return;
  marking.add(room);
  setTimeout(async () => {
    const last = room.messages.peek().at(-1) ?? newest;
    const asOf = room.timeline.position?.seq ?? 0;
    try {
      // The server's clock is finer than a millisecond: one more, or the message itself would stay unread.
      const lastReadAt = new Date(Date.parse(last.createdAt) + 1).toISOString();
      await connection.request("membership.update", { roomId: room.roomId, lastReadAt });
      room.unread.readAll(asOf);
      room.showUnread();
    } catch {
      // Stays unread; the next look at the room tries again.
    } finally {
      marking.delete(room);
    }
  }, 150);
}
