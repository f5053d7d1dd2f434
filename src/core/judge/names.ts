/** What a message calls a size: by the name that it has where the copies are made. */
import { type Node, enclosing, scopeOf, textOf } from '../python/syntax';
import { NAME, hasWord, patternOf } from '../python/words';
import { type Dim, displayName, onlySymbol, symbolsOf } from '../tensor/dim';
import { unknownDim } from '../tensor/shape';
import type { Tensor } from '../tensor/value';

export interface GivenName {
  readonly name: string;
  /** Where the program gives it: a target or the function of a parameter. */
  readonly at: Node;
  /** What a class calls a size of one of its instances: a name there alone. */
  readonly inClass: boolean;
}

/** Names by the symbols of dimensions. */
export type DimNames = ReadonlyMap<string, readonly GivenName[]>;

/** Text of a size that may stand in a formula: `n`, `self.heads`, `x.size(0)`. */
const ROOT = patternOf(`^${NAME}`, 'u');
const SIZE = /^[A-Za-z_][\w.]*?(?:\.size\((-?\d+)\)|\.shape\[-?\d+\])?$/;

/**
 * The name for a symbol at one broadcast. `count` is how often it copies, with the text that says so there: both are
 * called the same. Functions that are called, or that call, have names of their own, which tell less than `x.shape[0]` of
 * the `source` that is copied. `together`: the sizes of a formula that are of
 * several functions.
 */
export function namesAt(
  origin: Node,
  bindings: Readonly<Record<string, number>>,
  names: DimNames,
  count: { readonly dim: Dim; readonly text: string | null },
  source: { readonly text: string | null; readonly of: Tensor | null },
  together: readonly Dim[] = [],
): (symbol: string) => string | null {
  const scope = scopeOf(origin);
  const around = enclosing(scope, 'class_definition');
  const counted = onlySymbol(count.dim);
  const countText =
    count.text !== null && SIZE.test(count.text) ? count.text.replace(/\.size\((.*)\)$/, '.shape[$1]') : null;
  const chosen = new Map<string, string | null>();
  const choose = (symbol: string): string | null => {
    const known = names.get(symbol) ?? [];
    const given = known.filter(({ inClass }) => !inClass);
    const own = displayName(symbol);
    const isBound = (name: string): boolean => bindings[name] !== undefined;
    const bound = given.find(({ name }) => isBound(name));
    if (bound) return bound.name;
    if (isBound(own)) return null;
    const local = given.filter(({ at }) => scopeAt(at) === scope);
    const here = local.find(({ name }) => hasWord(textOf(origin), name)) ?? local[0];
    if (here) return here.name;
    if (symbol === counted && countText !== null) return countText;
    const related = known.find(({ at }) => around !== null && enclosing(at, 'class_definition') === around);
    if (related) return related.name;
    const [root] = ROOT(own).exec(own) ?? [];
    if (own.startsWith('self.shape[') || isOfOldName(own, scope)) return '?';
    const at = own.includes('.shape[') ? axisIn(source.of, symbol) : -1;
    // Of several tensors that are called so, the one that is copied here has the name.
    if (own.startsWith(`${source.text}.shape[`) && isMixed(source.text ?? '', together))
      return at >= 0 ? `${source.text}.shape[${at}]` : '?';
    if (root !== undefined && hasWord(textOf(scope), root)) return null;
    if (at >= 0 && source.text !== null && SIZE.test(source.text)) return `${source.text}.shape[${at}]`;
    // A tensor of another function says nothing here, nor do a letter and a name that is something else's here.
    const elsewhere = given.find(({ name }) => name.length > 1 && !assigns(textOf(scope), name));
    return elsewhere?.name ?? (own.includes('.shape[') ? '?' : null);
  };
  return (symbol) => {
    if (!chosen.has(symbol)) chosen.set(symbol, choose(symbol));
    return chosen.get(symbol) ?? null;
  };
}

/** `b, n = x.shape`: the name of something of its own. */
const assigns = (text: string, name: string): boolean =>
  hasWord(text, name) && new RegExp(`^[ \\t(]*(?:\\w+, *)*${name}\\b(?:, *\\w+)*\\)?[ \\t]*=(?!=)`, 'm').test(text);

/** `x[1].shape[0]` behind `x, token = x[0], x[1]`: by that name there is something else. */
function isOfOldName(own: string, scope: Node): boolean {
  const root = /^(\w+)\[[^\]]*\]\.shape\[/.exec(own)?.[1];
  return (
    root !== undefined &&
    new RegExp(`^[ \\t]*(\\w+, *)*${root}(,[\\w, ]*)? *=[^=\\n]*\\b${root}\\[`, 'm').test(textOf(scope))
  );
}

/** Sizes of more than one tensor of that name. */
function isMixed(root: string, dims: readonly Dim[]): boolean {
  const ids = dims.flatMap(symbolsOf).flatMap((symbol) => {
    const [own, id] = symbol.split('@');
    return own?.startsWith(`${root}.shape[`) && id !== undefined ? [id.replace(/_\d+$/, '')] : [];
  });
  return new Set(ids).size > 1;
}

/** Which axis of the tensor has this size; -1 for none. */
function axisIn(t: Tensor | null, symbol: string): number {
  if (!t) return -1;
  const at = t.shape.head.findIndex(({ dim }) => onlySymbol(dim) === symbol);
  return at >= 0
    ? at
    : Array.from({ length: MAX_RANK }, (_, i) => i).findIndex((i) => onlySymbol(unknownDim(t, i)) === symbol);
}

const MAX_RANK = 6;

const scopeAt = (at: Node): Node => (/^(function_definition|lambda)$/.test(at.kind) ? at : scopeOf(at));
