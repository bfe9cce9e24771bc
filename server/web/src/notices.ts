// What is told beside the page's own contents: short notes on the screen, and what only a screen reader says.
import { signal } from "@preact/signals";

export interface Notice {
  id: number;
  text: string;
}

export const notices = signal<Notice[]>([]);
/** Lines of the polite live region; only the newest are kept. */
export const spoken = signal<Notice[]>([]);

let nextId = 1;
const shownMs = 6000;
const spokenKept = 6;

export function notify(text: string): void {
  const id = nextId++;
  notices.value = [...notices.value.slice(-2), { id, text }];
  setTimeout(() => dismiss(id), shownMs);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function speak(text: string): void {
  spoken.value = [...spoken.value.slice(1 - spokenKept), { id: nextId++, text }];
}
