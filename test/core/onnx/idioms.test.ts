/** Forms that the exporters and the optimizers write, by hand: what is found, and that the rewrites compute the same. */
import assert from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyRewrite } from '../../../src/project/onnx/run-pair';
import { checkModel, memorySource, readModel, rewriteModel } from '../../../src/core/onnx';
import { analyse } from '../../../src/core/onnx/analyse';
import type { NewFunction } from '../../../src/core/onnx/encode';
import { assemble } from '../../../src/core/onnx/splice';
import { bool, boolOutput, graph, index, input, int, ints, model, node, output, weight } from './build';
import { CHILD } from './support';

interface Case {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly rules: readonly string[];
  /** Why the rewrite is refused; left out where it is applied and verified. */
  readonly refused?: RegExp;
}

const linear = [weight('w', 24, 8), node('MatMul', 'cat w', 'y')];
/** Keys and values repeated over the heads, as the newer exporter writes it. */
const repeatHeads = (x: string, to: string): Uint8Array[] => [
  node('Unsqueeze', `${x} two`, `${x}_u`),
  node('Expand', `${x}_u heads`, `${x}_e`),
  node('Reshape', `${x}_e merged`, to),
];
/** The batch repeated block by block. */
const repeatBatch = (x: string, to: string, width: number): Uint8Array[] => [
  node('Unsqueeze', `${x} one`, `${x}_u`),
  node('Expand', `${x}_u times`, `${x}_e`),
  ints(`${x}_rows`, -1, 2, 7, width),
  node('Reshape', `${x}_e ${x}_rows`, to),
];
const heads = [ints('two', 2), ints('heads', 1, 1, 4, 1, 1), ints('merged', 0, 8, -1, 8)];

/** A copy, a concatenation and a product. */
const mix = (version = 17): NewFunction => ({
  name: 'Mix',
  domain: 'own',
  inputs: ['a', 'b', 'w', 't'],
  outputs: ['y'],
  attributes: [],
  documentation: '',
  opsets: [{ domain: '', version }],
  nodes: [
    { op: 'Expand', name: '', inputs: ['a', 't'], outputs: ['e'] },
    { op: 'Concat', name: '', inputs: ['e', 'b'], outputs: ['cat'], attributes: { axis: 1n } },
    { op: 'MatMul', name: '', inputs: ['cat', 'w'], outputs: ['y'] },
  ],
});

const cases: Case[] = [
  {
    name: 'repeat_interleave as Unsqueeze, Expand, Reshape',
    bytes: model([
      input('u', 'U', 16), input('c', '4*U', 8), output('y', 2), ints('one', 1), ints('four', 1, 4, 1), ints('rows', -1, 16),
      node('Unsqueeze', 'u one', 'a'), node('Expand', 'a four', 'b'), node('Reshape', 'b rows', 'r'), node('Concat', 'r c', 'cat', { axis: 1 }), ...linear,
    ]),
    rules: ['IKB101'],
  },
  {
    name: 'x[idx] as GatherND with one index component',
    bytes: model([
      input('u', 'U', 16), input('c', 'B', 8), index('i', 'B'), output('y', 2), ints('one', 1),
      node('Unsqueeze', 'i one', 'j'), node('GatherND', 'u j', 'r'), node('Concat', 'r c', 'cat', { axis: 1 }), ...linear,
    ]),
    rules: ['IKB101'],
  },
  {
    name: 'every row meets every other one',
    bytes: model([
      input('a', 'N', 16), input('b', 'M', 8), output('y', 3), ints('one', 1), ints('none', 0), ints('i16', 16), ints('i8', 8),
      node('Shape', 'a', 'n', { start: 0, end: 1 }), node('Shape', 'b', 'm', { start: 0, end: 1 }),
      node('Unsqueeze', 'a one', 'a1'), node('Concat', 'n m i16', 'sa', { axis: 0 }), node('Expand', 'a1 sa', 'ae'),
      node('Unsqueeze', 'b none', 'b1'), node('Concat', 'n m i8', 'sb', { axis: 0 }), node('Expand', 'b1 sb', 'be'),
      node('Concat', 'ae be', 'cat', { axis: 2 }), ...linear,
    ]),
    rules: ['IKB101'],
  },
  {
    name: 'both ends of every edge, and their difference',
    bytes: model([
      input('x', 'N', 12), index('from', 'E'), index('to', 'E'), output('y', 2),
      node('Gather', 'x from', 'a', { axis: 0 }), node('Gather', 'x to', 'b', { axis: 0 }), node('Sub', 'b a', 'd'), node('Concat', 'a d', 'cat', { axis: 1 }), ...linear,
    ]),
    rules: ['IKB104'],
  },
  {
    name: 'a lookup of a single row',
    bytes: model([input('u', 'U', 24), index('i', 1), output('y', 2), node('Gather', 'u i', 'cat', { axis: 0 }), ...linear]),
    rules: [],
  },
  {
    name: 'a lookup of constants only, projected first',
    bytes: model([weight('t', 50, 24), index('i', 'B'), output('y', 2), node('Gather', 't i', 'cat', { axis: 0 }), ...linear]),
    rules: [],
  },
  {
    name: 'the last token of every sequence',
    bytes: model([input('u', 'T', 24), index('last_index', 'B'), output('y', 2), node('Gather', 'u last_index', 'cat', { axis: 0 }), ...linear]),
    rules: [],
  },
  {
    name: 'positions of flattened sequences',
    bytes: model([
      input('u', 'B', 'T', 24), index('where', 'M'), output('y', 2), ints('flat', -1, 24), node('Reshape', 'u flat', 'f'), node('Gather', 'f where', 'cat', { axis: 0 }), ...linear,
    ]),
    rules: [],
  },
  {
    name: 'beams put in a new order',
    bytes: model([input('u', 'N', 24), index('beam_idx', 'M'), output('y', 2), node('Gather', 'u beam_idx', 'cat', { axis: 0 }), ...linear]),
    rules: [],
  },
  {
    name: 'an index whose name says selection, with sizes that prove copies',
    bytes: model([input('u', 3, 24), index('last_user', 12), output('y', 2), node('Gather', 'u last_user', 'cat', { axis: 0 }), ...linear]),
    rules: ['IKB102'],
  },
  {
    name: 'rows chosen by a sort',
    bytes: model([
      input('u', 5, 24), input('s', 'B', 5), output('y', 2), int('k', 3), ints('three', 3),
      node('TopK', 's three', 'v i', { axis: 1 }), ints('flat', -1), node('Reshape', 'i flat', 'j'), node('Gather', 'u j', 'cat', { axis: 0 }), ...linear,
    ]),
    rules: [],
  },
  {
    name: 'attention of opset 23 with repeated heads',
    bytes: model([
      input('q', 'B', 8, 'L', 8), input('k', 'B', 2, 'S', 8), input('v', 'B', 2, 'S', 8), output('y', 4), ...heads,
      ...repeatHeads('k', 'kk'), ...repeatHeads('v', 'vv'), node('Attention', 'q kk vv', 'y'),
    ], { opset: 23 }),
    rules: ['IKB202'],
  },
  {
    name: 'attention of opset 23 with keys expanded over the batch',
    bytes: model([
      input('q', 8, 2, 'L', 8), input('k', 1, 2, 'S', 8), input('v', 1, 2, 'S', 8), output('y', 4), ints('batch', 8, 1, 1, 1),
      node('Expand', 'k batch', 'kk'), node('Expand', 'v batch', 'vv'), node('Attention', 'q kk vv', 'y'),
    ], { opset: 23 }),
    rules: ['IKB201'],
  },
  {
    name: 'attention of opset 23 with keys of each user repeated for its candidates',
    bytes: model([
      input('q', 12, 2, 'L', 8), input('k', 3, 2, 7, 8), input('v', 3, 2, 7, 6), output('y', 4),
      ...repeatBatch('k', 'kk', 8), ...repeatBatch('v', 'vv', 6), node('Attention', 'q kk vv', 'y', { scale: { float: 0.25 } }), ints('one', 1), ints('times', 1, 4, 1, 1, 1),
    ], { opset: 23 }),
    rules: ['IKB201'],
  },
  {
    name: 'causal attention of opset 23 with keys expanded over the batch',
    bytes: model([
      input('q', 8, 2, 5, 8), input('k', 1, 2, 5, 8), input('v', 1, 2, 5, 8), output('y', 4), ints('batch', 8, 1, 1, 1),
      node('Expand', 'k batch', 'kk'), node('Expand', 'v batch', 'vv'), node('Attention', 'q kk vv', 'y', { is_causal: 1 }),
    ], { opset: 23 }),
    rules: ['IKB201'],
  },
  {
    name: 'causal attention with keys of each user repeated, heads inside the width, sizes known at run time',
    bytes: model([
      input('q', 12, 'L', 16), input('k', 4, 'S', 16), input('v', 4, 'S', 16), output('y', 3), ints('times', 1, 3, 1, 1),
      ...['k', 'v'].flatMap((x) => [node('Unsqueeze', `${x} one`, `${x}_u`), node('Expand', `${x}_u times`, `${x}_e`), node('Shape', x, `${x}_s`, { start: 1 }), node('Concat', `open ${x}_s`, `${x}_t`, { axis: 0 }), node('Reshape', `${x}_e ${x}_t`, `${x}${x}`)]),
      ints('one', 1), ints('open', -1), 
      node('Attention', 'q kk vv', 'y', { is_causal: 1, q_num_heads: 2, kv_num_heads: 2 }),
    ], { opset: 23 }),
    rules: ['IKB201'],
  },
  ...['L 7', '1 L 7', '1 1 L 7', '1 2 L 7', '12 1 L 7', '12 2 L 7'].map((sizes): Case => ({
    name: `attention with keys of each user repeated and a mask of [${sizes}]`,
    bytes: model([
      input('q', 12, 2, 'L', 8), input('k', 3, 2, 7, 8), input('v', 3, 2, 7, 6), output('y', 4), input('m', ...sizes.split(' ').map((size) => Number(size) || size)),
      ...repeatBatch('k', 'kk', 8), ...repeatBatch('v', 'vv', 6), node('Attention', 'q kk vv m', 'y'), ints('one', 1), ints('times', 1, 4, 1, 1, 1),
    ], { opset: 23 }),
    rules: ['IKB201'],
  })),
  {
    name: 'attention of one query for each copy, with a mask',
    bytes: model([
      input('q', 12, 2, 1, 8), input('k', 3, 2, 7, 8), input('v', 3, 2, 7, 6), output('y', 4), input('m', 12, 1, 1, 7),
      ...repeatBatch('k', 'kk', 8), ...repeatBatch('v', 'vv', 6), node('Attention', 'q kk vv m', 'y'), ints('one', 1), ints('times', 1, 4, 1, 1, 1),
    ], { opset: 23 }),
    rules: ['IKB201'],
  },
  {
    name: 'causal attention of opset 25, which has another corner',
    bytes: model([
      input('q', 8, 2, 5, 8), input('k', 1, 2, 5, 8), input('v', 1, 2, 5, 8), output('y', 4), ints('batch', 8, 1, 1, 1),
      node('Expand', 'k batch', 'kk'), node('Expand', 'v batch', 'vv'), node('Attention', 'q kk vv', 'y', { is_causal: 1 }),
    ], { opset: 25 }),
    rules: ['IKB201'],
    refused: /another corner since opset 25/,
  },
  {
    name: 'rows repeated by counts, as torch 2 writes it',
    bytes: model([
      input('u', 3, 16), input('c', 6, 8), ints('counts', 4, 0, 2), output('y', 2), int('i0', 0), int('i1', 1), ints('first', 0), ints('last', -1), ints('column', -1, 1),
      node('Shape', 'counts', 'shape'), node('Squeeze', 'shape first', 'users'), node('Range', 'i0 users i1', 'rows'), node('Reshape', 'rows column', 'table'),
      node('CumSum', 'counts first', 'ends'), node('Gather', 'ends last', 'total1', { axis: 0 }), node('Squeeze', 'total1 first', 'total'), node('Range', 'i0 total i1', 'positions'),
      node('Unsqueeze', 'ends last', 'ends1'), node('Less', 'positions ends1', 'before'), node('Cast', 'before', 'number', { to: 7 }), node('ReduceSum', 'number first', 'sum', { keepdims: 1 }),
      node('Shape', 'table', 'high', { start: 0, end: 1 }), node('Sub', 'high sum', 'row'), node('Reshape', 'row last', 'row1'), node('Unsqueeze', 'row1 last', 'row2'),
      node('GatherND', 'table row2', 'found'), node('Reshape', 'found last', 'index'), node('Gather', 'u index', 'r', { axis: 0 }), node('Concat', 'r c', 'cat', { axis: 1 }), ...linear,
    ]),
    rules: ['IKB101'],
  },
  {
    name: 'a tile whose repeats are made by OneHot',
    bytes: model([
      input('u', 'U', 16), input('c', '5*U', 8), output('y', 2), ints('one', 1), int('three', 3), ints('values', 1, 5), ints('flat', -1),
      node('Unsqueeze', 'u one', 'a'), node('OneHot', 'one three values', 'hot'), node('Reshape', 'hot flat', 'repeats'), node('Tile', 'a repeats', 'b'),
      node('Flatten', 'b', 'r', { axis: 2 }), node('Concat', 'r c', 'cat', { axis: 1 }), ...linear,
    ]),
    rules: ['IKB101'],
  },
  {
    name: 'MultiHeadAttention with keys expanded over the batch',
    bytes: model([
      input('q', 8, 'L', 16), input('k', 1, 'S', 16), input('v', 1, 'S', 16), output('y', 3), ints('batch', 8, 1, 1),
      node('Expand', 'k batch', 'kk'), node('Expand', 'v batch', 'vv'), node('com.microsoft:MultiHeadAttention', 'q kk vv', 'y', { num_heads: 2 }),
    ], { domains: ['com.microsoft'] }),
    rules: ['IKB201'],
  },
  ...['1 1 L 7', '12 2 L 7', '1 2 L 7'].map((sizes): Case => ({
    name: `MultiHeadAttention with keys of each user repeated, a bias, and scores shifted by [${sizes}]`,
    bytes: model([
      input('q', 12, 'L', 16), input('k', 3, 7, 16), input('v', 3, 7, 16), output('y', 3), weight('b', 48), input('m', ...sizes.split(' ').map((size) => Number(size) || size)),
      ...['k', 'v'].flatMap((x) => [node('Unsqueeze', `${x} one`, `${x}_u`), node('Expand', `${x}_u times`, `${x}_e`), node('Reshape', `${x}_e shape`, `${x}${x}`)]),
      ints('one', 1), ints('times', 1, 4, 1, 1), ints('shape', 12, 7, 16), node('com.microsoft:MultiHeadAttention', 'q kk vv b - m', 'y', { num_heads: 2 }),
    ], { domains: ['com.microsoft'] }),
    rules: ['IKB201'],
  })),
  {
    name: 'causal MultiHeadAttention with keys expanded over the batch',
    bytes: model([
      input('q', 8, 5, 16), input('k', 1, 5, 16), input('v', 1, 5, 16), output('y', 3), ints('batch', 8, 1, 1),
      node('Expand', 'k batch', 'kk'), node('Expand', 'v batch', 'vv'), node('com.microsoft:MultiHeadAttention', 'q kk vv', 'y', { num_heads: 2, unidirectional: 1 }),
    ], { domains: ['com.microsoft'] }),
    rules: ['IKB201'],
    refused: /a causal mask counts the rows of each copy/,
  },
  {
    name: 'packed Attention over an expanded input',
    bytes: model([
      input('x', 1, 'S', 16), weight('w', 16, 48), weight('b', 48), output('y', 3), ints('batch', 8, 1, 1),
      node('Expand', 'x batch', 'e'), node('com.microsoft:Attention', 'e w b', 'y', { num_heads: 2 }),
    ], { domains: ['com.microsoft'] }),
    rules: ['IKB102'],
  },
  {
    name: 'packed Attention over an expanded input, with a bias of each copy',
    bytes: model([
      input('x', 1, 5, 16), input('m', 8, 2, 5, 5), weight('w', 16, 48), weight('b', 48), output('y', 3), ints('batch', 8, 1, 1),
      node('Expand', 'x batch', 'e'), node('com.microsoft:Attention', 'e w b - - m', 'y', { num_heads: 2 }),
    ], { domains: ['com.microsoft'] }),
    rules: ['IKB102'],
    refused: /results of Attention differ from copy to copy/,
  },
  ...['GRU', 'LSTM', 'RNN'].map((op): Case => {
    const gates = { GRU: 3, LSTM: 4, RNN: 1 }[op] ?? 1;
    return {
      name: `the history of each user looked up for its candidates, into ${op === 'RNN' ? 'an' : 'a'} ${op}`,
      bytes: model([
        input('h', 'U', 'T', 6), input('c', 'B', 4), index('i', 'B'), output('y', 4), output('z', 2), weight('w', 1, gates * 4, 6), weight('r', 1, gates * 4, 4), 
        node('Gather', 'h i', 'g', { axis: 0 }), node('Transpose', 'g', 'e', { perm: [1, 0, 2] }), ints('zero', 0), ints('size', 1), ints('four', 4), node('Shape', 'i', 'b'), node('Concat', 'size b four', 'start', { axis: 0 }), node('ConstantOfShape', 'start', 'h0'),
        node(op, 'e w r - - h0', 'y last', { hidden_size: 4 }), node('Squeeze', 'last zero', 'l'), node('Tanh', 'l', 't'), node('Add', 't c', 'z'),
      ]),
      rules: ['IKB102'],
    };
  }),
  {
    name: 'histories of different lengths looked up for a GRU',
    bytes: model([
      input('h', 'U', 7, 6), index('i', 'B'), index('n', 'B'), output('y', 4), weight('w', 1, 12, 6), weight('r', 1, 12, 4),
      node('Gather', 'h i', 'g', { axis: 0 }), node('Transpose', 'g', 'e', { perm: [1, 0, 2] }), node('Cast', 'n', 'm', { to: 6 }), node('GRU', 'e w r - m', 'y', { hidden_size: 4 }),
    ]),
    rules: ['IKB102'],
    refused: /results of GRU differ from copy to copy/,
  },
  {
    name: 'FusedMatMul after a concatenation',
    bytes: model([
      input('u', 1, 16), input('c', 'B', 8), output('y', 2), weight('w', 8, 24), node('Shape', 'c', 's'), ints('zero', 0), ints('cols', 16),
      node('Gather', 's zero', 'b'), node('Concat', 'b cols', 't', { axis: 0 }), node('Expand', 'u t', 'e'), node('Concat', 'e c', 'cat', { axis: 1 }),
      node('com.microsoft:FusedMatMul', 'cat w', 'y', { transB: 1 }),
    ], { domains: ['com.microsoft'] }),
    rules: ['IKB101'],
  },
  {
    name: 'FusedMatMul with a factor and turned operands, a batch operand copied',
    bytes: model([
      input('a', 6, 16, 'M'), input('b', 1, 'N', 16), output('y', 3), ints('batch', 6, 1, 1),
      node('Expand', 'b batch', 'e'), node('com.microsoft:FusedMatMul', 'a e', 'y', { transA: 1, transB: 1, alpha: { float: 0.5 } }),
    ], { domains: ['com.microsoft'] }),
    rules: ['IKB301'],
  },
  ...[0, 1].map((turned): Case => ({
    name: `attention of FusedMatMul with keys of each user repeated${turned ? ', queries turned' : ''}`,
    bytes: model([
      turned ? input('q', 12, 2, 8, 'L') : input('q', 12, 2, 'L', 8), input('k', 3, 2, 7, 8), input('v', 3, 2, 7, 6), output('y', 4),
      ...repeatBatch('k', 'kk', 8), ...repeatBatch('v', 'vv', 6), ints('one', 1), ints('times', 1, 4, 1, 1, 1),
      node('com.microsoft:FusedMatMul', 'q kk', 's', { transA: turned, transB: 1, alpha: { float: 0.25 } }), node('Softmax', 's', 'p', { axis: -1 }), node('MatMul', 'p vv', 'y'),
    ], { domains: ['com.microsoft'] }),
    rules: ['IKB201'],
  })),
  {
    name: 'a batch operand that the product would broadcast',
    bytes: model([
      input('a', 6, 'M', 16), input('b', 1, 16, 'N'), output('y', 3), ints('batch', 6, 1, 1),
      node('Expand', 'b batch', 'e'), node('MatMul', 'a e', 'y'),
    ]),
    rules: ['IKB301'],
  },
  {
    name: 'a tiled batch operand, read in turns',
    bytes: model([
      input('a', 6, 5, 16), input('b', 2, 16, 7), output('y', 3), ints('times', 3, 1, 1),
      node('Tile', 'b times', 'e'), node('MatMul', 'a e', 'y'),
    ]),
    rules: ['IKB301'],
  },
  {
    name: 'an einsum over expanded rows',
    bytes: model([
      input('u', 'U', 16), input('c', 'U', 'N', 8), output('y', 3), weight('w', 24, 8), ints('one', 1), node('Unsqueeze', 'u one', 'v'),
      node('Shape', 'c', 's'), node('Gather', 's one', 'n'), ints('a', 1), ints('b', 16), node('Concat', 'a n b', 't', { axis: 0 }), node('Expand', 'v t', 'e'),
      node('Concat', 'e c', 'cat', { axis: 2 }), node('Einsum', 'cat w', 'y', { equation: 'und,dm->unm' }),
    ]),
    rules: ['IKB101'],
  },
  {
    name: 'an einsum with the weight on the left and the copied rows last',
    bytes: model([
      input('u', 16, 1), input('c', 8, 5), output('y', 2), weight('w', 24, 8), ints('t', 16, 5),
      node('Expand', 'u t', 'e'), node('Concat', 'e c', 'cat', { axis: 0 }), node('Einsum', 'w cat', 'y', { equation: 'dm,dn->nm' }),
    ]),
    rules: ['IKB101'],
  },
  {
    name: 'an einsum without rows of its own',
    bytes: model([
      input('u', 'U', 1, 16), input('c', 'U', 5, 16), output('y', 2), ints('t', 1, 5, 1), node('Expand', 'u t', 'e'), node('Einsum', 'e c', 'y', { equation: 'und,und->un' }),
    ]),
    rules: [],
  },
  {
    name: 'a context repeated over time into a GRU',
    bytes: model([
      input('u', 1, 'B', 6), output('y', 4), weight('w', 1, 12, 6), weight('r', 1, 12, 4), ints('t', 7, 1, 1), node('Expand', 'u t', 'e'),
      node('GRU', 'e w r', 'y', { hidden_size: 4 }),
    ]),
    rules: ['IKB102'],
    refused: /results of GRU differ/,
  },
  {
    name: 'a weight on the left, columns copied',
    bytes: model([
      input('e', 1, 10, 16), input('c', 'B', 4, 16), output('y', 3), weight('w', 6, 14), node('Shape', 'c', 's'), ints('zero', 0), node('Gather', 's zero', 'b'),
      ints('rest', 10, 16), node('Concat', 'b rest', 't', { axis: 0 }), node('Expand', 'e t', 'x'), node('Concat', 'x c', 'cat', { axis: 1 }), node('MatMul', 'w cat', 'y'),
    ]),
    rules: ['IKB103'],
  },
  {
    name: 'a copy added to a full tensor, then multiplied',
    bytes: model([input('u', 1, 24), input('c', 5, 24), output('y', 2), ints('t', 5, 1), node('Expand', 'u t', 'e'), node('Add', 'e c', 'cat'), ...linear]),
    rules: [],
  },
  {
    name: 'a sum of two copies',
    bytes: model([
      input('u', 1, 24), input('v', 1, 24), output('y', 2), ints('t', 5, 1), node('Expand', 'u t', 'e'), node('Expand', 'v t', 'f'), node('Add', 'e f', 'cat'), ...linear,
    ]),
    rules: ['IKB102'],
  },
  {
    name: 'a Gemm that adds rows of its own',
    bytes: model([
      input('u', 1, 16), input('c', 5, 8), input('d', 5, 8), output('y', 2), weight('w', 24, 8), ints('t', 5, 1), node('Expand', 'u t', 'e'), node('Concat', 'e c', 'cat', { axis: 1 }),
      node('Gemm', 'cat w d', 'y'),
    ]),
    rules: ['IKB101'],
    refused: /differs from row to row/,
  },
  {
    name: 'inside a branch',
    bytes: model([
      input('u', 1, 16), input('c', 5, 8), output('y', 2), weight('w', 24, 8), ints('t', 5, 1), int('zero', 0), node('Cast', 'zero', 'cond', { to: 9 }),
      node('If', 'cond', 'y', {}, {
        then_branch: graph(node('Expand', 'u t', 'e'), node('Concat', 'e c', 'cat', { axis: 1 }), node('MatMul', 'cat w', 'y1'), output('y1', 2)),
        else_branch: graph(node('MatMul', 'c c2', 'y2'), weight('c2', 8, 8), output('y2', 2)),
      }),
    ]),
    rules: ['IKB101'],
  },
  {
    name: 'inside a branch, the copy made outside',
    bytes: model([
      input('u', 1, 16), input('c', 5, 8), output('y', 2), output('e2', 2), weight('w', 24, 8), ints('t', 5, 1), int('zero', 0), node('Cast', 'zero', 'cond', { to: 9 }),
      node('Expand', 'u t', 'e'), node('Relu', 'e', 'e2'),
      node('If', 'cond', 'y', {}, {
        then_branch: graph(node('Relu', 'c', 'y1'), output('y1', 2)),
        else_branch: graph(node('Concat', 'e c', 'cat', { axis: 1 }), node('MatMul', 'cat w', 'y2'), output('y2', 2)),
      }),
    ]),
    rules: ['IKB101'],
  },
  {
    name: 'inside branches that call their results alike',
    bytes: model([
      input('u', 1, 16), input('c', 5, 8), output('y', 2), weight('w', 24, 8), ints('t', 5, 1), int('one', 1), node('Cast', 'one', 'cond', { to: 9 }),
      node('If', 'cond', 'y', {}, {
        then_branch: graph(node('Expand', 'u t', 'e'), node('Concat', 'e c', 'cat', { axis: 1 }), node('MatMul', 'cat w', 'z'), output('z', 2)),
        else_branch: graph(node('Relu', 'c', 'z'), output('z', 2)),
      }),
    ]),
    rules: ['IKB101'],
    refused: /names mean different values/,
  },
  {
    name: 'in the body of a loop',
    bytes: model([
      input('u', 1, 16), input('c', 5, 8), output('y', 2), weight('w', 24, 8), ints('t', 5, 1), int('three', 3), int('one', 1), node('Cast', 'one', 'go', { to: 9 }),
      node('Loop', 'three go c', 'y', {}, {
        body: graph(index('i'), bool('goes'), input('s', 5, 8), node('Identity', 'goes', 'goes2'),
          node('Expand', 'u t', 'e'), node('Concat', 'e s', 'cat', { axis: 1 }), node('MatMul', 'cat w', 's2'), boolOutput('goes2'), output('s2', 2)),
      }),
    ]),
    rules: ['IKB101'],
  },
  {
    name: 'inside a model-local function',
    bytes: model([input('u', 1, 16), input('c', 5, 8), weight('w', 24, 8), output('y', 2), ints('t', 5, 1), node('own:Mix', 'u c w t', 'y')], {
      domains: ['own'], functions: [mix()],
    }),
    rules: ['IKB101'],
  },
  {
    name: 'inside a function that is called twice, once without a copy',
    bytes: model([
      input('u', 1, 16), input('c', 5, 8), input('d', 1, 8), weight('w', 24, 8), output('y', 2), output('z', 2), ints('t', 5, 1), ints('s', 1, 1),
      node('own:Mix', 'u d w s', 'z'), node('own:Mix', 'u c w t', 'y'),
    ], { domains: ['own'], functions: [mix()] }),
    rules: ['IKB101'],
  },
  {
    name: 'inside functions in functions, both calls of which copy',
    bytes: model([
      input('u', 1, 16), input('c', 5, 8), weight('w', 24, 8), output('y', 2), output('z', 2), ints('t', 5, 1),
      node('own:Outer', 'u c w t', 'y'), node('own:Outer', 'u c w t', 'z'),
    ], { domains: ['own'], functions: [mix(), {
      name: 'Outer', domain: 'own', inputs: ['u', 'c', 'w', 't'], outputs: ['out'], attributes: [], documentation: '',
      opsets: [{ domain: '', version: 17 }, { domain: 'own', version: 1 }],
      nodes: [{ op: 'Neg', name: 'neg', inputs: ['c'], outputs: ['y'] }, { op: 'Mix', domain: 'own', name: 'mix', inputs: ['u', 'y', 'w', 't'], outputs: ['m'] }, { op: 'Relu', name: 'r', inputs: ['m'], outputs: ['out'] }],
    }] }),
    rules: ['IKB101', 'IKB101'],
  },
  {
    name: 'copied in a function, multiplied in the graph, an attribute and an input left to the call',
    bytes: model([
      input('u', 'U', 16), input('c', 'B', 8), index('i', 'B'), output('y', 2), node('own:Pick', 'u i - c', 'cat', { along: 1 }), ...linear,
    ], { domains: ['own'], functions: [{
      name: 'Pick', domain: 'own', inputs: ['a', 'i', 'unused', 'b'], outputs: ['joined'], attributes: ['along', 'rows'], documentation: '', opsets: [{ domain: '', version: 17 }],
      nodes: [
        // Without a value from the call, the axis is the operator's own default.
        { op: 'Gather', name: 'g', inputs: ['a', 'i'], outputs: ['e'], attributes: { axis: { reference: 'rows', type: 2 } } },
        { op: 'Concat', name: 'c', inputs: ['e', 'b'], outputs: ['joined'], attributes: { axis: { reference: 'along', type: 2 } } },
      ],
    }] }),
    rules: ['IKB101'],
  },
  {
    name: 'rows and candidates made by functions, the copy outside of them',
    bytes: model([
      input('a', 'U', 16), input('b', 'B', 8), index('i', 'B'), output('y', 2), node('own:Act', 'a', 'u'), node('own:Act', 'b', 'c'),
      node('Gather', 'u i', 'r', { axis: 0 }), node('Concat', 'r c', 'cat', { axis: 1 }), ...linear,
    ], { domains: ['own'], functions: [{
      name: 'Act', domain: 'own', inputs: ['x'], outputs: ['y'], attributes: [], documentation: '', opsets: [{ domain: '', version: 17 }],
      nodes: [{ op: 'Relu', name: 'r', inputs: ['x'], outputs: ['y'] }],
    }] }),
    rules: ['IKB101'],
  },
  {
    name: 'repeated row by row, of rows that a function hands over one by one',
    bytes: model([
      input('u', 2, 16), input('c', 6, 8), output('y', 2), ints('three', 3, 1), node('own:Rows', 'u', 'a b'),
      node('Expand', 'a three', 'aa'), node('Expand', 'b three', 'bb'), node('Concat', 'aa bb', 'e', { axis: 0 }), node('Concat', 'e c', 'cat', { axis: 1 }), ...linear,
    ], { domains: ['own'], functions: [{
      name: 'Rows', domain: 'own', inputs: ['u'], outputs: ['a', 'b'], attributes: [], documentation: '', opsets: [{ domain: '', version: 17 }],
      nodes: [{ op: 'Relu', name: 'r', inputs: ['u'], outputs: ['x'] }, { op: 'Split', name: 's', inputs: ['x'], outputs: ['a', 'b'], attributes: { axis: 0n } }],
    }] }),
    rules: ['IKB101'],
  },
  {
    name: 'inside a function that imports another version of the operators',
    bytes: model([input('u', 1, 16), input('c', 5, 8), weight('w', 24, 8), output('y', 2), ints('t', 5, 1), node('own:Mix', 'u c w t', 'y')], {
      domains: ['own'], functions: [mix(16)],
    }),
    rules: ['IKB101'],
    refused: /inside the function 'Mix', which imports version 16 of the standard operators, and the model 17/,
  },
]; // prettier-ignore

async function verified(before: Uint8Array, after: Uint8Array): Promise<string | null> {
  const folder = mkdtempSync(join(tmpdir(), 'ikbo-onnx-'));
  try {
    const paths = [join(folder, 'before.onnx'), join(folder, 'after.onnx')] as const;
    writeFileSync(paths[0], before);
    writeFileSync(paths[1], after);
    const analysed = analyse(readModel(memorySource(before)));
    return (await verifyRewrite(analysed, ...paths, { child: CHILD, runtime: null, seconds: 60, repeats: 0 })).problem;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('onnx idioms', function () {
  this.timeout(60_000);
  for (const { name, bytes, rules, refused } of cases) {
    it(`${name}: ${rules.join(', ') || 'silent'}${refused ? ', refused' : ''}`, async () => {
      const source = memorySource(bytes);
      const { findings, notes } = checkModel('m.onnx', source);
      assert.deepEqual(notes, []);
      assert.deepEqual(
        findings.map(({ rule }) => rule),
        rules,
      );
      const { outcomes, pieces } = rewriteModel('m.onnx', source, { force: true });
      for (const { reason } of outcomes) {
        if (refused) assert.match(reason ?? 'applied', refused);
        else assert.equal(reason, null);
      }
      const after = assemble(source, pieces);
      if (refused || rules.length === 0) assert.ok(Buffer.from(after).equals(bytes));
      // The original must run in any case, or the case proves nothing.
      assert.equal(await verified(bytes, after), null);
      if (!refused) assert.deepEqual(checkModel('m.onnx', memorySource(after)).findings, []);
    });
  }
});
