// The time as what is drawn may depend on it: a second passes only while something looks at it.
import { signal } from "@preact/signals";

let timer: ReturnType<typeof setInterval> | undefined;

export const clock = signal(Date.now(), {
  watched() {
    clock.value = Date.now();
    timer = setInterval(() => (clock.value = Date.now()), 1000);
  },
  unwatched: () => clearInterval(timer),
});
