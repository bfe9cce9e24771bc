// Waiting before another try: exponential, with full jitter.

export interface Backoff {
  baseMs: number;
  maxMs: number;
}

export const reconnectBackoff: Backoff = { baseMs: 500, maxMs: 30_000 };

/** A random wait below base × 2^attempt, capped; `random` is in [0, 1). */
export function fullJitter(backoff: Backoff, attempt: number, random: () => number): number {
  return Math.floor(random() * Math.min(backoff.maxMs, backoff.baseMs * 2 ** Math.min(attempt, 20)));
}
