// Times as people write them, in the language of the browser.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "long" });
const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long" });
const dateWithYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long", year: "numeric" });
const short = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

export const timeOfDay = (time: string) => clock.format(new Date(time));
export const fullTime = (time: string) => full.format(new Date(time));

const startOfDay = (day: Date) => new Date(day.getFullYear(), day.getMonth(), day.getDate()).getTime();

export function isSameDay(a: string, b: string): boolean {
  return startOfDay(new Date(a)) === startOfDay(new Date(b));
}

function daysAgo(time: Date): number {
  return Math.round((startOfDay(new Date()) - startOfDay(time)) / 86_400_000);
}

export function dayName(time: string): string {
  const day = new Date(time);
  const ago = daysAgo(day);
  if (ago <= 0) return "Today";
  if (ago === 1) return "Yesterday";
  if (ago < 7) return weekday.format(day);
  return (day.getFullYear() === new Date().getFullYear() ? date : dateWithYear).format(day);
}

/** For the room list: the time today, else the day. */
export function briefTime(time: string): string {
  const day = new Date(time);
  const ago = daysAgo(day);
  if (ago <= 0) return clock.format(day);
  if (ago === 1) return "Yesterday";
  return short.format(day);
}

/** A span of time in words: "45 s", "3 min", "2 h", "5 days". */
export function duration(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 36 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

export const dateAndTime = (time: string) => brief.format(new Date(time));
const brief = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
