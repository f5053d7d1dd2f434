/** What variables hold, in layers: a branch writes to a layer of its own, so that forking costs nothing. */
import type { Scope, Value } from './value';

/** Layers that a look-up may go through: code that returns early adds one at each turn. */
const MAX_LAYERS = 8;

export class Names implements Scope {
  private readonly layers: number;
  constructor(
    private readonly own: Map<string, Value> = new Map<string, Value>(),
    private readonly base: Names | null = null,
  ) {
    this.layers = base ? base.layers + 1 : 1;
  }

  get(name: string): Value | undefined {
    for (let at: Names | null = this as Names; at; at = at.base) {
      const value = at.own.get(name);
      if (value) return value;
    }
    return undefined;
  }

  set(name: string, value: Value): void {
    this.own.set(name, value);
  }

  fork(): Names {
    return this.layers < MAX_LAYERS ? new Names(undefined, this) : new Names(this.all());
  }

  /** Every variable, in the order in which they were first set. */
  all(): Map<string, Value> {
    if (!this.base) return new Map(this.own);
    const all = this.base.all();
    for (const [name, value] of this.own) all.set(name, value);
    return all;
  }

  /** What was set since `base` was forked, or all. */
  since(base: Names): ReadonlyMap<string, Value> {
    if ((this as Names) === base) return NOTHING;
    if (this.base === base || this.base === null) return this.own;
    const before = this.base.since(base);
    return before.size === 0 ? this.own : new Map([...before, ...this.own]);
  }
}

const NOTHING: ReadonlyMap<string, Value> = new Map();
