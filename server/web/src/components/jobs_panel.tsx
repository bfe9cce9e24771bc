// One's own scheduled messages and reminders, of the room or of all: cancel, another time, send now.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { parseBody } from "../body_text";
import { dateAndTime } from "../format_time";
import { listedJobs } from "../job_list";
import { cancelJob, jobRooms, jobs, readJobs, rescheduleJob, sendJobNow } from "../jobs";
import { attempt } from "../message_actions";
import type { RoomModel } from "../room";
import { roomOf } from "../rooms";
import { WireError, explain } from "../wire_error";
import { describeWhen, here, readWhen, whenErrors } from "../when";
import type { Job } from "../wire/generated";
import { Field, Form, Select } from "./dialog";
import { Panel } from "./panel";

export function JobsPanel({ room }: { room: RoomModel }): JSX.Element {
  const [scope, setScope] = useState("room");
  const [error, setError] = useState("");
  useEffect(() => void readJobs().catch((failure: unknown) => setError(explain(failure))), []);
  const shown = listedJobs(jobs.value, scope === "room" ? room.roomId : undefined);
  const note = error || (jobs.value ? "Nothing is planned. Write /remind or /schedule in a room." : "Loading…");
  return (
    <Panel id="jobs" title="Planned" focus>
      <div class="panel-body">
        <Select
          label="Of"
          value={scope}
          onChange={setScope}
          options={[
            { value: "room", label: "This room" },
            { value: "all", label: "All rooms" },
          ]}
        />
        {shown.length === 0 && (
          <p class="panel-note" role="status">
            {note}
          </p>
        )}
        <ul class="listed">
          {shown.map((job) => (
            <JobRow key={job.jobId} job={job} isRoomShown={scope === "all"} />
          ))}
        </ul>
      </div>
    </Panel>
  );
}

function textOf({ payload }: Job): string {
  if (payload.type === "Reminder") return payload.text;
  return payload.format === "Html" ? (parseBody(payload.message.replaceAll("<br>", "\n")).textContent ?? "") : payload.message;
}

function JobRow({ job, isRoomShown }: { job: Job; isRoomShown: boolean }): JSX.Element {
  const [isMoving, setMoving] = useState(false);
  const [isBusy, setBusy] = useState(false);
  // A repeat after a lost answer must not post it twice.
  const nonce = useRef(crypto.randomUUID());
  const isMessage = job.payload.type === "ScheduledMessage";
  const isClaimed = job.state === "Claimed";
  const isOver = job.state === "Completed" || job.state === "Cancelled";
  const run = async (action: Promise<unknown>) => {
    setBusy(true);
    await attempt(action);
    setBusy(false);
  };
  const text = textOf(job);
  const roomName = roomOf(job.roomId)?.name ?? jobRooms.get(job.roomId)?.name ?? "a room";
  return (
    <li class={`job ${job.failedAt ? "failed" : ""}`}>
      <p class="job-head">
        <span class="tag">{isMessage ? "Message" : "Reminder"}</span> <time dateTime={job.runAt}>{dateAndTime(job.runAt)}</time>
        {isRoomShown && (
          <>
            {" "}
            in <bdi>{roomName}</bdi>
          </>
        )}
      </p>
      <p class="job-text">
        <bdi>{text}</bdi>
      </p>
      {job.failedAt ? (
        <p class="form-error">Not done: {job.lastError ? explain(new WireError(job.lastError as { code: "internal"; message: string })) : "it was tried too often."}</p>
      ) : (
        job.lastError && !isClaimed && <p class="field-hint">Will be tried again: {explain(new WireError(job.lastError as { code: "internal"; message: string }))}</p>
      )}
      {isClaimed && !job.failedAt ? (
        <p class="field-hint">Being done right now.</p>
      ) : (
        !isOver && (
          <div class="button-row">
            {isMessage && (
              <button type="button" class="button quiet small" disabled={isBusy} aria-label={`Send now: ${text}`} onClick={() => void run(sendJobNow(job.jobId, nonce.current))}>
                Send now
              </button>
            )}
            {isMessage && (
              <button type="button" class="button quiet small" aria-expanded={isMoving} aria-label={`Another time: ${text}`} onClick={() => setMoving(!isMoving)}>
                Another time
              </button>
            )}
            <button type="button" class="button quiet small" disabled={isBusy} aria-label={`Cancel: ${text}`} onClick={() => void run(cancelJob(job.jobId))}>
              Cancel
            </button>
          </div>
        )
      )}
      {isMoving && !isOver && !isClaimed && <Move job={job} onDone={() => setMoving(false)} />}
    </li>
  );
}

function Move({ job, onDone }: { job: Job; onDone: () => void }): JSX.Element {
  const [text, setText] = useState("");
  const nonce = useRef(crypto.randomUUID());
  const when = readWhen(text, here());
  const hint = text.trim() === "" ? "As in “in 2h” or “tomorrow 9am”." : typeof when === "string" ? whenErrors[when] : describeWhen(when);
  return (
    <Form
      submit="Move"
      isReady={typeof when !== "string"}
      onCancel={onDone}
      onSubmit={async () => {
        if (typeof when === "string") return;
        await rescheduleJob(job, new Date(when.at).toISOString(), nonce.current);
        onDone();
      }}
    >
      <Field label="New time" value={text} onInput={setText} hint={hint} autoFocus />
    </Form>
  );
}
