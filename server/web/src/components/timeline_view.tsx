// The messages of a room on the screen. What one looks at stays where it is, whatever is added above or below.
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { dayName, isSameDay } from "../format_time";
import { readOlder } from "../history";
import { notify } from "../notices";
import { sentNonces } from "../outgoing";
import { markRead } from "../read_marker";
import { attempt } from "../message_actions";
import type { OutboxItem } from "../outbox";
import type { RoomModel, Visit } from "../room";
import { dialog, focusComposer } from "../screen";
import type { Message } from "../wire/generated";
import { bring, goOn, leaveVisit } from "../visit";
import { Icon } from "./icon";
import { MessageRow, type Row, type RowActions } from "./message_row";
import { mayDelete, mayEdit, startReply } from "./message_tools";

const groupedWithinMs = 5 * 60_000;
const atEndPx = 60;
const readAheadPx = 900;

export interface TimelineHandle {
  toEnd(): void;
}

/** An unchanged message keeps its row, which then is not drawn again. */
const rowOf = new WeakMap<Message, Row>();

export function rowsOf(messages: Message[], pending: OutboxItem[], selfId: string): Row[] {
  const rows: Row[] = [];
  const arrived = new Set<string>();
  let last: Message | undefined;
  for (const message of messages) {
    const isOwn = message.userId === selfId;
    if (isOwn && message.nonce) arrived.add(message.nonce);
    // The row of a message that was just sent goes on as the row of the stored one.
    const key = isOwn && message.nonce && sentNonces.has(message.nonce) ? message.nonce : message.rowKey;
    const grouped = last !== undefined && isGrouped(last, message);
    const known = rowOf.get(message);
    const isSame = known?.kind === "message" && known.key === key && known.isOwn === isOwn && known.isGrouped === grouped;
    const row: Row = isSame ? known : { kind: "message", key, message, isOwn, isGrouped: grouped };
    rowOf.set(message, row);
    rows.push(row);
    last = message;
  }
  for (const item of pending) {
    if (arrived.has(item.nonce)) continue;
    const previous = rows.at(-1);
    rows.push({
      kind: "pending",
      key: item.nonce,
      item,
      isGrouped: previous?.kind === "pending" || (previous?.kind === "message" && previous.isOwn && previous.message.type === "Message"),
    });
  }
  return rows;
}

function isGrouped(before: Message, message: Message): boolean {
  return (
    before.type === "Message" &&
    message.type === "Message" &&
    before.userId === message.userId &&
    Date.parse(message.createdAt) - Date.parse(before.createdAt) < groupedWithinMs &&
    isSameDay(before.createdAt, message.createdAt)
  );
}

export function TimelineView({ room, selfId, handle }: { room: RoomModel; selfId: string; handle: { current: TimelineHandle | null } }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const { isAtEnd } = room;
  const newBelow = useMemo(() => signal(0), [room]);
  /** Rows on the screen with their distance from its top: the first that is still there holds the place. */
  const anchors = useRef<{ element: Element; top: number }[]>([]);
  const lastSeen = useRef<string | undefined>(undefined);

  const visit = room.visited.value;
  const messages = visit ? visit.excerpt.messages.value : room.messages.value;
  const pending = room.pending.value;
  const rows = useMemo(() => rowsOf(messages, visit ? [] : pending, selfId), [messages, pending, visit, selfId]);
  const firstNew = useMemo(() => firstUnread(room, messages, selfId), [messages, room.openedAt.value]);

  const remember = () => {
    const view = scroller.current;
    if (!view) return;
    const top = view.getBoundingClientRect().top;
    const found: { element: Element; top: number }[] = [];
    for (const element of view.querySelectorAll("[data-key], [data-nonce]")) {
      const box = element.getBoundingClientRect();
      if (box.bottom < top) continue;
      found.push({ element, top: box.top - top });
      if (found.length >= 8 || box.top > top + view.clientHeight) break;
    }
    anchors.current = found;
  };
  const settle = () => {
    const view = scroller.current;
    if (!view) return;
    if (isAtEnd.peek()) {
      view.scrollTop = view.scrollHeight;
    } else {
      const top = view.getBoundingClientRect().top;
      const anchor = anchors.current.find(({ element }) => element.isConnected);
      if (anchor) view.scrollTop += anchor.element.getBoundingClientRect().top - top - anchor.top;
    }
    remember();
  };
  const looked = () => {
    if (isAtEnd.peek() && !document.hidden && document.hasFocus()) markRead(room);
  };
  const scrolled = () => {
    const view = scroller.current;
    if (!view) return;
    const fromEnd = view.scrollHeight - view.scrollTop - view.clientHeight;
    isAtEnd.value = !room.visited.peek() && fromEnd < atEndPx;
    if (isAtEnd.peek()) newBelow.value = 0;
    remember();
    looked();
    if (!room.visited.peek() && view.scrollTop < readAheadPx && room.hasOlder.peek() && room.history.peek() === "idle") void readOlder(room);
  };
  const toEnd = () => {
    leaveVisit(room);
    isAtEnd.value = true;
    newBelow.value = 0;
    settle();
    looked();
  };
  handle.current = { toEnd };

  useLayoutEffect(() => {
    isAtEnd.value = !room.visited.peek();
    lastSeen.current = undefined;
    settle();
  }, [room]);

  useLayoutEffect(() => {
    const newest = messages.at(-1);
    const before = lastSeen.current;
    if (!visit && newest && before !== undefined && newest.rowKey < before && !isAtEnd.peek()) {
      newBelow.value += messages.filter((message) => message.rowKey < before && message.userId !== selfId).length;
    }
    lastSeen.current = visit ? undefined : newest?.rowKey;
    settle();
    looked();
  }, [rows, room.hasOlder.value, room.history.value]);

  // A page that does not fill the screen cannot be scrolled for more.
  useEffect(() => {
    const view = scroller.current;
    if (view && !visit && view.scrollTop < readAheadPx && room.hasOlder.value && room.history.value === "idle") void readOlder(room);
  }, [rows, room.hasOlder.value, room.history.value]);

  useEffect(() => {
    const view = scroller.current;
    const inner = content.current;
    if (!view || !inner) return;
    const observer = new ResizeObserver(settle);
    observer.observe(view);
    observer.observe(inner);
    addEventListener("focus", looked);
    document.addEventListener("visibilitychange", looked);
    return () => {
      observer.disconnect();
      removeEventListener("focus", looked);
      document.removeEventListener("visibilitychange", looked);
    };
  }, [room]);

  const jumpTo = async (rowKey: string) => {
    const isThere = await bring(room, rowKey);
    // The rows of what was read are on the screen after the next frame.
    requestAnimationFrame(() => {
      const element = scroller.current?.querySelector<HTMLElement>(`[data-key="${rowKey}"]`);
      if (!isThere || !element) return notify("That message is no longer there.");
      isAtEnd.value = false;
      element.scrollIntoView({ block: "center" });
      element.focus({ preventScroll: true });
      element.classList.remove("flash");
      void element.offsetWidth;
      element.classList.add("flash");
    });
  };
  const wanted = room.wanted.value;
  useEffect(() => {
    if (!wanted) return;
    room.wanted.value = undefined;
    void jumpTo(wanted);
  }, [wanted]);
  const actions: RowActions = useMemo(() => ({ place: "timeline", jumpTo: (rowKey) => void jumpTo(rowKey) }), [room]);

  return (
    <div class="timeline">
      <div
        ref={scroller}
        class="scroller"
        role="log"
        aria-live="off"
        aria-label={`Messages in ${room.name}`}
        aria-busy={room.history.value === "loading"}
        tabIndex={0}
        onScroll={scrolled}
        onKeyDown={(event) => keyPressed(event, room, selfId)}
      >
        <div ref={content} class="rows">
          {visit ? <More visit={visit} room={room} way="older" /> : <Top room={room} />}
          {rows.map((row, index) => (
            <RowWithMarks key={row.key} row={row} before={rows[index - 1]} room={room} actions={actions} isFirstNew={row.kind === "message" && row.message.rowKey === firstNew} />
          ))}
          {visit && <More visit={visit} room={room} way="newer" />}
        </div>
      </div>
      {!isAtEnd.value && (
        <button type="button" class="to-end" onClick={() => (toEnd(), focusComposer())}>
          <Icon name="down" size={16} />
          {newBelow.value > 0 ? `${newBelow.value} new` : "Latest"}
        </button>
      )}
    </div>
  );
}

function RowWithMarks(props: { row: Row; before: Row | undefined; room: RoomModel; actions: RowActions; isFirstNew: boolean }): JSX.Element {
  const { row, before } = props;
  const at = row.kind === "message" ? row.message.createdAt : undefined;
  const isNewDay = at !== undefined && (before?.kind !== "message" || !isSameDay(before.message.createdAt, at));
  return (
    <>
      {isNewDay && (
        <div class="day">
          <span>{dayName(at)}</span>
        </div>
      )}
      {props.isFirstNew && (
        <div class="new-mark">
          <span>New</span>
        </div>
      )}
      <MessageRow room={props.room} row={row} actions={props.actions} />
    </>
  );
}

/** On from the surroundings of an older message. */
function More({ room, visit, way }: { room: RoomModel; visit: Visit; way: "older" | "newer" }): JSX.Element {
  const hasMore = (way === "older" ? visit.olderCursor : visit.newerCursor) !== undefined;
  return (
    <div class={`history-top ${way}`}>
      {hasMore && (
        <button type="button" class="button quiet small" onClick={() => void attempt(goOn(room, visit, way))}>
          {way === "older" ? "Earlier messages" : "Later messages"}
        </button>
      )}
    </div>
  );
}

/** Always of one height, so that loading moves nothing. */
function Top({ room }: { room: RoomModel }): JSX.Element {
  const state = room.history.value;
  return (
    <div class="history-top">
      {state === "failed" ? (
        <button type="button" class="button quiet small" onClick={() => void readOlder(room)}>
          Could not be loaded. Try again
        </button>
      ) : !room.isLoaded.value || room.hasOlder.value ? (
        <span class="spinner" aria-hidden="true" />
      ) : (
        <p class="beginning">This is where {room.name} begins.</p>
      )}
    </div>
  );
}

/** The first message by others that had not been read when the room was opened. */
function firstUnread(room: RoomModel, messages: Message[], selfId: string): string | undefined {
  const openedAt = room.openedAt.value;
  if (!openedAt) return undefined;
  const first = messages.find((message) => message.createdAt > openedAt && message.userId !== selfId);
  return first && first !== messages[0] ? first.rowKey : undefined;
}

function keyPressed(event: KeyboardEvent, room: RoomModel, selfId: string): void {
  const scroller = event.currentTarget as HTMLElement;
  const target = event.target as HTMLElement;
  const isOnRow = target.matches("article");
  if ((target !== scroller && !isOnRow) || event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === "Escape" && target.closest("article")) focusComposer();
    return;
  }
  const all = [...scroller.querySelectorAll<HTMLElement>("article")];
  const at = isOnRow ? all.indexOf(target) : all.length;
  const message = isOnRow && target.dataset.key ? room.timeline.get(target.dataset.key) : undefined;
  const isOwn = message?.userId === selfId;
  const focusAt = (index: number) => {
    const row = all[Math.max(0, Math.min(all.length - 1, index))];
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  };
  switch (event.key) {
    case "ArrowUp":
      focusAt(at - 1);
      break;
    case "ArrowDown":
      if (at >= all.length - 1) focusComposer();
      else focusAt(at + 1);
      break;
    case "Escape":
      focusComposer();
      break;
    case "r":
      if (!message || room.silence) return;
      startReply(room, message);
      break;
    case "e":
      if (!message || !mayEdit(room, message, isOwn)) return;
      room.editing.value = message.rowKey;
      break;
    case "Delete":
      if (!message || !mayDelete(room, message, isOwn)) return;
      dialog.value = { kind: "delete", message };
      break;
    default:
      return;
  }
  event.preventDefault();
}
