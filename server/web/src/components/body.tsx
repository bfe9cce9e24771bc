// A message's markup as elements: what is on the list is built anew, everything else is only text.
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { parseBody } from "../body_text";

const plainTags = new Set([
  "b", "strong", "i", "em", "u", "s", "del", "ins", "sub", "sup", "small", "mark", "code", "pre", "kbd", "blockquote",
  "p", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd",
]); // prettier-ignore
const dropped = new Set(["script", "style", "textarea", "option", "noscript", "template", "iframe", "object", "svg", "math"]);
const safeLink = /^(https?:|mailto:|tel:|\/(?!\/))/i;
const address = /\bhttps?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)\]}]/g;

export function Body({ html }: { html: string }): JSX.Element {
  const content = useMemo(() => childrenOf(parseBody(html), false), [html]);
  return <div class="body">{content}</div>;
}

function childrenOf(parent: Node, isInLink: boolean): ComponentChildren[] {
  return [...parent.childNodes].map((node, index) => render(node, index, isInLink));
}

function render(node: Node, key: number, isInLink: boolean): ComponentChildren {
  if (node.nodeType === Node.TEXT_NODE) return textOf(node, isInLink);
  if (!(node instanceof Element)) return null;
  const tag = node.localName;
  if (dropped.has(tag)) return null;
  if (tag === "br") return <br key={key} />;
  if (tag === "hr") return <hr key={key} />;
  if (/^h[1-6]$/.test(tag)) {
    // The page has its own headings; those of a message must not stand in their outline.
    return <p key={key} class="heading">{childrenOf(node, isInLink)}</p>;
  }
  if (tag === "a") {
    const href = node.getAttribute("href") ?? "";
    if (!safeLink.test(href)) return <span key={key}>{childrenOf(node, isInLink)}</span>;
    return <a key={key} href={href} target="_blank" rel="noopener noreferrer nofollow">{childrenOf(node, true)}</a>;
  }
  if (tag === "span" && node.getAttribute("data-type") === "mention") {
    return <span key={key} class="mention">{node.textContent}</span>;
  }
  const children = childrenOf(node, isInLink);
  if (!plainTags.has(tag)) return <span key={key}>{children}</span>;
  const Tag = tag as "p";
  return <Tag key={key}>{children}</Tag>;
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
  for (const match of text.matchAll(address)) {
    parts.push(text.slice(at, match.index));
    parts.push(<a href={match[0]} target="_blank" rel="noopener noreferrer nofollow">{match[0]}</a>);
    at = match.index + match[0].length;
  }
  if (at === 0) return text;
  parts.push(text.slice(at));
  return parts;
}
