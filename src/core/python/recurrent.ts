/** What recurrent layers hand back: their outputs, and the last states of all layers and directions. */
import { type Dim, ONE, constant, multiply } from '../tensor/dim';
import { dimAt, exactShape, freeAxis, rankOf, tensor, withoutReplicas } from '../tensor/shape';
import type { Shape, Tensor } from '../tensor/value';
import type { Applied } from './applied';
import { argument, asDim, placeOf } from './access';
import { type LayerValue, type Value, tuple } from './value';

/** Of `nn.GRU(D, H, layers)` on `[B, T, D]`: `[B, T, H]` and `[layers, B, H]`; of a cell on `[B, D]`: `[B, H]`. */
export function recurrentResult({ operator, layer, node }: Applied, x: Tensor | null): Value {
  const place = placeOf(node);
  const isLstm = layer?.name.startsWith('nn.LSTM') ?? false;
  const hidden = layer && !layer.args.open ? asDim(argument(layer.args, 1, 'hidden_size')) : null;
  if (operator.effect === 'recurrent-cell') {
    const state = tensor(lastAxis(x, 2, hidden), { place });
    return isLstm ? tuple([state, tensor(state.shape, { place })]) : state;
  }
  const projected = layer?.args.keywords.has('proj_size') ?? false;
  const directions = layer ? directionsOf(layer) : null;
  const layers = layer && !layer.args.open ? countOf(layer) : null;
  const axes = [multiply(layers, directions), layer && x ? batchOf(layer, x) : null, projected ? null : hidden];
  const state = (): Tensor => tensor(exactShape(axes.map((dim) => freeAxis(dim))), { place });
  const output = tensor(lastAxis(x, 3, projected ? null : multiply(hidden, directions)), { place });
  return tuple([output, isLstm ? tuple([state(), state()]) : state()]);
}

/** Rows as they were, of another width. */
function lastAxis(x: Tensor | null, rank: number, width: Dim): Shape {
  return x && rankOf(x.shape) === rank
    ? exactShape([...withoutReplicas(x.shape).head.slice(0, -1), freeAxis(width)])
    : { exact: false, head: [], tail: [freeAxis(width)] };
}

function batchOf({ args }: LayerValue, x: Tensor): Dim {
  const first = argument(args, 4, 'batch_first');
  if (!first) return args.open ? null : dimAt(x, 1);
  return first.kind === 'bool' && first.value !== null ? dimAt(x, first.value ? 0 : 1) : null;
}

function countOf({ args }: LayerValue): Dim {
  const given = argument(args, 2, 'num_layers');
  return given ? asDim(given) : ONE;
}

function directionsOf({ args }: LayerValue): Dim {
  const given = argument(args, 6, 'bidirectional');
  if (!given) return args.open ? null : ONE;
  return given.kind === 'bool' && given.value !== null ? constant(given.value ? 2 : 1) : null;
}
