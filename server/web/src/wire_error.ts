// Why a command did not succeed, and what that says about its effect.
import type { ErrorCode, ProtocolError } from "./wire/generated";

/** Codes of the wire; what no reply says; and what a form of the page refuses with a text of its own. */
export type FailureCode = ErrorCode | "no_answer" | "refused";

export type Failure = Omit<ProtocolError, "code"> & { code: FailureCode };

export class WireError extends Error {
  readonly code: FailureCode;
  readonly retryAfterMs: number | undefined;
  readonly field: string | undefined;
  readonly rowKey: string | undefined;

  constructor(error: Failure) {
    super(error.message || error.code);
    this.name = "WireError";
    this.code = error.code;
    this.retryAfterMs = error.retryAfterMs;
    this.field = error.field;
    this.rowKey = error.rowKey;
  }

  /** It may or may not have been done. */
  get isAmbiguous(): boolean {
    return this.code === "unavailable" || this.code === "internal" || this.code === "no_answer";
  }
}

/** No reply: the connection went away or the deadline passed. Not a code of the wire. */
export function noAnswer(message: string): WireError {
  return new WireError({ code: "no_answer", message });
}

const sentences: Partial<Record<FailureCode, string>> = {
  no_answer: "The server did not answer. Check your connection and try again.",
  unavailable: "The server cannot reach its store right now. Try again in a moment.",
  internal: "Something went wrong on the server. Try again.",
  forbidden: "You are not allowed to do that here.",
  rate_limited: "Too many requests at once. Wait a little and try again.",
  read_only: "This room is read-only.",
  timed_out: "You are timed out in this room.",
  word_filtered: "This message contains a word that the room does not allow.",
  unauthenticated: "Please log in again.",
  unsupported: "This server cannot do that yet.",
};

/** One sentence for people. */
export function explain(error: unknown): string {
  if (!(error instanceof WireError)) return "Something went wrong. Try again.";
  if (error.code === "slowmode" || error.code === "rate_limited") {
    const seconds = Math.ceil((error.retryAfterMs ?? 1000) / 1000);
    return `Slow down a little: possible again in ${seconds} s.`;
  }
  const sentence = sentences[error.code];
  if (sentence) return sentence;
  const message = error.message.charAt(0).toUpperCase() + error.message.slice(1);
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
