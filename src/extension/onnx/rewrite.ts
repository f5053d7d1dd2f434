/** Rewriting a model: a diff of the two texts first, then, if the user wants it, a new file beside the original. */
import * as vscode from 'vscode';
import {
  MODEL_REWRITE_REQUEST,
  MODEL_SAVE_REQUEST,
  type ModelRewrite,
  type ModelSave,
  type ModelSaved,
} from '../../protocol/onnx';
import type { Server } from '../server';
import { isModelText, modelOfText, textOfModel } from './files';

/** `uri` is a model's text, by default that of the active editor; `only` a finding (`IKB101:27`), by default all. */
export async function rewriteModel(server: Server, uri: unknown, only: unknown, target: unknown): Promise<void> {
  const text = typeof uri === 'string' ? vscode.Uri.parse(uri) : vscode.window.activeTextEditor?.document.uri;
  if (!text || !isModelText(text)) {
    void vscode.window.showInformationMessage('Open an ONNX model to rewrite it.');
    return;
  }
  const before = text.with({ query: '' });
  const ids = typeof only === 'string' ? only : '';
  const after = text.with({ query: `only=${ids}${target === 'ikbo' ? '&target=ikbo' : ''}` });
  const plan = await server.request<ModelRewrite>(MODEL_REWRITE_REQUEST, { uri: after.toString() });
  if (!plan) return;
  if (plan.done.length === 0) {
    const why = plan.refused.length > 0 ? plan.refused.join(' ') : 'There are no findings.';
    void vscode.window.showInformationMessage(`Nothing to rewrite. ${why}`);
    return;
  }
  const model = modelOfText(text);
  await vscode.commands.executeCommand('vscode.diff', before, after, `${nameOf(model)}: as it is ↔ rewritten`);
  const proposed = model.with({ path: model.path.replace(/(\.onnx)?$/, '.ikbo.onnx') });
  const [save, choose] = [`Save as ${nameOf(proposed)}`, 'Save As...'];
  const summary = [...plan.done, ...plan.refused.map((line) => `Not: ${line}`)].join('; ');
  const answer = await vscode.window.showInformationMessage(`${summary}.`, save, choose);
  if (answer === undefined) return;
  const file = answer === save && !(await exists(proposed)) ? proposed : await askForTarget(proposed);
  if (file) await saveModel(server, after, file);
}

const nameOf = ({ path }: vscode.Uri): string => path.slice(path.lastIndexOf('/') + 1);

const exists = async (uri: vscode.Uri): Promise<boolean> =>
  vscode.workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );

/** Also where the proposed file is there already: the dialog asks before it is replaced. */
const askForTarget = (defaultUri: vscode.Uri): Thenable<vscode.Uri | undefined> =>
  vscode.window.showSaveDialog({ defaultUri, filters: { 'ONNX models': ['onnx'] }, title: 'Save the rewritten model' });

async function saveModel(server: Server, rewritten: vscode.Uri, target: vscode.Uri): Promise<void> {
  const verify = vscode.workspace.isTrusted;
  const save: ModelSave = { uri: rewritten.toString(), target: target.toString(), verify };
  const saved = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: `Writing and verifying ${nameOf(target)}` },
    () => server.request<ModelSaved>(MODEL_SAVE_REQUEST, save),
  );
  if (!saved) return;
  const lines = saved.lines.join('; ');
  if (saved.problem !== null) {
    void vscode.window.showErrorMessage([saved.problem, lines].filter(Boolean).join(' '));
    return;
  }
  const open = 'Open';
  const answer = await vscode.window.showInformationMessage(`${nameOf(target)} is written: ${lines}`, open);
  if (answer === open) await vscode.window.showTextDocument(textOfModel(target));
}
