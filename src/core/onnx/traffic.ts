/** How many bytes a model's operators write in one run, by the inferred shapes. */
import { evaluate } from '../tensor/dim';
import type { Analysed } from './analyse';
import { elementBytes } from './data';

/** These change no data: a runtime reuses the buffer. */
const FREE = new Set(['Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Identity', 'Constant', 'Shape', 'Size']);

/** Bytes of all results of the main graph that are not constant, at these sizes; null when a size is not known. */
export function bytesWritten({ graph, program }: Analysed, sizes: ReadonlyMap<string, number>): number | null {
  let total = 0;
  for (const op of graph.main.operators) {
    if (FREE.has(op.node.op)) continue;
    for (const value of op.outputs) {
      if (!value || program.isConstant(value) || (value.uses.length === 0 && !value.isOutput)) continue;
      const { shape, element } = program.infer.of(value);
      if (!shape) return null;
      let bytes = elementBytes(element) ?? 4;
      for (const dim of shape) {
        const size = evaluate(dim, (name) => sizes.get(name) ?? null);
        if (size === null) return null;
        bytes *= size;
      }
      total += bytes;
    }
  }
  return total;
}
