// Whether the page is connected: a line above the messages while it is not, a dot beside one's name always.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { connectionState, reconnectNow } from "../link";

/** A short interruption is not worth a line on the screen. */
const shownAfterMs = 1200;

export function ConnectionBanner(): JSX.Element | null {
  const state = connectionState.value;
  const isOnline = state.kind === "online";
  const [isLong, setLong] = useState(false);
  const [, tick] = useState(0);
  useEffect(() => {
    if (isOnline) return setLong(false);
    const timer = setTimeout(() => setLong(true), shownAfterMs);
    return () => clearTimeout(timer);
  }, [isOnline]);
  useEffect(() => {
    if (state.kind !== "waiting") return;
    const timer = setInterval(() => tick((count) => count + 1), 500);
    return () => clearInterval(timer);
  }, [state]);

  const text = isOnline || !isLong ? "" : sentence();
  return (
    <div class={`banner ${text ? "shown" : ""}`} role="status">
      {text && (
        <>
          <span>{text}</span>
          {state.kind !== "connecting" && (
            <button type="button" class="button link" onClick={reconnectNow}>
              Try now
            </button>
          )}
        </>
      )}
    </div>
  );
}

function sentence(): string {
  const state = connectionState.value;
  switch (state.kind) {
    case "waiting": {
      return "No connection. Trying again shortly; what you write is kept.";
    }
    case "ended":
      return state.reason === "fatal" ? "This page and the server do not understand each other. Reload the page." : "The server closed the connection.";
    default:
      return "Connecting…";
  }
}

export function ConnectionDot(): JSX.Element {
  const isOnline = connectionState.value.kind === "online";
  return (
    <span class={`presence ${isOnline ? "online" : "offline"}`}>
      <span class="presence-dot" aria-hidden="true" />
      {isOnline ? "Connected" : connectionState.value.kind === "connecting" ? "Connecting…" : "Offline"}
    </span>
  );
}
