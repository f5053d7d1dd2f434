/** `ikbo bench --finding model.onnx:NODE`: the whole model before and after, beside the operator alone. */
import { resolve } from 'node:path';
import type { Finding } from '../core/finding';
import { OnnxError, printModel, readModel } from '../core/onnx';
import { openFileBytes } from '../project/byte-source';
import { describeMeasured, measureRewrite, type Measured } from '../project/onnx/measure';
import { findRuntime, RUNTIME_MISSING } from '../project/onnx/verify';
import { describeError } from '../project/walk';
import type { Context } from './context';
import { UsageError } from './output';

export const isModelPlace = (place: string): boolean => /\.onnx:/.test(place);

/** `model.onnx:NODE` with the node's line in the place of its name; a place with a line is left as it is. */
export function lineOfNode(context: Context, place: string): string {
  const match = /^(.+?\.onnx):(.+)$/.exec(place);
  const [path, name] = [match?.[1], match?.[2]];
  if (path === undefined || name === undefined || /^\d+$/.test(name)) return place;
  try {
    const source = openFileBytes(resolve(context.root, path));
    try {
      for (const [node, { first }] of printModel(readModel(source)).nodes)
        if (node.name === name || node.outputs.includes(name)) return `${path}:${first}`;
    } finally {
      source.close();
    }
  } catch (error) {
    throw new UsageError(`${path}: ${error instanceof OnnxError ? error.message : describeError(error)}`);
  }
  throw new UsageError(`--finding ${place}: ${path} has no node and no value called '${name}'`);
}

/** What rewriting the finding does to its model; the reason in words where that cannot be measured. */
export async function benchModel(
  context: Context,
  { path, rule, line }: Finding,
  shapes: Readonly<Record<string, number>>,
): Promise<Measured | string> {
  const runtime = findRuntime(context.root);
  if (!runtime) return RUNTIME_MISSING;
  const model = resolve(context.root, path);
  return measureRewrite({ model, finding: `${rule}:${line}`, shapes, dist: context.dist, runtime, repeats: 30 });
}

export const modelText = (measured: Measured | string): string =>
  `${typeof measured === 'string' ? `not measured through onnxruntime: ${measured}` : describeMeasured(measured)}\n`;
