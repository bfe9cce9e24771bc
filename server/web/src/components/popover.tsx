// A button that opens something small beside it: above everything else, closed by Escape or a click elsewhere.
import type { ComponentChildren, JSX, TargetedKeyboardEvent, TargetedToggleEvent } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icon";

const gapPx = 6;

export interface PopoverProps {
  icon: IconName;
  label: string;
  class?: string;
  /** What the button opens, for screen readers. */
  kind?: "menu" | "dialog";
  children: (close: () => void) => ComponentChildren;
}

export function Popover({ icon, label, class: name = "", kind = "dialog", children }: PopoverProps): JSX.Element {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const close = () => panel.current?.hidePopover();

  const place = () => {
    const from = button.current?.getBoundingClientRect();
    const view = panel.current;
    if (!from || !view) return;
    const { offsetWidth: width, offsetHeight: height } = view;
    const below = from.bottom + gapPx;
    view.style.left = `${Math.max(gapPx, Math.min(from.right - width, innerWidth - width - gapPx))}px`;
    view.style.top = `${Math.max(gapPx, below + height <= innerHeight ? below : from.top - height - gapPx)}px`;
  };
  const toggled = (event: TargetedToggleEvent<HTMLDivElement>) => {
    const opens = event.newState === "open";
    setOpen(opens);
    if (opens) {
      // Its contents are drawn with the next frame.
      requestAnimationFrame(() => {
        place();
        panel.current?.querySelector<HTMLElement>("[role=menuitem], button, input")?.focus({ preventScroll: true });
      });
    } else if (panel.current?.contains(document.activeElement) || document.activeElement === document.body) {
      button.current?.focus({ preventScroll: true });
    }
  };

  return (
    <>
      <button
        ref={button}
        type="button"
        class={`icon-button ${name}`}
        aria-label={label}
        title={label}
        aria-haspopup={kind}
        aria-expanded={isOpen}
        popovertarget={id}
      >
        <Icon name={icon} />
      </button>
      <div ref={panel} id={id} popover="auto" class="popover" role={kind} aria-label={label} onToggle={toggled} onKeyDown={(event) => keyPressed(event, kind)}>
        {isOpen && children(close)}
      </div>
    </>
  );
}

function keyPressed(event: TargetedKeyboardEvent<HTMLDivElement>, kind: "menu" | "dialog"): void {
  // What it is opened from has keys of its own.
  event.stopPropagation();
  if (kind !== "menu") return;
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=menuitem]")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  items.at(next % items.length)?.focus();
}

export interface MenuItem {
  icon: IconName;
  label: string;
  onClick: () => void;
}

export function Menu({ items, ...props }: { items: MenuItem[] } & Omit<PopoverProps, "children" | "kind">): JSX.Element {
  return (
    <Popover {...props} kind="menu">
      {(close) =>
        items.map(({ icon, label, onClick }) => (
          <button
            key={label}
            type="button"
            role="menuitem"
            class="menu-item"
            onClick={() => {
              close();
              onClick();
            }}
          >
            <Icon name={icon} size={18} />
            {label}
          </button>
        ))
      }
    </Popover>
  );
}
