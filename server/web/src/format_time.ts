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
