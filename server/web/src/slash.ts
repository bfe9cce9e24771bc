// Slash commands: what is typed as `/remind in 2h take the tea out`. Read as the SDK reads them. Pure.
import { type Here, type When, type WhenError, readWhen, readWhenPrefix, whenErrors } from "./when";

interface Argument {
  name: string;
  example: string;
  isOptional?: boolean;
}

export interface SlashCommand {
  name: string;
  arguments: Argument[];
  help: string;
}

export const slashCommands: SlashCommand[] = [
  { name: "flip", arguments: [], help: "Heads or tails" },
  { name: "me", arguments: [{ name: "message", example: "waves" }], help: "Says what you do" },
  { name: "poll", arguments: [{ name: "question", example: "Tea at four?" }, { name: "options", example: "| yes | no" }], help: "Asks the room" },
  { name: "remind", arguments: [{ name: "when", example: "in 2h" }, { name: "text", example: "take the tea out" }], help: "Reminds you later" },
  { name: "roll", arguments: [], help: "A number from 1 to 100" },
  { name: "schedule", arguments: [{ name: "when", example: "tomorrow 9am" }, { name: "message", example: "Good morning!" }], help: "Sends a message later" },
  { name: "shrug", arguments: [{ name: "text", example: "who knows", isOptional: true }], help: "¯\\_(ツ)_/¯" },
  { name: "tableflip", arguments: [], help: "(╯°□°)╯︵ ┻━┻" },
  { name: "topic", arguments: [{ name: "text", example: "All about tea", isOptional: true }], help: "Sets the room’s topic" },
  { name: "unflip", arguments: [], help: "┬─┬ノ( º _ ºノ)" },
];

export type Slash =
  | { name: "remind" | "schedule"; when: When; text: string }
  | { name: "poll"; question: string; options: string[] }
  | { name: "me" | "shrug" | "topic"; text: string }
  | { name: "roll" | "flip" | "tableflip" | "unflip" };

export interface SlashFault {
  error: string;
}

export function usage(command: SlashCommand): string {
  return [`/${command.name}`, ...command.arguments.map(({ name, isOptional }) => (isOptional ? `[${name}]` : `<${name}>`))].join(" ");
}

/** The usage, and how it looks in use. */
export function example({ name, arguments: all }: SlashCommand): string {
  return [`/${name}`, ...all.map((argument) => argument.example)].join(" ");
}

export function findCommand(name: string): SlashCommand | undefined {
  return slashCommands.find((command) => command.name === name.toLowerCase());
}

/** The commands that a line, with nothing behind its name yet, may become; none once it is one. */
export function completions(line: string): SlashCommand[] {
  const begun = /^\/([a-z]*)$/i.exec(line)?.[1]?.toLowerCase();
  if (begun === undefined || findCommand(begun)) return [];
  return slashCommands.filter(({ name }) => name.startsWith(begun));
}

/** The command that a line names, whether or not it can be run. */
export function commandOf(line: string): SlashCommand | undefined {
  const name = /^\s*\/([a-z]+)(?=\s|$)/i.exec(line)?.[1];
  return name ? findCommand(name) : undefined;
}

/** A line without the slash that only says that it is no command: `//text` is sent as `/text`. */
export function literalText(line: string): string {
  return line.startsWith("//") ? line.slice(1) : line;
}

/** Undefined: a message like any other. */
export function readSlash(line: string, where: Here): Slash | SlashFault | undefined {
  const [, name, rest = ""] = /^\s*\/([a-z]+)(?:\s+([\s\S]*))?$/i.exec(line) ?? [];
  if (name === undefined) return undefined;
  const command = findCommand(name);
  if (!command) return { error: `There is no command /${name}. To send it as it is, begin with //.` };
  return read(command, rest.trim(), where);
}

function read(command: SlashCommand, rest: string, where: Here): Slash | SlashFault {
  switch (command.name) {
    case "remind":
    case "schedule":
      return timed(command, command.name, rest, where);
    case "poll":
      return poll(rest);
    case "me":
    case "shrug":
    case "topic": {
      const text = (named(command, rest)?.[0] ?? rest).trim();
      return text === "" && !command.arguments[0]?.isOptional ? misused(command) : { name: command.name, text };
    }
    default:
      return rest === "" ? { name: command.name as "roll" } : { error: `/${command.name} takes nothing behind it. To send it as it is, begin with //.` };
  }
}

function misused(command: SlashCommand): SlashFault {
  return { error: `Write it as ${usage(command)}, for example ${example(command)}` };
}

function timed(command: SlashCommand, name: "remind" | "schedule", rest: string, where: Here): Slash | SlashFault {
  if (rest === "") return misused(command);
  const values = named(command, rest);
  let read: { when: When; rest: string } | WhenError;
  if (values) {
    const [when, text] = values;
    if (when === undefined || text === undefined) return misused(command);
    const found = readWhen(when, where);
    read = typeof found === "string" ? found : { when: found, rest: text };
  } else {
    read = readWhenPrefix(rest, where);
  }
  if (typeof read === "string") return { error: whenErrors[read] };
  // People write `in 2h - …`, and `tomorrow 9am | …` as they do in a poll.
  const text = read.rest.replace(/^[|\-–]+/u, "").trim();
  return text === "" ? misused(command) : { name, when: read.when, text };
}

/** `Tea? | yes | no`, or `Tea? yes, no`. */
function poll(rest: string): Slash | SlashFault {
  const fault = { error: "A poll is a question and two to ten answers: /poll Tea at four? | yes | no" };
  const bar = rest.indexOf("|");
  const end = rest.indexOf("? ");
  if (bar < 0 && end < 0) return fault;
  const question = (bar >= 0 ? rest.slice(0, bar) : rest.slice(0, end + 1)).trim();
  const options = (bar >= 0 ? rest.slice(bar + 1).split("|") : rest.slice(end + 1).split(",")).map((option) => option.trim());
  const isOne = question !== "" && options.length >= 2 && options.length <= 10 && options.every((option) => option !== "");
  return isOne ? { name: "poll", question, options } : fault;
}

/** Arguments that are given by name, `when|tomorrow 9am text|call Ada`, in any order: each runs to the next name.
 * Undefined when the first is not named. */
function named(command: SlashCommand, rest: string): (string | undefined)[] | undefined {
  const places = command.arguments
    .flatMap(({ name }, number) => {
      const at = new RegExp(`(?<![^\\s])${name}\\|`).exec(rest)?.index;
      return at === undefined ? [] : [{ at, from: at + name.length + 1, number }];
    })
    .toSorted((a, b) => a.at - b.at);
  if (places[0]?.at !== 0) return undefined;
  const values: (string | undefined)[] = command.arguments.map(() => undefined);
  places.forEach(({ from, number }, index) => (values[number] = rest.slice(from, places[index + 1]?.at).trim()));
  return values;
}
