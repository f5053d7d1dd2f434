/**
 * W cat(a, b) = W_a a + W_b b: each block meets its own slice of the weight, the copied ones at the size of their
 * source; what is mapped (or broadcasts by itself) is their product. IKB101 and IKB103.
 */
import type { Condition } from '../finding';
import type { Match } from '../judge/match';
import type { Node } from '../python/syntax';
import { type Concatenation, type CopiedPart, type Part, isCopied, readConcatenation } from './blocks';
import { type Edit, insertBefore, replace, roomFor } from './edit';
import { shapedLike } from './expression';
import { canHoist, conditionsOf } from './guards';
import { merged } from './merged-rows';
import { type Product, productOf } from './product';
import { type Draft, draftFor, finished } from './producers';
import { refuse } from './refusal';
import { broadcasts } from './replicate';

export interface Written {
  readonly edits: readonly Edit[];
  /** Conditions of a suggestion; none for a safe rewrite. */
  readonly conditions: readonly Condition[];
}

export function decompose(match: Match): Written {
  const product = productOf(match);
  const draft = draftFor(match.sink.node);
  const concatenation = readConcatenation(match, draft);
  requireFullRows(concatenation);
  const { edits, conditions } = splitInto(match, product, draft, concatenation);
  return { edits, conditions: [...conditions, ...conditionsOf(match), ...draft.stays] };
}

/** The sum of the products of a concatenation's parts, in the place of the product of the whole. */
export function splitInto(match: Match, product: Product, draft: Draft, concatenation: Concatenation): Written {
  const { node } = match.sink;
  const hoist = canHoist(node);
  const { parts, names } = hoist ? withNames(concatenation, draft.fresh) : { parts: concatenation.parts, names: [] };
  const groups = grouped({ ...concatenation, parts });
  const { weights, lines: split } = slices(product, groups, hoist, draft.fresh);
  const lines = [...names, ...split];
  const terms = groups.map((group, i) => ({ group, weight: weights[i] ?? '', mapped: group.parts.some(isCopied) }));
  // Free terms first: the first one takes the bias.
  terms.sort((a, b) => Number(a.mapped) - Number(b.mapped));
  const values = terms.map(({ group, weight }, i) => product.of(group.text, weight, i === 0 ? product.bias : null));

  // One free term stands in the sum itself if the line stays short; 50 is about what the mapped terms take.
  const bare = terms.flatMap(({ mapped }, i) => (mapped ? [] : [values[i] ?? '']));
  const single = bare.length <= 1 && bare.join('').length + 50 < roomFor(draft.target, node);
  const pieces = terms.map(({ group, mapped }, i): Piece => {
    let value = values[i] ?? '';
    if (hoist && (mapped || !single)) {
      const name = draft.fresh(`${group.base}_part`);
      lines.push(`${name} = ${value}`);
      value = name;
    } else if (mapped && !value.endsWith(')')) value = `(${value})`;
    return { group, mapped, value };
  });

  const joined = merged(addedUp(pieces).join(' + '), concatenation.merge);
  const whole = product.after(joined);
  const text = whole !== joined || concatenation.merge !== '' || standsAlone(node) ? whole : `(${whole})`;
  const edits = [...product.imports, replace(node, text)];
  if (lines.length > 0) edits.push(insertBefore(draft.target, lines));
  return { edits: finished(draft, edits), conditions: [...product.conditions, ...concatenation.conditions] };
}

/** `x[:, 1:]` gets a name where it is read for its rows and for its width; the width of the last of two groups is not read. */
function withNames(
  concatenation: Concatenation,
  fresh: (base: string) => string,
): { readonly parts: readonly Part[]; readonly names: readonly string[] } {
  const groups = grouped(concatenation);
  const measured = groups.length > 2 ? concatenation.parts : groups.length > 1 ? (groups[0]?.parts ?? []) : [];
  const names: string[] = [];
  const parts = concatenation.parts.map((part) => {
    const piece = shapedLike(part.text).includes('[') && !/^[\w.]+\[[\w-]+\]$/.test(part.text);
    if (isCopied(part) || !measured.includes(part) || !piece) return part;
    const text = fresh(`${part.base}_block`);
    names.push(`${text} = ${part.text}`);
    return { ...part, text };
  });
  return { parts, names };
}

interface Group {
  readonly text: string;
  readonly base: string;
  readonly parts: readonly Part[];
}

/** Free blocks that stand side by side stay one block: one product instead of several. */
function grouped({ parts, call, tail }: Concatenation): readonly Group[] {
  const groups: Part[][] = [];
  for (const part of parts) {
    const last = groups.at(-1);
    if (last && [part, ...last].every((one) => !isCopied(one) && !one.alone)) last.push(part);
    else groups.push([part]);
  }
  return groups.map((group) => {
    const [first] = group;
    if (!first) return refuse('the concatenation is empty');
    if (group.length === 1) return { text: first.text, base: first.base, parts: group };
    const text = `${call.name}([${group.map((p) => p.text).join(', ')}]${tail})`;
    return { text, base: first.base, parts: group };
  });
}

/** Weights of the groups: two slices of it, or a `split` into names when there are more. */
function slices(
  product: Product,
  groups: readonly Group[],
  hoist: boolean,
  fresh: (base: string) => string,
): { readonly weights: readonly string[]; readonly lines: string[] } {
  const widths = groups.map((group) => group.parts.map((p) => widthOf(p, product.axis)).join(' + '));
  const [first = ''] = widths;
  if (groups.length === 1) return { weights: [product.weight], lines: [] };
  if (groups.length === 2) return { weights: [product.slice('', first), product.slice(first, '')], lines: [] };
  if (!hoist) refuse('the product stands inside an expression; give it a statement of its own first');
  const names = groups.map((group) => fresh(`w_${group.base}`));
  const split = `${product.weight}.split([${widths.join(', ')}], dim=${product.weightAxis})`;
  return { weights: names, lines: [`${names.join(', ')} = ${split}`] };
}

/** Width of a part. The last axis is not the one that was put in for the copies: `u.unsqueeze(1)` is as wide as `u`. */
function widthOf(part: Part, axis: number): string {
  const raised = /^(.*)\.unsqueeze\((?:dim=)?(\d+)\)$/.exec(part.text);
  const put = isCopied(part) && raised && part.copy.replicas.some((replica) => replica.axis === Number(raised[2]));
  return `${shapedLike(put && axis === -1 ? (raised[1] ?? '') : part.text)}.shape[${axis}]`;
}

interface Piece {
  readonly group: Group;
  readonly mapped: boolean;
  readonly value: string;
}

/** The terms of the sum. What is copied alike is added up first, so that it is copied once, wherever its columns stand. */
function addedUp(pieces: readonly Piece[]): readonly string[] {
  const alike = new Map<string, Piece[]>();
  for (const [i, piece] of pieces.entries()) {
    const key = (piece.mapped && copyText(piece.group)) || `${i}`;
    alike.set(key, [...(alike.get(key) ?? []), piece]);
  }
  return [...alike.values()].map(([first, ...others]) => {
    if (!first) return '';
    const values = [first, ...others].map(({ value }) => value).join(' + ');
    return first.mapped ? mapRows(first.group, others.length > 0 ? `(${values})` : values) : values;
  });
}

/** How a group is copied, where equal texts mean equally many source rows: an index may pick of tables of any size. */
function copyText({ parts: [part] }: Group): string | null {
  if (!part || !isCopied(part)) return null;
  const { replicate, replicas } = part.copy;
  if (broadcasts(replicate, replicas)) return `along ${replicas.map(({ axis }) => axis).join()}`;
  const counted = replicate.kind === 'blocks' || replicate.kind === 'repeat';
  return counted && replicate.apply ? replicate.apply('') : null;
}

/** The term at full size: by the copy's own operator, or as it is where the addition broadcasts it. */
function mapRows(group: Group, value: string): string {
  const [part] = group.parts;
  if (!part || !isCopied(part)) return value;
  const { replicate, replicas } = part.copy;
  if (broadcasts(replicate, replicas)) return value;
  if (!replicate.apply) refuse('the copy is not written so that it could be made of a result of another width');
  return replicate.apply(value);
}

/** Refuses when no term has all rows of some axis by itself, so that the sum would come out too small. */
function requireFullRows({ parts, merge }: Concatenation): void {
  if (parts.some((part) => !isCopied(part) || !broadcasts(part.copy.replicate, part.copy.replicas))) return;
  if (merge !== '') refuse('every block is a broadcast view: multiply first and expand the result');
  const axes = parts.map((part) => new Set(isCopied(part) ? broadcastAxes(part) : []));
  const [first, ...others] = axes;
  const short = [...(first ?? [])].some((axis) => others.every((other) => other.has(axis)));
  if (short) refuse('every block is a broadcast view: multiply first and expand the result');
}

/** Axes, from the front, along which the source of a part has one row only. Refuses where they cannot be counted. */
function broadcastAxes({ copy: { replicas } }: CopiedPart): readonly number[] {
  return replicas.map(({ axis, rank }) => {
    if (axis >= 0) return axis;
    return rank === null ? refuse('the axes that are copied cannot be counted') : axis + rank;
  });
}

/** True where an expression with an operator needs no parentheses. */
function standsAlone(node: Node): boolean {
  const kinds = [
    'assignment',
    'return_statement',
    'argument_list',
    'keyword_argument',
    'parenthesized_expression',
    'expression_statement',
  ];
  return (
    kinds.includes(node.parent?.kind ?? '') || ['list', 'tuple', 'expression_list'].includes(node.parent?.kind ?? '')
  );
}
