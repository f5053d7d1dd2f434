/** Calls of something that is not in the project, by the conventions of well-known libraries. */
import { type Hit, hitsOf, rowHitsOf } from '../tensor/contract';
import { position } from '../tensor/shape';
import type { Tensor } from '../tensor/value';
import { asHits } from './applied';
import { carries } from './held';
import type { ClassModel } from './model';
import type { Frame, Run } from './run';
import { possible, unknown } from './state';
import { type Node, childOf, textOf } from './syntax';
import type { Args, Value } from './value';

const MEMORY = /^(encoder_hidden_states|encoder_outputs|memory)$/;
/** Is it keys and values that a network takes under this name? */
export const isMemory = (name: string): boolean => MEMORY.test(name);
/** A variable whose name says so, in any place. */
const PASSED_MEMORY = /^encoder_hidden_states(_\w+)?$/;
const EMBEDDINGS = /^(inputs_embeds|query_embeds|encoder_embeds|decoder_inputs_embeds)$/;

/** Levels of base classes. */
const MAX_LEVELS = 4;

/** A model of transformers, also one that was copied into a project. */
export const isPretrained = (model: ClassModel, run: Pick<Run, 'bases'>, level = 0): boolean =>
  run
    .bases(model)
    .some((base) =>
      typeof base === 'string'
        ? /(^|\.)PreTrainedModel$/.test(base)
        : level < MAX_LEVELS && isPretrained(base, run, level + 1),
    );

/** Are copies passed by keywords alone that say what becomes of them? */
export function givesEmbeddings({ positional, keywords }: Args, frame: Frame, run: Run): boolean {
  const isCopy = (value: Value): boolean => carries(value, frame, run);
  const given = [...keywords].flatMap(([keyword, value]) => (isCopy(value) ? [keyword] : []));
  return given.length > 0 && given.every((keyword) => EMBEDDINGS.test(keyword)) && !positional.some(isCopy);
}

/**
 * A call of something that is not in the project. By the convention of transformer libraries, what is passed as
 * `encoder_hidden_states` is projected to keys and values, and `inputs_embeds` to the first layer.
 */
export function callUnknown(args: Args, node: Node, frame: Frame, run: Run): Value {
  const fn = childOf(node, 'function');
  // An embedding layer adds positions to what it is handed, and projects nothing.
  const embeds = fn !== null && /embed(der|ding)?s?$/i.test(textOf(fn));
  const given = args.positional.flatMap((value, i): (readonly [string, Value, Node])[] => {
    const argumentNode = args.nodes.get(i);
    return value.kind !== 'unknown' && argumentNode && PASSED_MEMORY.test(textOf(argumentNode))
      ? [['encoder_hidden_states', value, argumentNode]]
      : [];
  });
  const named = [...args.keywords].map(
    ([keyword, value]) => [keyword, value, args.nodes.get(keyword) ?? null] as const,
  );
  for (const [keyword, value, argumentNode] of [...given, ...named]) {
    const memory = MEMORY.test(keyword);
    if (!memory && (embeds || !EMBEDDINGS.test(keyword))) continue;
    const held = value.kind === 'ref' ? objectValues(value, frame) : [value];
    for (const { value: one } of held.flatMap((v) => possible(v, frame.state.path))) {
      if (one.kind !== 'tensor') continue;
      const hits = asHits(
        memory ? hitsOf(one, -1).filter((hit) => keyword === 'memory' || !isSequence(hit, one)) : rowHitsOf(one, -1),
        () => (memory ? 'batch' : 'row'),
        () => true,
      );
      if (hits.length === 0) continue;
      run.sink({
        kind: 'multihead-attention',
        callee: fn ? textOf(fn) : '',
        node,
        frame,
        operands: [{ role: memory ? 'key' : 'query', value: one, node: argumentNode, hits }],
        contracted: -1,
        layer: null,
        outWidth: null,
        args,
        keyword,
        byWeight: false,
        advice: null,
      });
    }
  }
  return unknown();
}

/** Repeated along their own sequence, as to fill a length, keys are not those of another row. */
const isSequence = ({ axis }: Hit, keys: Tensor): boolean => axis === (position(keys.shape, -2) ?? -2);

function objectValues(value: Value & { kind: 'ref' }, frame: Frame): readonly Value[] {
  const item = frame.state.heap.peek(value.id);
  return item?.kind === 'dict'
    ? [...item.entries.values()]
    : item?.kind === 'list'
      ? item.items
      : item?.kind === 'object'
        ? [...item.attributes.values()]
        : [];
}
