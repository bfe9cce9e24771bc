// Initials on a colour that follows from the id, for people (round) and rooms (square).
import type { JSX } from "preact";

const hues = 8;

function hueOf(id: string): number {
  let hash = 0;
  for (const letter of id) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  return hash % hues;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

function first(word: string | undefined): string {
  for (const { segment } of graphemes.segment(word ?? "")) return segment.toUpperCase();
  return "";
}

export function initials(name: string): string {
  const words = name.split(/[\s._-]+/).filter((word) => /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(word));
  return first(words[0]) + (words.length > 1 ? first(words.at(-1)) : "") || "?";
}

export function Avatar({ id, name, image, shape = "person", size = "medium" }: {
  id: string;
  name: string;
  image?: string;
  shape?: "person" | "room";
  size?: "small" | "medium" | "large";
}): JSX.Element {
  return (
    <span class={`avatar ${shape} ${size} hue-${hueOf(id)}`} aria-hidden="true">
      {image ? <img src={image} alt="" loading="lazy" referrerpolicy="no-referrer" /> : initials(name)}
    </span>
  );
}
