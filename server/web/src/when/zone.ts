// What clocks show in a time zone, and which instant is meant by what they show.

const dayMs = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/** How far the clocks of the zone are ahead of UTC. */
function offsetAt(at: number, zone: string): number {
  let format = formats.get(zone);
  if (!format) {
    const numeric = "numeric" as const;
    format = new Intl.DateTimeFormat("en-US", { timeZone: zone, calendar: "gregory", hourCycle: "h23", year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric });
    formats.set(zone, format);
  }
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(at)) parts[type] = Number(value);
  const shown = Date.UTC(parts.year!, parts.month! - 1, parts.day!, parts.hour!, parts.minute!, parts.second!);
  return shown - Math.floor(at / 1000) * 1000;
}

/** The face of the clock at an instant, as the milliseconds that UTC's would have. */
export function faceAt(at: number, zone: string): number {
  return at + offsetAt(at, zone);
}

export type ClockChange = "skipped" | "repeated";

/** The instant of a face: of one that comes twice the first, one that is skipped moved on by as much as is skipped. */
export function instantOf(face: number, zone: string): { at: number; change?: ClockChange } {
  const before = offsetAt(face - dayMs, zone);
  const after = offsetAt(face + dayMs, zone);
  const fitting = [...new Set([before, after])].map((offset) => face - offset).filter((at) => faceAt(at, zone) === face);
  if (fitting.length === 0) return { at: face - before, change: "skipped" };
  return fitting.length === 2 ? { at: Math.min(...fitting), change: "repeated" } : { at: fitting[0]! };
}
