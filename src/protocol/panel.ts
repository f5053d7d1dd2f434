/** Messages between the extension and the benchmark panel. Both sides are ours, so they are types without parsers, except
 * for what comes from the webview: the extension checks the request before it starts anything. */
import type { BenchRequest, BenchResult, DeviceInfo, Dtype, Grouping, Op } from './bench';

/** Something that can be measured: a finding of an open document, or a preset. */
export interface Choice {
  readonly id: string;
  readonly kind: 'finding' | 'preset';
  /** One line for the menu. */
  readonly title: string;
  /** What the finding says, or what the preset is for. */
  readonly detail: string;
  readonly op: Op;
  /** Null sizes are not known: the user fills them in. */
  readonly dims: Readonly<Record<string, number | null>>;
  readonly dtype: Dtype | null;
  readonly grouping: Grouping | null;
  /** Of a finding in a model file: the sizes that its inputs leave open, by the model's symbols. Null for all else. */
  readonly model: Readonly<Record<string, number | null>> | null;
}

export interface Devices {
  readonly devices: readonly DeviceInfo[];
  /** Why a device is not there: "no CUDA driver". */
  readonly notes: readonly string[];
}

/** Why a run, or the list of devices, could not be had, and the way out of it. */
export interface Failure {
  readonly message: string;
  /** A command for a terminal that makes it work, e.g. building the addon; null where there is none. */
  readonly command: string | null;
  /** What the host said last, for the curious; null when it said nothing. */
  readonly details: string | null;
}

export type ToPanel =
  | {
      readonly type: 'setup';
      readonly choices: readonly Choice[];
      /** The choice to show; null keeps the panel's own. */
      readonly selected: string | null;
      readonly trusted: boolean;
      /** Preferred device by the settings; empty for the best one. */
      readonly device: string;
    }
  /** Runs that were made elsewhere and came with the extension. */
  | { readonly type: 'recorded'; readonly results: readonly BenchResult[] }
  | { readonly type: 'devices'; readonly found: Devices | null; readonly failure: Failure | null }
  /** The operator's sizes that follow from those of the model. */
  | { readonly type: 'dims'; readonly choice: string; readonly dims: Readonly<Record<string, number>> }
  | { readonly type: 'progress'; readonly stage: string; readonly done: number; readonly total: number }
  | { readonly type: 'result'; readonly result: BenchResult }
  | { readonly type: 'failed'; readonly failure: Failure }
  | { readonly type: 'cancelled' };

export type ExportFormat = 'json' | 'markdown' | 'csv' | 'svg';

/** What the panel lets its user decide; the extension adds the interpreter and the seed. */
export type RunRequest = Omit<BenchRequest, 'python' | 'seed' | 'arms' | 'model'> & {
  /** Null where no model is to be run. */
  readonly model: ModelChoice | null;
};

/** A choice whose model runs, too, at these sizes of its inputs. */
export interface ModelChoice {
  readonly choice: string;
  readonly sizes: Readonly<Record<string, number>>;
}

export type FromPanel =
  | { readonly type: 'ready' }
  | { readonly type: 'run'; readonly request: RunRequest }
  | { readonly type: 'cancel' }
  /** Sizes of a model's inputs were typed: `dims` comes back. */
  | { readonly type: 'modelSizes'; readonly model: ModelChoice }
  | { readonly type: 'findDevices' }
  | { readonly type: 'reveal'; readonly choice: string }
  | { readonly type: 'copy'; readonly text: string }
  | { readonly type: 'trust' }
  | { readonly type: 'export'; readonly format: ExportFormat; readonly result: BenchResult };
