// What can be done with a message, beside it while it is pointed at or has the focus.
import type { JSX } from "preact";
import { selfId } from "../link";
import { attempt, deletePreview, markUnreadFrom, setPinned, toggleReaction } from "../message_actions";
import type { RoomModel } from "../room";
import { dialog, focusComposer, panel } from "../screen";
import { type Message, permission } from "../wire/generated";
import { EmojiPicker } from "./emoji_picker";
import { IconButton } from "./icon";
import { Menu, type MenuItem } from "./popover";

export type Place = "timeline" | "thread" | "list";

export function startReply(room: RoomModel, message: Message): void {
  room.editing.value = undefined;
  room.replyingTo.value = message.rowKey;
  focusComposer();
}

const isManager = (room: RoomModel) => room.may(permission.ManageMessages);

export function mayEdit(room: RoomModel, message: Message, isOwn: boolean): boolean {
  return message.type === "Message" ? isOwn || isManager(room) : message.type === "Webhook" && isManager(room);
}

export function mayDelete(room: RoomModel, message: Message, isOwn: boolean): boolean {
  return ["Message", "Poll", "Webhook"].includes(message.type) && ((isOwn && message.type !== "Webhook") || isManager(room));
}

/** Pinning goes by the same rule as deleting. */
const mayPin = mayDelete;

export function MessageTools({ room, message, isOwn, place }: { room: RoomModel; message: Message; isOwn: boolean; place: Place }): JSX.Element {
  const isInRoom = place === "timeline";
  return (
    <div class="tools" role="group" aria-label="Message actions">
      <EmojiPicker room={room} label="React" onPick={(emoji) => void attempt(toggleReaction(message, emoji, selfId()))} />
      {isInRoom && !room.silence && <IconButton icon="reply" label="Reply" shortcut="R" onClick={() => startReply(room, message)} />}
      {isInRoom && mayEdit(room, message, isOwn) && <IconButton icon="edit" label="Edit" shortcut="E" onClick={() => (room.editing.value = message.rowKey)} />}
      {mayDelete(room, message, isOwn) && <IconButton icon="trash" label="Delete" shortcut="Delete" onClick={() => (dialog.value = { kind: "delete", message })} />}
      <Menu icon="more" label="More actions" items={menuOf(room, message, isOwn, place)} />
    </div>
  );
}

function menuOf(room: RoomModel, message: Message, isOwn: boolean, place: Place): MenuItem[] {
  const items: MenuItem[] = [];
  if (place !== "thread") {
    const rowKey = message.replyRowKey ?? message.rowKey;
    items.push({ icon: "thread", label: "Open thread", onClick: () => (panel.value = { kind: "thread", rowKey }) });
  }
  if (mayPin(room, message, isOwn)) {
    items.push({ icon: "pin", label: message.isPinned ? "Unpin" : "Pin", onClick: () => void attempt(setPinned(message, !message.isPinned)) });
  }
  if (message.type !== "Poll") items.push({ icon: "forward", label: "Forward", onClick: () => (dialog.value = { kind: "forward", message }) });
  if (message.linkPreview && mayEdit(room, message, isOwn)) {
    items.push({ icon: "close", label: "Remove the link preview", onClick: () => void attempt(deletePreview(message)) });
  }
  items.push({ icon: "unread", label: "Mark unread from here", onClick: () => void attempt(markUnreadFrom(room, message)) });
  return items;
}
