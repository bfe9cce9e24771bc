// The fields of the search form as filters of the wire. Pure.
import type { SearchFilter } from "./wire/generated";

export interface SearchFields {
  text: string;
  from: string;
  mentions: string;
  inRoom: string;
  has: string;
  before: string;
  after: string;
  during: string;
  isPinned: boolean;
}

export function filtersOf(fields: SearchFields): SearchFilter[] {
  const filters: SearchFilter[] = [
    { type: "From", value: fields.from },
    { type: "Mentions", value: fields.mentions },
    { type: "In", value: fields.inRoom },
    { type: "Has", value: fields.has },
    { type: "Before", value: fields.before },
    { type: "After", value: fields.after },
    { type: "During", value: fields.during },
    { type: "Pinned", value: fields.isPinned ? "true" : "" },
  ];
  return filters.filter(({ value }) => value !== "");
}
