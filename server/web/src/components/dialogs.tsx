// The dialogs of the page, one at a time.
import type { JSX } from "preact";
import { currentRoom } from "../rooms";
import { dialog } from "../screen";
import { ConversationDialog } from "./conversation_dialog";
import { DeleteDialog, DeleteFileDialog } from "./delete_dialog";
import { ForwardDialog } from "./forward_dialog";
import { FriendsDialog } from "./friends_dialog";
import { InvitePeople } from "./invite_dialog";
import { LogOut } from "./log_out_dialog";
import { MemberDialog } from "./member_dialog";
import { NotificationsDialog } from "./notifications_dialog";
import { PollDialog } from "./poll_dialog";
import { ProfileDialog } from "./profile_dialog";
import { JoinRoom, Leave, NewRoom } from "./room_dialogs";
import { SettingsDialog } from "./settings_dialog";

export function Dialogs(): JSX.Element | null {
  const open = dialog.value;
  const room = currentRoom.value;
  switch (open?.kind) {
    case "newRoom":
      return <NewRoom />;
    case "joinRoom":
      return <JoinRoom />;
    case "logOut":
      return <LogOut />;
    case "friends":
      return <FriendsDialog />;
    case "profile":
      return <ProfileDialog />;
  }
  if (!open || !room) return null;
  switch (open.kind) {
    case "invite":
      return <InvitePeople room={room} />;
    case "conversation":
      return <ConversationDialog room={room} />;
    case "settings":
      return <SettingsDialog room={room} />;
    case "leave":
      return <Leave room={room} />;
    case "delete":
      return <DeleteDialog room={room} message={open.message} />;
    case "deleteFile":
      return <DeleteFileDialog message={open.message} file={open.file} />;
    case "forward":
      return <ForwardDialog message={open.message} />;
    case "poll":
      return <PollDialog room={room} />;
    case "notifications":
      return <NotificationsDialog room={room} />;
    case "member":
      return <MemberDialog key={open.userId} room={room} userId={open.userId} />;
  }
}
