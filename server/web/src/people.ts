// Names and pictures of accounts by id, asked for in batches when something shows them.
import { type Signal, signal } from "@preact/signals";
import { connection, listen } from "./link";
import type { User, UserId } from "./wire/generated";

const batchMax = 500;

export class People {
  private known = new Map<UserId, Signal<User | undefined>>();
  private missing = new Set<UserId>();
  private isScheduled = false;

  constructor(private readonly fetch: (userIds: UserId[]) => Promise<User[]>) {}

  get(userId: UserId): Signal<User | undefined> {
    const person = this.slot(userId);
    if (!person.peek() && !this.missing.has(userId)) {
      this.missing.add(userId);
      this.schedule();
    }
    return person;
  }

  learn(...users: User[]): void {
    for (const user of users) {
      const person = this.slot(user.userId);
      const old = person.peek();
      if (!old || (old.updatedAt ?? "") <= (user.updatedAt ?? "")) person.value = user;
    }
  }

  /** Asks again for those that stayed unknown. */
  retry(): void {
    if (this.missing.size > 0) this.schedule();
  }

  private slot(userId: UserId): Signal<User | undefined> {
    let person = this.known.get(userId);
    if (!person) {
      person = signal(undefined);
      this.known.set(userId, person);
    }
    return person;
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setTimeout(async () => {
      this.isScheduled = false;
      const asked = [...this.missing].filter((userId) => !this.known.get(userId)?.peek()).slice(0, batchMax);
      for (const userId of this.missing) {
        if (this.known.get(userId)?.peek()) this.missing.delete(userId);
      }
      if (asked.length === 0) return;
      try {
        this.learn(...(await this.fetch(asked)));
        // Ids that nobody has stay in `missing`, which keeps them from being asked for again and again.
      } catch {
        // Asked again after the next hello.
      }
    }, 20);
  }
}

export const people = new People(async (userIds) => (await connection.request("user.get", { userIds })).items ?? []);

listen({
  hello(reply) {
    people.learn(reply.user);
    people.retry();
  },
  event(frame) {
    if (frame.event === "user.updated") people.learn(frame.data.user);
  },
});
