// The outbox of one account in localStorage.
import type { OutboxItem, OutboxStorage } from "./outbox";

export function localOutboxStorage(userId: string): OutboxStorage & { prefix: string } {
  const prefix = `parlour.outbox.${userId}.`;
  return {
    prefix,
    all() {
      const items: OutboxItem[] = [];
      for (let index = 0; index < localStorage.length; index++) {
        const key = localStorage.key(index);
        if (!key?.startsWith(prefix)) continue;
        try {
          items.push(JSON.parse(localStorage.getItem(key) ?? "") as OutboxItem);
        } catch {
          localStorage.removeItem(key);
        }
      }
      return items;
    },
    put(item) {
      try {
        localStorage.setItem(prefix + item.nonce, JSON.stringify(item));
      } catch {
        // Full or forbidden: the message is still in memory and on the screen.
      }
    },
    remove(nonce) {
      localStorage.removeItem(prefix + nonce);
    },
  };
}
