// The product's mark.
import type { JSX } from "preact";

export function Mark({ size }: { size: number }): JSX.Element {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="9" class="mark-ground" />
      <path
        class="mark-figure"
        d="M8 21.5V13a5 5 0 0 1 5-5h6a5 5 0 0 1 5 5v2a5 5 0 0 1-5 5h-5.2l-4.3 3.6A.9.9 0 0 1 8 23z"
      />
      <circle cx="13" cy="14" r="1.5" class="mark-ground" />
      <circle cx="19" cy="14" r="1.5" class="mark-ground" />
    </svg>
  );
}
