// A list of scheduled messages and reminders, kept by what is told of each. Pure.
import type { Job, JobId, RoomId } from "./wire/generated";

/** Still to come, or given up: what has failed stays until it is cancelled. */
export function isOpen({ state }: Job): boolean {
  return state === "Active" || state === "Claimed";
}

/** What is over stays known, so that what comes late does not bring it back. */
export function withJob(known: ReadonlyMap<JobId, Job>, job: Job): Map<JobId, Job> {
  const next = new Map(known);
  const old = next.get(job.jobId);
  const isStale = old !== undefined && ((old.updatedAt ?? "") > (job.updatedAt ?? "") || (!isOpen(old) && isOpen(job)));
  return isStale ? next : next.set(job.jobId, job);
}

/** Those that are open, of a room or of all, by their time. */
export function listedJobs(all: ReadonlyMap<JobId, Job> | undefined, roomId?: RoomId): Job[] {
  return [...(all?.values() ?? [])]
    .filter((job) => isOpen(job) && (!roomId || job.roomId === roomId))
    .toSorted((a, b) => (a.runAt < b.runAt ? -1 : a.runAt > b.runAt ? 1 : a.jobId < b.jobId ? -1 : 1));
}
