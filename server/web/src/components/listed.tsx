// A list of the server inside a dialog: read page by page, with what went wrong said in its place.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { explain } from "../wire_error";

interface ListPage<T> {
  items?: T[];
  nextCursor?: string;
  hasMore?: boolean;
}

export interface List<T> {
  items: T[] | undefined;
  error: string;
  more: (() => void) | undefined;
  reload: () => void;
}

export function useList<T>(read: (cursor: string | undefined) => Promise<ListPage<T>>, inputs: unknown[]): List<T> {
  const [items, setItems] = useState<T[]>();
  const [cursor, setCursor] = useState<string>();
  const [error, setError] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    setError("");
    read(undefined).then(
      (page) => {
        if (!isCurrent) return;
        setItems(page.items ?? []);
        setCursor(page.hasMore ? page.nextCursor : undefined);
      },
      (failure: unknown) => isCurrent && setError(explain(failure)),
    );
    return () => {
      isCurrent = false;
    };
  }, [...inputs, turn]);
  const more = () =>
    read(cursor).then(
      (page) => {
        setItems([...(items ?? []), ...(page.items ?? [])]);
        setCursor(page.hasMore ? page.nextCursor : undefined);
      },
      (failure: unknown) => setError(explain(failure)),
    );
  return { items, error, more: cursor ? () => void more() : undefined, reload: () => setTurn((count) => count + 1) };
}

export function Listed<T>({ list, empty, children }: { list: List<T>; empty: string; children: (item: T) => ComponentChildren }): JSX.Element {
  return (
    <>
      {list.error ? (
        <p class="form-error" role="alert">
          {list.error}
        </p>
      ) : (
        !list.items?.length && <p class="panel-note">{list.items ? empty : "Loading…"}</p>
      )}
      <ul class="listed">{list.items?.map(children)}</ul>
      {list.more && (
        <button type="button" class="button quiet small" onClick={list.more}>
          More
        </button>
      )}
    </>
  );
}
