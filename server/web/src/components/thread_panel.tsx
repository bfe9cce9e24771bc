// A message and the replies to it, with a field to write one more.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Mentionable, composeBody } from "../composed_body";
import { selfId } from "../link";
import { attempt } from "../message_actions";
import { post } from "../outgoing";
import type { RoomModel } from "../room";
import { Thread } from "../threads";
import type { Message } from "../wire/generated";
import { Icon } from "./icon";
import { MentionField } from "./mention_field";
import { MessageRow, type RowActions } from "./message_row";
import { Panel } from "./panel";
import { PendingRow } from "./pending_row";

const actions: RowActions = { place: "thread" };

export function ThreadPanel({ room, rowKey }: { room: RoomModel; rowKey: string }): JSX.Element {
  const thread = useMemo(() => new Thread(room, rowKey), [room, rowKey]);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    thread.open();
    return () => thread.close();
  }, [thread]);
  const root = thread.rootMessage;
  const replies = thread.replies.messages.value;
  const known = new Set(replies.map((message) => message.nonce));
  const pending = room.pending.value.filter((item) => item.replyRowKey === rowKey && !known.has(item.nonce));
  const state = thread.state.value;
  // A reply of one's own follows the thread.
  const isLastOwn = replies.at(-1)?.userId === selfId();
  useEffect(() => {
    if (isLastOwn) void thread.readFollowed();
  }, [isLastOwn, replies.length]);
  useLayoutEffect(() => end.current?.scrollIntoView?.({ block: "end" }), [replies.length, pending.length]);
  const row = (message: Message) => (
    <MessageRow key={message.rowKey} room={room} actions={actions} row={{ kind: "message", key: message.rowKey, message, isGrouped: false, isOwn: message.userId === selfId() }} />
  );
  return (
    <Panel id="thread" title="Thread" focus>
      <div class="panel-body thread-body">
        {state === "ready" && !root && <p class="panel-note">The message that this thread began with was deleted.</p>}
        {root && row(root)}
        <div class="day">
          <span>{replies.length === 1 ? "1 reply" : `${replies.length} replies`}</span>
        </div>
        {thread.hasOlder.value && (
          <button type="button" class="button quiet small" onClick={() => void attempt(thread.readOlder())}>
            Earlier replies
          </button>
        )}
        {state === "loading" && replies.length === 0 && <p class="panel-note" role="status">Loading…</p>}
        {state === "failed" && (
          <p class="panel-note" role="alert">
            {thread.error.value}{" "}
            <button type="button" class="button link" onClick={() => void thread.read()}>
              Try again
            </button>
          </p>
        )}
        {replies.map(row)}
        {pending.map((item) => (
          <PendingRow key={item.nonce} room={room} item={item} isGrouped={false} />
        ))}
        <div ref={end} />
      </div>
      {thread.isFollowed.value !== undefined && root && (
        <p class="thread-follow">
          <button type="button" class="button quiet small" aria-pressed={thread.isFollowed.value} onClick={() => void attempt(thread.setFollowed(!thread.isFollowed.peek()))}>
            {thread.isFollowed.value ? "Following" : "Follow"}
          </button>
        </p>
      )}
      {room.silence ? <p class="panel-note">{room.silence}</p> : root && <ReplyField room={room} rowKey={rowKey} />}
    </Panel>
  );
}

function ReplyField({ room, rowKey }: { room: RoomModel; rowKey: string }): JSX.Element {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const mentions = useRef(new Map<string, Mentionable>());
  const submit = () => {
    if (text.trim() === "") return;
    const body = composeBody(text.trim(), mentions.current.values(), room.emoji.peek());
    post(room, { text: text.trim(), replyRowKey: rowKey, body: body.format === "Html" ? body : undefined });
    mentions.current.clear();
    setText("");
    field.current?.focus();
  };
  return (
    <form
      class="composer in-panel"
      aria-label="Write a reply"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div class="composer-row">
        <MentionField
          room={room}
          field={field}
          value={text}
          data-first
          placeholder="Reply in the thread"
          aria-label="Reply in the thread"
          maxLength={10_000}
          onInput={setText}
          onMention={(mention) => mentions.current.set(mention.id, mention)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey) return;
            event.preventDefault();
            submit();
          }}
        />
        <button type="submit" class="send" aria-label="Send reply" disabled={text.trim() === ""}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
