/** The benchmark as the extension uses it: the packaged host, the user's settings, and errors as messages with a way out. */
import * as vscode from 'vscode';
import { BenchError, listDevices, runBench } from '../bench/client';
import { presets } from '../bench/presets';
import { completeRequest } from '../bench/request';
import type { BenchResult, ModelRun } from '../protocol/bench';
import type { Devices, Failure, RunRequest, ToPanel } from '../protocol/panel';
import type { Preset } from './choices';

export type BenchRun = Omit<RunRequest, 'model'> & { readonly model: ModelRun | null };

export interface Bench {
  readonly presets: readonly Preset[];
  devices(): Promise<Devices>;
  /** Rejects when the run fails or the signal aborts it. */
  run(request: BenchRun, post: (message: ToPanel) => void, signal: AbortSignal): Promise<BenchResult>;
}

export function createBench(context: vscode.ExtensionContext): Bench {
  const host = {
    hostPath: context.asAbsolutePath('dist/host.js'),
    addonPath: process.env['IKBO_ADDON'] ?? context.asAbsolutePath('dist/ikbo.node'),
  };
  return {
    presets,
    devices: () => listDevices(host),
    run(request, post, signal) {
      const python = vscode.workspace.getConfiguration('ikboLens').get('python', '') || null;
      const onProgress = ({ stage, done, total }: { stage: string; done: number; total: number }) =>
        post({ type: 'progress', stage, done, total });
      return runBench(completeRequest({ ...request, python }), { ...host, signal, onProgress });
    },
  };
}

export function failureOf(error: unknown): Failure {
  if (error instanceof BenchError) {
    const { message, command, details } = error;
    return { message, command, details };
  }
  return { message: error instanceof Error ? error.message : String(error), command: null, details: null };
}
