// The grammar of times: what is written, before anything is known of now and here. As in `client-sdk/src/when`.

export interface Face {
  year: number;
  /** From 1. */
  month: number;
  day: number;
}

export interface ClockTime {
  hour: number;
  minute: number;
  second: number;
}

export interface Amount {
  years: number;
  months: number;
  days: number;
  seconds: number;
}

export type Day =
  | { kind: "today" }
  | { kind: "tomorrow" }
  /** The next such day, from Monday = 0; with `isNext` never today. */
  | { kind: "weekday"; weekday: number; isNext: boolean }
  /** Of this year, or of the next. */
  | { kind: "yearly"; month: number; day: number }
  | { kind: "date"; date: Face };

export type Phrase =
  | { kind: "in"; amount: Amount }
  | { kind: "exact"; date: Face; time: ClockTime; offsetSeconds: number }
  | { kind: "at"; day?: Day; time?: ClockTime };

/** Reads what a text begins with; answers what follows. */
export function readPhrase(text: string): { phrase: Phrase; rest: string } | undefined {
  const reader = new Reader(text);
  const phrase = reader.phrase();
  return phrase && { phrase, rest: reader.rest.replace(/^[\s,:;]+/u, "").trimEnd() };
}

const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const weekdayShort: Record<string, number> = { mon: 0, tue: 1, tues: 1, wed: 2, thu: 3, thur: 3, thurs: 3, fri: 4, sat: 5, sun: 6 };
const months = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
const units: Record<string, [keyof Amount, number]> = {};
for (const [names, part, length] of [
  ["s sec secs second seconds", "seconds", 1],
  ["m min mins minute minutes", "seconds", 60],
  ["h hr hrs hour hours", "seconds", 3600],
  ["d day days", "days", 1],
  ["w wk wks week weeks", "days", 7],
  ["month months", "months", 1],
  ["y year years", "years", 1],
] as const) {
  for (const name of names.split(" ")) units[name] = [part, length];
}

function weekdayOf(name: string): number | undefined {
  const at = weekdays.indexOf(name);
  return at >= 0 ? at : Object.hasOwn(weekdayShort, name) ? weekdayShort[name] : undefined;
}

function monthOf(name: string): number | undefined {
  const at = months.findIndex((full) => full === name || full.slice(0, 3) === name || (name === "sept" && full === "september"));
  return at >= 0 ? at + 1 : undefined;
}

export function daysIn(year: number, month: number): number {
  return [31, year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
}

function dateOf(year: number, month: number, day: number): Face | undefined {
  return day >= 1 && day <= daysIn(year, month) ? { year, month, day } : undefined;
}

function timeOf(hour: number, minute: number, second: number): ClockTime | undefined {
  return hour <= 23 && minute <= 59 && second <= 59 ? { hour, minute, second } : undefined;
}

class Reader {
  constructor(public rest: string) {}

  /** Reads, or leaves everything as it was. */
  private attempt<T>(read: () => T | undefined): T | undefined {
    const before = this.rest;
    const found = read();
    if (found === undefined) this.rest = before;
    return found;
  }

  /** What comes next, if it is this; takes it. */
  private match(pattern: RegExp): string | undefined {
    const found = pattern.exec(this.rest)?.[0];
    if (found !== undefined) this.rest = this.rest.slice(found.length);
    return found;
  }

  private skip(): void {
    this.match(/^[\s,]+/u);
  }

  /** Whether nothing is glued to what was read. */
  private isBoundary(): boolean {
    return /^(?:$|[\s,;:.!?)])/u.test(this.rest);
  }

  /** A run of letters, in lower case. */
  private word(): string | undefined {
    this.skip();
    return this.match(/^\p{Alphabetic}+/u)?.toLowerCase();
  }

  private takes(...words: string[]): boolean {
    return this.attempt(() => (words.includes(this.word() ?? "") ? true : undefined)) ?? false;
  }

  /** A run of digits, so many at least and at most. */
  private digits(least: number, most: number): number | undefined {
    const run = /^[0-9]+/.exec(this.rest)?.[0] ?? "";
    if (run.length < least || run.length > most) return undefined;
    this.rest = this.rest.slice(run.length);
    return Number(run);
  }

  private literal(text: string): boolean {
    if (!this.rest.startsWith(text)) return false;
    this.rest = this.rest.slice(text.length);
    return true;
  }

  phrase(): Phrase | undefined {
    const amount = this.attempt(() => (this.takes("in") ? this.amount(true) : undefined)) ?? this.attempt(() => this.amount(false));
    if (amount) return { kind: "in", amount };
    return this.attempt(() => this.exact()) ?? this.attempt(() => this.moment());
  }

  /** `2h`, `1h30m`, `2 hours and 30 minutes`; after `in` also `an hour` and `half an hour`. */
  private amount(isAfterIn: boolean): Amount | undefined {
    if (isAfterIn) {
      const half = this.attempt(() => (this.takes("half") && this.takes("an") && this.takes("hour") && this.isBoundary() ? true : undefined));
      if (half) return { years: 0, months: 0, days: 0, seconds: 1800 };
    }
    const amount = this.attempt(() => this.part(isAfterIn));
    if (!amount) return undefined;
    for (;;) {
      const more = this.attempt(() => {
        this.takes("and");
        return this.part(false);
      });
      if (!more) break;
      for (const key of ["years", "months", "days", "seconds"] as const) amount[key] += more[key];
    }
    return this.isBoundary() ? amount : undefined;
  }

  private part(mayBeOne: boolean): Amount | undefined {
    this.skip();
    // In thousandths, for `1.5h`.
    const number = mayBeOne && this.takes("a", "an") ? 1000 : this.decimal();
    const unit = this.word();
    if (number === undefined || unit === undefined || !Object.hasOwn(units, unit)) return undefined;
    const [key, length] = units[unit]!;
    if (key !== "seconds" && number % 1000 !== 0) return undefined;
    return { years: 0, months: 0, days: 0, seconds: 0, [key]: Math.floor((number * length) / 1000) };
  }

  /** A number with up to three decimals, in thousandths. */
  private decimal(): number | undefined {
    const whole = this.digits(1, 9);
    if (whole === undefined) return undefined;
    const fraction = /^\.([0-9]{1,3})(?![0-9])/.exec(this.rest);
    if (fraction) this.rest = this.rest.slice(fraction[0].length);
    return whole * 1000 + Number((fraction?.[1] ?? "").padEnd(3, "0"));
  }

  /** ISO 8601 with an offset. */
  private exact(): Phrase | undefined {
    this.skip();
    const date = this.isoDate();
    if (!date || (this.match(/^[Tt]/) ?? this.match(/^\s+/u)) === undefined) return undefined;
    const time = this.clock();
    if (!time) return undefined;
    this.match(/^\.[0-9]{1,9}(?![0-9])/);
    const offsetSeconds = this.offset();
    return offsetSeconds !== undefined && this.isBoundary() ? { kind: "exact", date, time, offsetSeconds } : undefined;
  }

  private offset(): number | undefined {
    const found = /^\s*(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2})(?![0-9])|:|(?![0-9])))/u.exec(this.rest);
    if (!found) return undefined;
    const [hours, minutes] = [Number(found[2] ?? 0), Number(found[3] ?? 0)];
    if (hours > 23 || minutes > 59) return undefined;
    this.rest = this.rest.slice(found[0].length);
    return (found[1] === "-" ? -1 : 1) * (hours * 3600 + minutes * 60);
  }

  /** A day, a time, or both, in either order. */
  private moment(): Phrase | undefined {
    let day: Day | undefined;
    let time: ClockTime | undefined;
    let usual: ClockTime | undefined;
    for (;;) {
      const found = day ? undefined : this.attempt(() => this.day());
      if (found) {
        ({ day, usual } = found);
        continue;
      }
      const at = time ? undefined : this.attempt(() => this.time(day !== undefined));
      if (!at) break;
      time = at;
    }
    return day || time ? { kind: "at", day, time: time ?? usual } : undefined;
  }

  /** A day, and the time of it that is meant when none is named. */
  private day(): { day: Day; usual?: ClockTime } | undefined {
    const hasOn = this.takes("on");
    this.skip();
    const date = this.attempt(() => {
      const date = this.isoDate();
      // The time that follows a `T` is read next.
      if (date && /^[Tt][0-9]/.test(this.rest)) {
        this.rest = this.rest.slice(1);
        return date;
      }
      return this.isBoundary() ? date : undefined;
    });
    if (date) return { day: { kind: "date", date } };
    const ofMonth = this.attempt(() => this.dayOfMonth());
    if (ofMonth) return { day: ofMonth };
    const found = this.namedDay(hasOn);
    return found && this.isBoundary() ? found : undefined;
  }

  private namedDay(hasOn: boolean): { day: Day; usual?: ClockTime } | undefined {
    const word = this.word() ?? "";
    if (!hasOn) {
      if (word === "today") return { day: { kind: "today" } };
      if (word === "tonight") return { day: { kind: "today" }, usual: { hour: 20, minute: 0, second: 0 } };
      if (["tomorrow", "tmr", "tmrw"].includes(word)) return { day: { kind: "tomorrow" } };
    }
    const weekday = weekdayOf(word === "next" || word === "this" ? (this.word() ?? "") : word);
    return weekday === undefined ? undefined : { day: { kind: "weekday", weekday, isNext: word === "next" } };
  }

  /** `dec 24`, `24 dec`, `24th of december 2026`. */
  private dayOfMonth(): Day | undefined {
    const first = this.attempt(() => monthOf(this.word() ?? ""));
    const day = this.ordinal();
    if (day === undefined) return undefined;
    if (first === undefined) this.takes("of");
    const month = first ?? monthOf(this.word() ?? "");
    if (month === undefined || !this.isBoundary()) return undefined;
    const year = this.attempt(() => {
      this.skip();
      const year = this.digits(4, 4);
      return this.isBoundary() ? year : undefined;
    });
    // The year after a leap year may be none.
    const date = dateOf(year ?? 2024, month, day);
    if (!date) return undefined;
    return year === undefined ? { kind: "yearly", month, day } : { kind: "date", date };
  }

  private ordinal(): number | undefined {
    this.skip();
    this.takes("the");
    this.skip();
    const day = this.digits(1, 2);
    this.match(/^(?:st|nd|rd|th)/i);
    return day !== undefined && day >= 1 && day <= 31 ? day : undefined;
  }

  private isoDate(): Face | undefined {
    const found = /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])/.exec(this.rest);
    if (!found) return undefined;
    this.rest = this.rest.slice(found[0].length);
    return dateOf(Number(found[1]), Number(found[2]), Number(found[3]));
  }

  /** `9am`, `14:30`, `noon`; a bare hour only after `at`. */
  private time(hasDay: boolean): ClockTime | undefined {
    const hasAt = this.takes("at") || (this.attempt(() => (this.skip(), this.literal("@") || undefined)) ?? false);
    this.skip();
    const found =
      this.attempt(() => this.namedTime(hasDay)) ??
      this.attempt(() => this.twelveHours()) ??
      this.attempt(() => this.clock()) ??
      this.attempt(() => {
        const hour = hasAt ? this.digits(1, 2) : undefined;
        return hour === undefined ? undefined : timeOf(hour, 0, 0);
      });
    return found && this.isBoundary() ? found : undefined;
  }

  private namedTime(hasDay: boolean): ClockTime | undefined {
    const hours: Record<string, number> = { noon: 12, midday: 12, midnight: 0, ...(hasDay && { morning: 9, afternoon: 15, evening: 20 }) };
    const word = this.word() ?? "";
    return Object.hasOwn(hours, word) ? timeOf(hours[word]!, 0, 0) : undefined;
  }

  /** `9am`, `9:30 pm`. */
  private twelveHours(): ClockTime | undefined {
    const hour = this.digits(1, 2);
    if (hour === undefined || hour < 1 || hour > 12) return undefined;
    const minute = this.attempt(() => (this.literal(":") ? this.digits(2, 2) : undefined)) ?? 0;
    const half = this.word();
    if (half === "a" || half === "p") {
      if (this.match(/^\.[mM]\.?/) === undefined) return undefined;
    } else if (half !== "am" && half !== "pm") return undefined;
    return timeOf((hour % 12) + (half.startsWith("p") ? 12 : 0), minute, 0);
  }

  /** `14:30`, `14:30:15`. */
  private clock(): ClockTime | undefined {
    const hour = this.digits(1, 2);
    if (hour === undefined || !this.literal(":")) return undefined;
    const minute = this.digits(2, 2);
    if (minute === undefined) return undefined;
    const second = this.attempt(() => (this.literal(":") ? this.digits(2, 2) : undefined));
    return timeOf(hour, minute, second ?? 0);
  }
}
