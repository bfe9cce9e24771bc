// The page's state and everything it does with the server. Components read the signals and call the verbs below.
import { batch, computed, effect, signal, untracked } from "@preact/signals";
import * as auth from "./auth";
import { plainText } from "./body_text";
import { Connection, type ConnectionState } from "./connection";
import { notify, speak } from "./notices";
import { Outbox, type OutboxItem } from "./outbox";
import { localOutboxStorage } from "./outbox_storage";
import { People } from "./people";
import { drafts, lastRoom } from "./preferences";
import { RoomModel } from "./room";
import { go, route } from "./route";
import { WireError, explain } from "./wire_error";
import type {
  CatchUp,
  DurableEvent,
  EventFrame,
  HelloReply,
  Invite,
  InviteGetReply,
  Membership,
  Message,
  RoomId,
  RoomView,
  Subscribed,
  UnsubscribeReason,
  User,
} from "./wire/generated";

const historyPage = 50;
const membersPage = 1000;
const roomsPage = 200;
/** Entries of a subscribe frame: about 150 bytes each, so that 64 KiB is never reached. */
const subscribeMax = 400;
const subscribeRetryMs = 2000;
const listRetryMs = 3000;
const typingEveryMs = 1500;
const sendWindow = 16;

export type Session = { kind: "starting" } | { kind: "signedOut"; note?: string } | { kind: "signedIn"; user: User };

export const session = signal<Session>({ kind: "starting" });
export const connectionState = signal<ConnectionState>({ kind: "connecting" });
export const rooms = signal<ReadonlyMap<RoomId, RoomModel>>(new Map());
/** The room list was read once: an id that it lacks is unknown. */
export const isListed = signal(false);

export const currentRoom = computed(() => {
  const at = route.value;
  return at.kind === "room" ? rooms.value.get(at.roomId) : undefined;
});

export const roomList = computed(() =>
  [...rooms.value.values()].sort((a, b) => {
    const [left, right] = [a.lastActivityAt.value, b.lastActivityAt.value];
    return left < right ? 1 : left > right ? -1 : a.roomId < b.roomId ? -1 : 1;
  }),
);

export const unreadTotal = computed(() => [...rooms.value.values()].reduce((sum, room) => sum + room.unreadCount.value, 0));

let selfId = "";
let outbox: Outbox | undefined;
let outboxPrefix = "";

export const people = new People(async (userIds) => (await connection.request("user.get", { userIds })).items ?? []);

// --- connection ------------------------------------------------------------------------------------------------

const connection = new Connection(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/ws`, {
  state(state) {
    connectionState.value = state;
    if (state.kind === "ended" && state.reason === "unauthenticated") {
      const wasIn = session.peek().kind === "signedIn";
      session.value = { kind: "signedOut", note: wasIn ? "Your session has ended. Log in to go on." : undefined };
    }
  },
  hello,
  event: received,
  heads(heads) {
    for (const room of rooms.peek().values()) room.timeline.pinged(heads[room.roomId]);
  },
  lost() {
    for (const room of rooms.peek().values()) room.timeline.disconnected();
    outbox?.setOnline(false);
  },
});

export function start(): void {
  connection.start();
  addEventListener("online", () => connection.hurry());
  addEventListener("visibilitychange", () => {
    if (!document.hidden) connection.hurry();
  });
  addEventListener("storage", (change) => {
    // Another tab of this account had the message answered.
    if (outboxPrefix && change.key?.startsWith(outboxPrefix) && change.newValue === null) outbox?.confirm(change.key.slice(outboxPrefix.length));
  });
}

export function reconnectNow(): void {
  if (connectionState.peek().kind === "ended") connection.start();
  else connection.hurry();
}

function hello(reply: HelloReply): void {
  if (selfId !== reply.user.userId) becameUser(reply.user);
  people.learn(reply.user);
  session.value = { kind: "signedIn", user: reply.user };
  subscribe([...rooms.peek().values()]);
  void listRooms();
  outbox?.setOnline(true);
  people.retry();
  const room = currentRoom.peek();
  if (room) void showRoom(room);
}

function becameUser(user: User): void {
  forgetEverything();
  selfId = user.userId;
  const storage = localOutboxStorage(user.userId);
  outboxPrefix = storage.prefix;
  outbox = new Outbox(storage, {
    transmit,
    window: (roomId) => (rooms.peek().get(roomId)?.view.peek().room.slowmodeMs ? 1 : sendWindow),
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

function forgetEverything(): void {
  outbox?.setOnline(false);
  outbox = undefined;
  outboxPrefix = "";
  selfId = "";
  batch(() => {
    rooms.value = new Map();
    isListed.value = false;
  });
}

// --- accounts --------------------------------------------------------------------------------------------------

export async function register(account: { name: string; password: string; invite?: string }): Promise<void> {
  await auth.register(account);
  connection.start();
}

export async function logIn(account: { name: string; password: string }): Promise<void> {
  await auth.logIn(account);
  connection.start();
}

export async function logOut(): Promise<void> {
  // The server closes the sockets of an ended session; this one is gone before that can be told as news.
  connection.stop();
  try {
    await auth.logOut();
  } catch (error) {
    if (!(error instanceof WireError && error.code === "unauthenticated")) {
      connection.start();
      throw error;
    }
  }
  forgetEverything();
  go({ kind: "home" });
  session.value = { kind: "signedOut" };
}

export function unsentCount(): number {
  return outbox?.size ?? 0;
}

/** The cookie is renewed over HTTP; a new socket then carries the new one. */
async function renewSession(): Promise<void> {
  try {
    await auth.refresh();
    connection.stop();
    connection.start();
  } catch {
    // The server ends the session when its time comes, and the page asks to log in.
  }
}

// --- the room list and subscriptions ---------------------------------------------------------------------------

let listing: Promise<void> | undefined;
let isListingAgain = false;

/** Reads the whole room list; a call during one makes it be read once more. */
function listRooms(): Promise<void> {
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
          if (connectionState.peek().kind === "online") void listRooms();
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
  for (const roomId of before) {
    if (!seen.has(roomId)) dropRoom(roomId);
  }
  isListed.value = true;
}

function takeViews(views: RoomView[]): RoomModel[] {
  const fresh: RoomModel[] = [];
  batch(() => {
    for (const view of views) {
      if (view.room.type !== "Room") continue;
      const known = rooms.peek().get(view.room.roomId);
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
      scheduleViewRead(room);
      if (room.timeline.isHeld) void readNewest(room);
      if (currentRoom.peek() === room) void readMembers(room);
    },
    reread: (rowKeys) => void readAgain(room, rowKeys),
    applied: (event, folded) => applied(room, event, folded),
  });
  room.draft.value = drafts.get(selfId, room.roomId);
  rooms.value = new Map(rooms.peek()).set(room.roomId, room);
  showPending(room.roomId);
  return room;
}

function dropRoom(roomId: RoomId): void {
  const room = rooms.peek().get(roomId);
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
          if (connectionState.peek().kind !== "online") return;
          subscribe(part.filter((room) => room.timeline.phase === "idle" && rooms.peek().get(room.roomId) === room));
        }, subscribeRetryMs);
      }
    });
  }
}

function subscribed(reply: Subscribed): void {
  const room = rooms.peek().get(reply.roomId);
  if (!room) return;
  room.timeline.subscribed(reply);
  if (reply.verdict === "error" && reply.error?.code !== "forbidden") {
    setTimeout(() => {
      if (room.timeline.phase === "idle" && connectionState.peek().kind === "online") subscribeSoon(room);
    }, subscribeRetryMs);
  }
  room.isReadable.value = reply.verdict !== "error" || reply.error?.code !== "forbidden";
}

// --- events ----------------------------------------------------------------------------------------------------

function received(frame: EventFrame): void {
  const room = "roomId" in frame ? rooms.peek().get(frame.roomId) : undefined;
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
      if (frame.data.userId !== selfId) room?.typing(frame.data);
      return;
    case "membership.updated": {
      const { membership } = frame.data;
      const room = rooms.peek().get(membership.roomId);
      if (room) takeMembership(room, membership);
      return;
    }
    case "room.added": {
      const [fresh] = takeViews([frame.data]);
      const room = fresh ?? rooms.peek().get(frame.data.room.roomId);
      // Read access came back to a room that was kept in the list.
      if (room && !room.isReadable.peek()) subscribeSoon(room);
      return;
    }
    case "room.removed":
      removed(frame.data.roomId, frame.data.reason);
      return;
    case "user.updated":
      people.learn(frame.data.user);
      return;
    case "user.behind":
      void listRooms();
      return;
    case "session.expiring":
      void renewSession();
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
  room.applied(event, selfId);
  switch (event.event) {
    case "message.created": {
      const { message } = event.data;
      if (message.userId === selfId) {
        if (message.nonce) outbox?.confirm(message.nonce);
        break;
      }
      lastArrival = performance.now();
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

/** Rooms that one leaves right now: their end is no news. */
const leaving = new Set<RoomId>();

function removed(roomId: RoomId, reason: string): void {
  const room = rooms.peek().get(roomId);
  if (!room) return;
  const name = room.name;
  if (currentRoom.peek() === room) go({ kind: "home" }, { replace: true });
  dropRoom(roomId);
  if (reason === "Left" || reason === "Deleted") for (const item of room.pending.peek()) outbox?.discard(item.nonce);
  if (reason === "Kicked") notify(`You were removed from ${name}.`);
  else if (reason === "Banned") notify(`You were banned from ${name}.`);
  else if (reason === "Deleted" && !leaving.has(roomId)) notify(`${name} was deleted.`);
}

// --- unread ----------------------------------------------------------------------------------------------------

let lastArrival = 0;

function takeMembership(room: RoomModel, membership: Membership): void {
  const view = room.view.peek();
  room.view.value = { ...view, membership };
  room.unread.counted(membership.unreadCount ?? 0, membership.mentionCount ?? 0, room.timeline.position?.seq ?? 0);
  room.showUnread();
  // User events and room events are not ordered against each other: count again when both moved at once.
  if (performance.now() - lastArrival < 1000) scheduleMembershipRead(room);
}

const toCount = new Set<RoomModel>();

function scheduleMembershipRead(room: RoomModel): void {
  if (toCount.size === 0) {
    setTimeout(async () => {
      const asked = [...toCount].slice(0, membersPage);
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
  if (!newest || room.unreadCount.peek() === 0 || marking.has(room)) return;
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

// --- reads -----------------------------------------------------------------------------------------------------

/** A room was opened, or the connection came back while it is open. */
async function showRoom(room: RoomModel): Promise<void> {
  lastRoom.set(selfId, room.roomId);
  if (!room.timeline.isLoaded) void readNewest(room);
  else if (room.history.peek() === "failed") room.history.value = "idle";
  if (!room.members.peek()) await readMembers(room);
}

let shownRoom: RoomModel | undefined;

effect(() => {
  const room = currentRoom.value;
  if (room === shownRoom) return;
  untracked(() => {
    if (shownRoom) {
      shownRoom.openedAt.value = "";
      shownRoom.isAtEnd.value = true;
      shownRoom.scheduleRefresh();
    }
    shownRoom = room;
    if (!room) return;
    const { membership } = room.view.peek();
    room.openedAt.value = room.unreadCount.peek() > 0 ? (membership.lastReadAt ?? membership.createdAt ?? "") : "";
    if (connectionState.peek().kind === "online") void showRoom(room);
  });
});

const loadingNewest = new Map<RoomModel, number>();

async function readNewest(room: RoomModel): Promise<void> {
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

/** Reads back until the message is there; false when it is not (deleted, or too far away). */
export async function readBackTo(room: RoomModel, rowKey: string): Promise<boolean> {
  for (let page = 0; page < 20; page++) {
    if (room.timeline.get(rowKey)) return true;
    const floor = room.timeline.olderCursor;
    if (floor === undefined || rowKey < floor) return false;
    await readOlder(room);
    if (room.timeline.olderCursor === floor) return false;
  }
  return false;
}

const rereadRetryMs = 1000;

async function readAgain(room: RoomModel, rowKeys: string[]): Promise<void> {
  const { timeline } = room;
  const read = timeline.beginRead();
  try {
    timeline.takeGot(read, rowKeys, await connection.request("message.get", { roomId: room.roomId, rowKeys }));
  } catch {
    timeline.endRead(read);
    // After a lost connection the next subscription asks for them again.
    if (connectionState.peek().kind === "online" && timeline.phase !== "idle") {
      setTimeout(() => void readAgain(room, rowKeys), rereadRetryMs);
    }
  }
}

async function readMembers(room: RoomModel): Promise<void> {
  try {
    const page = await connection.request("room.members", { roomId: room.roomId, limit: membersPage });
    const members = page.items ?? [];
    people.learn(...members.map((member) => member.user));
    room.members.value = members;
  } catch {
    // Names come from `people`; the list is read again when the room is next opened.
  }
}

const toView = new Set<RoomModel>();

function scheduleViewRead(room: RoomModel): void {
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

export function shownName(room: RoomModel, message: Message): string {
  if (message.appUser) return message.appUser.name ?? "Webhook";
  if (!message.userId) return "Somebody";
  return room.nicknameOf(message.userId) ?? people.get(message.userId).value?.name ?? "…";
}

// --- messages --------------------------------------------------------------------------------------------------

async function transmit(item: OutboxItem): Promise<void> {
  const { roomId, text, replyRowKey, nonce } = item;
  const timeline = rooms.peek().get(roomId)?.timeline;
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
  if (connectionState.peek().kind !== "online") reconnectNow();
}

export function discard(item: OutboxItem): void {
  outbox?.discard(item.nonce);
}

export function waitOf(room: RoomModel): number | undefined {
  return outbox?.waitOf(room.roomId);
}

function showPending(roomId: RoomId): void {
  const room = rooms.peek().get(roomId);
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
  drafts.set(selfId, room.roomId, text);
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
  if (connectionState.peek().kind !== "online" || now - lastTypingAt < typingEveryMs) return;
  lastTypingAt = now;
  connection.call("typing.start", { roomId: room.roomId }, () => undefined);
}

export function stoppedTyping(): void {
  lastTypingAt = -Infinity;
}

// --- rooms -----------------------------------------------------------------------------------------------------

export async function createRoom(room: { name: string; topic?: string }, nonce: string): Promise<void> {
  const view = await connection.request("room.create", { ...room, nonce });
  takeViews([view]);
  go({ kind: "room", roomId: view.room.roomId });
}

export async function updateRoom(room: RoomModel, changes: { name?: string; topic?: string | null }): Promise<void> {
  const reply = await connection.request("room.update", { roomId: room.roomId, ...changes });
  room.takeChanges({ topic: undefined, ...reply.room });
}

/** The owner's leaving deletes the room. */
export async function leaveRoom(room: RoomModel): Promise<void> {
  leaving.add(room.roomId);
  try {
    await connection.request("room.leave", { roomId: room.roomId });
    removed(room.roomId, "Left");
  } finally {
    leaving.delete(room.roomId);
  }
}

/** The invite one has for the room, or a new one. */
export async function inviteTo(room: RoomModel, nonce: string): Promise<Invite> {
  const mine = await connection.request("invite.mine", { roomId: room.roomId });
  return mine.invite ?? newInvite(room, nonce);
}

export async function newInvite(room: RoomModel, nonce: string): Promise<Invite> {
  return (await connection.request("invite.create", { roomId: room.roomId, nonce })).invite;
}

export function lookAtInvite(inviteId: string): Promise<InviteGetReply> {
  return connection.request("invite.get", { inviteId });
}

export async function join(inviteId: string, roomId: RoomId, nonce: string): Promise<void> {
  try {
    takeViews([await connection.request("invite.join", { inviteId, nonce })]);
  } catch (error) {
    if (!(error instanceof WireError && error.code === "conflict")) throw error;
    await listRooms();
  }
  go({ kind: "room", roomId }, { replace: true });
}

export function fail(error: unknown): void {
  notify(explain(error));
}

/** The room to open when none is asked for. */
export function homeRoom(): RoomId | undefined {
  const last = lastRoom.get(selfId);
  return last && rooms.peek().has(last) ? last : roomList.peek()[0]?.roomId;
}
