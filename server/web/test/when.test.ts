import { describe, expect, test } from "vitest";
import table from "../../../protocol/tests/time-phrases.json";
import { describeWhen, readWhen, readWhenPrefix } from "../src/when";

interface Row {
  text: string;
  now: string;
  zone: string;
  expect: string | null;
  note?: "skipped" | "repeated" | null;
}

const rows = table as Row[];
const vienna = { now: Date.parse("2026-03-04T11:00:00.000Z"), zone: "Europe/Vienna" };

describe("times as people write them", () => {
  test("every phrase of the table is read as the SDK reads it", () => {
    expect(rows.length).toBeGreaterThan(60);
    const wrong = rows.filter((row) => {
      const when = readWhen(row.text, { now: Date.parse(row.now), zone: row.zone });
      const at = typeof when === "string" ? null : new Date(when.at).toISOString();
      const change = typeof when === "string" ? undefined : when.change;
      return at !== row.expect || (change ?? null) !== (row.note ?? null);
    });
    expect(wrong.map((row) => [row, readWhen(row.text, { now: Date.parse(row.now), zone: row.zone })])).toEqual([]);
  });

  test("what follows a time is left", () => {
    for (const [text, rest] of [
      ["in 2h take the tea out", "take the tea out"],
      ["in 2h, make 3 calls", "make 3 calls"],
      ["tomorrow 9x", "9x"],
      ["tomorrow 9am: call", "call"],
      ["friday 5 eggs", "5 eggs"],
      ["dec 24 2026 presents", "presents"],
      ["9am stand-up", "stand-up"],
      ["2 hours ago", "ago"],
      ["1h and then go", "and then go"],
    ] as const) {
      expect(readWhenPrefix(text, vienna), text).toMatchObject({ rest });
    }
    expect(readWhenPrefix("call Ada", vienna)).toBe("unknown");
    expect(readWhen("today 9am", vienna)).toBe("past");
    expect(readWhen("in 99999999 years", vienna)).toBe("tooFar");
  });

  test("a time says what it will be, and what a change of the clocks makes of it", () => {
    const shown = (text: string) => {
      const when = readWhen(text, vienna);
      return typeof when === "string" ? when : describeWhen(when, vienna.zone);
    };
    expect(shown("tomorrow 9am")).toMatch(/March 5, 2026.*9:00|5 March 2026.*09:00/);
    expect(shown("mar 29 2:30am")).toMatch(/0?3:30.*the clocks skip/);
    expect(shown("oct 25 2:30am")).toMatch(/0?2:30.*the first of two/);
  });
});
