// Who is there: statuses by account, asked for when shown and kept by events; and one's own.
import { type Signal, signal } from "@preact/signals";
import { connection, listen, selfId } from "./link";
import type { Status, StatusSet, UserId } from "./wire/generated";

const batchMax = 500;
const known = new Map<UserId, Signal<Status | undefined>>();
const wanted = new Set<UserId>();
let isScheduled = false;

listen({
  account() {
    known.clear();
    wanted.clear();
  },
  hello() {
    for (const userId of [selfId(), ...known.keys()]) wanted.add(userId);
    schedule();
  },
  event(frame) {
    if (frame.event === "status.changed") statusOf(frame.data.status.userId).value = frame.data.status;
  },
});

export function statusOf(userId: UserId): Signal<Status | undefined> {
  let status = known.get(userId);
  if (!status) known.set(userId, (status = signal(undefined)));
  return status;
}

/** Asks for those that are not known yet. */
export function watch(userIds: UserId[]): void {
  for (const userId of userIds) if (!statusOf(userId).peek()) wanted.add(userId);
  schedule();
}

function schedule(): void {
  if (isScheduled || wanted.size === 0) return;
  isScheduled = true;
  setTimeout(async () => {
    isScheduled = false;
    const userIds = [...wanted].slice(0, batchMax);
    for (const userId of userIds) wanted.delete(userId);
    try {
      for (const status of (await connection.request("status.get", { userIds })).items ?? []) statusOf(status.userId).value = status;
    } catch {
      // No dots then; asked again after the next hello.
      return;
    }
    schedule();
  }, 30);
}

export async function setStatus(changes: StatusSet): Promise<void> {
  const { status } = await connection.request("status.set", changes);
  statusOf(status.userId).value = status;
}
