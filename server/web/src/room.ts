// One room as the page shows it: signals over its timeline, its unsent messages, its people.
import { batch, computed, signal } from "@preact/signals";
import type { Attachment } from "./attachments";
import type { Mentionable } from "./composed_body";
import type { Excerpt } from "./excerpt";
import type { OutboxItem } from "./outbox";
import { clock } from "./clock";
import { duration } from "./format_time";
import { cleared } from "./message_change";
import { Timeline, type TimelineCallbacks } from "./timeline";
import { Unread } from "./unread";
import {
  type CustomEmoji,
  type DurableEvent,
  type Member,
  type Message,
  type Role,
  type RoleId,
  type Room,
  type RoomId,
  type RoomView,
  type UserId,
  permission,
} from "./wire/generated";

export interface Typist {
  userId: UserId;
  name: string;
}

/** Messages around one that is further up than the page has read. */
export interface Visit {
  target: string;
  excerpt: Excerpt;
  olderCursor?: string;
  newerCursor?: string;
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
  /** Highest first. */
  readonly roles = signal<Role[] | undefined>(undefined);
  readonly emoji = signal<CustomEmoji[] | undefined>(undefined);
  /** The surroundings of an older message, shown in place of the newest ones. */
  readonly visited = signal<Visit | undefined>(undefined);
  /** A message to be brought on the screen. */
  readonly wanted = signal<string | undefined>(undefined);
  /** Lists beside the timeline that follow the room's events. */
  readonly excerpts = new Set<Excerpt>();
  /** False while the server refuses to show the room's messages. */
  readonly isReadable = signal(true);

  /** What the person does in this room: kept while another room is looked at. */
  readonly draft = signal("");
  /** Whom the draft mentions, as chosen from the suggestions. */
  readonly draftMentions = new Map<string, Mentionable>();
  readonly attachments = signal<Attachment[]>([]);
  readonly replyingTo = signal<string | undefined>(undefined);
  readonly editing = signal<string | undefined>(undefined);
  /** What had been read when the room was opened: where the line "New" is drawn. */
  readonly openedAt = signal("");

  // The view changes with every message that one sends; what is drawn of it seldom does.
  private readonly shownName = computed(() => {
    const { room, participants = [], participantCount = participants.length } = this.view.value;
    if (room.type !== "DirectMessage") return room.name || "Untitled room";
    if (participants.length === 0) return "Just you";
    const names = participants.map((user) => user.name ?? "…").join(", ");
    return participantCount > participants.length ? `${names} and ${participantCount - participants.length} more` : names;
  });
  private readonly permissions = computed(() => Number(this.view.value.permissions ?? "0"));
  private readonly silenced = computed(() => {
    const { room, membership } = this.view.value;
    if (!this.may(permission.SendMessages)) return "You may read here, but not write.";
    const until = membership.timeoutUntil ? Date.parse(membership.timeoutUntil) : 0;
    if (until > clock.value) return `You are timed out in this room for another ${duration(until - clock.peek())}.`;
    if (room.isReadOnly && !this.may(permission.ManageMessages)) return "This room is read-only.";
    return undefined;
  });

  readonly timeline: Timeline;
  readonly unread = new Unread();
  /** Marked as unread by hand: looking at it does not mark it as read, until it is opened anew. */
  isKeptUnread = false;
  /** Messages by others in the catch-up that is under way. */
  missedCount = 0;
  private typingTimers = new Map<UserId, ReturnType<typeof setTimeout>>();
  private isRefreshScheduled = false;

  constructor(
    view: RoomView,
    callbacks: Omit<TimelineCallbacks, "changed">,
    private readonly selfId: UserId = "",
  ) {
    this.roomId = view.room.roomId;
    this.view = signal(view);
    this.timeline = new Timeline(this.roomId, { ...callbacks, changed: () => this.scheduleRefresh() }, selfId);
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
  applied(event: DurableEvent, folded: boolean): void {
    for (const excerpt of this.excerpts) excerpt.apply(event, folded);
    switch (event.event) {
      case "message.created": {
        const { message } = event.data;
        if (!countedTypes.has(message.type)) break;
        if (message.createdAt > this.lastActivityAt.peek()) this.lastActivityAt.value = message.createdAt;
        if (message.userId) this.stoppedTyping(message.userId);
        if (message.userId === this.selfId) break;
        const mentions = message.mentions ?? [];
        this.unread.arrived(message.seq ?? event.seq ?? 0, this.isMentioned(mentions));
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
      case "role.created":
        this.changeRoles((roles) => [...roles.filter((role) => role.roleId !== event.data.role.roleId), event.data.role]);
        break;
      case "role.updated":
        this.changeRoles((roles) => roles.map((role) => (role.roleId === event.data.roleId ? { ...role, ...cleared<Role>(event.data.changes) } : role)));
        break;
      case "role.deleted":
        this.changeRoles((roles) => roles.filter((role) => role.roleId !== event.data.roleId));
        this.changeMembers((members) => members.map((member) => withRole(member, event.data.roleId, false)));
        break;
      case "role.assigned":
      case "role.revoked": {
        const { userId, roleId } = event.data;
        this.changeMembers((members) => members.map((member) => (member.userId === userId ? withRole(member, roleId, event.event === "role.assigned") : member)));
        break;
      }
      case "emoji.created":
        // Its address stands in answers only: the list is read again.
        this.emoji.value = undefined;
        break;
      case "emoji.updated":
        this.emoji.value = this.emoji.peek()?.map((emoji) => (emoji.emojiId === event.data.emojiId ? { ...emoji, ...cleared(event.data.changes) } : emoji));
        break;
      case "emoji.deleted":
        this.emoji.value = this.emoji.peek()?.filter((emoji) => emoji.emojiId !== event.data.emojiId);
        break;
    }
  }

  isMentioned(mentions: string[]): boolean {
    const own = this.members.peek()?.find((member) => member.userId === this.selfId)?.roleIds ?? [];
    return mentions.some((id) => id === this.selfId || id === "@everyone" || id === "@here" || own.includes(id));
  }

  private changeRoles(change: (roles: Role[]) => Role[]): void {
    const roles = this.roles.peek();
    if (roles) this.roles.value = change(roles).toSorted((a, b) => (b.position ?? 0) - (a.position ?? 0));
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

function withRole(member: Member, roleId: RoleId, isHeld: boolean): Member {
  const others = (member.roleIds ?? []).filter((other) => other !== roleId);
  return { ...member, roleIds: isHeld ? [...others, roleId] : others };
}
