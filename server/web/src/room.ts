// One room as the page shows it: signals over its timeline, its unsent messages, its people.
import { batch, computed, signal } from "@preact/signals";
import type { OutboxItem } from "./outbox";
import { Timeline, type TimelineCallbacks, cleared } from "./timeline";
import { Unread } from "./unread";
import { type DurableEvent, type Member, type Message, type Room, type RoomId, type RoomView, type UserId, permission } from "./wire/generated";

export interface Typist {
  userId: UserId;
  name: string;
}

export type HistoryState = "idle" | "loading" | "failed";

const typingShownMs = 3000;
/** While nobody looks further up, a timeline that grew beyond the one is cut back to the other. */
const mostMessages = 300;
const keptMessages = 120;
const countedTypes = new Set(["Message", "Poll", "Webhook"]);

export class RoomModel {
  readonly roomId: RoomId;
  readonly view;
  readonly messages = signal<Message[]>([]);
  readonly isLoaded = signal(false);
  readonly hasOlder = signal(false);
  readonly history = signal<HistoryState>("idle");
  /** Whether the newest message is on the screen, or would be if the room were. */
  readonly isAtEnd = signal(true);
  readonly pending = signal<OutboxItem[]>([]);
  readonly unreadCount = signal(0);
  readonly mentionCount = signal(0);
  readonly lastActivityAt = signal("");
  readonly typists = signal<Typist[]>([]);
  readonly members = signal<Member[] | undefined>(undefined);
  /** False while the server refuses to show the room's messages. */
  readonly isReadable = signal(true);

  /** What the person does in this room: kept while another room is looked at. */
  readonly draft = signal("");
  readonly replyingTo = signal<string | undefined>(undefined);
  readonly editing = signal<string | undefined>(undefined);
  /** What had been read when the room was opened: where the line "New" is drawn. */
  readonly openedAt = signal("");

  // The view changes with every message that one sends; what is drawn of it seldom does.
  private readonly shownName = computed(() => this.view.value.room.name || "Untitled room");
  private readonly permissions = computed(() => Number(this.view.value.permissions ?? "0"));
  private readonly silenced = computed(() => {
    const { room, membership } = this.view.value;
    if (!this.may(permission.SendMessages)) return "You may read here, but not write.";
    if (membership.timeoutUntil && Date.parse(membership.timeoutUntil) > Date.now()) return "You are timed out in this room.";
    if (room.isReadOnly && !this.may(permission.ManageMessages)) return "This room is read-only.";
    return undefined;
  });

  readonly timeline: Timeline;
  readonly unread = new Unread();
  /** Messages by others in the catch-up that is under way. */
  missedCount = 0;
  private typingTimers = new Map<UserId, ReturnType<typeof setTimeout>>();
  private isRefreshScheduled = false;

  constructor(view: RoomView, callbacks: Omit<TimelineCallbacks, "changed">) {
    this.roomId = view.room.roomId;
    this.view = signal(view);
    this.timeline = new Timeline(this.roomId, { ...callbacks, changed: () => this.scheduleRefresh() });
    this.timeline.position = { epoch: view.head?.epoch ?? "", seq: view.head?.seq ?? 0 };
    this.takeView(view);
  }

  get name(): string {
    return this.shownName.value;
  }

  may(bit: number): boolean {
    return (this.permissions.value & bit) !== 0;
  }

  /** Why nothing can be written here, if so. */
  get silence(): string | undefined {
    return this.silenced.value;
  }

  takeView(view: RoomView): void {
    batch(() => {
      this.view.value = view;
      const activity = view.room.lastActivityAt ?? view.room.createdAt ?? "";
      if (activity > this.lastActivityAt.peek()) this.lastActivityAt.value = activity;
      this.unread.counted(view.membership.unreadCount ?? 0, view.membership.mentionCount ?? 0, view.head?.seq ?? 0);
      this.showUnread();
    });
  }

  showUnread(): void {
    this.unreadCount.value = this.unread.count;
    this.mentionCount.value = this.unread.mentionCount;
  }

  takeChanges(changes: Partial<Room>): void {
    const view = this.view.peek();
    this.view.value = { ...view, room: { ...view.room, ...changes } };
  }

  nicknameOf(userId: UserId): string | undefined {
    return this.members.value?.find((member) => member.userId === userId)?.nickname || undefined;
  }

  /** Room, member and activity side of an event; the timeline has done the messages. */
  applied(event: DurableEvent, selfId: UserId): void {
    switch (event.event) {
      case "message.created": {
        const { message } = event.data;
        if (!countedTypes.has(message.type)) break;
        if (message.createdAt > this.lastActivityAt.peek()) this.lastActivityAt.value = message.createdAt;
        if (message.userId) this.stoppedTyping(message.userId);
        if (message.userId === selfId) break;
        const mentions = message.mentions ?? [];
        this.unread.arrived(message.seq ?? event.seq ?? 0, mentions.includes(selfId) || mentions.includes("@everyone"));
        this.showUnread();
        break;
      }
      case "room.updated":
        this.takeChanges(cleared<Room>(event.data.changes));
        break;
      case "member.joined":
        this.changeMembers((members) => [...members.filter((member) => member.userId !== event.data.member.userId), event.data.member]);
        break;
      case "member.left":
        this.changeMembers((members) => members.filter((member) => member.userId !== event.data.userId));
        break;
      case "member.updated":
        this.changeMembers((members) =>
          members.map((member) =>
            member.userId === event.data.userId ? { ...member, ...cleared<Member>(event.data.changes) } : member,
          ),
        );
        break;
    }
  }

  private changeMembers(change: (members: Member[]) => Member[]): void {
    const members = this.members.peek();
    if (members) this.members.value = change(members);
  }

  typing(typist: Typist): void {
    clearTimeout(this.typingTimers.get(typist.userId));
    this.typingTimers.set(
      typist.userId,
      setTimeout(() => this.stoppedTyping(typist.userId), typingShownMs),
    );
    this.typists.value = [...this.typists.peek().filter((other) => other.userId !== typist.userId), typist];
  }

  private stoppedTyping(userId: UserId): void {
    clearTimeout(this.typingTimers.get(userId));
    if (this.typingTimers.delete(userId)) this.typists.value = this.typists.peek().filter((typist) => typist.userId !== userId);
  }

  /** Many events at once become one change of the page. */
  scheduleRefresh(): void {
    if (this.isRefreshScheduled) return;
    this.isRefreshScheduled = true;
    setTimeout(() => this.refresh(), 16);
  }

  refresh(): void {
    this.isRefreshScheduled = false;
    if (this.isAtEnd.peek() && this.timeline.size > mostMessages) this.timeline.trim(keptMessages);
    batch(() => {
      this.messages.value = this.timeline.snapshot();
      this.isLoaded.value = this.timeline.isLoaded;
      this.hasOlder.value = this.timeline.hasOlder;
    });
  }
}
