/** What mutable things hold, in layers: a branch writes to a layer of its own, so that forking costs nothing. */
import type { HeapItem } from './state';

export class Heap {
  private readonly own = new Map<number, HeapItem>();
  constructor(private readonly base: Heap | null = null) {}

  get(id: number): HeapItem | undefined {
    for (let at: Heap | null = this as Heap; at; at = at.base) {
      const item = at.own.get(id);
      if (item) return item;
    }
    return undefined;
  }

  set(id: number, item: HeapItem): void {
    this.own.set(id, item);
  }

  fork(): Heap {
    return new Heap(this);
  }

  /** What was written since `base` was forked. */
  since(base: Heap): ReadonlyMap<number, HeapItem> {
    if ((this as Heap) === base) return new Map();
    if (this.base === base || this.base === null) return this.own;
    return new Map([...this.base.since(base), ...this.own]);
  }
}
