// The room list, and at its foot one's own account.
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { briefTime } from "../format_time";
import { friendRequests } from "../friends";
import { theme } from "../preferences";
import type { RoomModel } from "../room";
import { currentRoom, isListed, roomList } from "../rooms";
import { go } from "../route";
import { dialog, isDrawerOpen, isNarrow } from "../screen";
import type { User } from "../wire/generated";
import { Avatar } from "./avatar";
import { ConnectionDot } from "./connection_banner";
import { IconButton } from "./icon";
import { Mark } from "./mark";
import { StatusDot } from "./status_dot";

export function Sidebar({ user }: { user: User }): JSX.Element {
  const ref = useRef<HTMLElement>(null);
  const isHidden = isNarrow.value && !isDrawerOpen.value;
  useEffect(() => {
    if (!isNarrow.value || !isDrawerOpen.value) return;
    ref.current?.querySelector<HTMLElement>("[aria-current], .new-room")?.focus();
    return () => {
      const focused = document.activeElement;
      if (focused === document.body || ref.current?.contains(focused)) document.querySelector<HTMLElement>(".pane .drawer-button button")?.focus();
    };
  }, [isDrawerOpen.value, isNarrow.value]);

  const isDirect = (room: RoomModel) => room.view.value.room.type === "DirectMessage";
  const rooms = roomList.value.filter((room) => !isDirect(room));
  const directs = roomList.value.filter(isDirect);
  const asked = friendRequests.value.filter((request) => request.direction === "Incoming").length;
  return (
    <>
      {isNarrow.value && isDrawerOpen.value && <div class="backdrop" onClick={() => (isDrawerOpen.value = false)} />}
      <aside
        id="sidebar"
        ref={ref}
        class={`sidebar ${isDrawerOpen.value ? "open" : ""}`}
        aria-label="Rooms and account"
        inert={isHidden}
        onKeyDown={(event) => {
          if (event.key === "Escape" && isDrawerOpen.peek()) isDrawerOpen.value = false;
        }}
      >
        <header class="sidebar-head">
          <span class="brand">
            <Mark size={28} /> Parlour
          </span>
          <span class="sidebar-actions">
            <span class="drawer-button">
              <IconButton icon="friends" label={asked > 0 ? `Friends, ${asked === 1 ? "1 request" : `${asked} requests`}` : "Friends"} onClick={() => (dialog.value = { kind: "friends" })} />
              {asked > 0 && <span class="dot" aria-hidden="true" />}
            </span>
            <IconButton icon="link" label="Join with an invite" onClick={() => (dialog.value = { kind: "joinRoom" })} />
            <IconButton icon="plus" label="New room" class="new-room" onClick={() => (dialog.value = { kind: "newRoom" })} />
          </span>
        </header>
        <nav class="rooms" aria-label="Rooms">
          <ul>{linksOf(rooms)}</ul>
          {directs.length > 0 && (
            <>
              <h2 class="rooms-title">Direct messages</h2>
              <ul>{linksOf(directs)}</ul>
            </>
          )}
          {isListed.value && roomList.value.length === 0 && <p class="rooms-empty">No rooms yet. Make one, or join with an invite.</p>}
        </nav>
        <footer class="account">
          <button type="button" class="own-profile" aria-label="Your profile" onClick={() => (dialog.value = { kind: "profile" })}>
            <span class="with-dot">
              <Avatar id={user.userId} name={user.name ?? ""} image={user.image} />
              <StatusDot userId={user.userId} />
            </span>
          </button>
          <div class="account-name">
            <bdi>{user.name}</bdi>
            <ConnectionDot />
          </div>
          <ThemeButton />
          <IconButton icon="logOut" label="Log out" onClick={() => (dialog.value = { kind: "logOut" })} />
        </footer>
      </aside>
    </>
  );
}

function linksOf(rooms: RoomModel[]): JSX.Element[] {
  return rooms.map((room) => (
    <li key={room.roomId}>
      <RoomLink room={room} />
    </li>
  ));
}

function RoomLink({ room }: { room: RoomModel }): JSX.Element {
  const isCurrent = currentRoom.value === room;
  const unread = room.unreadCount.value;
  return (
    <a
      class={`room-link ${unread > 0 ? "unread" : ""}`}
      href={`/room/${room.roomId}`}
      aria-current={isCurrent ? "page" : undefined}
      data-room={room.roomId}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go({ kind: "room", roomId: room.roomId });
        isDrawerOpen.value = false;
      }}
    >
      <Avatar id={room.roomId} name={room.name} image={room.view.value.room.image} shape={room.view.value.room.type === "DirectMessage" ? "person" : "room"} />
      <bdi class="room-link-name">{room.name}</bdi>
      <time dateTime={room.lastActivityAt.value}>{briefTime(room.lastActivityAt.value)}</time>
      <span class="room-link-note">{typingOrTopic(room)}</span>
      {unread > 0 && (
        <span class={`badge ${room.mentionCount.value > 0 ? "mention" : ""}`}>
          {room.mentionCount.value > 0 && <span aria-hidden="true">@</span>}
          {unread >= 100 ? "99+" : unread}
          <span class="hidden"> unread{mentioned(room.mentionCount.value)}</span>
        </span>
      )}
    </a>
  );
}

function mentioned(count: number): string {
  return count === 0 ? "" : count === 1 ? ", 1 mention" : `, ${count} mentions`;
}

function typingOrTopic(room: RoomModel): string {
  const [typist] = room.typists.value;
  if (typist) return `${typist.name} is typing…`;
  return room.view.value.room.topic ?? "";
}

function ThemeButton(): JSX.Element {
  const next = { system: "light", light: "dark", dark: "system" } as const;
  const icon = { system: "auto", light: "sun", dark: "moon" } as const;
  const now = theme.value;
  return <IconButton icon={icon[now]} label={`Theme: ${now === "system" ? "as the system" : now}`} onClick={() => (theme.value = next[now])} />;
}
