/** Methods of the attention classes of diffusers and transformers: heads among the batch, the scores, and the attention itself. */
import { operatorNamed } from '../tensor/operators';
import { rankOf } from '../tensor/shape';
import { applyView, transpose } from '../tensor/views';
import { argument, asTensor, placeOf } from './access';
import { einopsRearrange } from './einops';
import { applyOperator } from './operators';
import type { Frame, Run } from './run';
import { lift, unknown } from './state';
import type { Node } from './syntax';
import { type Args, type Value, args as argsOf } from './value';

/** Which operator a method is, and what it calls the operands. */
const ATTENTIONS: Readonly<Record<string, readonly [operator: string, ...roles: string[]]>> = {
  get_attention_scores: ['torch.bmm', 'query', 'key'],
  _attention: ['xformers.memory_efficient_attention', 'query', 'key', 'value'],
  _sliced_attention: ['xformers.memory_efficient_attention', 'query', 'key', 'value'],
  _memory_efficient_attention_xformers: ['xformers.memory_efficient_attention', 'query', 'key', 'value'],
  // Of transformers, also as a function: with the sequence in front of the heads.
  _flash_attention_forward: ['flash_attn.flash_attn_func', 'query_states', 'key_states', 'value_states'],
};

/** The function of transformers. */
export const FLASH_ATTENTION = /^transformers\.(\w+\.)*_flash_attention_forward$/;

/** Classes of diffusers whose methods these are. */
export const ATTENTION_CLASS = /^diffusers\.(\w+\.)*(Cross)?Attention$/;

const HEADS: Readonly<Record<string, string>> = {
  head_to_batch_dim: 'b s (h d) -> (b h) s d',
  reshape_heads_to_batch_dim: 'b s (h d) -> (b h) s d',
  batch_to_head_dim: '(b h) s d -> b s (h d)',
  reshape_batch_dim_to_heads: '(b h) s d -> b s (h d)',
};

export const isAttentionMethod = (name: string): boolean =>
  Object.hasOwn(ATTENTIONS, name) || Object.hasOwn(HEADS, name);

export function attentionMethod(name: string, args: Args, node: Node, frame: Frame, run: Run): Value {
  const pattern = HEADS[name];
  if (pattern !== undefined) {
    const [first] = args.positional;
    if (!first) return unknown();
    return lift([first], frame.state.path, ([one]) => {
      const t = one && asTensor(one, run);
      if (!t) return unknown();
      return einopsRearrange(t, argsOf(t, { kind: 'string', value: pattern }), placeOf(node));
    });
  }
  const [operatorName = '', ...roles] = ATTENTIONS[name] ?? [];
  const operator = operatorNamed(operatorName);
  const given = roles.map((role, i) => argument(args, i, role));
  if (!operator || given.includes(undefined)) return unknown();
  return lift(
    given.map((value) => value ?? unknown()),
    frame.state.path,
    (values) => {
      const tensors = values.flatMap((value) => asTensor(value, run) ?? []);
      const [query, key, value] = tensors;
      if (!query || !key || tensors.length < given.length) return unknown();
      const operands = value ? [query, key, value] : [query, applyView(key, transpose(-1, -2), key.place)];
      if (rankOf(query.shape) === null && rankOf(key.shape) === null && !value) return unknown();
      return applyOperator({ operator, args: { ...args, positional: operands }, node, frame, run, layer: null });
    },
  );
}
