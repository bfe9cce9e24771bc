// The threads of a room that one follows.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { plainText } from "../body_text";
import { connection } from "../link";
import type { RoomModel } from "../room";
import { shownName } from "../rooms";
import { panel } from "../screen";
import { explain } from "../wire_error";
import type { ThreadSummary } from "../wire/generated";
import { Panel } from "./panel";

export function ThreadsPanel({ room }: { room: RoomModel }): JSX.Element {
  const [threads, setThreads] = useState<ThreadSummary[]>();
  const [error, setError] = useState("");
  useEffect(() => {
    connection.request("thread.followed", { roomId: room.roomId }).then(
      (reply) => setThreads(reply.items ?? []),
      (failure: unknown) => setError(explain(failure)),
    );
  }, [room]);
  return (
    <Panel id="threads" title="Followed threads" focus>
      <div class="panel-body">
        {!threads?.length && <p class="panel-note" role="status">{error || (threads ? "You follow no thread here." : "Loading…")}</p>}
        <ul class="found-list">
          {threads?.map(({ root, replyCount = 0 }) => (
            <li key={root.rowKey} class="found">
              <button type="button" class="found-open" onClick={() => (panel.value = { kind: "thread", rowKey: root.rowKey })}>
                <span class="found-head">
                  <bdi class="author">{shownName(room, root)}</bdi>
                  <span>{replyCount === 1 ? "1 reply" : `${replyCount} replies`}</span>
                </span>
                <span class="found-text">{plainText(root).slice(0, 240)}</span>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </Panel>
  );
}
