// Whether somebody is there, as a dot with its word for those who do not see it.
import type { JSX } from "preact";
import { statusOf } from "../presence";
import type { PresenceStatus, UserId } from "../wire/generated";

export const statusNames: Record<PresenceStatus, string> = { Online: "Online", Idle: "Away", DoNotDisturb: "Do not disturb", Offline: "Offline" };

export function StatusDot({ userId }: { userId: UserId }): JSX.Element | null {
  const status = statusOf(userId).value?.status;
  if (!status) return null;
  return (
    <span class={`status-dot ${status}`} title={statusNames[status]}>
      <span class="hidden">{statusNames[status]}</span>
    </span>
  );
}
