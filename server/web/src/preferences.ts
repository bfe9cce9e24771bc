// What this browser remembers: the theme, the last room, whether notifications are wanted, and a draft per account and room.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

function read(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(key: string, value: string | undefined): void {
  try {
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch {
    // Storage is full or switched off; it is only a convenience.
  }
}

const stored = read("parlour.theme");
export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : "system");

const preference = matchMedia("(prefers-color-scheme: dark)");
const isDarkPreferred = signal(preference.matches);
preference.addEventListener("change", () => (isDarkPreferred.value = preference.matches));

effect(() => {
  const chosen = theme.value;
  document.documentElement.dataset.theme = chosen === "system" ? (isDarkPreferred.value ? "dark" : "light") : chosen;
  write("parlour.theme", chosen === "system" ? undefined : chosen);
});

export const lastRoom = {
  get: (userId: string) => read(`parlour.room.${userId}`),
  set: (userId: string, roomId: string) => write(`parlour.room.${userId}`, roomId),
};

export const pushChoice = {
  get: (userId: string) => read(`parlour.push.${userId}`),
  set: (userId: string, choice: "on" | "off") => write(`parlour.push.${userId}`, choice),
};

export const drafts = {
  get: (userId: string, roomId: string) => read(`parlour.draft.${userId}.${roomId}`) ?? "",
  set: (userId: string, roomId: string, text: string) => write(`parlour.draft.${userId}.${roomId}`, text),
};
