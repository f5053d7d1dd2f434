/** onnxruntime-node is optional and never bundled: where it is installed, it is found. */
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

/** Path of onnxruntime-node: IKBO_ONNXRUNTIME, the project's, or the command's own; null when there is none. */
export function findRuntime(root: string): string | null {
  const named = process.env['IKBO_ONNXRUNTIME'];
  if (named) return resolve(root, named);
  for (const from of [join(root, 'package.json'), __filename]) {
    try {
      return createRequire(from).resolve('onnxruntime-node');
    } catch {
      continue;
    }
  }
  return null;
}
