/** Products without a copy that run slower than they need to, as far as the text says so. */
import { type Dim, valueOf } from '../tensor/dim';
import { knownAxis, rankOf } from '../tensor/shape';
import type { Tensor } from '../tensor/value';
import { argument, asDim, nodeAt } from './access';
import type { Applied } from './applied';
import type { Advice, Operand, Unfused } from './run';
import { textOf } from './syntax';
import type { LayerValue, Value } from './value';

/** A concatenation whose width may be worth padding. `axis`: of a weight that no layer holds, the one of its columns. */
export function widthAdvice(
  t: Tensor,
  layer: LayerValue | null,
  weight: Value | null | undefined,
  axis: number,
): Advice | null {
  const node = t.place ? nodeAt(t.place) : null;
  const fn = node?.kind === 'call' ? textOf(node).slice(0, 24) : '';
  const stated = layer ? asDim(argument(layer.args, 0, 'in_features')) : columnsOf(weight, axis);
  const own = knownAxis(t.shape, -1)?.dim ?? null;
  const size = valueOf(stated) === null ? own : stated;
  return node && size && /^(torch\.)?(cat|concat|concatenate)\(/.test(fn)
    ? {
        code: 'IKB401',
        size,
        concatenation: node,
        counted: valueOf(own) !== null,
        half: layer !== null && isHalf(layer),
      }
    : null;
}

/** How many numbers of each row a parameter of two axes is multiplied by. */
const columnsOf = (weight: Value | null | undefined, axis: number): Dim =>
  weight?.kind === 'tensor' && weight.content === 'parameter' && rankOf(weight.shape) === 2
    ? (knownAxis(weight.shape, axis)?.dim ?? null)
    : null;

/** Made in half precision, a layer takes nothing else: `nn.Linear(a, b, dtype=torch.float16)`, `nn.Linear(a, b).half()`. */
function isHalf({ args, node }: LayerValue): boolean {
  const dtype = args.keywords.get('dtype');
  if (dtype?.kind === 'name') return /^torch\.(half|b?float16)$/.test(dtype.path);
  const made = node.parent?.kind === 'attribute' ? node.parent.parent : null;
  return made?.kind === 'call' && /\)\s*\.((half|bfloat16)\(\)|to\(torch\.(half|b?float16)\))$/.test(textOf(made));
}

const unfused = (kind: Unfused['kind'], text: string): Advice => ({ code: 'IKB203', why: { kind, text } });

/** Why `enable_gqa=True` runs on the math path, from what the text says of types and sizes. */
export function gqaAdvice({ args, operator }: Applied, operands: readonly Operand[]): Advice | null {
  if (operator.name !== 'scaled_dot_product_attention') return null;
  const flag = args.keywords.get('enable_gqa');
  if (flag?.kind !== 'bool' || flag.value !== true) return null;
  const wide = operands.find((o) => (o.value.itemSize ?? 0) >= 4);
  if (wide) return unfused('precision', `the ${wide.role} is in single or double precision`);
  const sizes = operands.map((o) => valueOf(knownAxis(o.value.shape, -1)?.dim ?? null));
  const large = sizes.find((size) => size !== null && size > 256);
  if (large !== undefined) return unfused('heads', `the head dimension is ${large}, above 256`);
  const [q, , v] = sizes;
  if (typeof q === 'number' && typeof v === 'number' && q !== v)
    return unfused('heads', `the head dimensions ${q} and ${v} differ`);
  return null;
}
