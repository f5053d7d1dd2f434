/**
 * Repeated key and value heads in attention that is written out as two products: each product takes the heads as they are,
 * and the rows of the left operand that share a head become one longer row axis. IKB202.
 */
import type { Match } from '../judge/match';
import { type Node, childOf, scopeOf, statementOf, textOf, lineOf } from '../python/syntax';
import type { Written } from './decompose';
import { requireUndisturbed } from './disturbance';
import { LONGEST_LINE, flat, inOrder, indentOf, insertBefore, removeStatement, replace, roomFor } from './edit';
import { callOf, integer, isSimple, unwrap } from './expression';
import { hasFourAxes, headsRepeated } from './conditions';
import { canHoist, conditionsOf } from './guards';
import { helperCopy } from './helper';
import { isBinding, isMutation, occurrences, readersOf, visit } from './names';
import { matmulOperands } from './product';
import { type Draft, draftFor, finished, requireUnwritten } from './producers';
import { refuse } from './refusal';
import { replicateOf } from './replicate';
import { type Traced, trace } from './trace';

interface GroupedProduct {
  readonly node: Node;
  readonly left: Node;
  readonly right: Node;
  readonly copy: HeadCopy;
}

interface HeadCopy {
  readonly source: Node;
  readonly count: Node;
  /** False when only the name of the function says what it does. */
  readonly proved: boolean;
  /** True where the text of the copy says that it has four axes. */
  readonly ofFour: boolean;
  /** The definitions from there back to the copy. */
  readonly definitions: Traced['definitions'];
  /** Definitions that hold the copy with its last two axes exchanged. */
  readonly exchanged: Traced['definitions'];
  /** `.transpose(2, 3)`: what exchanges the last two axes behind the copy, else nothing. */
  readonly tail: string;
}

/** A part of the function, and what takes its place. */
interface Changed {
  readonly whole: Node;
  readonly text: string;
}

interface Fold {
  readonly product: GroupedProduct;
  readonly draft: Draft;
  /** True when it stands in another product, which reads its text. */
  readonly nested: boolean;
}

interface Folded extends Changed {
  /** Statements in front of the product's own. */
  readonly lines: readonly string[];
}

/** Both products of the function, so that nothing is repeated any more. */
export function groupedProducts(match: Match): Written {
  const { sink } = match;
  const found: GroupedProduct[] = [];
  visit(scopeOf(sink.node), (node) => {
    const product = scopeOf(node) === scopeOf(sink.node) ? groupedProduct(node) : null;
    if (product) found.push(product);
  });
  if (!found.some(({ node }) => node === sink.node)) {
    const right = matmulOperands(sink.node)?.[1];
    const named = right && trace(callOf(right)?.receiver ?? right).value;
    const values = named?.kind === 'identifier' ? occurrences(scopeOf(sink.node), textOf(named)).filter(isBinding) : [];
    if (named && values.length > 1 && sink.side === 'right')
      refuse(`\`${flat(named)}\` gets its value in several places, so that its repetition cannot be followed`);
    refuse(
      right && sink.side === 'right'
        ? `the way in which \`${flat(right)}\` repeats its heads is not known`
        : 'the repeated heads are not the right operand of a plain matmul',
    );
  }
  const ranks = (match.product?.operands ?? []).map(({ dims }) => dims?.length ?? null);
  const rank = ranks[match.product?.replicated ?? 0] ?? 4;
  if (rank !== 4) refuse('the heads are not on axis 1 of four');
  // Of three axes, the second one is of tokens.
  const untold = ranks.every((one) => one === null) ? found.find(({ copy }) => copy.proved && !copy.ofFour) : undefined;
  // The inner one of two nested products first: the outer one reads its text.
  found.sort((a, b) => a.node.end - b.node.end || b.node.start - a.node.start);
  const { fresh, changed } = draftFor(sink.node);
  const gone = found.map(({ node }) => node);
  const all = found.map((product): Fold => {
    const nested = found.some(({ node }) => node !== product.node && isWithin(product.node, node));
    return { product, draft: { ...draftFor(product.node), fresh, gone, changed }, nested };
  });
  const sizes = all.flatMap(({ product, draft }) => readShapesOf(draft, product));
  const folded: Folded[] = [];
  for (const one of all) folded.push(fold(one, [...sizes, ...folded]));
  const edits = all.flatMap(({ draft, nested }, i) => {
    const { lines, whole, text } = folded[i] ?? refuse('the products are nested');
    return [
      ...(lines.length > 0 ? [insertBefore(draft.target, lines)] : []),
      ...(nested ? [] : [replace(whole, text)]),
      ...finished(draft, []),
    ];
  });
  const unknown = found.find(({ copy }) => !copy.proved)?.copy;
  return {
    edits: inOrder(edits),
    conditions: [
      ...(unknown ? [headsRepeated(flat(unknown.source), flat(unknown.count))] : []),
      ...(untold ? [hasFourAxes(flat(untold.copy.source))] : []),
      ...conditionsOf(match),
    ],
  };
}

/** `a @ repeated`, `torch.matmul(a, repeated.transpose(2, 3))`; null for any other expression. */
function groupedProduct(node: Node): GroupedProduct | null {
  const operands = node.kind === 'binary_operator' || node.kind === 'call' ? matmulOperands(node) : null;
  const copy = operands ? headCopy(operands[1]) : null;
  return operands && copy ? { node, left: operands[0], right: operands[1], copy } : null;
}

/** Heads that are each repeated in a row on axis 1 of four. */
function headCopy(operand: Node): HeadCopy | null {
  const made = trace(operand);
  const exchanged = exchangedIn(made.value);
  if (exchanged) {
    const inner = headCopy(exchanged.tensor);
    return inner?.tail === '' ? { ...inner, exchanged: made.definitions, tail: exchanged.tail } : null;
  }
  const direct = replicateOf(made.value);
  const { definitions } = made;
  if (direct) {
    const [count, ...others] = direct.arguments;
    const isAlongHeads = (direct.axis === 1 || direct.axis === -3) && others.length === 0;
    const onHeads = direct.kind === 'blocks' && direct.suffix === '' && isAlongHeads;
    const rank = direct.rank ?? 4;
    return onHeads && count && rank === 4
      ? { ...direct, count, proved: true, ofFour: direct.rank === 4, definitions, exchanged: [], tail: '' }
      : null;
  }
  const helped = callOf(made.value) ? helperCopy(made.value) : null;
  return helped && { ...helped, definitions, exchanged: [], tail: '' };
}

/** `x.transpose(2, 3)`, `x.transpose(-1, -2)`, `x.mT`: only the last two axes of four change places. */
function exchangedIn(value: Node): { readonly tensor: Node; readonly tail: string } | null {
  if (value.kind === 'attribute') {
    const tensor = childOf(value, 'object');
    return tensor && textOf(childOf(value, 'attribute') ?? value) === 'mT' ? { tensor, tail: '.mT' } : null;
  }
  const call = callOf(value);
  if (!call?.receiver || call.splat || call.keywords.size > 0) return null;
  const axes = call.positional.map(integer).map((axis) => (axis !== null && axis < 0 ? axis + 4 : axis));
  const exchange = /^(transpose|swapaxes|swapdims)$/.test(call.method) && /^(2,3|3,2)$/.test(axes.join());
  if (!exchange && !(call.method === 'permute' && axes.join() === '0,1,3,2')) return null;
  return { tensor: call.receiver, tail: value.file.text.slice(call.receiver.end, value.end).replace(/\s+/g, ' ') };
}

/**
 * Sizes that are read of the repeated heads, apart from the number of heads, are those of the heads as they are. Gives those
 * that stand in a product, whose text is written anew.
 */
function readShapesOf(draft: Draft, { copy }: GroupedProduct): readonly Changed[] {
  const from = copy.definitions.at(-1)?.statement;
  const inside: Changed[] = [];
  for (const definition of copy.definitions) {
    for (const reader of readersOf(definition, definition.name)) {
      const size = isMutation(reader) ? null : sizeRead(reader);
      if (!size || draft.gone.includes(reader)) continue;
      if (from) requireUndisturbed(copy.source, from, size);
      const changed = { whole: reader, text: flat(copy.source) };
      if (draft.gone.some((node) => isWithin(reader, node))) inside.push(changed);
      else if (changed.text !== definition.name) draft.edits.push(replace(reader, changed.text));
      draft.gone.push(reader);
    }
  }
  return inside;
}

/** `keys.shape[-2]`, `keys.size(2)`, `keys.dtype`: the whole expression, where it does not depend on the number of heads. */
function sizeRead(name: Node): Node | null {
  const attribute = name.parent?.kind === 'attribute' && name.field === 'object' ? name.parent : null;
  const member = attribute ? textOf(childOf(attribute, 'attribute') ?? attribute) : '';
  if (!attribute?.parent || /^(dtype|device)$/.test(member)) return attribute;
  const { parent } = attribute;
  const call = callOf(parent);
  const index =
    member === 'shape' && parent.kind === 'subscript'
      ? parent.children.filter((c) => c.field === 'subscript')
      : member === 'size' && call?.callee === attribute
        ? call.positional
        : [];
  const axis = index.length === 1 ? integer(index[0] ?? null) : null;
  return axis !== null && ![1, -3].includes(axis) ? parent : null;
}

function fold({ product: { node, left, right, copy }, draft, nested }: Fold, before: readonly Changed[]): Folded {
  const { source, count, tail } = copy;
  const definitions = [...copy.exchanged, ...copy.definitions];
  if (!isSimple(source)) refuse(`the heads that \`${flat(right)}\` repeats have no name; give them one first`);
  const from = definitions.at(-1)?.statement ?? statementOf(right);
  requireUnwritten(definitions, draft.at);
  for (const read of [source, count]) requireUndisturbed(read, from, draft.at);
  for (const definition of definitions) {
    if (draft.gone.includes(definition.statement)) continue;
    const reader = readersOf(definition, definition.name).find(
      (read) => !draft.gone.some((gone) => gone.start <= read.start && read.end <= gone.end),
    );
    if (reader) refuse(`line ${lineOf(reader)} reads \`${definition.name}\` too, so that the heads stay repeated`);
    draft.edits.push(removeStatement(definition.statement));
    draft.gone.push(definition.statement);
    draft.changed.push(definition);
  }
  draft.emitted.push(...outside(left, before), source, count);
  const [heads, n] = [`${flat(source)}.shape[-3]`, flat(count)];
  const hoist = canHoist(node);
  const lines: string[] = [];
  let rows = withTexts(left, before);
  if (!isSimple(unwrap(left))) {
    if (!hoist) refuse('the left operand is an expression; give it a name first');
    const name = draft.fresh('rows');
    lines.push(`${name} = ${rows}`);
    rows = name;
  }
  const folded = [`${rows}.unflatten(-3, (${heads}, ${n}))`, '.flatten(-3, -2)'];
  const product = (a: string): string => {
    const call = callOf(node);
    const b = `${flat(source)}${tail}`;
    if (!call) return `${a} @ ${b}`;
    return call.receiver === left ? `${a}.${call.method}(${b})` : `${call.name}(${a}, ${b})`;
  };
  const unfolded = `.unflatten(-2, (${n}, ${rows}.shape[-2])).flatten(-4, -3)`;
  // `(q @ k.mT) / 8`: the parentheses of the operator are no longer needed.
  const whole = node.parent?.kind === 'parenthesized_expression' ? node.parent : node;
  if (!hoist) {
    const text = product(folded.join(''));
    return { lines, whole, text: `${node.kind === 'call' ? text : `(${text})`}${unfolded}` };
  }
  const name = draft.fresh('grouped');
  const line = `${name} = ${folded.join('')}`;
  const short = line.length + indentOf(draft.target).length <= LONGEST_LINE;
  lines.push(...(short ? [line] : [`${name} = ${folded[0]}`, `${name} = ${name}${folded[1]}`]));
  lines.push(`${name} = ${product(name)}`);
  const fits = nested || name.length + unfolded.length <= roomFor(draft.target, whole);
  if (!fits) lines.push(`${name} = ${name}${unfolded}`);
  return { lines, whole, text: fits ? `${name}${unfolded}` : name };
}

const isWithin = (inner: Node, outer: Node): boolean => outer.start <= inner.start && inner.end <= outer.end;

/** The text of an operand, in which products that stand in it are written as they are now. */
function withTexts(operand: Node, before: readonly Changed[]): string {
  const own = before.filter(({ whole }) => isWithin(whole, operand));
  const inner = own
    .filter(({ whole }) => !own.some((other) => other.whole !== whole && isWithin(whole, other.whole)))
    .sort((a, b) => a.whole.start - b.whole.start);
  if (inner.length === 0) return flat(operand);
  const { text } = operand.file;
  if (/[#'"]/.test(textOf(operand)))
    refuse(`line ${lineOf(operand)} holds a comment or a string; give the left operand a name first`);
  let [at, written] = [operand.start, ''];
  for (const { whole, text: now } of inner) {
    written += text.slice(at, whole.start) + now;
    at = whole.end;
  }
  return (written + text.slice(at, operand.end)).replace(/\s+/g, ' ');
}

/** The parts of an operand that stand outside of products that were written anew. */
function outside(operand: Node, before: readonly Changed[]): readonly Node[] {
  if (before.some(({ whole }) => whole === operand)) return [];
  if (!before.some(({ whole }) => isWithin(whole, operand))) return [operand];
  return operand.children.flatMap((child) => outside(child, before));
}
