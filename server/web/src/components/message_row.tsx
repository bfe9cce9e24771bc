// One message, stored or still on its way.
import type { JSX } from "preact";
import { isMarkup, plainText } from "../body_text";
import { fullTime, timeOfDay } from "../format_time";
import type { OutboxItem } from "../outbox";
import { people } from "../people";
import type { RoomModel } from "../room";
import { shownName } from "../rooms";
import { panel } from "../screen";
import type { Message } from "../wire/generated";
import { Avatar } from "./avatar";
import { Body } from "./body";
import { Editor } from "./editor";
import { FilesView } from "./files_view";
import { Icon } from "./icon";
import { LinkPreviewCard } from "./link_preview";
import { MessageTools, type Place } from "./message_tools";
import { PendingRow } from "./pending_row";
import { PollView } from "./poll_view";
import { Reactions } from "./reactions";

export type Row =
  | { kind: "message"; key: string; message: Message; isGrouped: boolean; isOwn: boolean }
  | { kind: "pending"; key: string; item: OutboxItem; isGrouped: boolean };

export interface RowActions {
  /** Undefined where there is nowhere to jump: no quotes there. */
  jumpTo?(rowKey: string): void;
  place: Place;
}

export function MessageRow({ room, row, actions }: { room: RoomModel; row: Row; actions: RowActions }): JSX.Element {
  if (row.kind === "pending") return <PendingRow room={room} item={row.item} isGrouped={row.isGrouped} />;
  const { message, isGrouped, isOwn } = row;
  if (!["Message", "Poll", "Webhook"].includes(message.type)) return <Line room={room} message={message} />;
  const name = shownName(room, message);
  const isForMe = !isOwn && room.isMentioned(message.mentions ?? []);
  const isEditing = actions.place === "timeline" && room.editing.value === message.rowKey;
  return (
    <article
      class={`message ${isOwn ? "own" : "other"} ${isGrouped ? "grouped" : ""} ${isForMe ? "for-me" : ""}`}
      data-key={message.rowKey}
      tabIndex={-1}
      aria-label={`${isOwn ? "You" : name}, ${timeOfDay(message.createdAt)}`}
    >
      {!isOwn && <div class="message-side">{!isGrouped && <Avatar id={message.userId ?? message.appUser?.id ?? ""} name={name} image={imageOf(message)} />}</div>}
      <div class="message-main">
        {!isGrouped && (
          <div class="message-meta">
            {!isOwn && (
              <bdi class="author" title={name}>
                {name}
              </bdi>
            )}
            {message.type === "Webhook" && <span class="tag">Bot</span>}
            <time dateTime={message.createdAt} title={fullTime(message.createdAt)}>
              {timeOfDay(message.createdAt)}
            </time>
          </div>
        )}
        <div class="bubble-line">
          <div class={`bubble ${isEditing ? "editing" : ""}`}>
            {message.isForward && <span class="forwarded">Forwarded</span>}
            {message.replyRowKey && actions.jumpTo && <Quote room={room} rowKey={message.replyRowKey} jumpTo={actions.jumpTo} />}
            {isEditing ? <Editor room={room} message={message} /> : <Content room={room} message={message} />}
          </div>
          {!isEditing && <MessageTools room={room} message={message} isOwn={isOwn} place={actions.place} />}
        </div>
        <Reactions room={room} message={message} />
        {actions.place !== "thread" && <ThreadLink message={message} />}
      </div>
    </article>
  );
}

function imageOf(message: Message): string | undefined {
  return message.appUser ? message.appUser.image : message.userId ? people.get(message.userId).value?.image : undefined;
}

function Content({ room, message }: { room: RoomModel; message: Message }): JSX.Element {
  return (
    <>
      {isMarkup(message) ? (message.message || !message.files?.length) && <Body room={room} html={message.message ?? ""} /> : <PollView room={room} message={message} />}
      <FilesView room={room} message={message} />
      {message.linkPreview && <LinkPreviewCard preview={message.linkPreview} />}
      {message.isPinned && (
        <span class="pinned">
          <Icon name="pin" size={13} /> pinned
        </span>
      )}
      {message.isEdited && <span class="edited">edited</span>}
    </>
  );
}

function ThreadLink({ message }: { message: Message }): JSX.Element | null {
  const count = message.replyCount ?? 0;
  if (count === 0) return null;
  return (
    <button type="button" class="thread-link" onClick={() => (panel.value = { kind: "thread", rowKey: message.rowKey })}>
      <Icon name="thread" size={14} /> {count === 1 ? "1 reply" : `${count} replies`}
    </button>
  );
}

export function Quote({ room, rowKey, jumpTo }: { room: RoomModel; rowKey: string; jumpTo: (rowKey: string) => void }): JSX.Element {
  // Reading the list makes the quote follow edits and deletions of what it quotes.
  const quoted = room.messages.value.length > 0 ? room.timeline.get(rowKey) : undefined;
  return (
    <button type="button" class="quote" onClick={() => jumpTo(rowKey)}>
      {quoted ? (
        <>
          <span class="quote-author">{shownName(room, quoted)}</span>
          <span class="quote-text">{plainText(quoted).slice(0, 160)}</span>
        </>
      ) : (
        <span class="quote-text">Earlier message</span>
      )}
    </button>
  );
}

/** What the server writes: somebody joined, the room has a new name. */
function Line({ room, message }: { room: RoomModel; message: Message }): JSX.Element {
  const text =
    message.type === "EditRoom"
      ? `${shownName(room, message)} renamed the room to “${message.message ?? ""}”`
      : message.type === "PinMessage"
        ? `${shownName(room, message)} pinned a message`
        : plainText(message);
  return (
    <article class="line" data-key={message.rowKey} tabIndex={-1}>
      <bdi>{text}</bdi>
      <time dateTime={message.createdAt} title={fullTime(message.createdAt)}>
        {timeOfDay(message.createdAt)}
      </time>
    </article>
  );
}
