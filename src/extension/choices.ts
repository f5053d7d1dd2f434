/** What the panel offers to measure: the findings of open documents as the server knows them, then the presets. */
import type { BenchRequest } from '../protocol/bench';
import type { BenchTarget } from '../protocol/editor';
import type { Choice } from '../protocol/panel';

export interface Preset {
  readonly name: string;
  readonly title: string;
  readonly detail: string;
  readonly request: Pick<BenchRequest, 'op' | 'dims' | 'dtype' | 'grouping'>;
}

export function choiceOfTarget(target: BenchTarget): Choice {
  const { rule, path, line, message, bench } = target;
  const title = `${rule} ${path.slice(path.lastIndexOf('/') + 1)}:${line}`;
  const { op, dims } = bench;
  return { id: idOf(target), kind: 'finding', title, detail: message, op, dims, dtype: null, grouping: null };
}

export function choiceOfPreset({ name, title, detail, request }: Preset): Choice {
  const { op, dims, dtype, grouping } = request;
  return { id: `preset ${name}`, kind: 'preset', title, detail, op, dims, dtype, grouping };
}

/** Stable while the finding stays on its line. */
export function idOf({ uri, rule, line }: BenchTarget): string {
  return `${rule} ${uri}:${line}`;
}
