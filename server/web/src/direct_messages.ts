// Conversations among friends: opening, hiding, who is in them.
import { connection } from "./link";
import { removed, takeViews } from "./room_feed";
import type { RoomModel } from "./room";
import { go } from "./route";
import type { UserId } from "./wire/generated";

export async function openDirect(userIds: UserId[], nonce: string): Promise<void> {
  const view = await connection.request("dm.open", { userIds, nonce });
  takeViews([view]);
  go({ kind: "room", roomId: view.room.roomId });
}

export async function hideDirect(room: RoomModel): Promise<void> {
  await connection.request("dm.hide", { roomId: room.roomId });
  removed(room.roomId, "Hidden");
}

export async function addToDirect(room: RoomModel, userIds: UserId[], nonce: string): Promise<void> {
  takeViews([await connection.request("dm.add", { roomId: room.roomId, userIds, nonce })]);
}

export async function removeFromDirect(room: RoomModel, userId: UserId): Promise<void> {
  await connection.request("dm.remove", { roomId: room.roomId, userId });
}
