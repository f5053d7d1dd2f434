/**
 * The vocabulary of the tensor program: what is known of a tensor, axis by axis. Both readers (Python text, ONNX
 * graphs) speak it, and nothing after them knows which one spoke. All data is immutable.
 */
import type { MappedAxis } from './axis-map';
import type { Dim } from './dim';

/** Where something happens, in whatever the reader reads. UTF-16 offsets for text; line is 1-based. */
export interface Place {
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly line: number;
}

/**
 * `concatenate` and `layout` write the copies as they are, beside others or in another layout; `work` computes with them,
 * `draw` makes them differ in training, and `call` gives them to its caller.
 */
export type StepKind = 'concatenate' | 'layout' | 'work' | 'draw' | 'call';

/** What the evaluation assumed of a view, an expand or a concatenation that it could not prove. */
export type Assumption =
  | 'first-axes'
  | 'last-axes'
  | 'last-axis'
  | 'first-and-last-axis'
  | 'order-of-axes'
  | 'rows-of-copies'
  | 'width-before-repeat'
  | 'expand-keeps-first'
  | 'joined-along-last';

/** One step of the way from the broadcast to the sink; newest first, so that values share their past. */
export interface Trail {
  readonly place: Place;
  /** In the field's words: "cat writes the copy". */
  readonly what: string;
  readonly kind: StepKind;
  readonly before: Trail | null;
}

/** A replicated axis: a small source plus a map. */
export interface Replica extends MappedAxis {
  /** The expression that replicates. */
  readonly origin: Place;
  /** Null while it is a stride-0 view; else the expression that wrote every copy to memory. */
  readonly written: Place | null;
  /** The tensor before it was replicated, as the reader knows it. */
  readonly of: Tensor;
  /** Under which branch conditions the replica exists: "when self.training". Empty: always. */
  readonly when: readonly string[];
  readonly trail: Trail | null;
  /** Set when each row has been multiplied by a number of its own: still linear, but no longer equal rows. */
  readonly scaled: Place | null;
  /** Set when it was added as a view to what has rows of its own: the sum is written, and never the copies. */
  readonly added: boolean;
  /** Strong: proved by construction. Named: only the index's name says so (a suggestion at most). */
  readonly evidence: 'strong' | 'named';
  /** Gathered from nodes to edges of a graph: many more copies than rows, but two ends per edge. */
  readonly edges: boolean;
  /** Which of the sizes given to the origin makes this axis: the third of `expand(-1, -1, n)` is 2. */
  readonly argument: number | null;
  /** Bytes per element of the copies, where what was computed of them since has others. */
  readonly itemSize?: number | null;
  /** What was assumed on its way rather than proved. */
  readonly assumptions: readonly Assumption[];
  /** Set when the origin is a call of a function of another file: the argument that it copies, where that is one. */
  readonly helper: { readonly source: Place | null } | null;
  /** Others that the value was computed from, position by position: copies by the same map, so that its rows are copies, too. */
  readonly also: readonly Replica[];
}

export interface Axis {
  readonly dim: Dim;
  readonly replica: Replica | null;
}

/**
 * Axes known from the front and from the back. `exact`: `head` is all there is and `tail` is empty. Otherwise any
 * number of unknown axes, also none, lies between.
 */
export interface Shape {
  readonly exact: boolean;
  readonly head: readonly Axis[];
  readonly tail: readonly Axis[];
}

/** coefficient * product of factors, all aligned with the axes of the value that the form describes. */
export interface Term {
  readonly coefficient: number;
  readonly factors: readonly Tensor[];
}

/** One block of a concatenation: a sum of terms over `width` positions of the form's axis. */
export interface Block {
  readonly width: Dim;
  readonly terms: readonly Term[];
  /** The operand of the concatenation, or the sum itself. */
  readonly place: Place;
}

/** What a value is made of along one axis: cat, add, sub, negation and scalar factors build it. */
export interface Form {
  /** From the front if >= 0, from the back if < 0; null for a plain sum, which is one block along every axis. */
  readonly axis: number | null;
  readonly blocks: readonly Block[];
  /** The concatenation, or the outermost addition. */
  readonly place: Place;
  /** What has been applied to the whole since, in order: views, activations, dropout. */
  readonly after: readonly Place[];
}

/** What elements are, as far as it matters: masks and ids never count as replicas that cost anything. */
export type Content = 'data' | 'parameter' | 'index' | 'mask' | 'random' | 'constant' | 'identity';

/** Why an integer tensor maps many positions to one row (or that it does not). */
export type IndexKind =
  | {
      readonly kind: 'many-to-one';
      readonly evidence: 'strong' | 'named';
      readonly map: 'blocks' | 'indexed';
      readonly edges?: boolean;
      /** A list or tuple of Python, no tensor. */
      readonly isList?: boolean;
    }
  | { readonly kind: 'edge-index' }
  | { readonly kind: 'one-to-one' }
  | { readonly kind: 'unknown' };

export interface Tensor {
  readonly kind: 'tensor';
  /** Identity of the value: two names with the same id hold the same value. */
  readonly id: number;
  /** Identity of the memory: a view shares it with its base. */
  readonly storage: number;
  readonly shape: Shape;
  readonly form: Form | null;
  readonly content: Content;
  /** A replica that random values were added to. */
  readonly noised: boolean;
  /** Filled with one number: ones, zeros. */
  readonly uniform: boolean;
  readonly index: IndexKind;
  /** How the source text calls it (`x`, `self.pos`), empty when it has no name: dimensions are named after it. */
  readonly label: string;
  /** For a view of a tensor of unknown rank: whose axes lie beyond the recorded ones, and by how much they moved. */
  readonly base: { readonly id: number; readonly label: string; readonly front: number; readonly back: number } | null;
  /** Of unknown rank: what the value `as` was before an axis of size 1 was put in, which hides the last axes. */
  readonly raised: { readonly as: number; readonly of: Tensor } | null;
  /** Bytes per element where known. */
  readonly itemSize: number | null;
  /** The expression that made it, null for arguments. */
  readonly place: Place | null;
  /** Replicated axes from which one position was picked (`x[i]` in a loop): every pick holds the same rows. */
  readonly picked: readonly Replica[];
}
