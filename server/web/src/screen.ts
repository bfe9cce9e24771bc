// What is open on the screen beside the room itself.
import { signal } from "@preact/signals";
import type { Message } from "./wire/generated";

export type Dialog =
  | { kind: "newRoom" }
  | { kind: "joinRoom" }
  | { kind: "invite" }
  | { kind: "settings" }
  | { kind: "leave" }
  | { kind: "logOut" }
  | { kind: "delete"; message: Message };

export const dialog = signal<Dialog | undefined>(undefined);
/** The room list slides over the room on narrow screens. */
export const isDrawerOpen = signal(false);
export const isMembersOpen = signal(false);

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
