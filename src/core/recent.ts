/** A map that holds about what was used last, up to a total weight: for what can be made again. */
export interface Recent<K, V> {
  /** Marks the entry as used. */
  get(key: K): V | undefined;
  /** Replaces an entry of the same key; what was not used lately goes until the rest weighs no more than the capacity. */
  set(key: K, value: V, weight: number): void;
  delete(key: K): void;
  clear(): void;
}

interface Entry<V> {
  readonly value: V;
  readonly weight: number;
  /** Asked for since it was set, or since there last was no room: a mark costs less than to keep the order of all uses. */
  used: boolean;
}

/** `dropped` learns of every value that leaves. The newest entry stays, whatever it weighs. */
export function createRecent<K, V>(capacity: number, dropped: (value: V) => void = () => {}): Recent<K, V> {
  const entries = new Map<K, Entry<V>>();
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
      if (entry) entry.used = true;
      return entry?.value;
    },
    set(key, value, weight) {
      drop(key);
      entries.set(key, { value, weight, used: false });
      total += weight;
      for (const [oldest, entry] of entries) {
        if (total <= capacity) return;
        if (oldest === key) continue;
        if (!entry.used) drop(oldest);
        else {
          // Once more around: the iteration comes to it again behind all others.
          entry.used = false;
          entries.delete(oldest);
          entries.set(oldest, entry);
        }
      }
    },
    delete: drop,
    clear: () => [...entries.keys()].forEach(drop),
  };
}
