// A text with a button that puts it on the clipboard.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { speak } from "../notices";
import { Icon } from "./icon";

export function CopyRow({ label, value }: { label: string; value: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value);
    } catch {
      // Without the clipboard's permission: the old way, through the selection.
      field.current?.select();
      document.execCommand("copy");
    }
    setCopied(true);
    speak("Copied");
    setTimeout(() => setCopied(false), 2500);
  };
  return (
    <div class="copy-row">
      <input ref={field} class="copy-field" readOnly aria-label={label} value={value} onFocus={(event) => event.currentTarget.select()} />
      <button type="button" class="button primary" disabled={value === ""} onClick={() => void copy()}>
        <Icon name={isCopied ? "check" : "link"} size={18} />
        {isCopied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
