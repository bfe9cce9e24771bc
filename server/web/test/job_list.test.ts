import { describe, expect, it } from "vitest";
import { listedJobs, withJob } from "../src/job_list";
import type { Job } from "../src/wire/generated";

const job = (jobId: string, changes: Partial<Job> = {}): Job => ({
  jobId,
  roomId: "r",
  userId: "u",
  runAt: "2026-03-04T11:00:00.000Z",
  state: "Active",
  updatedAt: "2026-03-04T10:00:00.000Z",
  payload: { type: "Reminder", text: jobId },
  ...changes,
});

const ids = (jobs: Job[]) => jobs.map(({ jobId }) => jobId);
const mapOf = (...jobs: Job[]) => jobs.reduce<ReadonlyMap<string, Job>>(withJob, new Map());

describe("what is planned", () => {
  it("is listed by its time, of a room or of all; what has failed stays, what is over does not", () => {
    const all = mapOf(
      job("late", { runAt: "2026-03-05T11:00:00.000Z" }),
      job("soon", { roomId: "other" }),
      job("claimed", { state: "Claimed" }),
      job("failed", { failedAt: "2026-03-04T10:30:00.000Z", runAt: "2026-03-04T09:00:00.000Z" }),
      job("done", { state: "Completed" }),
      job("given up and cancelled", { state: "Cancelled", failedAt: "2026-03-04T10:30:00.000Z" }),
    );
    expect(ids(listedJobs(all))).toEqual(["failed", "claimed", "soon", "late"]);
    expect(ids(listedJobs(all, "other"))).toEqual(["soon"]);
    expect(listedJobs(undefined)).toEqual([]);
  });

  it("is not brought back or changed by what comes late", () => {
    const moved = job("a", { runAt: "2026-03-06T11:00:00.000Z", updatedAt: "2026-03-04T10:05:00.000Z" });
    expect(mapOf(moved, job("a")).get("a")).toEqual(moved);
    const over = job("a", { state: "Cancelled" });
    expect(mapOf(job("a"), over, job("a")).get("a")).toEqual(over);
  });
});
