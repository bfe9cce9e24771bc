// What belongs behind a slash command, and what the time in it will be, while it is written.
import type { JSX } from "preact";
import { commandOf, example, readSlash, usage } from "../slash";
import { describeWhen, here } from "../when";

export function SlashHint({ text, error }: { text: string; error: string }): JSX.Element | null {
  const command = commandOf(text);
  if (error) {
    return (
      <p id="slash-hint" class="slash-hint form-error" role="alert">
        {error}
      </p>
    );
  }
  if (!command) return null;
  const read = readSlash(text, here());
  const when = read && "when" in read ? read.when : undefined;
  return (
    <p id="slash-hint" class="slash-hint" role="status">
      <code>{usage(command)}</code>{" "}
      {when ? <strong>{describeWhen(when)}</strong> : command.arguments.length > 0 ? <>for example {example(command)}</> : command.help}
    </p>
  );
}
