/**
 * Other names of a tensor, of a view of it or of what holds it: what is written into them is written into it. Names are
 * variables and attributes of self (`self.cache`).
 */
import { type Node, childOf, textOf } from '../python/syntax';
import { type Call, callOf, isInPlaceModule, unwrap } from './expression';
import { indexOf, perNode } from './file-index';
import { visit } from './names';
import { VIEWS, VIEW_ATTRIBUTES } from './shared-memory';

export interface Alias {
  readonly path: string;
  /** A list, tuple or dict with the tensor in it: what is put into it is not written into the tensor. */
  readonly holds: boolean;
  /** False where it is a tensor of its own in training, or on some paths. */
  readonly sure: boolean;
  /** Where it becomes one. */
  readonly at: number;
}

type Shared = Omit<Alias, 'at'>;

/** Functions that may give what they are given. */
const PASSING = /^(as_tensor|asarray|atleast_[123]d|from_numpy|\w*dropout\w*|tree_map|real|identity)$/;
const BUILTINS = /^(list|tuple|dict|set|iter|next|reversed|sorted|zip|enumerate|map|filter|max|min|partial)$/;
/** Modules that give what they are given, or a view of it, in evaluation. */
const MODULES = /(^|\.)(Identity|\w*Dropout\w*|DropPath|StochasticDepth|Flatten|Unflatten)$/;
/** They give all tensors of a module: `self.parameters()`. */
const WALKS = /^((named_)?(parameters|buffers)|state_dict)$/;
/** Stands behind the name of the module for whatever it holds. */
const ALL = '.*';
/** What is read of a tensor that is not its numbers. */
const FACTS = /^(shape|dtype|device|ndim|is_\w+|layout|requires_grad|grad|grad_fn|names)$/;
const PLAIN = /^(slice|integer|none|ellipsis|unary_operator|string)$/;
const HOLDERS = /^(list|tuple|set|dictionary|expression_list|\w*comprehension|generator_expression)$/;
const ADDING = /^(append|extend|insert|add|update|setdefault|put|appendleft|__setitem__)$/;
const LIBRARY = /^(torch|nn|F|functional|np|numpy|(torch\.)?nn\.functional|torch\.utils\.[\w.]+|copy|functools)$/;

/** The names in a function that may share memory with the tensor of this name, itself not among them. */
export function aliasesOf(root: string, scope: Node): readonly Alias[] {
  const found = new Map<string, Alias>([[root, { path: root, holds: false, sure: true, at: 0 }]]);
  const around = root.split('.').slice(0, -1);
  const walked = around.map((_, i) => `${around.slice(0, i + 1).join('.')}${ALL}`);
  for (const path of walked) found.set(path, { path, holds: true, sure: false, at: 0 });
  const given = assignmentsIn(scope);
  for (let size = 0; size < found.size;) {
    size = found.size;
    for (const { to, of, holds, sure, at } of given) {
      const from = found.get(of);
      if (from && !found.has(to)) found.set(to, { path: to, holds: holds || from.holds, sure: sure && from.sure, at });
    }
  }
  for (const path of [root, ...walked]) found.delete(path);
  return [...found.values()];
}

/** Is what a name is bound to there the memory of something else? */
export const isShared = (binding: Node): boolean => {
  for (let at = binding.parent; at; at = at.parent) {
    const given = GIVERS.test(at.kind)
      ? childOf(at, /^(named|default|typed_default)/.test(at.kind) ? 'value' : 'right')
      : null;
    if (given) return sharedBy(given).length > 0;
    if (/_(statement|definition)$/.test(at.kind)) return false;
  }
  return false;
};

const GIVERS = /^(assignment|named_expression|for_statement|for_in_clause|(typed_)?default_parameter)$/;

/** `to` is given the memory of `of`. */
interface Given extends Omit<Alias, 'path'> {
  readonly to: string;
  readonly of: string;
}

/** What is given to which name, in all of a function. */
const assignmentsIn = perNode((scope) => {
  const found: Given[] = [];
  const give = (target: Node | null, value: Node | null): void => {
    if (!target || !value) return;
    const [parts, values] = [partsOf(target), partsOf(value)];
    if (parts && values && parts.length === values.length)
      return parts.forEach((part, i) => give(part, values[i] ?? null));
    const shared = sharedBy(value);
    for (const { path, into } of targetsOf(target))
      for (const one of shared)
        if (one.path !== path)
          found.push({ to: path, of: one.path, holds: into || one.holds, sure: one.sure, at: target.start });
  };
  visit(scope, (node) => {
    const [name, left, value, right] = ['name', 'left', 'value', 'right'].map((field) => childOf(node, field));
    if (/^(assignment|augmented_assignment|for_statement|for_in_clause)$/.test(node.kind))
      give(left ?? null, right ?? null);
    else if (/^(named_expression|(typed_)?default_parameter)$/.test(node.kind)) give(name ?? null, value ?? null);
    else if (node.kind === 'as_pattern') give(childOf(node, 'alias'), node.children[0] ?? null);
    else if (node.kind === 'match_statement') {
      const subject = childOf(node, 'subject');
      visit(node, (part) => part.kind === 'case_pattern' && give(part, subject));
    }
    const call = callOf(node);
    if (call?.receiver && ADDING.test(call.method)) {
      const into = pathOf(call.receiver);
      const shared = into === null ? [] : [...call.positional, ...call.keywords.values()].flatMap(sharedBy);
      for (const { path, sure } of shared)
        if (into !== null && path !== into) found.push({ to: into, of: path, holds: true, sure, at: node.start });
    }
  });
  return found;
});

/** `a, b`: what stands there, where nothing is starred. */
const partsOf = (node: Node): readonly Node[] | null =>
  /^(pattern_list|expression_list|tuple|list|tuple_pattern|list_pattern)$/.test(node.kind) &&
  !node.children.some((one) => /splat/.test(one.kind))
    ? node.children
    : null;

interface Target {
  readonly path: string;
  /** It is put into what this names: `d[key] = x`. */
  readonly into: boolean;
}

function targetsOf(target: Node): readonly Target[] {
  if (target.kind === 'subscript') {
    const value = childOf(target, 'value');
    const path = value && pathOf(value);
    return path === null ? [] : [{ path, into: true }];
  }
  const path = pathOf(target);
  return path === null ? target.children.flatMap(targetsOf) : [{ path, into: false }];
}

/** `x`, `self.cache`; null for any other expression. */
function pathOf(expression: Node): string | null {
  const node = unwrap(expression);
  if (node.kind === 'identifier') return textOf(node);
  return node.kind === 'attribute' && /^self(\.\w+)+$/.test(textOf(node)) ? textOf(node) : null;
}

const unsure = (shared: readonly Shared[]): readonly Shared[] => shared.map((one) => ({ ...one, sure: false }));

/** The names whose memory an expression may hold. */
function sharedBy(expression: Node): readonly Shared[] {
  const node = unwrap(expression);
  const attribute = node.kind === 'attribute' ? childOf(node, 'attribute') : null;
  const object = attribute && VIEW_ATTRIBUTES.test(textOf(attribute)) ? childOf(node, 'object') : null;
  if (object) return sharedBy(object);
  const path = pathOf(node);
  if (path !== null) return [{ path, holds: false, sure: true }];
  const call = callOf(node);
  if (call) return sharedByCall(call);
  if (HOLDERS.test(node.kind)) return node.children.flatMap(sharedBy).map((one) => ({ ...one, holds: true }));
  const part = (field: string): readonly Shared[] => {
    const child = childOf(node, field);
    return child ? sharedBy(child) : [];
  };
  switch (node.kind) {
    case 'attribute':
      return FACTS.test(textOf(childOf(node, 'attribute') ?? node)) ? [] : part('object');
    case 'subscript': {
      const plain = node.children.every((one) => one.field !== 'subscript' || PLAIN.test(one.kind));
      const value = childOf(node, 'value');
      return plain || (value && HOLDERS.test(value.kind)) ? part('value').map((one) => ({ ...one, holds: false })) : [];
    }
    case 'named_expression':
    case 'pair':
      return part('value');
    case 'assignment':
    case 'for_in_clause':
      return part('right');
    case 'conditional_expression':
    case 'boolean_operator':
      return unsure(node.children.flatMap(sharedBy));
    case 'list_splat':
    case 'dictionary_splat':
    case 'await':
      return node.children.flatMap(sharedBy);
    default:
      return [];
  }
}

function sharedByCall(call: Call): readonly Shared[] {
  const { receiver, method, name } = call;
  const walked = WALKS.test(method) && receiver ? pathOf(receiver) : null;
  if (walked !== null) return [{ path: `${walked}${ALL}`, holds: false, sure: false }];
  const given = (childOf(call.node, 'arguments')?.children ?? []).flatMap((one) =>
    sharedBy(one.kind === 'keyword_argument' ? (childOf(one, 'value') ?? one) : one),
  );
  const library = receiver !== null && LIBRARY.test(textOf(receiver));
  if (receiver && !library && VIEWS.test(method)) return sharedBy(receiver);
  // `x.relu_()` gives x.
  if (/[a-z0-9]_$/.test(method)) return library || !receiver ? given : sharedBy(receiver);
  if (library && VIEWS.test(method)) return given;
  if ((library || !receiver) && PASSING.test(method)) return unsure(given);
  if (!receiver && BUILTINS.test(method)) return unsure(given);
  const made = call.callee.kind === 'call' ? callOf(call.callee) : null;
  if (made) return MODULES.test(made.name) || isInPlaceModule(made) ? unsure(given) : [];
  const own = /^self\.\w+$/.test(name);
  const modules = own ? (indexOf(call.node.file).attributes.get(method) ?? []) : [];
  if (modules.some((value) => passesOn(value))) return unsure(given);
  const functions = own || !receiver ? (indexOf(call.node.file).functions.get(method) ?? []) : [];
  return functions.some(returnsShared) ? unsure(given) : [];
}

function passesOn(value: Node): boolean {
  const made = callOf(unwrap(value));
  return made !== null && (MODULES.test(made.name) || isInPlaceModule(made));
}

/** A function that may return what it is given. */
const returnsShared = perNode((body) => {
  const parameters = new Set(
    (childOf(body, 'parameters')?.children ?? []).map((one) => textOf(one.children[0] ?? one)),
  );
  let found = false;
  visit(body, (node) => {
    if (node.kind !== 'return_statement') return;
    // What another call gives is that one's matter.
    found ||= node.children.some(
      (value) => callOf(unwrap(value)) === null && sharedBy(value).some(({ path }) => parameters.has(path)),
    );
  });
  return found;
});
