// The wire's objects, commands and events as this page uses them.
// In replies and events an empty field (false, 0, "", [], none) is left out, so most are optional.

export type Uuid = string;
/** 30 digits; ascending order is newest first. */
export type RowKey = string;
/** RFC 3339 UTC with milliseconds. */
export type Time = string;

export interface User {
  userId: Uuid;
  name: string;
  image?: string;
  biography?: string;
  isDeleted?: boolean;
  createdAt: Time;
  updatedAt: Time;
}

export interface Room {
  roomId: Uuid;
  type: "Room" | "DirectMessage";
  name?: string;
  topic?: string;
  image?: string;
  userId?: Uuid;
  isReadOnly?: boolean;
  isInvitePaused?: boolean;
  slowmodeMs?: number;
  createdAt: Time;
  updatedAt: Time;
  lastActivityAt?: Time;
}

export interface Membership {
  roomId: Uuid;
  userId: Uuid;
  nickname?: string;
  notificationType?: "All" | "DirectMessage" | "Never";
  lastReadAt?: Time;
  lastMessageAt?: Time;
  unreadCount?: number;
  mentionCount?: number;
  timeoutUntil?: Time;
  createdAt: Time;
}

export interface Member {
  userId: Uuid;
  user: User;
  nickname?: string;
  roleIds?: Uuid[];
  timeoutUntil?: Time;
  createdAt: Time;
}

export interface RoomView {
  room: Room;
  membership: Membership;
  permissions?: string;
  isRoomOwner?: boolean;
  topRolePosition?: number;
  head: { epoch: string; seq?: number };
}

export interface Reaction {
  emoji: string;
  count?: number;
  userIds?: Uuid[];
}

export interface PollOption {
  id: Uuid;
  label?: string;
  count?: number;
}

export interface Poll {
  question: string;
  options: PollOption[];
  votes?: Record<Uuid, Uuid>;
}

export type MessageType = "Message" | "Poll" | "Webhook" | "System" | "EditRoom" | "PinMessage" | "Call";

export interface Message {
  roomId: Uuid;
  rowKey: RowKey;
  seq?: number;
  rev: number;
  bodyRev?: number;
  type: MessageType;
  userId?: Uuid;
  appUser?: { id: Uuid; name: string; image?: string };
  /** Sanitised HTML for Message and Webhook, plain text for every other type. */
  message?: string;
  files?: { fileId: Uuid; filename: string; mimetype: string; size?: number }[];
  mentions?: string[];
  replyRowKey?: RowKey;
  reactions?: Reaction[];
  poll?: Poll;
  replyCount?: number;
  isEdited?: boolean;
  isForward?: boolean;
  isPinned?: boolean;
  nonce?: string;
  mine?: { reactions?: string[]; optionId?: Uuid };
  createdAt: Time;
  updatedAt: Time;
}

export interface Invite {
  inviteId: string;
  roomId: Uuid;
  userId: Uuid;
  expiresAt?: Time;
  maxUses?: number;
  uses?: number;
  createdAt: Time;
  url: string;
}

export interface InvitePreview {
  invite: Invite;
  room: { roomId: Uuid; name?: string; topic?: string; image?: string; memberCount?: number };
  isMember?: boolean;
}

export interface Page<T> {
  items?: T[];
  nextCursor?: string;
  hasMore?: boolean;
}

export interface MessagePage extends Page<Message> {
  asOf?: number;
}

export interface WireErrorObject {
  code: string;
  message?: string;
  retryAfterMs?: number;
  field?: string;
  requestId?: string;
  rowKey?: RowKey;
}

export interface HelloReply {
  connectionId: Uuid;
  sessionId: Uuid;
  user: User;
  server: { version: string; time: Time };
  heartbeatMs: number;
  limits: Record<string, unknown>;
}

export type Verdict = "live" | "exact" | "gap" | "reset" | "error";

export interface SubscribedRoom {
  roomId: Uuid;
  sub?: number;
  epoch?: string;
  seq?: number;
  verdict: Verdict;
  error?: WireErrorObject;
}

/** A durable room event, live or as an entry of a catch-up page. */
export type DurableEvent = {
  roomId: Uuid;
  seq?: number;
} & (
  | { event: "message.created"; data: { message: Message } }
  | { event: "message.updated"; data: { rowKey: RowKey; rev: number; changes: Partial<Nullable<Message>> } }
  | { event: "message.deleted"; data: { rowKey: RowKey; rev: number } }
  | { event: "message.purged"; data: { rowKeys: RowKey[] } }
  | {
      event: "reaction.added" | "reaction.removed";
      data: { rowKey: RowKey; rev: number; emoji: string; userId: Uuid; count?: number; userIds?: Uuid[] };
    }
  | {
      event: "poll.voted";
      data: { rowKey: RowKey; rev: number; userId: Uuid; optionId?: Uuid; options?: { id: Uuid; count?: number }[] };
    }
  | { event: "room.updated"; data: { changes: Partial<Nullable<Room>>; userId: Uuid } }
  | { event: "room.deleted"; data: { userId: Uuid } }
  | { event: "member.joined"; data: { member: Member; byUserId?: Uuid } }
  | { event: "member.left"; data: { userId: Uuid; reason: string; byUserId?: Uuid } }
  | { event: "member.updated"; data: { userId: Uuid; changes: Partial<Nullable<Member>> } }
  | { event: `role.${string}` | `emoji.${string}`; data: unknown }
);

export type Nullable<T> = { [K in keyof T]: T[K] | null };

export interface CatchUpPage {
  entries?: DurableEvent[];
  seq?: number;
  done?: boolean;
}

export interface BehindNotice {
  seq?: number;
  head?: number;
  verdict: "exact" | "gap";
}

/** Any event frame; what `data` holds follows from `event`. */
export interface EventFrame {
  event: string;
  roomId?: Uuid;
  seq?: number;
  sub?: number;
  data?: unknown;
}

/** The commands that the page gives, with their data and reply. */
export interface Operations {
  "session.hello": [{ token?: string; client?: { name: string; version: string } }, HelloReply];
  "session.ping": [Record<string, never>, { time: Time; heads?: Record<Uuid, number> }];
  "user.get": [{ userIds: Uuid[] }, { items?: User[] }];
  "room.create": [{ name: string; topic?: string; nonce: string }, RoomView];
  "room.get": [{ roomId: Uuid }, RoomView];
  "room.list": [{ order?: "Activity" | "Id"; cursor?: string; limit?: number }, Page<RoomView>];
  "room.update": [{ roomId: Uuid; name?: string; topic?: string | null; slowmodeMs?: number | null; isReadOnly?: boolean }, { room: Room }];
  "room.delete": [{ roomId: Uuid }, Record<string, never>];
  "room.leave": [{ roomId: Uuid }, Record<string, never>];
  "room.members": [{ roomId: Uuid; userIds?: Uuid[]; cursor?: string; limit?: number }, Page<Member>];
  "room.subscribe": [{ rooms: { roomId: Uuid; since?: { epoch: string; seq: number } }[]; echo?: boolean }, { rooms: SubscribedRoom[] }];
  "room.unsubscribe": [{ roomIds: Uuid[] }, Record<string, never>];
  "invite.create": [{ roomId: Uuid; expiresInMs?: number; maxUses?: number; nonce: string }, { invite: Invite }];
  "invite.mine": [{ roomId: Uuid }, { invite?: Invite }];
  "invite.get": [{ inviteId: string }, InvitePreview];
  "invite.join": [{ inviteId: string; nonce: string }, RoomView];
  "membership.get": [{ roomIds: Uuid[] }, { items?: Membership[] }];
  "membership.update": [{ roomId: Uuid; lastReadAt?: Time; nickname?: string | null }, { membership: Membership }];
  "message.send": [{ roomId: Uuid; message: string; format?: "Text" | "Markdown" | "Html"; replyRowKey?: RowKey; nonce: string }, { message: Message }];
  "message.edit": [{ roomId: Uuid; rowKey: RowKey; message: string; format?: "Text" | "Markdown" | "Html"; rev?: number }, { message: Message }];
  "message.delete": [{ roomId: Uuid; rowKey: RowKey }, { rev: number }];
  "message.list": [{ roomId: Uuid; order?: "Desc" | "Asc"; cursor?: RowKey; limit?: number }, MessagePage];
  "message.get": [{ roomId: Uuid; rowKeys: RowKey[] }, { items?: Message[]; rest?: RowKey[]; asOf?: number }];
  "typing.start": [{ roomId: Uuid }, Record<string, never>];
}

export type OperationName = keyof Operations;
export type DataOf<O extends OperationName> = Operations[O][0];
export type ReplyOf<O extends OperationName> = Operations[O][1];
