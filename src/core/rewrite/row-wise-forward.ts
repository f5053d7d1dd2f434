/** Modules of the file whose forward works row by row: what it gives for a row depends on that row alone. */
import type { Condition } from '../finding';
import { type Node, childOf, textOf } from '../python/syntax';
import { shortly } from './edit';
import { argument, callOf, integer, unwrap } from './expression';
import { assignmentsIn, indexOf } from './file-index';
import { occurrences } from './names';
import { parameterRank } from './ranks';
import { torchName } from './torch-name';
import { FUNCTIONS, stageConditions } from './row-wise';
import { isText } from './split-forward';
import { moduleList } from './split-loop';

/** What a forward reads of `self`, and what must hold for it to work row by row. */
export interface RowWise {
  readonly conditions: readonly Condition[];
  readonly attributes: ReadonlySet<string>;
}

/** How deep modules of the file may stand in one another. */
const DEEPEST = 3;

/** Null where the forward of a class does not plainly work row by row. */
export function rowWiseForward(owner: Node, depth = 0): RowWise | null {
  const forwards = (childOf(owner, 'body')?.children ?? []).filter(
    (one) => textOf(childOf(one, 'name') ?? one) === 'forward' && one.kind === 'function_definition',
  );
  const [forward, ...more] = forwards;
  if (!forward || more.length > 0 || depth > DEEPEST || /^async\b/.test(textOf(forward))) return null;
  const [self, x, ...others] = (childOf(forward, 'parameters')?.children ?? []).map((one) =>
    textOf(one.children[0] ?? one),
  );
  if (self !== 'self' || x === undefined || others.length > 0) return null;
  const reader = createReader(owner, new Set([x]), depth);
  const body = (childOf(forward, 'body')?.children ?? []).filter((statement) => !isText(statement));
  const last = body.at(-1);
  const [result] = last?.kind === 'return_statement' ? last.children : [];
  if (!result || !body.slice(0, -1).every((statement) => reader.assigns(statement)) || !reader.isRow(result))
    return null;
  return { conditions: reader.conditions, attributes: reader.attributes };
}

function createReader(owner: Node, rows: Set<string>, depth: number) {
  const conditions: Condition[] = [];
  const attributes = new Set<string>();
  /** Lists of layers by the names of the loops over them. */
  const walked = new Map<string, string>();

  /** `self.fc(x)`, `self.layers[i](x)`, `layer(x)` in a loop over them: every module that the class makes for it. */
  const isModule = (callee: Node): boolean => {
    const name = callee.kind === 'subscript' ? childOf(callee, 'value') : callee;
    const list = callee.kind === 'identifier' ? walked.get(textOf(callee)) : undefined;
    const text = list ?? (name ? textOf(name) : '');
    const made = /^self\.\w+$/.test(text) ? (assignmentsIn(owner).get(text) ?? []) : [];
    attributes.add(text);
    return (
      made.length > 0 &&
      made.every((assignment) => isRowModule(childOf(assignment, 'right'), callee !== name || list !== undefined))
    );
  };
  const isRowModule = (value: Node | null, listed: boolean): boolean => {
    const list = listed && value ? moduleList(value) : null;
    if (list) return list.items.every((item) => isRowModule(item, false));
    const call = value ? callOf(unwrap(value)) : null;
    if (!call) return false;
    const own = indexOf(owner.file).classes.get(call.method) ?? [];
    const [inner] = own;
    if (inner && !listed) {
      const found = own.length === 1 ? rowWiseForward(inner, depth + 1) : null;
      conditions.push(...(found?.conditions ?? []));
      return found !== null;
    }
    if (!/^((torch\.)?nn\.)?\w+$/.test(call.name)) return false;
    const made = torchName(call);
    if (listed && made !== 'Sequential') return false;
    const stages = made === 'Sequential' ? (call.splat ? null : call.positional) : [call.node];
    if (!stages) return false;
    const needed = stageConditions(stages, shortly(call.node));
    // Nothing is taken for row-wise on trust.
    if (!needed || needed.some(({ kind }) => kind === 'row-wise')) return false;
    conditions.push(...needed);
    return true;
  };

  const isConstant = (node: Node): boolean => {
    const at = unwrap(node);
    if (['integer', 'float'].includes(at.kind)) return true;
    const rank = parameterRank(at);
    return rank !== null && rank <= 1;
  };

  const isRow = (expression: Node): boolean => {
    const node = unwrap(expression);
    if (node.kind === 'identifier') return rows.has(textOf(node));
    const [left, right, operator] = [childOf(node, 'left'), childOf(node, 'right'), childOf(node, 'operator')];
    if (node.kind === 'binary_operator' && left && right && operator && /^[-+*/]$/.test(textOf(operator))) {
      const [a, b] = [isRow(left), isRow(right)];
      return (a || b) && (a || isConstant(left)) && (b || isConstant(right));
    }
    if (node.kind === 'conditional_expression') {
      const [then, condition, otherwise] = node.children;
      return !!then && !!condition && !!otherwise && isApart(condition) && isRow(then) && isRow(otherwise);
    }
    const call = callOf(node);
    if (!call || call.splat) return false;
    const free = /^(torch|F|nn\.functional|torch\.nn\.functional)\.\w+$/.test(call.name);
    if (/^(log_)?softmax$/.test(call.method)) {
      const tensor = free ? call.positional[0] : call.receiver;
      return !!tensor && isRow(tensor) && integer(argument(call, free ? 1 : 0, 'dim')) === -1;
    }
    const [only, ...more] = call.positional;
    if (FUNCTIONS.has(call.method) && call.keywords.size === 0) {
      if (free) return only !== undefined && more.length === 0 && isRow(only);
      if (call.receiver && call.positional.length === 0) return isRow(call.receiver);
    }
    return only !== undefined && more.length === 0 && call.keywords.size === 0 && isModule(call.callee) && isRow(only);
  };

  /** A condition that does not depend on the rows. */
  const isApart = (condition: Node): boolean => [...rows].every((name) => occurrences(condition, name).length === 0);

  /** `h = self.fc(x)`, also in a loop over layers, or on a condition. */
  const assigns = (statement: Node): boolean => {
    if (statement.kind === 'for_statement') {
      const body = childOf(statement, 'body')?.children ?? [];
      const loop = loopOver(statement);
      if (!loop || statement.children.length !== 3) return false;
      loop.forEach((list, name) => walked.set(name, list));
      return body.every(assigns);
    }
    if (statement.kind === 'if_statement') {
      const [condition, ...blocks] = statement.children;
      const bodies = blocks.map((block) => (block.kind === 'else_clause' ? childOf(block, 'body') : block));
      return (
        !!condition &&
        isApart(condition) &&
        bodies.every((body) => body?.kind === 'block' && body.children.every(assigns))
      );
    }
    const [only] = statement.kind === 'expression_statement' ? statement.children : [];
    const [left, right] = only?.kind === 'assignment' ? [childOf(only, 'left'), childOf(only, 'right')] : [];
    if (left?.kind !== 'identifier' || !right || !isRow(right)) return false;
    rows.add(textOf(left));
    return true;
  };
  return { conditions, attributes, isRow, assigns };
}

/** `for i in range(len(self.layers))`, `for layer, norm in zip(self.layers, self.norms)`: the lists by the names of their items. */
function loopOver(statement: Node): ReadonlyMap<string, string> | null {
  const [left, right] = [childOf(statement, 'left'), childOf(statement, 'right')];
  if (!left || !right) return null;
  const names = left.kind === 'identifier' ? [textOf(left)] : left.children.map(textOf);
  const text = textOf(right).replace(/\s+/g, '');
  if (/^range\(len\(self\.\w+\)\)$/.test(text)) return new Map();
  const counted = /^enumerate\((self\.\w+)\)$/.exec(text)?.[1];
  if (counted) return names.length === 2 ? new Map([[names[1] ?? '', counted]]) : null;
  const lists = /^self\.\w+$/.test(text)
    ? [text]
    : (/^zip\((self\.\w+(?:,self\.\w+)*)\)$/.exec(text)?.[1]?.split(',') ?? []);
  return lists.length > 0 && lists.length === names.length
    ? new Map(names.map((name, i) => [name, lists[i] ?? '']))
    : null;
}
