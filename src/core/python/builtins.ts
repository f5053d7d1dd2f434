/** Python's own functions and the methods of lists, dicts and shapes, as far as data flows through them. */
import { constant, symbol, add, type Dim } from '../tensor/dim';
import { rankOf, tensor, withoutReplicas } from '../tensor/shape';
import type { Tensor } from '../tensor/value';
import { allocate, argument, asNumber, asString, placeOf } from './access';
import { parametersOf } from './arguments';
import { ANY_KEY, oneOf } from './by-key';
import { container, containerOf } from './containers';
import { isMemory } from './conventions';
import { type List, extended, withItems } from './heap';
import { isInstance } from './instances';
import { passes } from './iterate';
import { RETURNS_MODULE, layerByName } from './layers';
import { endOfPairs, isZippedPairs } from './pairs';
import type { Frame, Run } from './run';
import { unknown } from './state';
import { type Node, textOf } from './syntax';
import { type Args, FROM_ZERO, NONE, NUMBER, TRUTH, type Value, args as argsOf, int, tuple } from './value';

const BUILTINS = new Set(
  'abs all any bool dict divmod enumerate filter float frozenset getattr hasattr int isinstance issubclass iter len list map max min next print range reversed round set setattr sorted str sum super tuple type zip'.split(
    ' ',
  ),
);

export const isBuiltin = (name: string): boolean => BUILTINS.has(name);

export function callBuiltin(name: string, args: Args, node: Node, frame: Frame, run: Run): Value {
  const [first, second] = args.positional;
  switch (name) {
    case 'len':
      return int(lengthOf(first, node, frame, run));
    case 'range':
      // Of one pass the variable is known.
      return first && args.positional.length === 1 && asNumber(first) === 1
        ? tuple([int(constant(0))])
        : tuple([loopVariable(args, node)], true);
    case 'enumerate':
    case 'zip': {
      if (name === 'zip' && isZippedPairs(node))
        return tuple([endOfPairs(placeOf(node), true), endOfPairs(placeOf(node), true)]);
      const lists = (name === 'zip' ? args.positional : first ? [first] : []).map((v) => passes(v, node, frame, run));
      const open = lists.some((l) => l.open);
      const closed = lists.filter((l) => !l.open).map((l) => l.values.length);
      const length = closed.length > 0 ? Math.min(...closed) : Math.max(0, ...lists.map((l) => l.values.length));
      const rows = Array.from({ length }, (_, i) => {
        const row = lists.map((l) => l.values[i] ?? l.values[l.values.length - 1] ?? unknown());
        return tuple(name === 'enumerate' ? [loopVariable(args, node), ...row] : row);
      });
      return tuple(rows, open);
    }
    case 'map': {
      const lists = args.positional.slice(1).map((v) => passes(v, node, frame, run));
      const [list] = lists;
      if (!first || !list) return unknown();
      const rows = list.values.map((_, i) =>
        run.call(first, argsOf(...lists.map((l) => l.values[i] ?? unknown())), node, frame),
      );
      return tuple(
        rows,
        lists.some((l) => l.open),
      );
    }
    case 'list':
    case 'tuple':
    case 'sorted':
    case 'reversed':
    case 'iter':
    case 'filter': {
      const source = name === 'filter' ? second : first;
      const listed = source ? run.items(source, frame) : { items: [], open: false };
      if (!listed) return unknown();
      const items = name === 'reversed' ? [...listed.items].reverse() : listed.items;
      const open = listed.open || name === 'filter';
      return name === 'list' || name === 'sorted'
        ? allocate({ kind: 'list', items, open, tag: 'list' }, frame)
        : tuple(items, open);
    }
    case 'next': {
      const listed = first ? run.items(first, frame) : null;
      return listed?.items[0] ?? unknown();
    }
    case 'dict':
      return dictOf(args, frame, run);
    case 'getattr': {
      const attribute = asString(second) ?? templateOf(args.nodes.get(1));
      if (first && attribute !== null) return run.attribute(first, attribute, node, frame);
      return first?.kind === 'name' ? (layerByName(first.path, args.nodes.get(1)) ?? unknown()) : unknown();
    }
    case 'super': {
      const self = second ?? frame.state.names.get('self');
      const after = frame.function?.owner;
      return self?.kind === 'ref' && after ? { kind: 'super', self, after } : unknown();
    }
    case 'setattr':
      return first?.kind === 'ref'
        ? (containerMethod(first, 'register_module', withoutFirst(args), frame, run) ?? NONE)
        : NONE;
    case 'print':
      return NONE;
    case 'int':
      return first?.kind === 'int' ? first : int(symbol(`?@${node.start}`));
    case 'float':
    case 'abs':
    case 'round':
      return first?.kind === 'int' && name !== 'float' ? first : NUMBER;
    case 'max':
    case 'min': {
      const numbers = args.positional.map(asNumber);
      if (numbers.length > 1 && numbers.every((n): n is number => n !== null))
        return int(constant(Math[name](...numbers)));
      return args.positional.every((v) => v.kind === 'int') && args.positional.length > 1
        ? int(symbol(`?@${node.start}`))
        : unknown();
    }
    case 'sum': {
      const listed = first ? run.items(first, frame) : null;
      const dims = listed?.items.map((v): Dim => (v.kind === 'int' ? v.dim : null));
      if (listed && !listed.open && dims?.every((d) => d !== null) && dims.length > 0) return int(dims.reduce(add, []));
      return unknown();
    }
    case 'isinstance':
      return { kind: 'bool', value: first && second ? isInstance(first, second, frame, run) : null };
    case 'hasattr':
    case 'issubclass':
    case 'all':
    case 'any':
    case 'bool':
      return TRUTH;
    default:
      return unknown();
  }
}

const loopVariable = (args: Args, node: Node): Value =>
  int(symbol(`${args.positional.length === 1 && args.keywords.size === 0 ? FROM_ZERO : 'k'}@${node.start}`), true);

function lengthOf(value: Value | undefined, node: Node, frame: Frame, run: Run): Dim {
  if (!value) return null;
  if (value.kind === 'shape') {
    const rank = rankOf(value.of.shape);
    return rank === null ? null : constant(rank);
  }
  if (value.kind === 'tensor')
    return value.shape.exact ? (value.shape.head[0]?.dim ?? null) : symbol(`len(${value.label})@${value.id}_0`);
  const listed = run.items(value, frame);
  if (listed && !listed.open) return constant(listed.items.length);
  return value.kind === 'unknown' ? symbol(`len(${value.label})@${value.id}`) : symbol(`?@${node.start}`);
}

/** Items of a value when it is iterated or unpacked. */
export function itemsOf(
  value: Value,
  frame: Frame,
): { items: readonly Value[]; open: boolean; times?: Dim; rest?: Tensor } | null {
  switch (value.kind) {
    case 'tuple':
      return value;
    case 'shape': {
      const { of } = value;
      if (!of.shape.exact) return null;
      return { items: of.shape.head.map((axis, i) => int(axis.dim ?? symbol(`?@${of.id}_${i}`))), open: false };
    }
    case 'ref': {
      const item = frame.state.heap.get(value.id);
      if (item?.kind === 'list') return item;
      if (item?.kind === 'object' && item.holds) return itemsOf(item.holds, frame);
      if (item?.kind === 'dict')
        return {
          items: [...item.entries.keys()].map(keyOf),
          open: item.open,
        };
      return null;
    }
    default:
      return null;
  }
}

const withoutFirst = (args: Args): Args => ({
  ...args,
  positional: args.positional.slice(1),
  nodes: new Map(
    [...args.nodes].flatMap(([key, node]) => (key === 0 ? [] : [[typeof key === 'number' ? key - 1 : key, node]])),
  ),
});

/** `f'layer{i}'`, `'layer%d' % i` and `'layer' + str(i)`: one name for all that it makes, which no attribute has otherwise. */
export function templateOf(node: Node | undefined): string | null {
  const text = node ? textOf(node) : '';
  const found = /^f(['"])([^'"]*)\1$|^(['"])([^'"]*)\3 *(% *[\w.]+|\+ *str\([\w.]+\))$/.exec(text);
  const [, , formatted, , first, number = ''] = found ?? [];
  const template = (formatted ?? (number.startsWith('+') ? `${first ?? ''}{}` : first))?.replace(
    /\{[^}]*\}|%[ds]/g,
    '{}',
  );
  return template?.includes('{}') === true ? template : null;
}

const keyOf = (key: string): Value => ({ kind: 'string', value: key === ANY_KEY ? null : key });

/** `dict` and `OrderedDict`, of pairs, of another one, of keywords. */
export function dictOf(args: Args, frame: Frame, run: Run): Value {
  const [first] = args.positional;
  const given = first?.kind === 'ref' ? frame.state.heap.get(first.id) : null;
  const entries = new Map(given?.kind === 'dict' ? given.entries : []);
  const pairs = first && given?.kind !== 'dict' ? run.items(first, frame) : null;
  let open = args.open || (given?.kind === 'dict' ? given.open : first !== undefined && (pairs?.open ?? true));
  for (const pair of pairs?.items ?? []) {
    const [key, value] = pair.kind === 'tuple' ? pair.items : [];
    const name = asString(key);
    if (name !== null && value) entries.set(name, value);
    else open = true;
  }
  args.keywords.forEach((value, key) => entries.set(key, value));
  return allocate({ kind: 'dict', entries, open, tag: 'dict' }, frame);
}

/** What a constructor stores was copied once, when the model was built. */
export const kept = (value: Value): Value =>
  value.kind === 'tensor'
    ? tensor(withoutReplicas(value.shape), {
        content: value.content === 'data' ? 'constant' : value.content,
        index: value.index,
        itemSize: value.itemSize,
      })
    : value;

/** The list with an item at a place; where that is not known, any item but those that make something may stand anywhere. */
function inserted(list: List, at: number | null, item: Value): List {
  const { items, open } = list;
  const isKnown = at !== null && (at === 0 || !open) && Math.abs(at) <= items.length;
  const from = at !== null && at < 0 ? items.length + at : at;
  if (isKnown && from !== null) return withItems(list, [...items.slice(0, from), item, ...items.slice(from)], open);
  const moved = items.map((old) => (old.kind === 'ref' || old.kind === 'layer' ? old : unknown()));
  return withItems(list, [...moved, item], true);
}

/** `self.register_modules(unet=unet)`: of what nothing is known, and of what conventions tell enough, the name is. */
function isFollowed(value: Value, frame: Frame, run: Run): boolean {
  const item = value.kind === 'ref' ? frame.state.heap.peek(value.id) : undefined;
  const forward = item?.kind === 'object' && item.model ? run.method(item.model, 'forward') : null;
  return forward !== null && !parametersOf(forward).some(({ name }) => isMemory(name));
}

/** Methods of lists and dicts, and those by which a module takes attributes. Null: not one of them. */
export function containerMethod(owner: Value, name: string, args: Args, frame: Frame, run: Run): Value | null {
  if (owner.kind === 'tuple' || owner.kind === 'shape')
    return name === 'numel' || name === 'index' || name === 'count' ? int(null) : null;
  if (owner.kind !== 'ref') return null;
  const { heap } = frame.state;
  const item = heap.get(owner.id);
  const [first, second] = args.positional;
  if (item?.kind === 'object') {
    if (RETURNS_MODULE.test(name)) return owner;
    if (item.holds && name !== '__init__' && !name.startsWith('register'))
      return containerMethod(item.holds, name, args, frame, run);
    if (name === '__init__') {
      const kind = item.model && containerOf(item.model, run, frame);
      if (kind) heap.set(owner.id, { ...item, holds: container(kind, args, frame, run) });
      else if (args.positional.length + args.keywords.size > 0) heap.set(owner.id, { ...item, given: args });
      return NONE;
    }
    if (name === 'register_modules') {
      const modules = [...args.keywords].filter(([, value]) => isFollowed(value, frame, run));
      heap.set(owner.id, { ...item, attributes: new Map([...item.attributes, ...modules]) });
      return NONE;
    }
    const key = asString(argument(args, 0, 'name')) ?? templateOf(args.nodes.get(0));
    const given = argument(args, 1, 'tensor', 'param', 'module');
    // What is registered is converted with the module.
    const stays = given?.kind === 'tensor' ? { ...given, itemSize: null } : given;
    if (key !== null && stays)
      heap.set(owner.id, { ...item, attributes: new Map(item.attributes).set(key, kept(stays)) });
    return NONE;
  }
  if (item?.kind === 'list') {
    if (RETURNS_MODULE.test(name)) return owner;
    switch (name) {
      case 'append':
      case 'add_module':
      case 'register_module': {
        const added = name === 'append' ? first : second;
        if (added)
          heap.set(
            owner.id,
            item.items.length < 64
              ? withItems(item, [...item.items, added], item.open)
              : withItems(item, item.items, true),
          );
        return name === 'append' && item.tag !== 'list' ? owner : NONE;
      }
      case 'extend': {
        const listed = first ? run.items(first, frame) : null;
        heap.set(owner.id, extended(item, listed));
        return NONE;
      }
      case 'insert':
        if (second) heap.set(owner.id, inserted(item, asNumber(first), second));
        return NONE;
      case 'pop': {
        const isFirst = asNumber(first) === 0;
        heap.set(owner.id, withItems(item, isFirst ? item.items.slice(1) : item.items.slice(0, -1), true));
        return (isFirst ? item.items[0] : item.items.at(-1)) ?? unknown();
      }
      case 'copy':
        return allocate(item, frame);
      case 'reverse':
        heap.set(owner.id, withItems(item, [...item.items].reverse(), true));
        return NONE;
      case 'clear':
      case 'sort':
        heap.set(owner.id, withItems(item, item.items, true));
        return NONE;
      default:
        return null;
    }
  }
  if (item?.kind === 'dict') {
    const key = asString(first);
    switch (name) {
      case 'get':
      case 'pop':
      case 'setdefault':
        return (
          (key !== null ? item.entries.get(key) : oneOf(item, args.nodes.get(0))) ??
          (item.open || !second ? unknown(key ?? '') : second)
        );
      case 'keys':
        return tuple([...item.entries.keys()].map(keyOf), item.open);
      case 'values':
        return tuple([...item.entries.values()], item.open);
      case 'items':
        return tuple(
          [...item.entries].map(([k, v]) => tuple([keyOf(k), v])),
          item.open,
        );
      case 'update': {
        const other = first?.kind === 'ref' ? heap.get(first.id) : null;
        const entries = new Map([...item.entries, ...(other?.kind === 'dict' ? other.entries : []), ...args.keywords]);
        heap.set(owner.id, { ...item, entries, open: item.open || (first !== undefined && other?.kind !== 'dict') });
        return NONE;
      }
      case 'copy':
        return allocate(item, frame);
      default:
        return null;
    }
  }
  return null;
}
