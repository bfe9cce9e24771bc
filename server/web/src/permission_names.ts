// What the bits of a permission set allow, in words; those of the media plane are left out.
import { permission } from "./wire/generated";

export const permissionNames: [bit: number, label: string][] = [
  [permission.ReadMessages, "Read messages"],
  [permission.SendMessages, "Send messages"],
  [permission.MentionEveryone, "Mention everyone and roles"],
  [permission.ManageInvites, "Invite people"],
  [permission.ManageMessages, "Manage messages"],
  [permission.ManageRoom, "Manage the room"],
  [permission.ManageRoles, "Manage roles"],
  [permission.ManageNicknames, "Change names of members"],
  [permission.KickMembers, "Kick and time out"],
  [permission.BanMembers, "Ban"],
  [permission.ManageWebhooks, "Manage webhooks"],
  [permission.ManageEmojis, "Manage emoji"],
  [permission.Administrator, "Administrator: all of these"],
];

/** The set with the bit in it, or not. */
export function withBit(permissions: number, bit: number, isOn: boolean): number {
  return isOn ? permissions | bit : permissions & ~bit;
}
