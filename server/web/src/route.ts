// Where the page is: `/`, `/room/{roomId}`, `/room/{roomId}/{rowKey}` of a message, or `/invite/{inviteId}`.
import { signal } from "@preact/signals";

export type Route = { kind: "home" } | { kind: "room"; roomId: string; rowKey?: string } | { kind: "invite"; inviteId: string };

export const route = signal<Route>(parse(location.pathname));

addEventListener("popstate", () => {
  route.value = parse(location.pathname);
});

export function parse(path: string): Route {
  const [, area, id, rowKey] = /^\/(room|invite)\/([\w-]+)(?:\/([\w-]+))?\/?$/.exec(path) ?? [];
  if (area === "room" && id) return { kind: "room", roomId: id, ...(rowKey && { rowKey }) };
  if (area === "invite" && id && !rowKey) return { kind: "invite", inviteId: id };
  return { kind: "home" };
}

export function go(next: Route, { replace = false } = {}): void {
  const path = next.kind === "home" ? "/" : next.kind === "room" ? `/room/${next.roomId}${next.rowKey ? `/${next.rowKey}` : ""}` : `/invite/${next.inviteId}`;
  if (path !== location.pathname) history[replace ? "replaceState" : "pushState"](null, "", path);
  route.value = next;
}

/** The id in what somebody pasted: a whole link or the bare code. */
export function inviteIdIn(text: string): string | undefined {
  return /(?:^|\/invite\/)([A-Za-z0-9]{8})\/?\s*$/.exec(text.trim())?.[1];
}
