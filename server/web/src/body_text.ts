// A message as text: for screen readers and quotes, and as what its author typed, for editing.
import { type Mentionable, isWebAddress } from "./composed_body";
import type { Message } from "./wire/generated";

/** The server sends markup in these types only; every other body is plain text. */
export function isMarkup(message: Message): boolean {
  return message.type === "Message" || message.type === "Webhook";
}

/** Parsed in a document of its own, where nothing runs and nothing is loaded. */
export function parseBody(html: string): HTMLElement {
  return new DOMParser().parseFromString(html, "text/html").body;
}

const blocks = new Set(["P", "DIV", "LI", "BLOCKQUOTE", "PRE", "H1", "H2", "H3", "H4", "H5", "H6", "TR", "UL", "OL", "TABLE", "HR"]);

export function plainText(message: Message): string {
  if (message.type === "Poll") return `Poll: ${message.poll?.question ?? ""}`;
  if (message.type === "EditRoom") return `The room is now called “${message.message ?? ""}”`;
  if (message.type === "PinMessage") return "A message was pinned";
  if (message.type === "Call") return "A call took place";
  if (!isMarkup(message)) return message.message ?? "";
  return textOf(parseBody(message.message ?? "")).replace(/\n{2,}/g, "\n").trim();
}

function textOf(node: Node): string {
  if (node.nodeType === Node.TEXT_NODE) return node.nodeValue ?? "";
  if (node.nodeName === "BR") return "\n";
  const text = [...node.childNodes].map(textOf).join("");
  return blocks.has(node.nodeName) ? `\n${text}\n` : text;
}

export interface Editable {
  text: string;
  format: "Text" | "Markdown";
  /** In a text that has nothing else in it than these. */
  mentions: Mentionable[];
}

/** An address that became a link because it is one. */
function isTypedLink(element: Element): boolean {
  return element.nodeName === "A" && isWebAddress(element.textContent ?? "") && element.getAttribute("href") === element.textContent;
}

/** What to put into the editor; formatted bodies become Markdown, so that an edit keeps their formatting. */
export function editable(message: Message): Editable {
  const body = parseBody(message.message ?? "");
  const elements = [...body.querySelectorAll("*")];
  const mentions = elements.flatMap((element) => mentionIn(element) ?? []);
  const isPlain = elements.every((element) => element.nodeName === "BR" || element.hasAttribute("data-custom-emoji-id") || isTypedLink(element) || mentionIn(element));
  if (isPlain) return { text: textOf(body), format: "Text", mentions };
  return { text: markdownOf(body).replace(/\n{3,}/g, "\n\n").trim(), format: "Markdown", mentions: [] };
}

function markdownOf(node: Node): string {
  if (node.nodeType === Node.TEXT_NODE) return (node.nodeValue ?? "").replace(/[\\`*_[\]<>#]/g, "\\$&").replace(/\s+/g, " ");
  if (!(node instanceof Element)) return "";
  const inner = () => [...node.childNodes].map(markdownOf).join("");
  switch (node.nodeName) {
    case "BR":
      return "\\\n";
    case "B":
    case "STRONG":
      return `**${inner()}**`;
    case "I":
    case "EM":
      return `*${inner()}*`;
    case "S":
    case "DEL":
      return `~~${inner()}~~`;
    case "CODE":
      return `\`${node.textContent ?? ""}\``;
    case "PRE":
      return `\n\n\`\`\`\n${(node.textContent ?? "").replace(/\n$/, "")}\n\`\`\`\n\n`;
    case "A":
      return `[${inner()}](${node.getAttribute("href") ?? ""})`;
    case "LI": {
      const mark = node.parentNode?.nodeName === "OL" ? "1. " : "- ";
      return `${mark}${inner().trim().replace(/\n/g, "\n  ")}\n`;
    }
    case "UL":
    case "OL":
    case "P":
    case "DIV":
      return `\n\n${inner()}\n\n`;
    case "BLOCKQUOTE":
      return `\n\n${inner().trim().replace(/^/gm, "> ")}\n\n`;
    case "H1":
    case "H2":
    case "H3":
    case "H4":
    case "H5":
    case "H6":
      return `\n\n${"#".repeat(Number(node.nodeName[1]))} ${inner()}\n\n`;
    case "SPAN":
      return mentionOf(node) ?? inner();
    default:
      return inner();
  }
}

/** A mention that stands in the text as one types it. */
function mentionIn(element: Element): Mentionable | undefined {
  const id = element.getAttribute("data-id");
  const text = element.textContent ?? "";
  if (element.getAttribute("data-type") !== "mention" || !id || !text.startsWith("@")) return undefined;
  const kind = id.startsWith("@") ? "broadcast" : element.getAttribute("data-mention-type") === "role" ? "role" : "user";
  return { id, kind, label: text.slice(1) };
}

function mentionOf(span: Element): string | undefined {
  const id = span.getAttribute("data-id");
  if (span.getAttribute("data-type") !== "mention" || !id) return undefined;
  if (id.startsWith("@")) return id;
  return span.getAttribute("data-mention-type") === "role" ? `<@&${id}>` : `<@${id}>`;
}
