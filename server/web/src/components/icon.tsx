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
  edit: "M4 20h4.5L19.2 9.3a2.1 2.1 0 0 0 0-3l-1.5-1.5a2.1 2.1 0 0 0-3 0L4 15.5zM13 6.5l4.5 4.5",
  trash: "M4 7h16M9.5 7V4.5h5V7M6.5 7l.8 12.5h9.4L17.5 7M10 11v5M14 11v5",
  down: "M12 5v14M6 13l6 6 6-6",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1.1 1.1M17.3 17.3l1.1 1.1M5.6 18.4l1.1-1.1M17.3 6.7l1.1-1.1",
  moon: "M20 14.5A8.2 8.2 0 0 1 9.5 4a8.2 8.2 0 1 0 10.5 10.5z",
  auto: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 4v16M12 8h6.9M12 12h8M12 16h6.9",
  logOut: "M14 4H6.5A1.5 1.5 0 0 0 5 5.5v13A1.5 1.5 0 0 0 6.5 20H14M10.5 12H20M16.5 8.5L20 12l-3.5 3.5",
  door: "M13 4.5h5v15h-5M13 3.5L6 5.5v13l7 2zM10 12v.1",
  link: "M10 14a4 4 0 0 0 5.7 0l3.1-3.1a4 4 0 0 0-5.7-5.7L12 6.3M14 10a4 4 0 0 0-5.7 0l-3.1 3.1a4 4 0 0 0 5.7 5.7l1.1-1.1",
  check: "M5 12.5l4.5 4.5L19 7.5",
  alert: "M12 8v5M12 16.2v.1M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17",
  smile: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17M8.5 14a4.2 4.2 0 0 0 7 0M9 9.5v.1M15 9.5v.1",
  more: "M6 12v.1M12 12v.1M18 12v.1",
  thread: "M4 5h16v11H9.5L5.5 19.5V16H4zM8 9h8M8 12h5",
  pin: "M9 4h6l-.7 6.2L17 13v1.5H7V13l2.7-2.8zM12 14.5V20",
  forward: "M15 7l5 5-5 5M19.5 12H10a6 6 0 0 0-6 6v1",
  unread: "M4 7.5l8 5.5 8-5.5M4 6h10M20 11v7H4V6M19 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M15.5 15.5L20 20",
  clip: "M19 11.5l-7.2 7.2a4.6 4.6 0 0 1-6.5-6.5l7.5-7.5a3.1 3.1 0 0 1 4.4 4.4l-7.4 7.4a1.5 1.5 0 0 1-2.2-2.2l6.6-6.6",
  poll: "M5 20V11M12 20V4M19 20v-6",
  download: "M12 4v10M7.5 10L12 14.5 16.5 10M5 19h14",
  friends: "M12 20s-7.5-4.4-7.5-10A4.2 4.2 0 0 1 12 7.4 4.2 4.2 0 0 1 19.5 10c0 5.6-7.5 10-7.5 10",
  clock: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17M12 7.5V12l3 2",
  bell: "M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 1.5h-15zM10 20.5h4",
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
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}
