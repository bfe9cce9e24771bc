// Searching the messages of the room, with filters as plain fields.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Excerpt } from "../excerpt";
import { connection, selfId } from "../link";
import { people } from "../people";
import type { RoomModel } from "../room";
import { roomList } from "../rooms";
import { type SearchFields, filtersOf } from "../search_filters";
import { WireError } from "../wire_error";
import { Field, Form, Select } from "./dialog";
import { MessageList } from "./message_list";
import { Panel } from "./panel";

const page = 25;
const has = ["Link", "Embed", "File", "Image", "Video", "Sound", "Forward"].map((value) => ({ value, label: value }));

export function SearchPanel({ room }: { room: RoomModel }): JSX.Element {
  const [fields, setFields] = useState<SearchFields>({ text: "", from: "", mentions: "", inRoom: "", has: "", before: "", after: "", during: "", isPinned: false });
  const found = useMemo(() => new Excerpt(selfId()), [room]);
  const [note, setNote] = useState("");
  const [hasMore, setMore] = useState(false);
  useEffect(() => {
    room.excerpts.add(found);
    return () => void room.excerpts.delete(found);
  }, [found]);
  const set = (changes: Partial<SearchFields>) => setFields({ ...fields, ...changes });

  const search = async (offset: number) => {
    const filters = filtersOf(fields);
    if (fields.text.trim() === "" && filters.length === 0) throw new WireError({ code: "refused", message: "say what to look for" });
    if (offset === 0) found.beginRead();
    try {
      const reply = await connection.request("message.search", {
        roomId: room.roomId,
        query: fields.text.trim() || undefined,
        filters,
        timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
        offset,
        limit: page,
      });
      const items = reply.items ?? [];
      found.take(offset === 0 ? items : [...found.messages.peek(), ...items]);
      setMore(reply.hasMore ?? false);
      const total = reply.total ?? items.length;
      setNote(total === 0 ? "Nothing found." : total === 1 ? "1 message found." : `${total} messages found.`);
    } catch (error) {
      if (offset === 0) found.take([]);
      setNote("");
      throw error;
    }
  };

  const members = (room.members.value ?? []).map(({ userId, nickname }) => ({ value: userId, label: nickname || people.get(userId).value?.name || "…" }));
  const others = roomList.value.filter((other) => other !== room).map(({ roomId, name }) => ({ value: roomId, label: name }));
  return (
    <Panel id="search" title="Search" focus>
      <div class="panel-body">
        <Form submit="Search" onSubmit={() => search(0)}>
          <Field label="Text" value={fields.text} onInput={(text) => set({ text })} maxLength={1000} isFirst />
          <details>
            <summary>Filters</summary>
            <Select label="From" value={fields.from} onChange={(from) => set({ from })} options={[{ value: "", label: "Anybody" }, ...members]} />
            <Select label="Mentions" value={fields.mentions} onChange={(mentions) => set({ mentions })} options={[{ value: "", label: "Anybody or nobody" }, ...members]} />
            <Select label="In" value={fields.inRoom} onChange={(inRoom) => set({ inRoom })} options={[{ value: "", label: "This room" }, ...others]} />
            <Select label="Has" value={fields.has} onChange={(value) => set({ has: value })} options={[{ value: "", label: "Anything" }, ...has]} />
            <Field label="After" type="date" value={fields.after} onInput={(after) => set({ after })} />
            <Field label="Before" type="date" value={fields.before} onInput={(before) => set({ before })} />
            <Field label="During" type="date" value={fields.during} onInput={(during) => set({ during })} />
            <label class="check">
              <input type="checkbox" checked={fields.isPinned} onChange={(event) => set({ isPinned: event.currentTarget.checked })} /> Pinned only
            </label>
          </details>
        </Form>
        <p class="panel-note" role="status">{note}</p>
        <MessageList room={room} messages={found.messages.value} />
        {hasMore && (
          <Form submit="More" onSubmit={() => search(found.messages.peek().length)} />
        )}
      </div>
    </Panel>
  );
}
