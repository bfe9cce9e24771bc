// What is open beside the room: members, pinned messages, threads, search, what is planned.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { RoomModel } from "../room";
import { panel } from "../screen";
import { IconButton } from "./icon";
import { JobsPanel } from "./jobs_panel";
import { MembersPanel } from "./members_panel";
import { PinsPanel } from "./pins_panel";
import { SearchPanel } from "./search_panel";
import { ThreadPanel } from "./thread_panel";
import { ThreadsPanel } from "./threads_panel";

export function SidePanel({ room }: { room: RoomModel }): JSX.Element | null {
  const open = panel.value;
  switch (open?.kind) {
    case "members":
      return <MembersPanel room={room} />;
    case "pins":
      return <PinsPanel key={room.roomId} room={room} />;
    case "threads":
      return <ThreadsPanel key={room.roomId} room={room} />;
    case "thread":
      return <ThreadPanel key={open.rowKey} room={room} rowKey={open.rowKey} />;
    case "search":
      return <SearchPanel key={room.roomId} room={room} />;
    case "jobs":
      return <JobsPanel key={room.roomId} room={room} />;
    default:
      return null;
  }
}

/** The frame of a panel. Where it takes the focus, closing gives it back. */
export function Panel(props: { id: string; title: string; note?: ComponentChildren; focus?: boolean; children: ComponentChildren }): JSX.Element {
  const ref = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!props.focus) return;
    const opener = document.activeElement;
    ref.current?.querySelector<HTMLElement>("[data-first], h2")?.focus();
    return () => {
      const isInside = document.activeElement === document.body || ref.current?.contains(document.activeElement);
      if (isInside && opener instanceof HTMLElement && opener.isConnected) opener.focus();
      else if (isInside) document.getElementById("composer")?.focus();
    };
  }, []);
  return (
    <aside
      id={props.id}
      ref={ref}
      class="panel"
      aria-label={props.title}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) panel.value = undefined;
      }}
    >
      <header class="panel-head">
        <h2 tabIndex={-1}>
          {props.title} {props.note !== undefined && <span class="members-count">{props.note}</span>}
        </h2>
        <IconButton icon="close" label={`Close ${props.title.toLowerCase()}`} onClick={() => (panel.value = undefined)} />
      </header>
      {props.children}
    </aside>
  );
}
