// Notifications on this device: offered when they would have been of use, and turned on and off in the settings.
import type { JSX } from "preact";
import { attempt } from "../message_actions";
import { declinePush, isPushOffered, pushState, turnPushOff, turnPushOn } from "../push";
import { Form } from "./dialog";

export function PushSettings(): JSX.Element {
  const state = pushState.value;
  const notes = {
    unsupported: "This browser shows no notifications of this page.",
    blocked: "This browser blocks notifications of this page. Its settings for the site can change that.",
    off: "Notifications are off on this device.",
    on: "Notifications are on on this device, also while the page is closed.",
  };
  return (
    <section class="modal-foot" aria-label="This device">
      <p role="status">{notes[state]}</p>
      {state === "off" && <Form submit="Turn on for this device" onSubmit={turnPushOn} />}
      {state === "on" && <Form submit="Turn off for this device" onSubmit={turnPushOff} />}
    </section>
  );
}

export function PushOffer(): JSX.Element | null {
  if (!isPushOffered.value) return null;
  return (
    <section class="push-offer" aria-label="Notifications">
      <p>Be told of mentions and reminders while Parlour is closed?</p>
      <button type="button" class="button primary small" onClick={() => void attempt(turnPushOn())}>
        Turn on
      </button>
      <button type="button" class="button quiet small" onClick={declinePush}>
        Not now
      </button>
    </section>
  );
}
