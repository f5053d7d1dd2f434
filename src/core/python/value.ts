/** What a Python expression may evaluate to. Tensors are those of the tensor program; the rest is what code does with them. */
import type { Dim } from '../tensor/dim';
import type { Tensor } from '../tensor/value';
import type { ClassModel, FileModel, FunctionModel } from './model';
import type { Node } from './syntax';

export type Value =
  | Tensor
  | IntValue
  | { readonly kind: 'string'; readonly value: string | null }
  | { readonly kind: 'none' }
  | { readonly kind: 'bool'; readonly value: boolean | null }
  /** A number that is not an int, or of unknown value. */
  | { readonly kind: 'number' }
  | { readonly kind: 'ellipsis' }
  | TupleValue
  /** `x.shape` of a tensor. */
  | { readonly kind: 'shape'; readonly of: Tensor }
  /** A list, dict or object: what it holds is in the heap. */
  | RefValue
  /** Something outside of the program by its dotted name: `torch.cat`, `numpy`, `F.linear`. */
  | NameValue
  | FunctionValue
  | { readonly kind: 'class'; readonly model: ClassModel }
  | { readonly kind: 'module'; readonly file: FileModel }
  | MethodValue
  | LayerValue
  | { readonly kind: 'partial'; readonly target: Value; readonly args: Args }
  | UnionValue
  | { readonly kind: 'super'; readonly self: RefValue; readonly after: ClassModel }
  | UnknownValue;

export interface IntValue {
  readonly kind: 'int';
  readonly dim: Dim;
  /** The variable of a loop, as long as it runs. */
  readonly loop: boolean;
}

/** How the symbol of a loop's variable begins that begins with 0. */
export const FROM_ZERO = 'i';

export interface TupleValue {
  readonly kind: 'tuple';
  readonly items: readonly Value[];
  /** More items of the same kinds may follow. */
  readonly open: boolean;
  /** How often the only item is there. */
  readonly times?: Dim;
  /** The sizes of this tensor follow, whose rank is not known. */
  readonly rest?: Tensor;
  /** Or stand in front of the item at this place. */
  readonly inner?: { readonly of: Tensor; readonly at: number };
}

export interface RefValue {
  readonly kind: 'ref';
  readonly id: number;
}

export interface NameValue {
  readonly kind: 'name';
  readonly path: string;
}

/** Where a name is looked up: what a nested function sees of the one around it. */
export interface Scope {
  get(name: string): Value | undefined;
}

export interface FunctionValue {
  readonly kind: 'function';
  readonly model: FunctionModel;
  readonly self: Value | null;
  /** The variables of the function around it. */
  readonly closure: Scope | null;
}

/** A bound method of a value that is not an own object: `x.repeat`, `layers.append`. */
export interface MethodValue {
  readonly kind: 'method';
  readonly owner: Value;
  readonly name: string;
}

/** An instance of a known module class. */
export interface LayerValue {
  readonly kind: 'layer';
  readonly name: string;
  readonly args: Args;
  /** The constructor call. */
  readonly node: Node;
  /** Why it may not behave as its class says: `spectral_norm`, ... */
  readonly doubt: string | null;
  /** The class as another library calls it, where `name` is what it stands for. */
  readonly called?: string;
}

export interface UnionValue {
  readonly kind: 'union';
  readonly options: readonly Option[];
}

export interface Option {
  readonly value: Value;
  readonly when: readonly Condition[];
}

/** A branch condition and whether it held. Two with the same key are the same condition. */
export interface Condition {
  /** The text if no name in it is ever assigned again, else text and place. */
  readonly key: string;
  readonly text: string;
  readonly holds: boolean;
  /** What is known where the text holds, and where it does not. */
  readonly facts?: { readonly yes: readonly Fact[]; readonly no: readonly Fact[] };
}

/** A part of a condition that is known by itself; `equal` where it compares something with a constant. */
export interface Fact {
  readonly key: string;
  readonly holds: boolean;
  readonly equal: { readonly of: string; readonly to: string } | null;
}

/** Nothing is known, but it is always the same thing; `label` is how the source calls it. */
export interface UnknownValue {
  readonly kind: 'unknown';
  readonly id: number;
  readonly label: string;
  /** numpy, TensorFlow, JAX, random: not a tensor of this program. */
  readonly foreign: boolean;
  /** What is drawn from it is random. */
  readonly isDistribution?: true;
}

export interface Args {
  readonly positional: readonly Value[];
  readonly keywords: ReadonlyMap<string, Value>;
  /** Nodes of the positional arguments and keywords, where there are any. */
  readonly nodes: ReadonlyMap<number | string, Node>;
  /** `*xs` or `**kw` of unknown content was passed: what is missing may be there. */
  readonly open: boolean;
  /** What it was is the shape of this tensor, `*x.shape[1:]`, after all others. */
  readonly rest?: Tensor;
  /** Of a list that is not counted, `*xs`, after all others: what further parameters get. */
  readonly more?: Tensor;
}

export const NONE: Value = { kind: 'none' };
export const NUMBER: Value = { kind: 'number' };
export const TRUTH: Value = { kind: 'bool', value: null };
export const NO_ARGS: Args = { positional: [], keywords: new Map(), nodes: new Map(), open: false };

export const int = (dim: Dim, loop = false): IntValue => ({ kind: 'int', dim, loop });
export const tuple = (items: readonly Value[], open = false): TupleValue => ({ kind: 'tuple', items, open });
export const name = (path: string): NameValue => ({ kind: 'name', path });
export const args = (...positional: readonly Value[]): Args => ({ ...NO_ARGS, positional });
