/** How many axes a tensor has, as far as its text says so. */
import type { Condition } from '../finding';
import type { AttentionFacts } from '../judge/match';
import { bindingsOf } from '../python/bindings';
import { shapesInDocstring, tensorType } from '../python/shape-facts';
import { type Node, type SourceFile, childOf, enclosing, scopeOf, textOf } from '../python/syntax';
import { hasAxesBefore, hasFourAxes } from './conditions';
import { flat } from './edit';
import { callOf, elements, integer, unwrap } from './expression';
import { isBinding, occurrences, visit } from './names';
import { refuse } from './refusal';
import type { Replicate } from './replica';
import { trace } from './trace';

const FACTORIES = new Set(['randn', 'rand', 'zeros', 'ones', 'empty', 'full', 'normal']);

/** Axes of `self.w`, where the class makes it once, as `nn.Parameter(torch.zeros(a, b))`; null when it does not say so. */
export function parameterRank(node: Node): number | null {
  const owner = enclosing(node, 'class_definition');
  if (!owner || !/^self\.\w+$/.test(textOf(node))) return null;
  const values: (Node | null)[] = [];
  visit(owner, (part) => {
    const left = part.kind === 'assignment' ? childOf(part, 'left') : null;
    if (left && textOf(left) === textOf(node)) values.push(childOf(part, 'right'));
    const call = callOf(part);
    const registered = call && /^self\.register_(buffer|parameter)$/.test(call.name) ? call.positional : [];
    if (registered[0] && textOf(registered[0]).slice(1, -1) === textOf(node).slice('self.'.length)) {
      values.push(registered[1] ?? null);
    }
  });
  const [value] = values;
  const made = value && values.length === 1 ? callOf(value) : null;
  const data = made && /(^|\.)Parameter$/.test(made.name) ? made.positional[0] : value;
  const factory = data ? callOf(data) : null;
  if (!factory || factory.splat || !/^torch\.\w+$/.test(factory.name) || !FACTORIES.has(factory.method)) return null;
  const [first, ...more] = factory.positional;
  const listed = elements(first ?? null);
  if (listed) return listed.length;
  // One size by name may be a tuple, unless a layer has it for its width.
  const named = first !== undefined && more.length === 0 && integer(first) === null && !isWidth(first);
  return first === undefined || named || factory.method === 'full' ? null : more.length + 1;
}

/**
 * What must hold for `x.expand(n, -1)` and `x.repeat(n, 1)` to be a map of an axis that x has: both also take a tensor
 * with fewer axes, and put new ones in front. Empty where the text says that x has them all.
 */
export function conditionsOfRank({ kind, source, suffix, arguments: sizes, node }: Replicate): readonly Condition[] {
  if (kind !== 'expand' && kind !== 'repeat') return [];
  const [first] = sizes;
  // -1 keeps an axis, so that there is one.
  if (!first || (kind === 'expand' && integer(first) === -1) || suffix.includes('.unsqueeze(')) return [];
  const { value } = trace(source);
  const whole = /\.?expand_as$/.test(callOf(unwrap(node))?.method ?? '') ? null : sizes.length;
  const known = [parameterRank(value), statedRank(value)].filter((rank): rank is number => rank !== null);
  if (isRaised(value) || (whole !== null && known.includes(whole))) return [];
  const [own] = known;
  if (own !== undefined && whole !== null)
    refuse(`\`${flat(source)}\` has ${own === 1 ? 'one axis' : `${own} axes`}, and the copy puts another in front`);
  return [hasAxesBefore(flat(source), whole)];
}

/** Attention also takes three axes. What must hold of `key` where nothing says of any operand how many it has. */
export const conditionsOfAttentionRank = (attention: AttentionFacts | null, key: string): readonly Condition[] =>
  attention && [attention.query, attention.key, attention.value].every(({ assumedRank }) => assumedRank === true)
    ? [hasFourAxes(key)]
    : [];

/** An axis is put in for the copies: `x.unsqueeze(0)`, `x[None]`. */
export function isRaised(node: Node): boolean {
  const at = unwrap(node);
  if (at.kind === 'subscript') return at.children.some((c) => c.field === 'subscript' && c.kind === 'none');
  return callOf(at)?.method === 'unsqueeze';
}

/** Axes of a parameter, by its annotation, a comment (`# ikbo: x=[B, D]`) or the docstring; null when they do not say so. */
function statedRank(node: Node): number | null {
  const callee = enclosing(node, 'function_definition');
  if (node.kind !== 'identifier' || !callee) return null;
  const name = textOf(node);
  const [binding, ...more] = occurrences(callee, name).filter(isBinding);
  const parameter = binding?.parent;
  if (!binding || !parameter || more.length > 0 || !/^(typed_|default_|parameters)/.test(parameter.kind)) return null;
  const type = /^typed_/.test(parameter.kind) ? childOf(parameter, 'type') : null;
  const annotated = type ? tensorType(textOf(type))?.dims : null;
  return (
    (annotated ?? commentsOf(node.file).get(name) ?? shapesInDocstring({ node: callee }, [name]).get(name))?.length ??
    null
  );
}

/** What the comments of a file state; read once. */
const comments = new WeakMap<SourceFile, ReadonlyMap<string, readonly string[]>>();

function commentsOf(file: SourceFile): ReadonlyMap<string, readonly string[]> {
  const known =
    comments.get(file) ?? bindingsOf([...file.text.matchAll(/#\s*ikbo:.*/g)].map(([text]) => ({ text }))).stated;
  comments.set(file, known);
  return known;
}

/** `nn.Linear(dim, dim)` stands beside `torch.ones(dim)`. */
function isWidth(size: Node): boolean {
  const name = textOf(size);
  if (!/^\w+$/.test(name)) return false;
  return new RegExp(`\\bLinear\\((?:[^()]*,)?\\s*${name}\\s*[,)]`).test(textOf(scopeOf(size)));
}
