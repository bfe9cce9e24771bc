// One message, stored or still on its way.
import type { JSX } from "preact";
import { isMarkup, plainText } from "../body_text";
import { fullTime, timeOfDay } from "../format_time";
import { connectionState } from "../link";
import type { OutboxItem } from "../outbox";
import { discard, retry, waitOf } from "../outgoing";
import { people } from "../people";
import type { RoomModel } from "../room";
import { shownName } from "../rooms";
import { dialog, focusComposer } from "../screen";
import { WireError, explain } from "../wire_error";
import { type Message, permission } from "../wire/generated";
import { Avatar } from "./avatar";
import { Body } from "./body";
import { Editor } from "./editor";
import { Icon, IconButton } from "./icon";

export type Row =
  | { kind: "message"; key: string; message: Message; isGrouped: boolean; isOwn: boolean }
  | { kind: "pending"; key: string; item: OutboxItem; isGrouped: boolean };

export interface RowActions {
  jumpTo(rowKey: string): void;
}

export function startReply(room: RoomModel, message: Message): void {
  room.editing.value = undefined;
  room.replyingTo.value = message.rowKey;
  focusComposer();
}

export function mayEdit(room: RoomModel, message: Message, isOwn: boolean): boolean {
  return message.type === "Message" ? isOwn || room.may(permission.ManageMessages) : message.type === "Webhook" && room.may(permission.ManageMessages);
}

export function mayDelete(room: RoomModel, message: Message, isOwn: boolean): boolean {
  return ["Message", "Poll", "Webhook"].includes(message.type) && ((isOwn && message.type !== "Webhook") || room.may(permission.ManageMessages));
}

export function MessageRow({ room, row, actions }: { room: RoomModel; row: Row; actions: RowActions }): JSX.Element {
  if (row.kind === "pending") return <Pending room={room} item={row.item} isGrouped={row.isGrouped} />;
  const { message, isGrouped, isOwn } = row;
  if (!["Message", "Poll", "Webhook"].includes(message.type)) return <Line room={room} message={message} />;
  const name = shownName(room, message);
  const isEditing = room.editing.value === message.rowKey;
  return (
    <article
      class={`message ${isOwn ? "own" : "other"} ${isGrouped ? "grouped" : ""}`}
      data-key={message.rowKey}
      tabIndex={-1}
      aria-label={`${isOwn ? "You" : name}, ${timeOfDay(message.createdAt)}`}
    >
      {!isOwn && <div class="message-side">{!isGrouped && <Avatar id={message.userId ?? message.appUser?.id ?? ""} name={name} />}</div>}
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
            {message.replyRowKey && <Quote room={room} rowKey={message.replyRowKey} jumpTo={actions.jumpTo} />}
            {isEditing ? <Editor room={room} message={message} /> : <Content message={message} />}
          </div>
          {!isEditing && <Tools room={room} message={message} isOwn={isOwn} />}
        </div>
        <Reactions message={message} />
      </div>
    </article>
  );
}

function Content({ message }: { message: Message }): JSX.Element {
  return (
    <>
      {isMarkup(message) ? <Body html={message.message ?? ""} /> : <PollView message={message} />}
      {message.files?.map((file) => (
        <span class="file" key={file.fileId}>
          {file.filename}
        </span>
      ))}
      {message.isEdited && <span class="edited">edited</span>}
    </>
  );
}

function PollView({ message }: { message: Message }): JSX.Element {
  return (
    <div class="poll">
      <strong>{message.poll?.question}</strong>
      <ul>
        {message.poll?.options.map((option) => (
          <li key={option.id}>
            {option.label} <span class="poll-count">{option.count ?? 0}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Reactions({ message }: { message: Message }): JSX.Element | null {
  const shown = message.reactions?.filter((reaction) => reaction.count && !reaction.emoji.startsWith("custom:")) ?? [];
  if (shown.length === 0) return null;
  return (
    <ul class="reactions" aria-label="Reactions">
      {shown.map((reaction) => (
        <li key={reaction.emoji}>
          {reaction.emoji} {reaction.count}
        </li>
      ))}
    </ul>
  );
}

function Tools({ room, message, isOwn }: { room: RoomModel; message: Message; isOwn: boolean }): JSX.Element {
  return (
    <div class="tools" role="group" aria-label="Message actions">
      {!room.silence && <IconButton icon="reply" label="Reply" shortcut="R" onClick={() => startReply(room, message)} />}
      {mayEdit(room, message, isOwn) && <IconButton icon="edit" label="Edit" shortcut="E" onClick={() => (room.editing.value = message.rowKey)} />}
      {mayDelete(room, message, isOwn) && (
        <IconButton icon="trash" label="Delete" shortcut="Delete" onClick={() => (dialog.value = { kind: "delete", message })} />
      )}
    </div>
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
  if (message.userId && message.type === "EditRoom") people.get(message.userId);
  const text = message.type === "EditRoom" ? `${shownName(room, message)} renamed the room to “${message.message ?? ""}”` : plainText(message);
  return (
    <article class="line" data-key={message.rowKey} tabIndex={-1}>
      <bdi>{text}</bdi>
      <time dateTime={message.createdAt} title={fullTime(message.createdAt)}>
        {timeOfDay(message.createdAt)}
      </time>
    </article>
  );
}

function Pending({ room, item, isGrouped }: { room: RoomModel; item: OutboxItem; isGrouped: boolean }): JSX.Element {
  const isFailed = item.state === "failed";
  const isStuck = !isFailed && (connectionState.value.kind !== "online" || item.error !== undefined);
  return (
    <article class={`message own pending ${isGrouped ? "grouped" : ""} ${isFailed ? "failed" : ""}`} data-nonce={item.nonce} tabIndex={-1} aria-label="You, not sent yet">
      <div class="message-main">
        <div class="bubble-line">
          <div class="bubble">
            {item.replyRowKey && <Quote room={room} rowKey={item.replyRowKey} jumpTo={() => undefined} />}
            <div class="body plain">{item.text}</div>
          </div>
        </div>
        <div class="delivery">
          <Icon name={isFailed ? "alert" : "send"} size={14} />
          <span>{isFailed ? `Not sent. ${reasonOf(item)}` : isStuck ? waitingFor(room, item) : "Sending…"}</span>
          {(isFailed || isStuck) && (
            <>
              <button type="button" class="button link" onClick={() => retry(item)}>
                {isFailed ? "Try again" : "Try now"}
              </button>
              <button type="button" class="button link" onClick={() => (discard(item), focusComposer())}>
                Discard
              </button>
            </>
          )}
        </div>
      </div>
    </article>
  );
}

export function reasonOf(item: OutboxItem): string {
  return item.error ? explain(new WireError(item.error)) : "";
}

function waitingFor(room: RoomModel, item: OutboxItem): string {
  if (connectionState.value.kind !== "online") return "Waiting for the connection.";
  if (item.error?.code === "slowmode") {
    return `Slow mode: goes out in ${Math.max(1, Math.ceil((waitOf(room) ?? 1000) / 1000))} s.`;
  }
  if (item.error?.code === "rate_limited") return "Too many at once: goes out in a moment.";
  return "No answer yet; trying again.";
}
