// Messages in a panel, each with a way to its place in the room.
import type { JSX } from "preact";
import { plainText } from "../body_text";
import { dateAndTime } from "../format_time";
import type { RoomModel } from "../room";
import { roomOf, shownName } from "../rooms";
import { go } from "../route";
import { isNarrow, panel } from "../screen";
import type { Message } from "../wire/generated";
import { IconButton } from "./icon";

export function MessageList(props: { room: RoomModel; messages: Message[]; onRemove?: { label: string; run: (message: Message) => void } }): JSX.Element {
  const { room, messages, onRemove } = props;
  return (
    <ul class="found-list">
      {messages.map((message) => (
        <li key={message.rowKey} class="found">
          <button
            type="button"
            class="found-open"
            onClick={() => {
              if (isNarrow.peek()) panel.value = undefined;
              if (message.roomId === room.roomId) room.wanted.value = message.rowKey;
              else go({ kind: "room", roomId: message.roomId, rowKey: message.rowKey });
            }}
          >
            <span class="found-head">
              <bdi class="author">{shownName(roomOf(message.roomId) ?? room, message)}</bdi>
              <time dateTime={message.createdAt}>{dateAndTime(message.createdAt)}</time>
            </span>
            <span class="found-text">{plainText(message).slice(0, 240) || message.files?.map((file) => file.filename).join(", ")}</span>
          </button>
          {onRemove && <IconButton icon="close" label={onRemove.label} onClick={() => onRemove.run(message)} />}
        </li>
      ))}
    </ul>
  );
}
