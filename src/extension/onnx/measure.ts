/** `Measure`: a model as it is against the model with one finding rewritten, both through onnxruntime. */
import * as vscode from 'vscode';
import { MODEL_MEASURE_REQUEST, MODEL_SIZES_REQUEST, type ModelMeasure, type ModelSizes } from '../../protocol/onnx';
import type { Server } from '../server';

/** Where nothing says how large an axis is. */
const GUESS = 64;
const SIZE = /^\s*([^=,]+?)\s*=\s*(\d{1,9})\s*$/;

export async function measureModel(server: Server, uri: unknown, finding: unknown): Promise<void> {
  if (typeof uri !== 'string' || typeof finding !== 'string') return;
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showErrorMessage('Running a model needs a trusted workspace.');
    return;
  }
  const open = await server.request<ModelSizes>(MODEL_SIZES_REQUEST, { uri });
  if (!open) return;
  const sizes = await askForSizes(open);
  if (!sizes) return;
  const measure: ModelMeasure = { uri, finding, sizes };
  const answer = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: 'Running the model as it is and rewritten' },
    () => server.request<string>(MODEL_MEASURE_REQUEST, measure),
  );
  if (answer !== undefined) void vscode.window.showInformationMessage(answer);
}

/** Undefined when the user cancels. */
async function askForSizes(open: ModelSizes): Promise<Record<string, number> | undefined> {
  const text = await vscode.window.showInputBox({
    title: 'Sizes to measure at',
    value: Object.entries(open)
      .map(([name, size]) => `${name}=${size ?? GUESS}`)
      .join(', '),
    validateInput: (given) => (parse(given) ? undefined : 'Sizes as in B=1024, U=16'),
  });
  return text === undefined ? undefined : parse(text);
}

function parse(text: string): Record<string, number> | undefined {
  const pairs = text.split(',').filter((part) => part.trim() !== '').map((part) => SIZE.exec(part)); // prettier-ignore
  if (pairs.some((pair) => pair === null)) return undefined;
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', Number(pair?.[2])]));
}
