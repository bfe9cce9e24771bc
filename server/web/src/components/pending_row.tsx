// A message that is still on its way, or was refused.
import type { JSX } from "preact";
import { clock } from "../clock";
import { connectionState } from "../link";
import type { OutboxItem } from "../outbox";
import { discard, retry, waitOf } from "../outgoing";
import type { RoomModel } from "../room";
import { focusComposer } from "../screen";
import { WireError, explain } from "../wire_error";
import { Icon } from "./icon";
import { Quote } from "./message_row";

export function PendingRow({ room, item, isGrouped }: { room: RoomModel; item: OutboxItem; isGrouped: boolean }): JSX.Element {
  const isFailed = item.state === "failed";
  const isStuck = !isFailed && (connectionState.value.kind !== "online" || item.error !== undefined);
  return (
    <article class={`message own pending ${isGrouped ? "grouped" : ""} ${isFailed ? "failed" : ""}`} data-nonce={item.nonce} tabIndex={-1} aria-label="You, not sent yet">
      <div class="message-main">
        <div class="bubble-line">
          <div class="bubble">
            {item.replyRowKey && <Quote room={room} rowKey={item.replyRowKey} jumpTo={() => undefined} />}
            <div class="body plain">{item.poll ? `Poll: ${item.text}` : item.text}</div>
            {item.files?.map((file) => (
              <span class="file-name" key={file.fileId}>
                {file.filename}
              </span>
            ))}
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
    // Looking at the clock draws the countdown anew every second.
    void clock.value;
    return `Slow mode: goes out in ${Math.max(1, Math.ceil((waitOf(room) ?? 1000) / 1000))} s.`;
  }
  if (item.error?.code === "rate_limited") return "Too many at once: goes out in a moment.";
  return "No answer yet; trying again.";
}
