// The words of a filter as lines of text: one a line, in quotes when only the whole word counts. Pure.
import type { FilterWord } from "./wire/generated";

export function wordsOf(text: string): FilterWord[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const whole = /^"(.+)"$/.exec(line)?.[1]?.trim();
      return whole ? { word: whole, matchWholeWord: true } : { word: line, matchWholeWord: false };
    });
}

export function linesOf(words: FilterWord[] = []): string {
  return words.map(({ word, matchWholeWord }) => (matchWholeWord ? `"${word}"` : word)).join("\n");
}
