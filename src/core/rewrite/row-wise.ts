/** Operators that treat rows one by one, as far as text tells: behind a product they can run before the rows are copied. */
import type { Condition } from '../finding';
import { type Node, childOf, enclosing, scopeOf, statementOf, textOf } from '../python/syntax';
import { EVALUATION, rowByRow, sharedDraw } from './conditions';
import { type Call, argument, callOf, integer } from './expression';
import { isBinding, isMutation, occurrences, readersOf, visit } from './names';
import { parameterRank } from './ranks';
import { isOfTorch, torchName } from './torch-name';
import { trace } from './trace';

export const FUNCTIONS: ReadonlySet<string> = new Set(
  'relu gelu silu sigmoid tanh leaky_relu elu selu celu softplus mish relu6 hardswish hardsigmoid logsigmoid'.split(
    ' ',
  ),
);

const CLASSES = new Set(
  (
    'Linear ReLU GELU SiLU Tanh Sigmoid LeakyReLU ELU SELU CELU Softplus Mish ReLU6 Hardswish Hardsigmoid Identity ' +
    'LayerNorm RMSNorm'
  ).split(' '),
);

/** `nn.Linear(..)`, `nn.LayerNorm(d)`: a constructor of a module that works row by row. */
export function isRowWiseModule(constructor: Node): boolean {
  const call = callOf(constructor);
  if (!call) return false;
  const name = torchName(call);
  if (name === 'Sequential') return !call.splat && call.keywords.size === 0 && call.positional.every(isRowWiseModule);
  if (/^(Log)?Softmax$/.test(name)) return integer(argument(call, 0, 'dim')) === -1;
  return CLASSES.has(name) && isOfTorch(call) && !(/Norm$/.test(name) && takesSeveralAxes(call));
}

/** A norm over several axes takes rows together: `nn.LayerNorm([n, d])`, `nn.LayerNorm(x.shape[1:])`, `nn.LayerNorm(shape)`. */
function takesSeveralAxes(norm: Call): boolean {
  const given = argument(norm, 0, 'normalized_shape');
  const width = given && trace(given).value;
  return norm.splat || !width || /^[([]|:[^\]]*\]$|size\(\)$|(^|[._])(shape|dims)$/.test(textOf(width));
}

/** The last operator behind `sink` that works row by row and is the only one to read what comes before it. */
export function lastRowWise(sink: Node): Node {
  let last = sink;
  for (let next = nextRowWise(last); next; next = nextRowWise(last)) last = next;
  return last;
}

function nextRowWise(node: Node): Node | null {
  const direct = rowWiseCallOf(node) ?? scaled(node);
  if (direct) return direct;
  const assignment = node.parent;
  const target = assignment?.kind === 'assignment' ? childOf(assignment, 'left') : null;
  if (!assignment || target?.kind !== 'identifier' || assignment.field === 'right') return null;
  const name = textOf(target);
  const statement = statementOf(node);
  const [reader, ...others] = readersOf({ statement, value: node }, name);
  if (!reader || others.length > 0 || scopeOf(reader) !== scopeOf(node)) return null;
  if (statementOf(reader).parent !== statement.parent) return null;
  const between = occurrences(statement.parent ?? statement, name).filter(
    (o) => o.start >= statement.end && o.end <= statementOf(reader).start,
  );
  if (between.some((o) => isBinding(o) || isMutation(o)) || isMutation(reader)) return null;
  return rowWiseCallOf(reader) ?? scaled(reader);
}

/** `node * 0.5`, `node + self.b`: by numbers that are the same for every row. */
function scaled(node: Node): Node | null {
  const { parent, field } = node;
  if (parent?.kind !== 'binary_operator') return null;
  const other = childOf(parent, field === 'left' ? 'right' : 'left');
  const same = other !== null && (/^(integer|float)$/.test(other.kind) || parameterRank(other) === 1);
  return same && /^[-+*/]$/.test(textOf(childOf(parent, 'operator') ?? parent)) ? parent : null;
}

/** `f(node)` or `node.f()` where f works row by row. */
function rowWiseCallOf(node: Node): Node | null {
  const { parent } = node;
  if (parent?.kind === 'attribute' && node.field === 'object') {
    const call = parent.parent ? callOf(parent.parent) : null;
    return call?.callee === parent && FUNCTIONS.has(call.method) && call.positional.length === 0 ? call.node : null;
  }
  const call = parent?.kind === 'argument_list' && parent.parent ? callOf(parent.parent) : null;
  if (!call || call.positional.length !== 1 || call.positional[0] !== node || call.splat) return null;
  if (call.keywords.size === 0 && /^(torch|F|nn\.functional|torch\.nn\.functional)\.\w+$/.test(call.name)) {
    return FUNCTIONS.has(call.method) ? call.node : null;
  }
  const constructor =
    /^self\.\w+$/.test(call.name) && call.keywords.size === 0 ? constructorOf(call.node, call.name) : null;
  return constructor && isRowWiseModule(constructor) ? call.node : null;
}

/** The one constructor that the class around `node` assigns to `self.name`, or null. */
export function constructorOf(node: Node, name: string): Node | null {
  const owner = enclosing(node, 'class_definition');
  const found: Node[] = [];
  if (owner) {
    visit(owner, (part) => {
      const left = part.kind === 'assignment' ? childOf(part, 'left') : null;
      if (left && textOf(left) === name) found.push(childOf(part, 'right') ?? part);
    });
  }
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** Conditions under which stages work row by row that do not say so by themselves; null where one takes rows together. */
export function stageConditions(stages: readonly Node[], text: string): readonly Condition[] | null {
  const unknown = stages.filter((stage) => !isRowWiseModule(stage));
  if (unknown.some(takesRowsTogether)) return null;
  const name = (stage: Node): string => {
    const call = callOf(stage);
    return call ? torchName(call) : '';
  };
  const random = unknown.filter((stage) => /Dropout|RReLU/.test(name(stage)));
  const drawn = [...new Set(random.map(name))].join(' and ');
  const batch = unknown.filter((stage) => /BatchNorm/.test(name(stage)));
  return [
    ...(random.length > 0 ? [sharedDraw('all copies of a row', drawn)] : []),
    ...(batch.length > 0 ? [EVALUATION] : []),
    ...(unknown.length > random.length + batch.length ? [rowByRow(text)] : []),
  ];
}

/** `nn.Softmax(dim=0)`, a pooling, a recurrent layer: plainly no module that works row by row. */
export function takesRowsTogether(stage: Node): boolean {
  const call = callOf(stage);
  if (!call) return false;
  if (/^(Log)?Soft(max|min)$/.test(call.method)) {
    const dim = argument(call, 0, 'dim');
    return dim !== null && integer(dim) === 0;
  }
  return /Pool[123]d$|^(LSTM|GRU|RNN|Softmax2d|MultiheadAttention|Transformer\w*|Flatten)$/.test(torchName(call));
}
