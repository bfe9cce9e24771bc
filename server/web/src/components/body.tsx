// A message's markup as elements: what is on the list is built anew, everything else is only text.
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { parseBody } from "../body_text";
import { webAddress } from "../composed_body";
import { people } from "../people";
import type { RoomModel } from "../room";
import { EmojiText } from "./custom_emoji";

const plainTags = new Set([
  "b", "strong", "i", "em", "u", "s", "del", "ins", "sub", "sup", "small", "mark", "code", "pre", "kbd", "blockquote",
  "p", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd",
]); // prettier-ignore
const dropped = new Set(["script", "style", "textarea", "option", "noscript", "template", "iframe", "object", "svg", "math"]);
const safeLink = /^(https?:|mailto:|tel:|\/(?!\/))/i;

export function Body({ room, html }: { room: RoomModel; html: string }): JSX.Element {
  const content = useMemo(() => childrenOf(parseBody(html), false, room), [html, room]);
  return <div class="body">{content}</div>;
}

function childrenOf(parent: Node, isInLink: boolean, room: RoomModel): ComponentChildren[] {
  return [...parent.childNodes].map((node, index) => render(node, index, isInLink, room));
}

function render(node: Node, key: number, isInLink: boolean, room: RoomModel): ComponentChildren {
  if (node.nodeType === Node.TEXT_NODE) return textOf(node, isInLink);
  if (!(node instanceof Element)) return null;
  const tag = node.localName;
  if (dropped.has(tag)) return null;
  if (tag === "br") return <br key={key} />;
  if (tag === "hr") return <hr key={key} />;
  if (/^h[1-6]$/.test(tag)) {
    // The page has its own headings; those of a message must not stand in their outline.
    return <p key={key} class="heading">{childrenOf(node, isInLink, room)}</p>;
  }
  if (tag === "a") {
    const href = node.getAttribute("href") ?? "";
    if (!safeLink.test(href)) return <span key={key}>{childrenOf(node, isInLink, room)}</span>;
    return <a key={key} href={href} target="_blank" rel="noopener noreferrer nofollow">{childrenOf(node, true, room)}</a>;
  }
  if (tag === "span" && node.getAttribute("data-type") === "mention") {
    return <Mention key={key} room={room} id={node.getAttribute("data-id") ?? ""} text={node.textContent ?? ""} />;
  }
  const emojiId = tag === "span" ? node.getAttribute("data-custom-emoji-id") : null;
  if (emojiId) return <EmojiText key={key} room={room} emoji={`custom:${emojiId}`} name={node.textContent ?? undefined} />;
  const children = childrenOf(node, isInLink, room);
  if (!plainTags.has(tag)) return <span key={key}>{children}</span>;
  const Tag = tag as "p";
  return <Tag key={key}>{children}</Tag>;
}

/** By its present name where it is known, as it was written where not. */
function Mention({ room, id, text }: { room: RoomModel; id: string; text: string }): JSX.Element {
  const isUser = room.members.value?.some((member) => member.userId === id);
  const name = isUser ? (room.nicknameOf(id) ?? people.get(id).value?.name) : room.roles.value?.find((role) => role.roleId === id)?.name;
  return <span class={`mention ${room.isMentioned([id]) ? "me" : ""}`}>{name ? `@${name}` : text}</span>;
}

function textOf(node: Node, isInLink: boolean): ComponentChildren {
  const text = node.nodeValue ?? "";
  // Line ends between blocks and after a <br> are only how the markup is written.
  if (/^\s*$/.test(text) && text.includes("\n") && !isPreformatted(node)) return null;
  const shown = node.previousSibling?.nodeName === "BR" && text.startsWith("\n") && !isPreformatted(node) ? text.slice(1) : text;
  return isInLink || isPreformatted(node) ? shown : linked(shown);
}

function isPreformatted(node: Node): boolean {
  return node.parentElement?.closest("pre, code") != null;
}

/** Addresses in plain text can be followed. */
function linked(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(webAddress)) {
    parts.push(text.slice(at, match.index));
    parts.push(<a href={match[0]} target="_blank" rel="noopener noreferrer nofollow">{match[0]}</a>);
    at = match.index + match[0].length;
  }
  if (at === 0) return text;
  parts.push(text.slice(at));
  return parts;
}
