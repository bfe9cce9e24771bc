// The room list as the server has it, the subscription of each room, and where its events go.
import { batch } from "@preact/signals";
import { plainText } from "./body_text";
import { duration } from "./format_time";
import { readAgain, readEmoji, readNewest, scheduleViewRead, showRoom } from "./history";
import { connection, isOnline, listen, selfId } from "./link";
import { notify, speak } from "./notices";
import { outbox, showPending } from "./outgoing";
import { people } from "./people";
import { drafts } from "./preferences";
import { arrived, scheduleMembershipRead, takeMembership } from "./read_marker";
import { RoomModel } from "./room";
import { currentRoom, isListed, roomOf, rooms, shownName } from "./rooms";
import { go } from "./route";
import { WireError } from "./wire_error";
import type {
  CatchUp,
  DurableEvent,
  EventFrame,
  Message,
  ModerationActed,
  RoomId,
  RoomView,
  Subscribed,
  UnsubscribeReason,
} from "./wire/generated";

const roomsPage = 200;
/** Entries of a subscribe frame: about 150 bytes each, so that 64 KiB is never reached. */
const subscribeMax = 400;
const subscribeRetryMs = 2000;
const listRetryMs = 3000;

listen({
  account() {
    batch(() => {
      rooms.value = new Map();
      isListed.value = false;
    });
  },
  hello() {
    subscribe([...rooms.peek().values()]);
    void listRooms();
    outbox?.setOnline(true);
    const room = currentRoom.peek();
    if (room) void showRoom(room);
  },
  event: received,
  heads(heads) {
    for (const room of rooms.peek().values()) room.timeline.pinged(heads[room.roomId]);
  },
  lost() {
    for (const room of rooms.peek().values()) room.timeline.disconnected();
  },
});

let listing: Promise<void> | undefined;
let isListingAgain = false;

/** Reads the whole room list; a call during one makes it be read once more. */
export function listRooms(): Promise<void> {
  if (listing) {
    isListingAgain = true;
    return listing;
  }
  listing = (async () => {
    do {
      isListingAgain = false;
      try {
        await walkRooms();
      } catch {
        // After a lost connection the next hello reads it again.
        setTimeout(() => {
          if (isOnline()) void listRooms();
        }, listRetryMs);
      }
    } while (isListingAgain);
  })().finally(() => (listing = undefined));
  return listing;
}

async function walkRooms(): Promise<void> {
  const before = new Set(rooms.peek().keys());
  const seen = new Set<RoomId>();
  let cursor: string | undefined;
  do {
    const page = await connection.request("room.list", { order: "Id", limit: roomsPage, cursor });
    takeViews(page.items ?? []);
    for (const view of page.items ?? []) seen.add(view.room.roomId);
    cursor = page.hasMore ? page.nextCursor : undefined;
  } while (cursor);
  const hasDirects = await walkDirects(seen);
  for (const roomId of before) {
    if (!seen.has(roomId) && (hasDirects || roomOf(roomId)?.view.peek().room.type === "Room")) dropRoom(roomId);
  }
  isListed.value = true;
}

/** False where the server has none. */
async function walkDirects(seen: Set<RoomId>): Promise<boolean> {
  let cursor: string | undefined;
  try {
    do {
      const page = await connection.request("dm.list", { limit: roomsPage, cursor });
      takeViews(page.items ?? []);
      for (const view of page.items ?? []) seen.add(view.room.roomId);
      cursor = page.hasMore ? page.nextCursor : undefined;
    } while (cursor);
    return true;
  } catch (error) {
    if (error instanceof WireError && error.code === "unsupported") return false;
    throw error;
  }
}

export function takeViews(views: RoomView[]): RoomModel[] {
  const fresh: RoomModel[] = [];
  batch(() => {
    for (const view of views) {
      const known = roomOf(view.room.roomId);
      if (known) known.takeView(view);
      else fresh.push(addRoom(view));
    }
  });
  if (fresh.length > 0) subscribe(fresh);
  return fresh;
}

function addRoom(view: RoomView): RoomModel {
  const room: RoomModel = new RoomModel(view, {
    resubscribe: () => subscribeSoon(room),
    reload() {
      room.members.value = undefined;
      room.roles.value = undefined;
      room.emoji.value = undefined;
      scheduleViewRead(room);
      if (room.timeline.isHeld) void readNewest(room);
      if (currentRoom.peek() === room) void showRoom(room);
    },
    reread: (rowKeys) => void readAgain(room, rowKeys),
    applied: (event, folded) => applied(room, event, folded),
  }, selfId());
  room.draft.value = drafts.get(selfId(), room.roomId);
  rooms.value = new Map(rooms.peek()).set(room.roomId, room);
  showPending(room.roomId);
  return room;
}

function dropRoom(roomId: RoomId): void {
  const room = roomOf(roomId);
  if (!room) return;
  room.timeline.disconnected();
  const next = new Map(rooms.peek());
  next.delete(roomId);
  rooms.value = next;
}

const resubscribing = new Set<RoomModel>();

function subscribeSoon(room: RoomModel): void {
  if (resubscribing.size === 0) {
    queueMicrotask(() => {
      const batch = [...resubscribing];
      resubscribing.clear();
      subscribe(batch);
    });
  }
  resubscribing.add(room);
}

function subscribe(models: RoomModel[]): void {
  for (let at = 0; at < models.length; at += subscribeMax) {
    const part = models.slice(at, at + subscribeMax);
    const entries = part.map((room) => ({ roomId: room.roomId, since: room.timeline.subscribing() }));
    connection.call("room.subscribe", { rooms: entries }, (result) => {
      if ("data" in result) {
        for (const reply of result.data.rooms ?? []) subscribed(reply);
      } else {
        for (const room of part) room.timeline.disconnected();
        setTimeout(() => {
          if (!isOnline()) return;
          subscribe(part.filter((room) => room.timeline.phase === "idle" && roomOf(room.roomId) === room));
        }, subscribeRetryMs);
      }
    });
  }
}

function subscribed(reply: Subscribed): void {
  const room = roomOf(reply.roomId);
  if (!room) return;
  room.timeline.subscribed(reply);
  if (reply.verdict === "error" && reply.error?.code !== "forbidden") {
    setTimeout(() => {
      if (room.timeline.phase === "idle" && isOnline()) subscribeSoon(room);
    }, subscribeRetryMs);
  }
  room.isReadable.value = reply.verdict !== "error" || reply.error?.code !== "forbidden";
}

// --- events ----------------------------------------------------------------------------------------------------

function received(frame: EventFrame): void {
  const room = "roomId" in frame ? roomOf(frame.roomId) : undefined;
  switch (frame.event) {
    case "room.catchUp":
      if (room) caughtUp(room, frame.sub, frame.data ?? {});
      return;
    case "room.behind":
      room?.timeline.behind(frame.sub, frame.data);
      return;
    case "room.advanced":
      room?.timeline.advanced(frame.sub, frame.seq);
      return;
    case "room.unsubscribed":
      if (room) unsubscribed(room, frame.sub, frame.data.reason);
      return;
    case "typing.started":
      if (frame.data.userId !== selfId()) room?.typing(frame.data);
      return;
    case "membership.updated": {
      const { membership } = frame.data;
      const room = roomOf(membership.roomId);
      if (room) takeMembership(room, membership);
      return;
    }
    case "room.added": {
      const [fresh] = takeViews([frame.data]);
      const room = fresh ?? roomOf(frame.data.room.roomId);
      // Read access came back to a room that was kept in the list.
      if (room && !room.isReadable.peek()) subscribeSoon(room);
      return;
    }
    case "room.removed":
      removed(frame.data.roomId, frame.data.reason);
      return;
    case "moderation.action":
      warned(frame.data);
      return;
    case "user.behind":
      void listRooms();
      return;
    default:
      if (room && "seq" in frame) room.timeline.event(frame);
  }
}

function caughtUp(room: RoomModel, sub: number, page: CatchUp): void {
  room.timeline.catchUp(sub, page);
  if (!page.done || room.missedCount === 0) return;
  scheduleMembershipRead(room);
  if (currentRoom.peek() === room) speak(room.missedCount === 1 ? "1 new message" : `${room.missedCount} new messages`);
  room.missedCount = 0;
}

function applied(room: RoomModel, event: DurableEvent, folded: boolean): void {
  room.applied(event, folded);
  switch (event.event) {
    case "message.created": {
      const { message } = event.data;
      if (message.userId === selfId()) {
        if (message.nonce) outbox?.confirm(message.nonce);
        break;
      }
      arrived();
      if (folded) room.missedCount++;
      else if (currentRoom.peek() === room) speakMessage(room, message);
      break;
    }
    case "message.deleted":
    case "message.purged":
      if (room.unreadCount.peek() > 0) scheduleMembershipRead(room);
      break;
    case "member.joined":
      people.learn(event.data.member.user);
      if (room.view.peek().room.type === "DirectMessage") scheduleViewRead(room);
      break;
    case "member.left":
      if (room.view.peek().room.type === "DirectMessage") scheduleViewRead(room);
      break;
    case "emoji.created":
      if (currentRoom.peek() === room) void readEmoji(room);
      break;
    default:
      if (event.event.startsWith("role.")) scheduleViewRead(room);
  }
}

function speakMessage(room: RoomModel, message: Message): void {
  const text = plainText(message);
  const isSpokenBySomebody = message.type === "Message" || message.type === "Webhook" || message.type === "Poll";
  speak(isSpokenBySomebody ? `${shownName(room, message)}: ${text}` : text);
}

function unsubscribed(room: RoomModel, sub: number, reason: UnsubscribeReason): void {
  if (!room.timeline.unsubscribed(sub)) return;
  if (reason === "Revoked") room.isReadable.value = false;
  else removed(room.roomId, reason);
}

/** What a moderator, or the word filter, did to oneself; a removal is told by its room event. */
function warned({ roomId, type, durationMs, reason }: ModerationActed): void {
  const name = roomOf(roomId)?.name ?? "a room";
  const why = reason ? ` Reason: ${reason}` : "";
  if (type === "Warn") notify(`You were warned in ${name}.${why}`);
  if (type === "TimeoutUser") notify(`You are timed out in ${name} for ${duration(durationMs ?? 0)}.${why}`);
}

/** Rooms that one leaves right now: their end is no news. */
export const leaving = new Set<RoomId>();

export function removed(roomId: RoomId, reason: string): void {
  const room = roomOf(roomId);
  if (!room) return;
  const name = room.name;
  if (currentRoom.peek() === room) go({ kind: "home" }, { replace: true });
  dropRoom(roomId);
  if (reason === "Left" || reason === "Deleted") for (const item of room.pending.peek()) outbox?.discard(item.nonce);
  if (reason === "Kicked") notify(`You were removed from ${name}.`);
  else if (reason === "Banned") notify(`You were banned from ${name}.`);
  else if (reason === "Deleted" && !leaving.has(roomId)) notify(`${name} was deleted.`);
}
