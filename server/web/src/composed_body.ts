// What one typed as a body of the wire: mentions that were chosen from the suggestions, custom emoji by name, and
// addresses, which the server looks at for its previews when they are links. Pure.

export interface Mentionable {
  id: string;
  kind: "user" | "role" | "broadcast";
  label: string;
}

export interface NamedEmoji {
  emojiId: string;
  name: string;
}

export interface ComposedBody {
  message: string;
  format: "Text" | "Html";
}

/** An address in plain text. */
export const webAddress = /\bhttps?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)\]}]/g;

export function isWebAddress(text: string): boolean {
  return text.match(webAddress)?.[0] === text;
}

export function composeBody(text: string, mentions: Iterable<Mentionable>, emoji: Iterable<NamedEmoji> = []): ComposedBody {
  const marks = new Map<string, string>();
  for (const mention of mentions) marks.set(`@${mention.label}`, mentionSpan(mention));
  for (const { emojiId, name } of emoji) {
    marks.set(`:${name}:`, `<span data-custom-emoji-id="${attribute(emojiId)}" data-custom-emoji-name="${attribute(name)}">:${escape(name)}:</span>`);
  }
  // The longest first: "@Ada Byron" before "@Ada".
  const tokens = [...marks.keys()].toSorted((a, b) => b.length - a.length).map(literal);
  const named = tokens.length > 0 ? `|(?<![\\p{L}\\p{N}_])(?:${tokens.join("|")})(?![\\p{L}\\p{N}_])` : "";
  const pattern = new RegExp(`${webAddress.source}${named}`, "gu");
  let html = "";
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    html += escape(text.slice(at, match.index)) + (marks.get(match[0]) ?? `<a href="${attribute(match[0])}">${escape(match[0])}</a>`);
    at = match.index + match[0].length;
  }
  if (html === "") return { message: text, format: "Text" };
  return { message: html + escape(text.slice(at)), format: "Html" };
}

/** A body as markup, whatever it was. */
export function htmlOf({ message, format }: ComposedBody): string {
  return format === "Html" ? message : escape(message);
}

function mentionSpan({ id, kind, label }: Mentionable): string {
  const type = kind === "role" ? "role" : "user";
  const about = kind === "broadcast" ? "" : ` data-mention-type="${type}"`;
  return `<span data-type="mention" data-id="${attribute(id)}"${about} data-label="${attribute(label)}">@${escape(label)}</span>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\n", "<br>");
}

function attribute(text: string): string {
  return escape(text).replaceAll('"', "&quot;");
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The unfinished mention before the cursor: from an @ that begins a word. */
export function mentionQuery(text: string, cursor: number): { from: number; query: string } | undefined {
  const match = /(?:^|[\s(])@([^\s@][^@\n]{0,31}|)$/u.exec(text.slice(0, cursor));
  return match ? { from: cursor - match[1]!.length - 1, query: match[1]! } : undefined;
}

/** Those whose name, or a word of it, begins as asked; whole names first. */
export function suggested<T extends Mentionable>(all: T[], query: string, most: number): T[] {
  const wanted = query.toLocaleLowerCase();
  const rank = ({ label }: T) => {
    const name = label.toLocaleLowerCase();
    if (name.startsWith(wanted)) return 0;
    return name.split(/[\s._-]+/).some((word) => word.startsWith(wanted)) ? 1 : 2;
  };
  return all
    .map((one) => ({ one, rank: rank(one) }))
    .filter(({ rank }) => rank < 2)
    .toSorted((a, b) => a.rank - b.rank || a.one.label.localeCompare(b.one.label))
    .slice(0, most)
    .map(({ one }) => one);
}
