// Modal dialogs on the browser's own element: focus stays inside, Escape closes, focus goes back to where it was.
import type { ComponentChildren, JSX, TargetedInputEvent } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { dialog } from "../screen";
import { explain } from "../wire_error";
import { IconButton } from "./icon";

/** Where the focus goes after the dialog that closes, when not back to where it came from. */
let focusNext: (() => void) | undefined;

export function close(): void {
  dialog.value = undefined;
}

export function closeTo(focus: () => void): void {
  focusNext = focus;
  close();
}

export function Modal({ title, isWide, children }: { title: string; isWide?: boolean; children: ComponentChildren }): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const opener = document.activeElement;
    ref.current?.showModal();
    return () => {
      // What is drawn together with the closing has to be there before it can have the focus.
      if (focusNext) setTimeout(focusNext);
      else if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
      focusNext = undefined;
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={`modal ${isWide ? "wide" : ""}`}
      aria-labelledby={titleId}
      onClose={close}
      onClick={(event) => {
        if (event.target === ref.current) close();
      }}
    >
      <div class="modal-body">
        <header class="modal-head">
          <h2 id={titleId}>{title}</h2>
          <IconButton icon="close" label="Close" onClick={close} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** A form whose submit waits for the server; what it refused is shown and can be tried again. */
export function Form(props: {
  onSubmit: () => Promise<void>;
  submit: string;
  isDangerous?: boolean;
  isReady?: boolean;
  onCancel?: () => void;
  children?: ComponentChildren;
}): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const errorId = useId();
  return (
    <form
      aria-describedby={error ? errorId : undefined}
      onSubmit={async (event) => {
        event.preventDefault();
        if (isBusy) return;
        setBusy(true);
        setError("");
        try {
          await props.onSubmit();
        } catch (failure) {
          setError(explain(failure));
        } finally {
          setBusy(false);
        }
      }}
    >
      {props.children}
      <p class="form-error" id={errorId} role="alert">
        {error}
      </p>
      <div class="form-actions">
        {props.onCancel && (
          <button type="button" class="button quiet" onClick={props.onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" class={`button ${props.isDangerous ? "danger" : "primary"}`} disabled={props.isReady === false} aria-busy={isBusy}>
          {isBusy ? "One moment…" : props.submit}
        </button>
      </div>
    </form>
  );
}

export function Field(props: {
  label: string;
  value: string;
  onInput: (value: string) => void;
  type?: "text" | "password" | "date" | "number" | "color";
  hint?: string;
  maxLength?: number;
  minLength?: number;
  required?: boolean;
  autoComplete?: string;
  autoFocus?: boolean;
  /** Has the focus when its panel opens. */
  isFirst?: boolean;
  rows?: number;
}): JSX.Element {
  const id = useId();
  const ref = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  useEffect(() => {
    if (props.autoFocus) ref.current?.focus();
  }, []);
  const Input = (props.rows ? "textarea" : "input") as "input";
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <Input
        id={id}
        ref={ref}
        {...(props.rows && { rows: props.rows })}
        data-first={props.isFirst}
        type={(props.type ?? "text") as "text"}
        step={props.type === "number" ? "any" : undefined}
        value={props.value}
        maxLength={props.maxLength}
        minLength={props.minLength}
        required={props.required}
        autoComplete={props.autoComplete ?? "off"}
        autofocus={props.autoFocus}
        aria-describedby={props.hint ? `${id}-hint` : undefined}
        onInput={(event: TargetedInputEvent<HTMLInputElement>) => props.onInput(event.currentTarget.value)}
      />
      {props.hint && (
        <p class="field-hint" id={`${id}-hint`}>
          {props.hint}
        </p>
      )}
    </div>
  );
}

export interface Option {
  value: string;
  label: string;
}

export function Select(props: { label: string; value: string; options: Option[]; onChange: (value: string) => void }): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <select id={id} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}

export function Check(props: { label: string; isOn: boolean; onChange: (isOn: boolean) => void; isDisabled?: boolean }): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" checked={props.isOn} disabled={props.isDisabled} onChange={(event) => props.onChange(event.currentTarget.checked)} /> {props.label}
    </label>
  );
}
