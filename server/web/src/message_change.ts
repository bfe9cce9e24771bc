// What an event changes in a message that one holds. Pure; used by the timeline and by every other list of messages.
import type { DurableEvent, Message, Mine, Reaction, RowKey, UserId } from "./wire/generated";

/** A delta's `null` means "no value now". */
export function cleared<T extends object>(changes: { [K in keyof T]?: T[K] | null }): Partial<T> {
  return Object.fromEntries(Object.entries(changes).map(([key, value]) => [key, value ?? undefined])) as Partial<T>;
}

export interface MessageChange {
  rowKey: RowKey;
  rev: number;
  apply(message: Message): Partial<Message>;
}

/** The change in an event that carries a delta; whole messages, as in a catch-up, are not for here. */
export function changeOf(event: DurableEvent, selfId: UserId): MessageChange | undefined {
  switch (event.event) {
    case "message.updated":
      return { ...event.data, apply: () => cleared<Message>(event.data.changes) };
    case "reaction.added":
    case "reaction.removed": {
      const { rowKey, rev, emoji, userId, count, userIds } = event.data;
      const isAdded = event.event === "reaction.added";
      return {
        rowKey,
        rev,
        apply: (message) => ({
          reactions: withReaction(message.reactions, { emoji, count, userIds }),
          ...(userId === selfId && { mine: withOwnReaction(message.mine, emoji, isAdded) }),
        }),
      };
    }
    case "poll.voted": {
      const { rowKey, rev, userId, optionId, options } = event.data;
      return {
        rowKey,
        rev,
        apply(message) {
          if (!message.poll) return {};
          const counts = new Map((options ?? []).map((option) => [option.id, option.count ?? 0]));
          const { [userId]: _, ...votes } = message.poll.votes ?? {};
          return {
            poll: {
              ...message.poll,
              options: message.poll.options.map((option) => ({ ...option, count: counts.get(option.id) ?? option.count ?? 0 })),
              votes: optionId ? { ...votes, [userId]: optionId } : votes,
            },
            ...(userId === selfId && { mine: { ...message.mine, optionId } }),
          };
        },
      };
    }
    default:
      return undefined;
  }
}

export function withReaction(reactions: Reaction[] = [], reaction: Reaction): Reaction[] {
  const at = reactions.findIndex((other) => other.emoji === reaction.emoji);
  const next = reaction.count ? [{ emoji: reaction.emoji, count: reaction.count, userIds: reaction.userIds ?? [] }] : [];
  return at < 0 ? [...reactions, ...next] : reactions.toSpliced(at, 1, ...next);
}

export function withOwnReaction(mine: Mine | undefined, emoji: string, isAdded: boolean): Mine {
  const others = (mine?.reactions ?? []).filter((other) => other !== emoji);
  return { ...mine, reactions: isAdded ? [...others, emoji] : others };
}

/** Keys of the messages that an event takes away. */
export function removedBy(event: DurableEvent): RowKey[] {
  if (event.event === "message.deleted") return [event.data.rowKey];
  return event.event === "message.purged" ? event.data.rowKeys : [];
}
