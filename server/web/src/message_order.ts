// Messages in the order of their keys, which fall from oldest to newest. Pure.
import type { Message } from "./wire/generated";

/** Both lists, oldest first, each message once and in its newest state. */
export function mergedByKey(...lists: Message[][]): Message[] {
  const all = new Map<string, Message>();
  for (const message of lists.flat()) {
    const known = all.get(message.rowKey);
    if (!known || known.rev < message.rev) all.set(message.rowKey, message);
  }
  return [...all.values()].sort((a, b) => (a.rowKey > b.rowKey ? -1 : 1));
}
