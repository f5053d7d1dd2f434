/**
 * [q | k | q - k | q * k] in front of a linear layer: W x is a sum over the distinct factors and products, each with the
 * sum of the weights that it meets: (W1 + W3) q + (W2 - W3) k + W4 (q * k). What only holds q runs once per q. IKB104.
 */
import type { Match } from '../judge/match';
import { type Node, childOf, statementOf, textOf, lineOf } from '../python/syntax';
import type { Written } from './decompose';
import { requireUndisturbed } from './disturbance';
import { flat, insertBefore, replace } from './edit';
import { callOf, elements, isView, rootName, unwrap } from './expression';
import { hasSizesOf } from './full-rows';
import { OTHERS_HAVE_ALL_ROWS, ROUNDING } from './conditions';
import { canHoist, conditionsOf } from './guards';
import { merged as mergedSum, tracedRows } from './merged-rows';
import { productOf } from './product';
import { conditionsOfDtypes } from './dtypes';
import { type Draft, draftFor, finished, removeDefinitions, sourceText } from './producers';
import { refuse } from './refusal';
import { agrees, broadcasts, replicateOf } from './replicate';
import { trace } from './trace';

/** coefficient * product of factors. */
interface Term {
  readonly coefficient: number;
  readonly factors: readonly Node[];
}

interface Factor {
  /** As it stands in the concatenation. */
  readonly written: string;
  readonly text: string;
  readonly base: string;
  readonly copied: boolean;
  /** For copies: whether they are as long as one of these tensors. */
  readonly asLongAs: (tensors: readonly string[]) => boolean;
}

/** A distinct product of factors with the weights that it meets. */
interface Atom {
  readonly factors: readonly Factor[];
  readonly weights: { readonly coefficient: number; readonly name: string }[];
}

interface Operands {
  readonly operands: readonly Node[];
  /** What has to follow the sum. */
  readonly merge: string;
}

export function differenceProduct(match: Match): Written {
  const product = productOf(match);
  const { node, input, kind } = match.sink;
  if (kind !== 'linear' || !input) refuse('the product is not a linear layer');
  if (!canHoist(node)) refuse('the layer is called inside an expression; give it a statement of its own first');
  const draft = draftFor(node);
  const { operands, merge } = readOperands(match, draft, input);
  const blocks = operands.map(termsOf);
  requireSameForm(match, blocks);
  const factorOf = factorReader(match, draft, statementOf(operands[0] ?? node), merge !== '');
  const names = blocks.map((terms, i) => draft.fresh(`w_${blockName(terms, operands[i] ?? node)}`));
  const atoms = atomsOf(blocks, names, factorOf);

  const parts = [...atoms].sort((a, b) => Number(isCopied(a)) - Number(isCopied(b)));
  if (parts.every(isCopied)) refuse('every block is a copy');
  if (!parts.some(isCopied)) refuse('the copies are not made in a form that is known');
  const rows = hasAllRows(blocks, factorOf) ? [] : [OTHERS_HAVE_ALL_ROWS];
  const dtypes = conditionsOfDtypes(blocks.flatMap((terms) => terms.flatMap((term) => term.factors)));
  const lines = [`${names.join(', ')} = ${product.weight}.chunk(${names.length}, dim=1)`];
  const sum = parts.map((atom, i) => {
    const name = draft.fresh(`${atom.factors.map((factor) => factor.base).join('_')}_part`);
    const x = atom.factors.map((factor) => factor.text).join(' * ');
    lines.push(`${name} = ${product.of(x, weightOf(atom), i === 0 ? product.bias : null)}`);
    return name;
  });
  const joined = mergedSum(sum.join(' + '), merge);
  const whole = product.after(joined);
  const alone =
    whole !== joined ||
    merge !== '' ||
    ['assignment', 'return_statement', 'argument_list'].includes(node.parent?.kind ?? '');
  const edits = [...product.imports, insertBefore(draft.target, lines), replace(node, alone ? whole : `(${whole})`)];
  return {
    edits: finished(draft, edits),
    conditions: [ROUNDING, ...rows, ...dtypes, ...product.conditions, ...conditionsOf(match)],
  };
}

/**
 * A block without a copy is as long as all blocks; else the copies must be made as long as a free factor. Otherwise the
 * free ones may be a bias that broadcasts too, and the sum would come out too small.
 */
function hasAllRows(blocks: readonly (readonly Term[])[], factorOf: (node: Node) => Factor): boolean {
  const factors = blocks.map((terms) => terms.flatMap((term) => term.factors.map(factorOf)));
  if (factors.some((block) => block.every((factor) => !factor.copied))) return true;
  const free = factors.flat().flatMap((factor) => (factor.copied ? [] : [factor.written]));
  return factors.flat().every((factor) => !factor.copied || factor.asLongAs(free));
}

function readOperands(match: Match, draft: Draft, input: Node): Operands {
  const { form } = match;
  const made = tracedRows(match, input);
  const call = callOf(made.value);
  const operands =
    call && ['cat', 'concat', 'concatenate'].includes(call.method) ? elements(call.positional[0] ?? null) : null;
  if (!form || !operands || operands.length !== form.blocks.length) {
    refuse(`the input of line ${lineOf(match.sink.node)} is not plainly one torch.cat`);
  }
  if (!removeDefinitions(draft, made.definitions))
    refuse(draft.stays[0]?.text ?? 'the concatenation is read elsewhere too');
  return { operands, merge: made.merge };
}

/** The text and the evaluation must see the same sums: a name may hold a number, or a sum of its own. */
function requireSameForm(match: Match, blocks: readonly (readonly Term[])[]): void {
  const same = blocks.every((terms, i) => {
    const seen = match.form?.blocks[i]?.terms ?? [];
    const shape = (list: readonly { factors: readonly unknown[] }[]): string =>
      list
        .map(({ factors }) => factors.length)
        .sort()
        .join();
    return shape(terms) === shape(seen);
  });
  if (!same) refuse('a block holds more than its text says');
}

/** Sums, differences, negations and products of named tensors; anything else is refused. */
function termsOf(expression: Node): readonly Term[] {
  const node = unwrap(expression);
  const sign = (coefficient: number, terms: readonly Term[]): readonly Term[] =>
    terms.map((term) => ({ ...term, coefficient: coefficient * term.coefficient }));
  if (isView(node)) return [{ coefficient: 1, factors: [node] }];
  if (node.kind === 'unary_operator' && textOf(childOf(node, 'operator') ?? node) === '-') {
    return sign(-1, termsOf(childOf(node, 'argument') ?? node));
  }
  const [left, right, operator] = [childOf(node, 'left'), childOf(node, 'right'), childOf(node, 'operator')];
  if (node.kind === 'binary_operator' && left && right && operator) {
    const symbol = textOf(operator);
    if (symbol === '+') return [...termsOf(left), ...termsOf(right)];
    if (symbol === '-') return [...termsOf(left), ...sign(-1, termsOf(right))];
    const [a, b] = symbol === '*' ? [termsOf(left), termsOf(right)] : [[], []];
    const [x, y] = [a[0], b[0]];
    if (x && y && a.length === 1 && b.length === 1) {
      return [{ coefficient: x.coefficient * y.coefficient, factors: [...x.factors, ...y.factors] }];
    }
  }
  return refuse(`the block at line ${lineOf(node)} is not a sum of products of named tensors`);
}

function factorReader(match: Match, draft: Draft, site: Node, merged: boolean): (node: Node) => Factor {
  const facts = (match.form?.blocks ?? []).flatMap((block) =>
    block.terms.flatMap((term) => term.factors.flatMap((atom) => atom.replicas)),
  );
  const known = new Map<string, Factor>();
  return (node) => {
    const key = flat(node);
    const before = known.get(key);
    if (before) return before;
    const made = trace(node);
    const replicate = replicateOf(made.value);
    const copied = replicate !== null && agrees(replicate, facts, merged);
    if (copied && !broadcasts(replicate, facts))
      refuse('groups of rows share one query: it does not broadcast by itself');
    if (!copied) requireUndisturbed(node, site, draft.at);
    if (!copied) draft.emitted.push(node);
    const text = copied ? sourceText(draft, replicate, made, node) : key;
    const asLongAs = (tensors: readonly string[]): boolean => copied && hasSizesOf(replicate, facts, tensors);
    const factor = { written: key, text, base: /^\w+$/.test(text) ? text : rootName(node), copied, asLongAs };
    known.set(key, factor);
    return factor;
  };
}

function atomsOf(
  blocks: readonly (readonly Term[])[],
  names: readonly string[],
  factorOf: (node: Node) => Factor,
): readonly Atom[] {
  const atoms = new Map<string, Atom>();
  // The blocks are split into equal parts: all tensors must be as wide as one another, as those of one block are.
  const linked = new Set<string>();
  blocks.forEach((terms, i) => {
    const inBlock = new Set<string>();
    for (const { coefficient, factors } of terms) {
      const read = factors.map(factorOf);
      for (const factor of read) inBlock.add(factor.text);
      const key = read
        .map((factor) => factor.text)
        .sort()
        .join(' * ');
      const atom = atoms.get(key) ?? { factors: read, weights: [] };
      atom.weights.push({ coefficient, name: names[i] ?? '' });
      atoms.set(key, atom);
    }
    if (inBlock.size > 1) for (const text of inBlock) linked.add(text);
  });
  for (const atom of atoms.values()) {
    if (atom.factors.some((factor) => !linked.has(factor.text)))
      refuse(`\`${atom.factors[0]?.text}\` may have another width`);
  }
  return [...atoms.values()];
}

const isCopied = (atom: Atom): boolean => atom.factors.every((factor) => factor.copied);

function weightOf({ weights }: Atom): string {
  return weights
    .map(({ coefficient, name }, i) => `${coefficient < 0 ? (i === 0 ? '-' : ' - ') : i === 0 ? '' : ' + '}${name}`)
    .join('');
}

function blockName(terms: readonly Term[], operand: Node): string {
  if (terms.length > 1) return terms.some((term) => term.coefficient < 0) ? 'diff' : 'sum';
  return (terms[0]?.factors.length ?? 0) > 1 ? 'prod' : rootName(operand);
}
