// What can be opened from the head of a room; on narrow screens most of it from one menu.
import type { JSX } from "preact";
import type { RoomModel } from "../room";
import { type Panel, dialog, isNarrow, panel, togglePanel } from "../screen";
import { type IconName, IconButton } from "./icon";
import { Menu } from "./popover";
import { settingsSections } from "./settings_dialog";
import { permission } from "../wire/generated";

interface Action {
  icon: IconName;
  label: string;
  panel?: Panel["kind"];
  onClick: () => void;
}

function actionsOf(room: RoomModel): Action[] {
  const isDirect = room.view.value.room.type === "DirectMessage";
  const actions: Action[] = [
    { icon: "search", label: "Search", panel: "search", onClick: () => togglePanel("search") },
    { icon: "pin", label: "Pinned messages", panel: "pins", onClick: () => togglePanel("pins") },
    { icon: "thread", label: "Followed threads", panel: "threads", onClick: () => togglePanel("threads") },
    { icon: "clock", label: "Planned", panel: "jobs", onClick: () => togglePanel("jobs") },
  ];
  if (isDirect) actions.push({ icon: "invite", label: "Add or take out people", onClick: () => (dialog.value = { kind: "conversation" }) });
  if (!isDirect && room.may(permission.ManageInvites)) actions.push({ icon: "invite", label: "Invite people", onClick: () => (dialog.value = { kind: "invite" }) });
  actions.push({ icon: "people", label: "Members", panel: "members", onClick: () => togglePanel("members") });
  actions.push({ icon: "bell", label: "Notifications", onClick: () => (dialog.value = { kind: "notifications" }) });
  if (settingsSections(room).length > 0) actions.push({ icon: "settings", label: "Room settings", onClick: () => (dialog.value = { kind: "settings" }) });
  actions.push({ icon: "door", label: isDirect ? "Hide conversation" : "Leave room", onClick: () => (dialog.value = { kind: "leave" }) });
  return actions;
}

export function RoomHeadActions({ room }: { room: RoomModel }): JSX.Element {
  const actions = actionsOf(room);
  const inMenu = isNarrow.value ? actions.filter(({ label }) => label !== "Members" && label !== "Search") : [];
  return (
    <div class="room-actions">
      {actions
        .filter((action) => !inMenu.includes(action))
        .map(({ icon, label, panel: kind, onClick }) => (
          <IconButton key={label} icon={icon} label={label} expanded={kind && panel.value?.kind === kind} controls={kind && panel.value?.kind === kind ? kind : undefined} onClick={onClick} />
        ))}
      {inMenu.length > 0 && <Menu icon="more" label="More about this room" items={inMenu} />}
    </div>
  );
}
