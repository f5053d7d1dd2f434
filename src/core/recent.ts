/** A map that holds what was used last, up to a total weight: for what can be made again. */
export interface Recent<K, V> {
  /** Marks the entry as used. */
  get(key: K): V | undefined;
  /** Replaces an entry of the same key; what was longest unused goes until the rest weighs no more than the capacity. */
  set(key: K, value: V, weight: number): void;
  delete(key: K): void;
  clear(): void;
}

/** `dropped` learns of every value that leaves. The newest entry stays, whatever it weighs. */
export function createRecent<K, V>(capacity: number, dropped: (value: V) => void = () => {}): Recent<K, V> {
  const entries = new Map<K, { readonly value: V; readonly weight: number }>();
  let total = 0;
  const drop = (key: K): void => {
    const entry = entries.get(key);
    if (!entry) return;
    entries.delete(key);
    total -= entry.weight;
    dropped(entry.value);
  };
  return {
    get(key) {
      const entry = entries.get(key);
      // The order is of no account while nothing is about to leave, and keeping it costs more than looking up.
      if (!entry || 2 * total < capacity) return entry?.value;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value, weight) {
      drop(key);
      entries.set(key, { value, weight });
      total += weight;
      for (const oldest of entries.keys()) {
        if (total <= capacity || oldest === key) return;
        drop(oldest);
      }
    },
    delete: drop,
    clear: () => [...entries.keys()].forEach(drop),
  };
}
