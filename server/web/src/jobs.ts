// One's own scheduled messages and reminders, kept by what the server tells of them.
import { signal } from "@preact/signals";
import { isOpen, withJob } from "./job_list";
import { connection, listen } from "./link";
import type { Job, JobId, Room, RoomId, Timestamp } from "./wire/generated";

const page = 100;

/** Those that are still to come, or have failed; undefined until they were asked for. */
export const jobs = signal<ReadonlyMap<JobId, Job> | undefined>(undefined);
/** Rooms of jobs, as far as the list named them. */
export const jobRooms = new Map<RoomId, Room>();

/** Newest state of jobs that changed while the list was being read. */
let meanwhile: Map<JobId, Job> | undefined;

listen({
  account() {
    jobs.value = undefined;
    jobRooms.clear();
  },
  hello() {
    if (jobs.peek()) void readJobs().catch(() => undefined);
  },
  event(frame) {
    if (frame.event === "job.updated") takeJob(frame.data.job);
    if (frame.event === "user.behind" && jobs.peek()) void readJobs().catch(() => undefined);
  },
});

export function takeJob(job: Job): void {
  meanwhile?.set(job.jobId, job);
  if (jobs.peek()) jobs.value = withJob(jobs.peek()!, job);
}

let reading: Promise<void> | undefined;

export function readJobs(): Promise<void> {
  reading ??= walk().finally(() => (reading = undefined));
  return reading;
}

async function walk(): Promise<void> {
  meanwhile = new Map();
  try {
    let all = new Map<JobId, Job>();
    let cursor: string | undefined;
    do {
      const reply = await connection.request("schedule.mine", { cursor, limit: page });
      for (const { job, room } of reply.items ?? []) {
        all.set(job.jobId, job);
        jobRooms.set(room.roomId, room);
      }
      cursor = reply.hasMore ? reply.nextCursor : undefined;
    } while (cursor);
    for (const job of meanwhile.values()) all = withJob(all, job);
    jobs.value = all;
  } finally {
    meanwhile = undefined;
  }
}

export async function cancelJob(jobId: JobId): Promise<void> {
  takeJob((await connection.request("schedule.cancel", { jobId })).job);
}

export async function rescheduleJob(job: Job, runAt: Timestamp, nonce: string): Promise<void> {
  const reply = await connection.request("schedule.reschedule", { jobId: job.jobId, runAt, nonce });
  takeJob(reply.job);
  if (reply.job.jobId !== job.jobId) forget(job.jobId);
}

export async function sendJobNow(jobId: JobId, nonce: string): Promise<void> {
  takeJob((await connection.request("schedule.sendNow", { jobId, nonce })).job);
}

function forget(jobId: JobId): void {
  const old = jobs.peek()?.get(jobId);
  if (old && isOpen(old)) jobs.value = new Map(jobs.peek()).set(jobId, { ...old, state: "Cancelled" });
}
