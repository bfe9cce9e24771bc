// The pinned messages of a room, newest first.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Excerpt } from "../excerpt";
import { connection, selfId } from "../link";
import { attempt, setPinned } from "../message_actions";
import type { RoomModel } from "../room";
import { explain } from "../wire_error";
import { permission } from "../wire/generated";
import { MessageList } from "./message_list";
import { Panel } from "./panel";

const most = 100;

export function PinsPanel({ room }: { room: RoomModel }): JSX.Element {
  const pins = useMemo(() => new Excerpt(selfId()), [room]);
  const [state, setState] = useState("Loading…");
  // A message that is pinned now is known by its change only.
  const count = room.messages.value.filter((message) => message.isPinned).length;
  useEffect(() => {
    room.excerpts.add(pins);
    return () => void room.excerpts.delete(pins);
  }, [pins]);
  useEffect(() => {
    pins.beginRead();
    connection.request("message.list", { roomId: room.roomId, isPinned: true, limit: most }).then(
      (page) => {
        pins.take(page.items ?? []);
        setState("");
      },
      (error: unknown) => {
        pins.take(pins.messages.peek());
        setState(explain(error));
      },
    );
  }, [pins, count]);
  const shown = pins.messages.value.filter((message) => message.isPinned);
  return (
    <Panel id="pins" title="Pinned messages" focus>
      <div class="panel-body">
        {shown.length === 0 && <p class="panel-note" role="status">{state || "Nothing is pinned here."}</p>}
        <MessageList
          room={room}
          messages={shown}
          onRemove={room.may(permission.ManageMessages) ? { label: "Unpin", run: (message) => void attempt(setPinned(message, false)) } : undefined}
        />
      </div>
    </Panel>
  );
}
