// Where the files of messages can be fetched: asked for in batches when something shows them, again when they end.
import { type Signal, signal } from "@preact/signals";
import { connection, listen } from "./link";
import type { FileUrl, Message, RoomId } from "./wire/generated";

interface Wanted {
  roomId: RoomId;
  rowKey: string;
  fileId: string;
}

const early = 60_000;
const batchMax = 200;
const known = new Map<string, Signal<FileUrl | undefined>>();
const wanted = new Map<string, Wanted>();
let isScheduled = false;

listen({ account: () => known.clear(), hello: schedule });

export function addressOf({ roomId, rowKey }: Message, fileId: string): Signal<FileUrl | undefined> {
  let address = known.get(fileId);
  if (!address) known.set(fileId, (address = signal(undefined)));
  const until = address.peek()?.expiresAt;
  if (!until || Date.parse(until) - early < Date.now()) {
    wanted.set(fileId, { roomId, rowKey, fileId });
    schedule();
  }
  return address;
}

function schedule(): void {
  if (isScheduled || wanted.size === 0) return;
  isScheduled = true;
  setTimeout(() => {
    isScheduled = false;
    const next = [...wanted.values()].slice(0, batchMax);
    for (const roomId of new Set(next.map((one) => one.roomId))) {
      const asked = next.filter((one) => one.roomId === roomId);
      void read(roomId, asked);
    }
  }, 30);
}

async function read(roomId: RoomId, asked: Wanted[]): Promise<void> {
  for (const { fileId } of asked) wanted.delete(fileId);
  try {
    const reply = await connection.request("file.urls", { roomId, files: asked.map(({ rowKey, fileId }) => ({ rowKey, fileId })) });
    for (const address of reply.files ?? []) {
      const slot = known.get(address.fileId);
      if (slot) slot.value = address;
    }
  } catch {
    // Asked again after the next hello, or when it is drawn anew.
    for (const one of asked) wanted.set(one.fileId, one);
    return;
  }
  schedule();
}
