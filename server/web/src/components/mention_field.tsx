// A text field that suggests members, roles and everybody after an @, and commands after a slash at its beginning.
import type { JSX, RefObject, TargetedKeyboardEvent, TextareaHTMLAttributes } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Mentionable, mentionQuery, suggested } from "../composed_body";
import { people } from "../people";
import type { RoomModel } from "../room";
import { speak } from "../notices";
import { type SlashCommand, completions, usage } from "../slash";
import { permission } from "../wire/generated";
import { grow } from "./grow";

const shownMost = 6;

export interface MentionFieldProps extends Omit<TextareaHTMLAttributes, "ref" | "onInput" | "value" | "onKeyDown"> {
  room: RoomModel;
  value: string;
  field: RefObject<HTMLTextAreaElement | null>;
  onInput: (text: string) => void;
  onKeyDown: (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => void;
  onMention: (mention: Mentionable) => void;
  /** Whether slash commands are suggested. */
  hasCommands?: boolean;
}

type Suggestion = { mention: Mentionable; command?: undefined } | { command: SlashCommand; mention?: undefined };

function candidates(room: RoomModel): Mentionable[] {
  const members = (room.members.peek() ?? []).map((member): Mentionable => ({
    id: member.userId,
    kind: "user",
    label: member.nickname || people.get(member.userId).peek()?.name || member.user.name || "",
  }));
  const mayAll = room.may(permission.MentionEveryone);
  const roles = (mayAll ? (room.roles.peek() ?? []) : []).filter((role) => !role.isEveryone).map((role): Mentionable => ({ id: role.roleId, kind: "role", label: role.name ?? "" }));
  const broadcasts = mayAll ? ["everyone", "here"].map((label): Mentionable => ({ id: `@${label}`, kind: "broadcast", label })) : [];
  return [...members, ...roles, ...broadcasts].filter(({ label }) => label !== "");
}

export function MentionField({ room, value, field, onInput, onKeyDown, onMention, hasCommands, ...rest }: MentionFieldProps): JSX.Element {
  const listId = useId();
  const [open, setOpen] = useState<{ from: number; items: Suggestion[] }>();
  const [at, setAt] = useState(0);
  const cursorNext = useRef<number | undefined>(undefined);

  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    grow(area);
    if (cursorNext.current !== undefined) area.setSelectionRange(cursorNext.current, cursorNext.current);
    cursorNext.current = undefined;
  }, [value, room]);

  const look = (area: HTMLTextAreaElement) => {
    const commands = hasCommands ? completions(area.value) : [];
    const query = commands.length > 0 ? { from: 0, query: "" } : mentionQuery(area.value, area.selectionStart);
    const items: Suggestion[] =
      commands.length > 0 ? commands.map((command) => ({ command })) : query ? suggested(candidates(room), query.query, shownMost).map((mention) => ({ mention })) : [];
    if (!query || items.length === 0) return setOpen(undefined);
    if (!open) speak(`${items.length === 1 ? "1 suggestion" : `${items.length} suggestions`}, arrow keys choose`);
    setOpen({ from: query.from, items });
    setAt(0);
  };
  const choose = ({ mention, command }: Suggestion) => {
    const area = field.current;
    if (!area || !open) return;
    if (command) {
      const text = `/${command.name}${command.arguments.length > 0 ? " " : ""}`;
      cursorNext.current = text.length;
      onInput(text);
      setOpen(undefined);
      area.focus();
      return;
    }
    const rest = value.slice(area.selectionStart);
    const text = `${value.slice(0, open.from)}@${mention.label}${rest.startsWith(" ") ? "" : " "}`;
    cursorNext.current = text.length + (rest.startsWith(" ") ? 1 : 0);
    onMention(mention);
    onInput(text + rest);
    setOpen(undefined);
    area.focus();
  };

  return (
    <>
      <textarea
        rows={1}
        {...rest}
        ref={field}
        value={value}
        aria-autocomplete="list"
        aria-controls={open ? listId : undefined}
        aria-activedescendant={open ? `${listId}-${at}` : undefined}
        onInput={(event) => {
          onInput(event.currentTarget.value);
          look(event.currentTarget);
        }}
        onClick={(event) => open && look(event.currentTarget)}
        onBlur={() => setOpen(undefined)}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          const chosen = open?.items[at];
          if (open && step) {
            event.preventDefault();
            setAt((at + step + open.items.length) % open.items.length);
          } else if (chosen && (event.key === "Enter" || event.key === "Tab")) {
            event.preventDefault();
            choose(chosen);
          } else if (open && event.key === "Escape") {
            event.stopPropagation();
            setOpen(undefined);
          } else {
            onKeyDown(event);
          }
        }}
      />
      {open && (
        <ul class="suggestions" role="listbox" id={listId} aria-label={open.items[0]?.command ? "Commands" : "Mention"}>
          {open.items.map((suggestion, index) => (
            <li
              key={suggestion.mention?.id ?? suggestion.command?.name}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === at}
              onMouseDown={(event) => {
                event.preventDefault();
                choose(suggestion);
              }}
            >
              {suggestion.command ? (
                <>
                  <code>{usage(suggestion.command)}</code>
                  <span class="field-hint">{suggestion.command.help}</span>
                </>
              ) : (
                <>
                  <bdi>@{suggestion.mention.label}</bdi>
                  {suggestion.mention.kind !== "user" && <span class="tag">{suggestion.mention.kind === "role" ? "Role" : "All"}</span>}
                </>
              )}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
