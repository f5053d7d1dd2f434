/** What the panel offers to measure: the findings of open documents as the server knows them, then the presets. */
import { dirname } from 'node:path';
import { findRuntime } from '../project/onnx/find-runtime';
import type { BenchRequest, ModelRun } from '../protocol/bench';
import type { BenchTarget } from '../protocol/editor';
import type { Choice } from '../protocol/panel';
import { parseModelUri } from '../server/onnx/uri';

export interface Preset {
  readonly name: string;
  readonly title: string;
  readonly detail: string;
  readonly request: Pick<BenchRequest, 'op' | 'dims' | 'dtype' | 'grouping'>;
}

/** `model`: the open sizes of the model that the finding is in. */
export function choiceOfTarget(target: BenchTarget, model: Choice['model']): Choice {
  const { rule, path, line, message, bench } = target;
  const title = `${rule} ${path.slice(path.lastIndexOf('/') + 1)}:${line}`;
  const { op, dims } = bench;
  // Models are exported in single precision, unless somebody has changed that.
  const dtype = model ? 'fp32' : null;
  return { id: idOf(target), kind: 'finding', title, detail: message, op, dims, dtype, grouping: null, model };
}

export function choiceOfPreset({ name, title, detail, request }: Preset): Choice {
  const { op, dims, dtype, grouping } = request;
  return { id: `preset ${name}`, kind: 'preset', title, detail, op, dims, dtype, grouping, model: null };
}

/** Stable while the finding stays on its line. */
export function idOf({ uri, rule, line }: BenchTarget): string {
  return `${rule} ${uri}:${line}`;
}

/** The model file of a target, to be run at these sizes; null where the finding is in no model file. */
export function modelRunOf({ uri, rule, line }: BenchTarget, sizes: ModelRun['sizes']): ModelRun | null {
  const file = parseModelUri(uri)?.file;
  return file === undefined
    ? null
    : { path: file, finding: `${rule}:${line}`, sizes, runtime: findRuntime(dirname(file)) };
}
