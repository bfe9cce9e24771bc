// The open room: its head, its messages, who is typing, where one writes.
import { useRef } from "preact/hooks";
import type { JSX } from "preact";
import type { RoomModel } from "../room";
import { unreadTotal } from "../rooms";
import { isDrawerOpen, isNarrow } from "../screen";
import { Avatar } from "./avatar";
import { Composer } from "./composer";
import { ConnectionBanner } from "./connection_banner";
import { IconButton } from "./icon";
import { PushOffer } from "./push_settings";
import { RoomHeadActions } from "./room_head_actions";
import { type TimelineHandle, TimelineView } from "./timeline_view";

export function RoomPane({ room, selfId }: { room: RoomModel; selfId: string }): JSX.Element {
  const timeline = useRef<TimelineHandle | null>(null);
  const { topic, type, image } = room.view.value.room;
  return (
    <>
      <header class="room-head">
        <DrawerButton />
        <Avatar id={room.roomId} name={room.name} image={image} shape={type === "DirectMessage" ? "person" : "room"} />
        <div class="room-title">
          <h1>
            <bdi>{room.name}</bdi>
          </h1>
          {topic && (
            <p class="topic" title={topic}>
              <bdi>{topic}</bdi>
            </p>
          )}
        </div>
        <RoomHeadActions room={room} />
      </header>
      <ConnectionBanner />
      {room.isReadable.value ? (
        <TimelineView key={room.roomId} room={room} selfId={selfId} handle={timeline} />
      ) : (
        <div class="empty">
          <p>You may not read this room at the moment.</p>
        </div>
      )}
      <PushOffer />
      <Typists room={room} />
      <Composer key={`composer-${room.roomId}`} room={room} onSent={() => timeline.current?.toEnd()} />
    </>
  );
}

export function DrawerButton(): JSX.Element | null {
  if (!isNarrow.value) return null;
  return (
    <span class="drawer-button">
      <IconButton icon="menu" label="Rooms" expanded={isDrawerOpen.value} controls="sidebar" onClick={() => (isDrawerOpen.value = true)} />
      {unreadTotal.value > 0 && <span class="dot" aria-hidden="true" />}
    </span>
  );
}

function Typists({ room }: { room: RoomModel }): JSX.Element {
  const names = room.typists.value.map((typist) => room.nicknameOf(typist.userId) ?? typist.name);
  const text =
    names.length === 0
      ? ""
      : names.length === 1
        ? `${names[0]} is typing`
        : names.length === 2
          ? `${names[0]} and ${names[1]} are typing`
          : `${names.length} people are typing`;
  return (
    <div class="typists" aria-hidden={text === ""}>
      {text && (
        <>
          <span class="dots" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
          <bdi>{text}</bdi>
        </>
      )}
    </div>
  );
}
