// The rooms that one is in, and which of them is open.
import { computed, signal } from "@preact/signals";
import { selfId } from "./link";
import { people } from "./people";
import { lastRoom } from "./preferences";
import type { RoomModel } from "./room";
import { route } from "./route";
import type { Message, RoomId } from "./wire/generated";

export const rooms = signal<ReadonlyMap<RoomId, RoomModel>>(new Map());
/** The room list was read once: an id that it lacks is unknown. */
export const isListed = signal(false);

export const currentRoom = computed(() => {
  const at = route.value;
  return at.kind === "room" ? rooms.value.get(at.roomId) : undefined;
});

/** Rooms and conversations, the latest activity first. */
export const roomList = computed(() =>
  [...rooms.value.values()].sort((a, b) => {
    const [left, right] = [a.lastActivityAt.value, b.lastActivityAt.value];
    return left < right ? 1 : left > right ? -1 : a.roomId < b.roomId ? -1 : 1;
  }),
);

export const unreadTotal = computed(() => [...rooms.value.values()].reduce((sum, room) => sum + room.unreadCount.value, 0));

export function roomOf(roomId: RoomId): RoomModel | undefined {
  return rooms.peek().get(roomId);
}

export function shownName(room: RoomModel, message: Message): string {
  if (message.appUser) return message.appUser.name ?? "Webhook";
  if (!message.userId) return "Somebody";
  return room.nicknameOf(message.userId) ?? people.get(message.userId).value?.name ?? "…";
}

/** The room to open when none is asked for. */
export function homeRoom(): RoomId | undefined {
  const last = lastRoom.get(selfId());
  return last && rooms.peek().has(last) ? last : roomList.peek()[0]?.roomId;
}
