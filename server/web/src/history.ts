// Reading what rooms hold: messages, members, one's own view. Reads the open room anew when it is opened.
import { effect, untracked } from "@preact/signals";
import { connection, isOnline, selfId } from "./link";
import { people } from "./people";
import { lastRoom } from "./preferences";
import type { RoomModel } from "./room";
import { currentRoom } from "./rooms";
import { go, route } from "./route";
import { leaveVisit } from "./visit";
import { WireError } from "./wire_error";
import type { RoomView } from "./wire/generated";

const historyPage = 50;
const membersPage = 1000;

/** A room was opened, or the connection came back while it is open. */
export async function showRoom(room: RoomModel): Promise<void> {
  lastRoom.set(selfId(), room.roomId);
  if (!room.timeline.isLoaded) void readNewest(room);
  else if (room.history.peek() === "failed") room.history.value = "idle";
  if (!room.members.peek()) await readMembers(room);
  if (!room.roles.peek()) void readRoles(room);
  if (!room.emoji.peek()) void readEmoji(room);
}

let shownRoom: RoomModel | undefined;

effect(() => {
  const room = currentRoom.value;
  if (room === shownRoom) return;
  untracked(() => {
    if (shownRoom) {
      shownRoom.openedAt.value = "";
      shownRoom.isKeptUnread = false;
      leaveVisit(shownRoom);
      shownRoom.isAtEnd.value = true;
      shownRoom.scheduleRefresh();
    }
    shownRoom = room;
    if (!room) return;
    const { membership } = room.view.peek();
    room.openedAt.value = room.unreadCount.peek() > 0 ? (membership.lastReadAt ?? membership.createdAt ?? "") : "";
    if (isOnline()) void showRoom(room);
  });
});

// A message that the address names: shown once its room is, and the address is the room's again.
effect(() => {
  const at = route.value;
  const room = currentRoom.value;
  const rowKey = at.kind === "room" ? at.rowKey : undefined;
  if (!room || !rowKey || !room.isLoaded.value) return;
  untracked(() => {
    room.wanted.value = rowKey;
    go({ kind: "room", roomId: room.roomId }, { replace: true });
  });
});

const loadingNewest = new Map<RoomModel, number>();

export async function readNewest(room: RoomModel): Promise<void> {
  const { timeline } = room;
  timeline.hold();
  const read = timeline.beginRead();
  if (loadingNewest.get(room) === read.generation) return timeline.endRead(read);
  loadingNewest.set(room, read.generation);
  room.history.value = "loading";
  try {
    const page = await connection.request("message.list", { roomId: room.roomId, limit: historyPage });
    timeline.takeNewest(read, page);
    if (timeline.isLoaded) room.history.value = "idle";
  } catch (error) {
    timeline.endRead(read);
    if (loadingNewest.get(room) === read.generation) room.history.value = "failed";
    if (error instanceof WireError && error.code === "rate_limited") {
      setTimeout(() => void readNewest(room), error.retryAfterMs ?? 1000);
    }
  } finally {
    if (loadingNewest.get(room) === read.generation) loadingNewest.delete(room);
    room.refresh();
  }
}

export async function readOlder(room: RoomModel): Promise<void> {
  const { timeline } = room;
  if (!timeline.isLoaded) return readNewest(room);
  const cursor = timeline.olderCursor;
  if (cursor === undefined || room.history.peek() === "loading") return;
  const read = timeline.beginRead();
  room.history.value = "loading";
  try {
    const page = await connection.request("message.list", { roomId: room.roomId, cursor, limit: historyPage });
    timeline.takeOlder(read, cursor, page);
    room.history.value = "idle";
  } catch {
    timeline.endRead(read);
    room.history.value = "failed";
  } finally {
    room.refresh();
  }
}

const rereadRetryMs = 1000;

export async function readAgain(room: RoomModel, rowKeys: string[]): Promise<void> {
  const { timeline } = room;
  const read = timeline.beginRead();
  try {
    timeline.takeGot(read, rowKeys, await connection.request("message.get", { roomId: room.roomId, rowKeys }));
  } catch {
    timeline.endRead(read);
    // After a lost connection the next subscription asks for them again.
    if (isOnline() && timeline.phase !== "idle") {
      setTimeout(() => void readAgain(room, rowKeys), rereadRetryMs);
    }
  }
}

export async function readMembers(room: RoomModel): Promise<void> {
  try {
    const page = await connection.request("room.members", { roomId: room.roomId, limit: membersPage });
    const members = page.items ?? [];
    people.learn(...members.map((member) => member.user));
    room.members.value = members;
  } catch {
    // Names come from `people`; the list is read again when the room is next opened.
  }
}

export async function readRoles(room: RoomModel): Promise<void> {
  if (room.view.peek().room.type === "DirectMessage") return;
  try {
    room.roles.value = (await connection.request("role.list", { roomIds: [room.roomId] })).items ?? [];
  } catch {
    // Mentions of roles keep the names that their bodies carry.
  }
}

export async function readEmoji(room: RoomModel): Promise<void> {
  try {
    room.emoji.value = (await connection.request("emoji.list", { roomId: room.roomId })).items ?? [];
  } catch {
    // Custom emoji are shown by their names.
  }
}

const toView = new Set<RoomModel>();

export function scheduleViewRead(room: RoomModel): void {
  if (toView.has(room)) return;
  toView.add(room);
  setTimeout(async () => {
    toView.delete(room);
    try {
      const view = await connection.request("room.get", { roomId: room.roomId });
      if (view.room && view.membership) room.takeView(view as RoomView);
    } catch {
      // The next hello reads the room list.
    }
  }, 200);
}
