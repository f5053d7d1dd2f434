/** What mutable things hold, in layers: a branch writes to a layer of its own, so that forking costs nothing. */
import type { Dim } from '../tensor/dim';
import type { Tensor } from '../tensor/value';
import type { ClassModel, FunctionModel } from './model';
import type { Node } from './syntax';
import type { Args, Value } from './value';

export type HeapItem =
  | {
      readonly kind: 'list';
      readonly items: readonly Value[];
      /** More items of the same kinds may follow. */
      readonly open: boolean;
      /** `list`, or the module class that holds the items: `nn.Sequential`, `nn.ModuleList`. */
      readonly tag: string;
      /** `[x] * n`: how often the only item is there. */
      readonly times?: Dim;
      /** `[n, *x.shape[1:]]`: what has the shape of those behind its items. */
      readonly rest?: Tensor;
    }
  | {
      readonly kind: 'dict';
      readonly entries: ReadonlyMap<string, Value>;
      readonly open: boolean;
      readonly tag: string;
      /** Which key, as a value that is not known, the last value was stored under: the loop variable, as long as it runs. */
      readonly last?: number;
    }
  | {
      readonly kind: 'object';
      readonly model: ClassModel | null;
      /** The call that made it. */
      readonly made?: Node;
      /** What that call was given. */
      readonly args?: Args;
      readonly attributes: ReadonlyMap<string, Value>;
      /** Runs the constructor on the layer of the heap that holds the object; null once it has run. */
      readonly build: ((heap: Heap) => void) | null;
      /** Constructors of base classes that were called and have not run, see `inherited.ts`. */
      readonly inherits?: readonly Inherited[];
      /** The list of a class that derives from a container. */
      readonly holds?: Value;
      /** What the constructor of a base that torch brings was given. */
      readonly given?: Args;
    };

export type List = HeapItem & { readonly kind: 'list' };

/** The list with other items: how often it held its only one is not known any more. */
export const withItems = ({ kind, tag }: List, items: readonly Value[], open: boolean): List => ({
  kind,
  items,
  open,
  tag,
});

/** The list with more items behind its own. */
export function extended(list: List, more: { items: readonly Value[]; open: boolean; times?: Dim } | null): List {
  const made = withItems(list, [...list.items, ...(more?.items ?? [])], list.open || (more?.open ?? true));
  const isBegun = list.items.length > 0 || list.open;
  return isBegun || more?.times === undefined ? made : { ...made, times: more.times };
}

export interface Inherited {
  readonly init: FunctionModel;
  /** Runs it, or some statements of its body, on the layer of the heap that holds the object. */
  run(heap: Heap, statements: readonly Node[] | null): void;
  /** Attributes whose statements are running. */
  readonly asked: Set<string>;
}

/** The statements by which a constructor that was put off sets an attribute. */
export interface InheritedPart {
  readonly of: Inherited;
  readonly name: string;
  readonly statements: readonly Node[];
}

export class Heap {
  private readonly own = new Map<number, HeapItem>();
  constructor(private readonly base: Heap | null = null) {}

  /** An object is built when it is first looked into: most submodules of a model are on the way of no replica. */
  get(id: number): HeapItem | undefined {
    const layer = this.holder(id);
    const item = layer?.own.get(id);
    if (!layer || item?.kind !== 'object' || !item.build) return item;
    layer.own.set(id, { ...item, build: null });
    item.build(layer);
    return layer.own.get(id);
  }

  /** Runs the constructors that were put off, or part of one of them; what the class itself has set since stays. */
  inherit(id: number, part: InheritedPart | null): void {
    const layer = this.holder(id);
    const item = layer?.own.get(id);
    if (!layer || item?.kind !== 'object' || !item.inherits) return;
    const { inherits, ...rest } = item;
    if (!part) layer.own.set(id, rest);
    if (part) {
      part.of.asked.add(part.name);
      part.of.run(layer, part.statements);
      part.of.asked.delete(part.name);
    } else for (const one of inherits) one.run(layer, null);
    const now = layer.own.get(id);
    if (now?.kind !== 'object') return;
    layer.own.set(id, { ...now, attributes: new Map([...now.attributes, ...item.attributes]) });
  }

  /** The item as it is, an object perhaps not built. */
  peek(id: number): HeapItem | undefined {
    return this.holder(id)?.own.get(id);
  }

  /** The nearest layer that has the item. */
  private holder(id: number): Heap | null {
    let at: Heap | null = this as Heap;
    while (at && !at.own.has(id)) at = at.base;
    return at;
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
