/** What stands under a key of a dictionary, where the key, or the dictionary, is not known to its end. */
import { freshId } from '../tensor/shape';
import type { HeapItem } from './heap';
import { layerName } from './layers';
import type { ClassModel } from './model';
import { producesReplicas } from './producers';
import type { Frame } from './run';
import { unknown } from './state';
import { type Node, textOf } from './syntax';
import type { Condition, Value } from './value';

/** Under this key stands what is stored under keys that are not known. */
export const ANY_KEY = '*';

/** Layers that one expression made, or modules of one class: each stands for all. */
export function alike(values: readonly Value[], frame: Frame): boolean {
  const [first, ...rest] = values.map((value) => {
    const item = value.kind === 'ref' ? frame.state.heap.peek(value.id) : null;
    return value.kind === 'layer' ? value.node : item?.kind === 'object' ? item.model : null;
  });
  return first != null && rest.every((one) => one === first);
}

/** What stands for all values of a dict, as the value under one of its keys. */
export function another(value: Value, key: string | null): Value {
  if (value.kind === 'union')
    return { ...value, options: value.options.map((o) => ({ ...o, value: another(o.value, key) })) };
  if (value.kind !== 'tensor') return value;
  const id = freshId();
  return { ...value, id, storage: id, label: key ?? value.label };
}

/**
 * What was stored by a branch that compared the key, and is read, under a key of that name, on one that compares it, too: whether the
 * one comes with the other is not known.
 */
export function storedElsewhere(value: Value, index: Node | undefined, frame: Frame): Value {
  if (value.kind !== 'union' || index?.kind !== 'identifier') return value;
  const compared = new RegExp(`(?<![.\\w])${textOf(index)} (==|!=|in|not in) |(==|!=) ${textOf(index)}(?![.\\w])`);
  const { path } = frame.state;
  const asks = ({ text }: Condition): boolean => compared.test(text);
  if (!path.some(asks)) return value;
  return {
    ...value,
    options: value.options.map((one) =>
      one.when.some((when) => asks(when) && !path.some(({ key }) => key === when.key))
        ? { ...one, value: unknown() }
        : one,
    ),
  };
}

/**
 * Which of a dict of modules is not known, where all are of one kind: any of them, taken as the first. Of several classes one of each,
 * those first that may make copies.
 */
export function oneOfModules(item: HeapItem & { kind: 'dict' }, index: Node, frame: Frame): Value | undefined {
  if (item.tag !== 'nn.ModuleDict') return undefined;
  const values = [...item.entries.values()];
  const isDict = (value: Value): boolean => value.kind === 'ref' && frame.state.heap.peek(value.id)?.kind === 'dict';
  if (alike(values, frame) || values.every(isDict)) return values[0];
  const byClass = new Map<ClassModel, readonly [key: string, value: Value]>();
  for (const [key, value] of item.entries) {
    const module = value.kind === 'ref' ? frame.state.heap.peek(value.id) : undefined;
    if (module?.kind !== 'object' || !module.model) return undefined;
    if (!byClass.has(module.model)) byClass.set(module.model, [key, value]);
  }
  const copying = (model: ClassModel): number => ([...model.methods.values()].some(producesReplicas) ? 0 : 1);
  const classes = [...byClass].sort(([a], [b]) => copying(a) - copying(b)).map(([, entry]) => entry);
  return classes.length > 1 ? oneByKey(classes, index) : undefined;
}

const MAX_CLASSES = 4;

/** By a key that is not known: the only value, or one of several classes or functions, of many the first. */
export function oneOf({ entries, open }: HeapItem & { kind: 'dict' }, index: Node | undefined): Value | undefined {
  if (open || !index) return undefined;
  const values = [...entries.values()];
  if (values.length < 2) return values[0];
  const makes = (value: Value): boolean =>
    value.kind === 'class' ||
    value.kind === 'function' ||
    (value.kind === 'partial' && makes(value.target)) ||
    (value.kind === 'name' && (/\bnn\.[A-Z]/.test(value.path) || layerName(value.path) !== null));
  // A string or None among them stands for what is made elsewhere.
  if (values.some((value) => !makes(value) && value.kind !== 'string' && value.kind !== 'none')) return undefined;
  const made = [...entries].filter(([, value]) => makes(value));
  if (made.length < 2) return undefined;
  return oneByKey(made, index);
}

function oneByKey(entries: readonly (readonly [key: string, value: Value])[], index: Node): Value {
  const options = entries.slice(0, MAX_CLASSES).map(([key, value]) => {
    const text = `${textOf(index)} == '${key}'`;
    return { value, when: [{ key: text, text, holds: true }] };
  });
  return { kind: 'union', options };
}
