/**
 * What the judge hands to the rules and, through them, to the rewriter: one materialized (or lazy) broadcast with its
 * way to one sink, as facts about text. A rewrite needs nothing else and guesses nothing: what is null is not known,
 * and the tier follows from `facts`.
 */
import type { Condition } from '../finding';
import type { AxisMap } from '../tensor/axis-map';
import type { Dim } from '../tensor/dim';
import type { Assumption } from '../tensor/value';
import type { Unfused } from '../python/run';
import type { Node } from '../python/syntax';
import type { Listed } from './listed';

/** Code of a rule whose match this is. */
export type RuleCode =
  | 'IKB101'
  | 'IKB102'
  | 'IKB103'
  | 'IKB104'
  | 'IKB201'
  | 'IKB202'
  | 'IKB203'
  | 'IKB301'
  | 'IKB302'
  | 'IKB303'
  | 'IKB304'
  | 'IKB401'
  | 'IKB501';

export interface Match {
  readonly code: RuleCode;
  /** The expression that replicates: `u.repeat_interleave(n, 0)`, `u[idx]`, the whole chained `x.unsqueeze(1).expand(..)`. */
  readonly origin: Node;
  /** The expression that writes the replica to memory; null for lazy ones. May be the sink itself. */
  readonly written: Node | null;
  readonly sink: Sink;
  /** From the origin to the sink, in the order in which the data flows; both ends included. */
  readonly path: readonly PathStep[];
  /** Row axes of the sink's input that are replicas; the first is the one the message speaks of. None for IKB203, IKB401. */
  readonly replicas: readonly ReplicaFact[];
  /** For linear sinks: what the sink's input is along its contracted axis. Null for attention and recurrent sinks. */
  readonly form: LinearForm | null;
  /** For attention sinks (IKB201, IKB202, IKB203). */
  readonly attention: AttentionFacts | null;
  /** For products (IKB301, IKB302): which operand is replicated. */
  readonly product: ProductFacts | null;
  /** For IKB203 and IKB401: what is wrong. */
  readonly why: Why | null;
  readonly cost: MatchCost;
  readonly facts: Facts;
  /** Conditions around the copy or its use, as source text: "self.use_context", "not self.training". */
  readonly when: readonly string[];
  /** There are others, from branches in between. */
  readonly partly: boolean;
  /** Only the first pass of a loop reads the copies: what they are called is another value afterwards. */
  readonly first: boolean;
  /** Shapes bound by comments or options, by symbol as displayed (`B`). */
  readonly bindings: Readonly<Record<string, number>>;
  /** A dimension's value under the bindings, by the names that the source gives it; null when not known. */
  readonly size: (dim: Dim) => number | null;
  /** A dimension by the names that the source gives it. */
  readonly named: (dim: Dim) => Dim;
  /** Where the file under analysis takes part, when neither the broadcast nor its maker stands in it. */
  readonly via: Node | null;
  /** True when origin and sink are in the same function body: only then edits are possible. */
  readonly local: boolean;
  /** How often the source is copied where the copy runs over several axes: their sizes as written; else empty. */
  readonly times: readonly (string | null)[];
  /** Each copy was multiplied by a number of its own on the way: a mask over rows, a weight. */
  readonly scaled?: boolean;
  /**
   * Information level only: CLS and query tokens (a replica that is a few rows of the sink's input), two copies in a
   * concatenation, for which splitting does not pay, and what is handed to a callee that is not known.
   */
  readonly minor: boolean;
  /** Tokens that were joined with other rows and taken out again: all that the sink reads are copies. */
  readonly takenOut: boolean;
}

/** Why no fused kernel takes the heads, or why a width is slow: no multiple of `alignment`. `text`: in words. */
export type Why = Unfused | { readonly kind: 'width'; readonly alignment: number; readonly text: string };

export interface PathStep {
  readonly node: Node;
  /** In the field's words: "cat writes the copy". */
  readonly what: string;
  readonly kind: 'origin' | 'concatenate' | 'write' | 'draw' | 'call' | 'sink';
}

export type SinkKind =
  'linear' | 'matmul' | 'einsum' | 'convolution' | 'bilinear' | 'recurrent' | 'attention' | 'multihead-attention';

export interface Sink {
  readonly kind: SinkKind;
  /** The call or `@` expression that contracts, in the function that matters for the text (see `Match.local`). */
  readonly node: Node;
  /** The argument that carries the replica, as it stands in the call. */
  readonly input: Node | null;
  /** Source text of weight and bias, usable at the sink: `self.fc.weight`, `self.mlp[0].weight`, `weight`. */
  readonly weight: string | null;
  /** null: not known; 'none': there is no bias. */
  readonly bias: string | 'none' | null;
  /** For module sinks: the text of the module (`self.fc`, `self.mlp`), and how the linear is found in it. */
  readonly module: ModuleFacts | null;
  /** Which side of a matmul the replica is on: `left` as in `replica @ w`. */
  readonly side: 'left' | 'right' | null;
  /** Width of the product's output along the axis that the weight makes (N), where known. */
  readonly outWidth: Dim;
  /**
   * Where the sink is the call of a module that begins with the product: how what follows it is called with the product's
   * value, and the edits that make it callable.
   */
  readonly behind?: {
    readonly written: (value: string) => string;
    readonly edits: readonly { readonly start: number; readonly end: number; readonly text: string }[];
  };
  /** Where the module that is called concatenates its arguments: what it is given for each block. */
  readonly operands?: readonly Node[];
  /** Of a callee that is not known: the keyword that says what it does with the copies (`query_embeds`). */
  readonly keyword: string | null;
}

export interface ModuleFacts {
  /** Text that names the module at the sink: `self.fc`. */
  readonly text: string;
  /** The class as resolved: `nn.Linear`, `nn.Conv1d`; null when not proven. */
  readonly kind: string | null;
  /** Why it is not plainly that module: 'spectral_norm', 'subclass with its own forward', ...; null when it is. */
  readonly doubt: string | null;
  /** What the class that makes it calls it, and the module of that class, where `text` leads through it. */
  readonly own?: string;
  readonly through?: string;
  /** The constructor call (`nn.Linear(a, b)`), for widths and for `bias=False`. */
  readonly constructor: Node | null;
}

/** One replicated axis of a value. */
export interface ReplicaFact {
  /** Axis of the value, from the front if the rank is known (>= 0), else from the back (< 0). */
  readonly axis: number;
  readonly rank: number | null;
  readonly map: AxisMap;
  readonly source: Dim;
  readonly extent: Dim;
  /** extent / source where it divides; the number of copies. */
  readonly ratio: Dim;
  /** Text of the ratio or extent as written (`x.shape[0]`, `n_cand`), or of the index (`cand_to_user`). */
  readonly mapText: string | null;
  readonly origin: Node;
  /** The un-replicated expression: the receiver of `.repeat_interleave`, the `u` of `u[idx]`. */
  readonly sourceExpression: Expression | null;
  /** What is listed several times (`torch.cat([x, x])`), which has no source expression: for messages. */
  readonly listed: Listed | null;
  /** The function of another file that makes the copies, as it is called. */
  readonly helper: string | null;
  /** `named`: only the index's name says that it is many-to-one; a suggestion at most. */
  readonly evidence: 'strong' | 'named';
}

/** An expression with what a rewrite must know to write it somewhere else. */
export interface Expression {
  readonly node: Node;
  readonly text: string;
}

export interface NameAt {
  readonly name: string;
  readonly line: number;
}

/** W x with x = [block | block | ...], each block a sum of coefficient * atom. */
export interface LinearForm {
  /** The concatenation (`torch.cat(...)`), or the addition; null when the input is one plain block. */
  readonly node: Node | null;
  /** Axis of the concatenation as for `ReplicaFact.axis`; null when one block. */
  readonly axis: number | null;
  readonly blocks: readonly FormBlock[];
  /** Row-wise operators between concatenation and sink, in order (activations, views): they must be kept. */
  readonly between: readonly Node[];
}

export interface FormBlock {
  readonly terms: readonly FormTerm[];
  readonly width: Dim;
}

export interface FormTerm {
  readonly coefficient: number;
  /** One factor, or several for a product such as `q*k`. */
  readonly factors: readonly Atom[];
  /** True when all factors share a replicated row axis, so that the term can be computed at source size. */
  readonly replicated: boolean;
}

export interface Atom {
  /** Its replicated row axes; empty for a free atom. */
  readonly replicas: readonly ReplicaFact[];
}

export interface AttentionFacts {
  readonly query: AttentionOperand;
  readonly key: AttentionOperand;
  readonly value: AttentionOperand;
  readonly mask: Node | null;
  /** Layout of the operands: `bhsd` (SDPA), `bshd` (flash, xformers), or null. */
  readonly layout: 'bhsd' | 'bshd' | null;
}

export interface AttentionOperand {
  readonly replicas: readonly ReplicaFact[];
  readonly dims: readonly Dim[] | null;
  /** True where nothing says how many axes it has, and `dims` are those that attention mostly has. */
  readonly assumedRank?: boolean;
}

export interface ProductFacts {
  readonly operands: readonly AttentionOperand[];
  /** Index of the replicated operand in `operands`. */
  readonly replicated: number;
}

export interface MatchCost {
  /** Bytes written for the replica. */
  readonly bytes: Dim;
  /** Operations spent on replicated rows. */
  readonly flops: Dim;
  readonly bytesText: string;
  readonly flopsText: string;
  /** Bytes of an element; null where nothing says so, and half precision is counted. */
  readonly itemSize: number | null;
  /** Ratio of copies to sources, over all the axes that one expression copies along. */
  readonly ratio: Dim;
  /** Size of what was copied along the axis that the product sums over. */
  readonly contracted: Dim;
}

/** What guards need. Each list is empty when there is nothing to object to. */
export interface Facts {
  /** In-place writes to a value on the path between producer and sink: `x.add_(..)`, `x[i] = ..`, `out=x`. */
  readonly inPlace: readonly NameAt[];
  /** Statements between producer and sink with effects of their own (calls of unknown functions as a statement, print). */
  readonly effects: readonly Node[];
  /** Lines of the statements from producer to sink that touch a syntax error. */
  readonly syntaxErrors: readonly number[];
  /** The producer and the sink are in different loops, branches or functions. */
  readonly apart: 'loop' | 'branch' | 'function' | null;
  /** What was assumed rather than proved. It caps the tier at `suggestion`, as do `needs`. */
  readonly assumptions: readonly Assumption[];
  /** Where a rewrite sees the match from a caller of the product: what must hold for that. */
  readonly needs?: readonly Condition[];
}
