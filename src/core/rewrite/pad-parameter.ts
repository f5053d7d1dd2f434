/**
 * A weight that the class itself makes, `self.w = nn.Parameter(torch.empty(130, 64))`, and multiplies a concatenation by:
 * it gets the missing columns when it is made. IKB401.
 */
import type { Match } from '../judge/match';
import { type Node, enclosing, lineOf, textOf } from '../python/syntax';
import { callOf, elements, integer, unwrap } from './expression';
import { indexOf } from './file-index';
import { refuse } from './refusal';
import { requireUntouched } from './surgery';
import { visit } from './names';

export interface Widened {
  /** The number of its columns, as it is written. */
  readonly size: Node;
  readonly width: number;
  readonly name: string;
  /** What the numbers along that axis are called. */
  readonly unit: 'row' | 'column';
}

const MADE = /^torch\.(empty|zeros|ones|randn?|Tensor|FloatTensor)$/;

export function parameterOf({ sink }: Match): Widened {
  const name = sink.weight ?? '';
  const attribute = /^self\.(\w+)$/.exec(name)?.[1];
  const owner = enclosing(sink.node, 'class_definition');
  const { file } = sink.node;
  const values = attribute === undefined ? [] : (indexOf(file).attributes.get(attribute) ?? []);
  const [value, ...more] = values;
  if (!owner || !value || more.length > 0 || enclosing(value, 'class_definition') !== owner)
    return refuse('the weight is not made once, by the class that multiplies by it');
  const parameter = callOf(unwrap(value));
  const made = parameter && /(^|\.)Parameter$/.test(parameter.name) ? callOf(parameter.positional[0] ?? value) : null;
  const [first] = made?.positional ?? [];
  const sizes = made && first && (made.positional.length === 1 ? elements(first) : made.positional);
  if (!made || !MADE.test(made.name) || sizes?.length !== 2)
    return refuse(`\`${name}\` is not made as a parameter of two sizes that are written there`);
  const ofLinear = sink.kind === 'linear';
  const size = sizes[ofLinear ? 1 : 0] ?? value;
  const width = integer(size);
  if (width === null) return refuse(`the width \`${textOf(size)}\` is not written as a number`);
  requireUntouched(file, '', name, [owner]);
  requireOneReader(sink.node, value, name);
  return { size, width, name, unit: ofLinear ? 'column' : 'row' };
}

/** Nothing but what makes it, what fills it and the product may know how wide it is. */
function requireOneReader(sink: Node, made: Node, name: string): void {
  visit(sink.file.root, (node) => {
    if (node.kind !== 'attribute' || textOf(node) !== name) return;
    const inProduct = sink.start <= node.start && node.end <= sink.end;
    const assigned = node.field === 'left' && made.parent === node.parent;
    if (!inProduct && !assigned && !isFilled(node)) refuse(`line ${lineOf(node)} uses \`${name}\` too`);
  });
}

/** `nn.init.xavier_uniform_(self.w)`, as a statement of its own. */
function isFilled(weight: Node): boolean {
  const node = enclosing(weight, 'call');
  const call = node && callOf(node);
  const alone = node?.parent?.kind === 'expression_statement';
  return alone && call?.positional[0] === weight && /(^|\.)init\.\w+_$/.test(call.name);
}
