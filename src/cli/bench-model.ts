/** `ikbo bench --finding model.onnx:NODE`: the node's finding, and the whole model beside the operator alone. */
import { resolve } from 'node:path';
import type { Finding } from '../core/finding';
import { OnnxError, printModel, readModel } from '../core/onnx';
import { openFileBytes } from '../project/byte-source';
import { findRuntime } from '../project/onnx/find-runtime';
import { describeError } from '../project/walk';
import type { ModelRun } from '../protocol/bench';
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

/** The whole model that the finding is in, to be run before and after in the same rounds. */
export function modelRun(
  context: Context,
  { path, rule, line }: Finding,
  sizes: Readonly<Record<string, number>>,
): ModelRun {
  const model = resolve(context.root, path);
  return { path: model, finding: `${rule}:${line}`, sizes, runtime: findRuntime(context.root) };
}
