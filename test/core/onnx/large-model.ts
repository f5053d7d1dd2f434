/** A model with any number of nodes: towers of products and activations, and one copy near the end. */
import { index, input, ints, model, node, output, weight } from './build';

export function largeModel(nodes: number): Uint8Array {
  const parts = [
    input('user', 'U', 32),
    input('item', 'B', 16),
    index('index', 'B'),
    weight('w', 48, 8),
    ints('zero', 0),
  ];
  let last = 'user';
  for (let i = 0; i < nodes - 3; i++) {
    const made = `/tower.${i % 64}/block.${Math.floor(i / 64)}/op_${i}_output_0`;
    parts.push(node(i % 3 === 0 ? 'Relu' : i % 3 === 1 ? 'Add' : 'Mul', i % 3 === 0 ? last : `${last} user`, made));
    last = made;
  }
  parts.push(node('Gather', `${last} index`, 'rows', { axis: 0 }));
  parts.push(node('Concat', 'rows item', 'both', { axis: 1 }));
  parts.push(node('MatMul', 'both w', `op_${nodes - 1}`), output(`op_${nodes - 1}`, 2));
  return model(parts);
}
