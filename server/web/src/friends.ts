// Friends, requests between people, and whom one has blocked.
import { signal } from "@preact/signals";
import { connection, listen } from "./link";
import { notify } from "./notices";
import { people } from "./people";
import { statusOf } from "./presence";
import type { Friend, FriendRequest, User, UserId } from "./wire/generated";

const page = 200;

export const friends = signal<Friend[] | undefined>(undefined);
export const friendRequests = signal<FriendRequest[]>([]);
export const blocked = signal<User[]>([]);

let isReading = false;
let isReadingAgain = false;

listen({
  account() {
    friends.value = undefined;
    friendRequests.value = [];
    blocked.value = [];
  },
  hello: () => void readFriends(),
  event(frame) {
    if (frame.event === "user.behind") void readFriends();
    if (frame.event !== "friend.changed") return;
    const { change, user } = frame.data;
    people.learn(user);
    void readFriends().then(() => {
      const isIncoming = friendRequests.peek().some((request) => request.user.userId === user.userId && request.direction === "Incoming");
      if (change === "Requested" && isIncoming) notify(`${user.name ?? "Somebody"} would like to be your friend.`);
    });
  },
});

/** All of them; a call during a read makes it be read once more. */
export async function readFriends(): Promise<void> {
  if (isReading) {
    isReadingAgain = true;
    return;
  }
  isReading = true;
  try {
    do {
      isReadingAgain = false;
      const all: Friend[] = [];
      let requests: FriendRequest[] = [];
      let cursor: string | undefined;
      do {
        const reply = await connection.request("friend.list", { cursor, limit: page });
        if (!cursor) requests = reply.requests ?? [];
        all.push(...(reply.items ?? []));
        cursor = reply.hasMore ? reply.nextCursor : undefined;
      } while (cursor);
      people.learn(...all.map((friend) => friend.user), ...requests.map((request) => request.user));
      for (const { status } of all) statusOf(status.userId).value = status;
      friends.value = all;
      friendRequests.value = requests;
    } while (isReadingAgain);
  } catch {
    // Read again after the next hello, or when the list is opened.
  } finally {
    isReading = false;
  }
}

export async function readBlocked(): Promise<void> {
  blocked.value = (await connection.request("block.list", { limit: page })).items ?? [];
}

export function isFriend(userId: UserId): boolean {
  return friends.value?.some((friend) => friend.user.userId === userId) ?? false;
}

type FriendAction = "friend.accept" | "friend.decline" | "friend.cancel" | "friend.remove";

export async function answerFriend(op: FriendAction, userId: UserId): Promise<void> {
  await connection.request(op, { userId });
  await readFriends();
}

export async function askFriend(whom: { userId: UserId } | { name: string }, nonce: string): Promise<void> {
  await connection.request("friend.request", { ...whom, nonce });
  await readFriends();
}

export async function setBlocked(userId: UserId, isBlocked: boolean): Promise<void> {
  await connection.request(isBlocked ? "block.add" : "block.remove", { userId });
  await Promise.all([readBlocked(), readFriends()]);
}
