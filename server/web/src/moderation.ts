// Acting on members, and what the moderators of a room keep about it.
import { connection } from "./link";
import type { RoomModel } from "./room";
import { type Member, type ModerationAction, type UserId, permission } from "./wire/generated";

export type MemberAction = Extract<ModerationAction, "Warn" | "TimeoutUser" | "KickFromRoom" | "CreateBan" | "SoftBan">;

export const memberActions: Record<MemberAction, { label: string; bit: number; note: string }> = {
  Warn: { label: "Warn", bit: permission.ManageMessages, note: "Tells them, and stands in the audit log." },
  TimeoutUser: { label: "Time out", bit: permission.KickMembers, note: "They can read but not write for a while." },
  KickFromRoom: { label: "Kick", bit: permission.KickMembers, note: "They leave the room and can come back with an invite." },
  CreateBan: { label: "Ban", bit: permission.BanMembers, note: "They leave the room and cannot come back." },
  SoftBan: { label: "Soft ban", bit: permission.BanMembers, note: "As a ban, and all their messages here are deleted." },
};

export const actionNames: Record<ModerationAction, string> = {
  Warn: "warned",
  TimeoutUser: "timed out",
  KickFromRoom: "kicked",
  CreateBan: "banned",
  SoftBan: "soft banned",
  DeleteBan: "unbanned",
  ForceMute: "muted",
  ForceUnmute: "unmuted",
  StopScreenShare: "stopped the screen of",
  KickFromCall: "removed from the call",
};

export const autoMod: UserId = "00000000-0000-4000-8000-000000000000";

/** The highest position among somebody's roles; −1 without one. */
export function topPosition(room: RoomModel, member: Member | undefined): number {
  const positions = (room.roles.value ?? []).filter((role) => !role.isEveryone && member?.roleIds?.includes(role.roleId)).map((role) => role.position ?? 0);
  return Math.max(-1, ...positions);
}

/** Whether one stands above somebody; the server decides in the end. */
export function isBelow(room: RoomModel, userId: UserId): boolean {
  const { isRoomOwner, topRolePosition = -1, room: settings } = room.view.value;
  if (userId === settings.userId) return false;
  return isRoomOwner || topPosition(room, room.members.value?.find((member) => member.userId === userId)) < topRolePosition;
}

export function actOn(room: RoomModel, userId: UserId, type: MemberAction, details: { reason?: string; durationMs?: number }, nonce: string): Promise<unknown> {
  return connection.request("moderation.execute", { roomId: room.roomId, userId, type, ...details, nonce });
}
