// Line icons on a grid of 24.
import type { JSX } from "preact";

const paths = {
  plus: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h10",
  close: "M6 6l12 12M18 6L6 18",
  people: "M16 19v-1.5a3.5 3.5 0 0 0-3.5-3.5h-5A3.5 3.5 0 0 0 4 17.5V19M10 10.5a3.25 3.25 0 1 0 0-6.5 3.25 3.25 0 0 0 0 6.5M20 19v-1.5a3.5 3.5 0 0 0-2.6-3.4M15 4.2a3.25 3.25 0 0 1 0 6.1",
  invite: "M15.5 19v-1.5a3.5 3.5 0 0 0-3.5-3.5H7a3.5 3.5 0 0 0-3.5 3.5V19M9.5 10.5a3.25 3.25 0 1 0 0-6.5 3.25 3.25 0 0 0 0 6.5M19 8v6M22 11h-6",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M9 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5",
  send: "M5 12h13M12 5l7 7-7 7",
  reply: "M9 7L4 12l5 5M4.5 12H14a6 6 0 0 1 6 6v1",
  edit: "M4 20h4.5L19.2 9.3a2.1 2.1 0 0 0 0-3l-1.5-1.5a2.1 2.1 0 0 0-3 0L4 15.500zM13 6.500l4.500 4.500",
  trash: "M4 7h16M9.500 7V4.500h5V7M6.500 7l.8 12.500h9.400L17.500 7M10 11v5M14 11v5",
  down: "M12 5v14M6 13l6 6 6-6",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 3v1.500M12 19.500V21M3 12h1.500M19.500 12H21M5.600 5.600l1.100 1.100M17.300 17.300l1.100 1.100M5.600 18.400l1.100-1.100M17.300 6.700l1.100-1.100",
  moon: "M20 14.500A8.200 8.200 0 0 1 9.500 4a8.200 8.200 0 1 0 10.500 10.500z",
  auto: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 4v16M12 8h6.900M12 12h8M12 16h6.900",
  logOut: "M14 4H6.500A1.500 1.500 0 0 0 5 5.500v13A1.500 1.500 0 0 0 6.500 20H14M10.500 12H20M16.500 8.500L20 12l-3.500 3.500",
  door: "M13 4.500h5v15h-5M13 3.500L6 5.500v13l7 2zM10 12v.1",
  link: "M10 14a4 4 0 0 0 5.700 0l3.100-3.100a4 4 0 0 0-5.700-5.700L12 6.300M14 10a4 4 0 0 0-5.700 0l-3.100 3.100a4 4 0 0 0 5.700 5.700l1.100-1.100",
  check: "M5 12.500l4.500 4.500L19 7.500",
  alert: "M12 8v5M12 16.200v.1M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}

export function IconButton(props: {
  icon: IconName;
  label: string;
  onClick: () => void;
  shortcut?: string;
  class?: string;
  expanded?: boolean;
  controls?: string;
  pressed?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      class={`icon-button ${props.class ?? ""}`}
      aria-label={props.label}
      title={props.shortcut ? `${props.label} (${props.shortcut})` : props.label}
      aria-keyshortcuts={props.shortcut}
      aria-expanded={props.expanded}
      aria-controls={props.controls}
      aria-pressed={props.pressed}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}
