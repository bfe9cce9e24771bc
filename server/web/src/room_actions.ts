// What one does with a room as a whole: make, change, leave, invite, join.
import { connection } from "./link";
import { notify } from "./notices";
import { leaving, listRooms, removed, takeViews } from "./room_feed";
import type { RoomModel } from "./room";
import { go } from "./route";
import { WireError, explain } from "./wire_error";
import type { Invite, InviteGetReply, RoomId, RoomUpdate } from "./wire/generated";

export async function createRoom(room: { name: string; topic?: string }, nonce: string): Promise<void> {
  const view = await connection.request("room.create", { ...room, nonce });
  takeViews([view]);
  go({ kind: "room", roomId: view.room.roomId });
}

export async function updateRoom(room: RoomModel, changes: Omit<RoomUpdate, "roomId">): Promise<void> {
  const reply = await connection.request("room.update", { roomId: room.roomId, ...changes });
  room.takeChanges({ topic: undefined, image: undefined, maxFileSizeBytes: undefined, slowmodeMs: undefined, isReadOnly: undefined, isInvitePaused: undefined, ...reply.room });
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

export async function newInvite(room: RoomModel, nonce: string, options: { expiresInMs?: number; maxUses?: number } = {}): Promise<Invite> {
  return (await connection.request("invite.create", { roomId: room.roomId, nonce, ...options })).invite;
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
