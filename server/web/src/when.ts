// Times as people write them: `in 2h`, `tomorrow at 9am`, `next friday 14:30`, `dec 24 9am`, `noon`, ISO 8601, read in
// their own time zone. One table of cases for this and the SDK: `protocol/tests/time-phrases.json`.
import { type Amount, type ClockTime, type Day, type Face, type Phrase, daysIn, readPhrase } from "./when/phrase";
import { type ClockChange, faceAt, instantOf, localZone } from "./when/zone";

const dayMs = 86_400_000;
/** When a day begins that is named without a time. */
const morning: ClockTime = { hour: 9, minute: 0, second: 0 };
const lastYear = 9999;

export interface When {
  /** The instant, as `Date` counts. */
  at: number;
  /** What a change of the clocks made of what was written. */
  change?: ClockChange;
}

export type WhenError = "unknown" | "past" | "tooFar";

export const whenErrors: Record<WhenError, string> = {
  unknown: "That is not a time. Try “in 2h”, “tomorrow 9am”, “next friday 14:30” or “2026-12-24 09:00”.",
  past: "This time has passed.",
  tooFar: "This time is too far away.",
};

export interface Here {
  now: number;
  zone: string;
}

export const here = (): Here => ({ now: Date.now(), zone: localZone() });

/** A whole text as a time. */
export function readWhen(text: string, where: Here): When | WhenError {
  const read = readWhenPrefix(text, where);
  if (typeof read === "string") return read;
  return read.rest === "" ? read.when : "unknown";
}

/** The time that a text begins with, and what follows it. */
export function readWhenPrefix(text: string, { now, zone }: Here): { when: When; rest: string } | WhenError {
  const read = readPhrase(text);
  if (!read) return "unknown";
  const when = resolve(read.phrase, now, zone);
  if (!when || !isNear(when.at)) return "tooFar";
  return when.at <= now ? "past" : { when, rest: read.rest };
}

function isNear(at: number): boolean {
  const year = new Date(at).getUTCFullYear();
  return year <= lastYear && year >= 0;
}

/** Undefined: too far away. */
function resolve(phrase: Phrase, now: number, zone: string): When | undefined {
  switch (phrase.kind) {
    case "in":
      return after(phrase.amount, now, zone);
    case "exact":
      return { at: face(phrase.date, phrase.time) - phrase.offsetSeconds * 1000 };
    case "at":
      return moment(phrase.day, phrase.time ?? morning, now, zone);
  }
}

function face({ year, month, day }: Face, { hour, minute, second }: ClockTime): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  return date.getTime();
}

/** Days and longer by the calendar, so that the clock's face stays; hours and shorter as they pass. */
function after({ years, months, days, seconds }: Amount, now: number, zone: string): When | undefined {
  if (years === 0 && months === 0 && days === 0) return { at: now + seconds * 1000 };
  const shown = new Date(faceAt(now, zone));
  const month = shown.getUTCMonth() + months + years * 12;
  const year = shown.getUTCFullYear() + Math.floor(month / 12);
  if (year > lastYear) return undefined;
  const monthOfYear = month - Math.floor(month / 12) * 12;
  shown.setUTCFullYear(year, monthOfYear, Math.min(shown.getUTCDate(), daysIn(year, monthOfYear + 1)));
  const wanted = shown.getTime() + days * dayMs;
  if (Number.isNaN(new Date(wanted).getTime()) || !isNear(wanted)) return undefined;
  const { at, change } = instantOf(wanted, zone);
  return { at: at + seconds * 1000, change: seconds === 0 ? change : undefined };
}

function moment(day: Day | undefined, time: ClockTime, now: number, zone: string): When | undefined {
  const today = new Date(faceAt(now, zone));
  const year = today.getUTCFullYear();
  const on = (date: Face) => instantOf(face(date, time), zone);
  const inDays = (days: number) => on({ year, month: today.getUTCMonth() + 1, day: today.getUTCDate() + days });
  switch (day?.kind) {
    case "today":
      return inDays(0);
    case "tomorrow":
      return inDays(1);
    case "date":
      return on(day.date);
    case "weekday": {
      const days = (day.weekday - ((today.getUTCDay() + 6) % 7) + 7) % 7;
      const first = inDays(days);
      return days === 0 && (day.isNext || first.at <= now) ? inDays(7) : first;
    }
    case "yearly":
      // The 29th of February is up to eight years away.
      for (let ahead = 0; ahead <= 8; ahead++) {
        if (day.day > daysIn(year + ahead, day.month)) continue;
        const when = on({ year: year + ahead, month: day.month, day: day.day });
        if (when.at > now) return when;
      }
      return undefined;
    case undefined: {
      const first = inDays(0);
      return first.at <= now ? inDays(1) : first;
    }
  }
}

/** What it will be, for people, before they confirm it. */
export function describeWhen({ at, change }: When, zone = localZone()): string {
  const options = { timeZone: zone, weekday: "long", year: "numeric", month: "long", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" } as const;
  const shown = new Intl.DateTimeFormat(undefined, { ...options, ...(at % 60_000 >= 1000 && { second: "2-digit" }) }).format(at);
  if (change === "skipped") return `${shown}: the clocks skip the time that you wrote`;
  return change === "repeated" ? `${shown}: the first of two, as the clocks go back` : shown;
}
