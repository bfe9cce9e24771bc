// Where the page is: `/`, `/room/{roomId}` or `/invite/{inviteId}`.
import { signal } from "@preact/signals";

export type Route = { kind: "home" } | { kind: "room"; roomId: string } | { kind: "invite"; inviteId: string };

export const route = signal<Route>(parse(location.pathname));

addEventListener("popstate", () => {
  route.value = parse(location.pathname);
});

export function parse(path: string): Route {
  const [, area, id] = /^\/(room|invite)\/([\w-]+)\/?$/.exec(path) ?? [];
  if (area === "room" && id) return { kind: "room", roomId: id };
  if (area === "invite" && id) return { kind: "invite", inviteId: id };
  return { kind: "home" };
}

export function go(next: Route, { replace = false } = {}): void {
  const path = next.kind === "home" ? "/" : next.kind === "room" ? `/room/${next.roomId}` : `/invite/${next.inviteId}`;
  if (path !== location.pathname) history[replace ? "replaceState" : "pushState"](null, "", path);
  route.value = next;
}

/** The id in what somebody pasted: a whole link or the bare code. */
export function inviteIdIn(text: string): string | undefined {
  return /(?:^|\/invite\/)([A-Za-z0-9]{8})\/?\s*$/.exec(text.trim())?.[1];
}
