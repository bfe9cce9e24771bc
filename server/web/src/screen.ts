// What is open on the screen beside the room itself.
import { signal } from "@preact/signals";
import type { File, Message, RowKey, UserId } from "./wire/generated";

export type Dialog =
  | { kind: "newRoom" }
  | { kind: "joinRoom" }
  | { kind: "invite" }
  | { kind: "settings" }
  | { kind: "leave" }
  | { kind: "logOut" }
  | { kind: "delete"; message: Message }
  | { kind: "deleteFile"; message: Message; file: File }
  | { kind: "forward"; message: Message }
  | { kind: "poll" }
  | { kind: "notifications" }
  | { kind: "member"; userId: UserId }
  | { kind: "conversation" }
  | { kind: "friends" }
  | { kind: "profile" };

/** What is open beside the room. */
export type Panel = { kind: "members" } | { kind: "pins" } | { kind: "threads" } | { kind: "thread"; rowKey: RowKey } | { kind: "search" } | { kind: "jobs" };

export const dialog = signal<Dialog | undefined>(undefined);
/** The room list slides over the room on narrow screens. */
export const isDrawerOpen = signal(false);
export const panel = signal<Panel | undefined>(undefined);

export function togglePanel(kind: "members" | "pins" | "threads" | "search" | "jobs"): void {
  panel.value = panel.peek()?.kind === kind ? undefined : { kind };
}

const narrow = matchMedia("(max-width: 760px)");
export const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", () => {
  isNarrow.value = narrow.matches;
  isDrawerOpen.value = false;
});

/** True where a keyboard is likely: focusing a field does not bring one up over half the screen. */
export const hasKeyboard = matchMedia("(pointer: fine)").matches;

export function focusComposer(): void {
  document.getElementById("composer")?.focus();
}
