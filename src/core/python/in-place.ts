/** Writes into tensors, seen by every name that shares their memory. */
import { operatorNamed } from '../tensor/operators';
import { tensor, withoutReplicas } from '../tensor/shape';
import type { Tensor } from '../tensor/value';
import { applyOperator } from './operators';
import type { Frame, Run } from './run';
import { unknown } from './state';
import type { Node } from './syntax';
import type { Args, Value } from './value';

const DRAWS = /normal_|uniform_|random_|bernoulli_/;

/** `x.add_(y)`: whatever shares memory with x is something else afterwards. A parameter that is filled is one still. */
export function inPlace(t: Tensor, name: string, args: Args, node: Node, frame: Frame, run: Run): Value {
  const operator = operatorNamed(`Tensor.${name.slice(0, -1)}`);
  const result =
    operator && operator.effect !== 'create-random'
      ? applyOperator({
          operator,
          args: { ...args, positional: [t, ...args.positional], nodes: behind(args) },
          node,
          frame,
          run,
          layer: null,
        })
      : tensor(withoutReplicas(t.shape), {
          content: t.content === 'parameter' ? t.content : DRAWS.test(name) ? 'random' : 'data',
        });
  const value: Value = result.kind === 'tensor' ? { ...result, label: t.label } : unknown();
  overwrite(t, value, frame);
  return value;
}

/** Nodes of arguments that stand behind the tensor itself. */
const behind = (args: Args): Args['nodes'] =>
  new Map([...args.nodes].map(([key, node]) => [typeof key === 'number' ? key + 1 : key, node]));

/** Of which each copy gets a gradient of its own: the copies are there for that. */
export function leaf(t: Tensor, [wanted]: readonly Value[], frame: Frame): Value {
  if (wanted?.kind === 'bool' && wanted.value === false) return t;
  const value = tensor(withoutReplicas(t.shape), { label: t.label });
  overwrite(t, value, frame);
  return value;
}

/** After a write into a tensor: names of the same value hold the new one, names of views of it something unknown. */
export function overwrite(t: Tensor, value: Value, frame: Frame): void {
  const { names, heap } = frame.state;
  const written = (old: Value): Value => {
    if (old.kind === 'union')
      return old.options.some((o) => written(o.value) !== o.value)
        ? { ...old, options: old.options.map((o) => ({ ...o, value: written(o.value) })) }
        : old;
    if (old.kind !== 'tensor' || old.storage !== t.storage) return old;
    return old.id === t.id ? value : tensor(withoutReplicas(old.shape));
  };
  for (const [key, old] of names.all()) {
    if (old.kind === 'unknown' && old.id === t.id) names.set(key, value);
    const now = written(old);
    if (now !== old) names.set(key, now);
  }
  const self = names.get('self');
  const item = self?.kind === 'ref' ? heap.get(self.id) : undefined;
  if (self?.kind !== 'ref' || item?.kind !== 'object') return;
  for (const [key, old] of item.attributes) {
    if (old.kind !== 'tensor' || old.storage !== t.storage) continue;
    heap.set(self.id, { ...item, attributes: new Map(item.attributes).set(key, value) });
  }
}
