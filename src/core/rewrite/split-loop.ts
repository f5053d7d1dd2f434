/**
 * A forward that is a loop over a list of layers, `for i in range(len(self.layers)): h = self.layers[i](h) ..`, cut in two
 * behind the first layer: that layer, and a method for all that follows, whose first pass finds its product made.
 */
import type { Sink } from '../judge/match';
import { type Node, childOf, enclosing, statementOf, textOf } from '../python/syntax';
import { parametersOf } from './calls-to';
import { type Edit, indentOf, lineEnd, replace } from './edit';
import { callOf, elements, unwrap } from './expression';
import { assignmentsIn } from './file-index';
import { isBinding, isMutation, occurrences, visit } from './names';
import { type Split, isText, returned, unusedIn } from './split-forward';

/** What goes through the layers, by which the loop calls them. */
interface Loop {
  readonly statement: Node;
  readonly body: readonly Node[];
  /** `self.layers` */
  readonly list: string;
  /** How the loop calls a layer: `self.layers[i]`, `layer`. */
  readonly layer: string;
  /** Names that the loop gives values to. */
  readonly targets: readonly string[];
  /** True in the first pass: `i == 0`, `layer is self.layers[0]`. */
  readonly isFirst: string;
}

/** Null when the product is not the first thing in such a loop, or the input is read for more than that. */
export function splitLoop(callee: Node, { node, input, module }: Sink): Split | null {
  const parameters = parametersOf(callee);
  const list = childOf(callee, 'parameters')?.children ?? [];
  const plain = list.every((one) => /^(identifier|(typed_)?(default_)?parameter)$/.test(one.kind));
  const named = textOf(childOf(callee, 'name') ?? callee) === 'forward' && parameters[0]?.name === 'self';
  const decorated = callee.parent?.kind === 'decorated_definition' || /^async\b/.test(textOf(callee));
  const constructor = module?.constructor ?? null;
  if (!plain || !named || decorated || input?.kind !== 'identifier' || !constructor) return null;
  const [first, second] = (childOf(callee, 'body')?.children ?? []).filter((statement) => !isText(statement));
  const given = first && aliasOf(first, textOf(input));
  const loop = given ? second && loopOf(second) : first && loopOf(first);
  const x = given ?? textOf(input);
  const position = parameters.findIndex(({ name }) => name === x) - 1;
  if (!first || !loop || position < 0 || !isListOf(callee, loop.list, constructor)) return null;
  if (given && occurrences(callee, x).length !== 2) return null;
  const calls = layerCalls(loop, textOf(input));
  if (!calls.includes(node) || !isReadFirst(loop, textOf(input), calls)) return null;
  const name = loop.list.slice('self.'.length);
  const method = unusedIn(callee, `after_${name}`);
  const [end, outer, inner] = [lineEnd(callee.file.text), indentOf(callee), indentOf(first)];
  const passed = parameters.slice(1).map((one) => (one.name === x ? `${loop.list}[0](${x})` : one.name));
  const header = `def ${method}(${list.map(textOf).join(', ')})${returned(callee)}:`;
  const lines = `return self.${method}(${passed.join(', ')})${end}${end}${outer}${header}${end}${inner}`;
  const edits: Edit[] = [{ start: first.start, end: first.start, text: lines }];
  for (const call of calls) {
    const text = `${textOf(input)} if ${loop.isFirst} else ${textOf(call)}`;
    edits.push(replace(call, /^(assignment|argument_list)$/.test(call.parent?.kind ?? '') ? text : `(${text})`));
  }
  const literal = isLiteral(callee, loop.list);
  return {
    method,
    position,
    edits,
    layer: `${loop.list}[0]`,
    ...(literal ? {} : { list: loop.list }),
  };
}

/** The parameter in `h = x`. */
function aliasOf(statement: Node, name: string): string | null {
  const [assignment] = statement.kind === 'expression_statement' ? statement.children : [];
  const [left, right] =
    assignment?.kind === 'assignment' ? [childOf(assignment, 'left'), childOf(assignment, 'right')] : [];
  return left && textOf(left) === name && right?.kind === 'identifier' ? textOf(right) : null;
}

function loopOf(statement: Node): Loop | null {
  const [left, right, body] = ['left', 'right', 'body'].map((field) => childOf(statement, field));
  if (statement.kind !== 'for_statement' || statement.children.length !== 3 || !left || !right || !body) return null;
  const targets = left.kind === 'identifier' ? [textOf(left)] : left.children.map(textOf);
  const common = { statement, body: body.children, targets };
  const [one = '', two = ''] = targets;
  const ranged = /^range\(len\((self\.\w+)\)\)$/.exec(textOf(right))?.[1];
  if (ranged && targets.length === 1)
    return { ...common, list: ranged, layer: `${ranged}[${one}]`, isFirst: `${one} == 0` };
  const counted = /^enumerate\((self\.\w+)\)$/.exec(textOf(right))?.[1];
  if (counted && targets.length === 2) return { ...common, list: counted, layer: two, isFirst: `${one} == 0` };
  const walked = /^(self\.\w+)$|^zip\((self\.\w+)(, self\.\w+)*\)$/.exec(textOf(right));
  const list = walked?.[1] ?? walked?.[2];
  return list ? { ...common, list, layer: one, isFirst: `${one} is ${list}[0]` } : null;
}

/** `self.layers = nn.ModuleList([nn.Linear(..) for ..])`, once: every pass has a layer of its own, made by `constructor`. */
function isListOf(callee: Node, list: string, constructor: Node): boolean {
  const first = listOf(callee, list)?.items[0];
  return first !== undefined && unwrap(first) === constructor;
}

/** The list is written out, so that it is not empty. */
const isLiteral = (callee: Node, list: string): boolean => listOf(callee, list)?.written === true;

/** What the class around assigns to `self.layers`, if it does so once. */
function listOf(callee: Node, list: string): ModuleList | null {
  const owner = enclosing(callee, 'class_definition');
  const [assignment, ...more] = (owner && assignmentsIn(owner).get(list)) ?? [];
  const value = assignment && more.length === 0 ? childOf(assignment, 'right') : null;
  return value && moduleList(value);
}

export interface ModuleList {
  /** What makes an item; one for all of a comprehension. */
  readonly items: readonly Node[];
  /** False for a comprehension, which may be empty. */
  readonly written: boolean;
}

/** `nn.ModuleList([..])`, or null. */
export function moduleList(value: Node): ModuleList | null {
  const made = unwrap(value);
  const given = made.kind === 'call' ? childOf(made, 'arguments') : null;
  if (!given || !/^(torch\.)?(nn\.)?ModuleList$/.test(textOf(childOf(made, 'function') ?? made))) return null;
  const list = given.kind === 'argument_list' && given.children.length === 1 ? given.children[0] : given;
  if (!list) return null;
  if (/^(list_comprehension|generator_expression)$/.test(list.kind))
    return { items: list.children.slice(0, 1), written: false };
  const items = elements(list);
  return items && items.length > 0 ? { items, written: true } : null;
}

/** Calls of the layer with what goes through, in the loop. */
function layerCalls(loop: Loop, through: string): readonly Node[] {
  const found: Node[] = [];
  visit(loop.statement, (node) => {
    const call = callOf(node);
    const [only, ...more] = call?.positional ?? [];
    if (!call || call.splat || call.keywords.size > 0 || !only || more.length > 0) return;
    if (call.name === loop.layer && textOf(only) === through) found.push(node);
  });
  return found;
}

/** The first statement of a pass multiplies; what went in is read for nothing else, and written nowhere. */
function isReadFirst({ statement, body, targets }: Loop, through: string, calls: readonly Node[]): boolean {
  const [first] = body;
  const uses = occurrences(statement, through);
  if (
    !first ||
    uses.some(isMutation) ||
    targets.some((name) => occurrences(statement, name).filter(isBinding).length > 1)
  )
    return false;
  if (!calls.some((call) => statementOf(call) === first)) return false;
  const binds = uses.some((use) => isBinding(use) && statementOf(use) === first);
  return uses.every((use) => {
    if (isBinding(use) || calls.some((call) => call.start <= use.start && use.end <= call.end)) return true;
    return binds && statementOf(use) !== first;
  });
}
