/** "Verify this rewrite": runs the workspace's own code before and after, so it needs trust and says what it ran. */
import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { findPython } from '../project/interpreter';
import { VERIFY_JOB_REQUEST, type VerifyTarget } from '../protocol/editor';
import type { Answer, Job } from '../verify/job';
import { runJobs } from '../verify/run';
import { answerLines, verdictLine } from '../verify/text';
import type { Server } from './server';

const SECONDS = 120;

export async function verifyRewrite(
  server: Server,
  output: vscode.LogOutputChannel,
  target: VerifyTarget | undefined,
): Promise<void> {
  if (!target) return;
  if (!vscode.workspace.isTrusted) {
    const manage = 'Manage Trust';
    const message = 'Verifying a rewrite runs code of this workspace, which is not trusted.';
    if ((await vscode.window.showWarningMessage(message, manage)) === manage)
      await vscode.commands.executeCommand('workbench.trust.manage');
    return;
  }
  const job = await server.request<Job | null>(VERIFY_JOB_REQUEST, target);
  if (!job) {
    void vscode.window.showWarningMessage('This rewrite is no longer there: the file has changed.');
    return;
  }
  const answer = await run(job, target);
  const place = `${target.path}:${target.line}: ${target.rule} ${target.rewrite}`;
  output.info([place, ...answerLines(answer)].join('\n    '));
  await tell(answer, `${target.rule} ${target.rewrite}`, output);
}

async function run(job: Job, target: VerifyTarget): Promise<Answer> {
  // Not the target's: a cell's names no file.
  const uri = vscode.Uri.file(job.file);
  const setting = vscode.workspace.getConfiguration('ikboLens', uri).get('python', '') || null;
  const root = vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath ?? dirname(job.file);
  const progress = {
    location: vscode.ProgressLocation.Notification,
    title: `Verifying: ${target.title}`,
    cancellable: true,
  };
  const [answer] = await vscode.window.withProgress(progress, (_, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => abort.abort());
    return runJobs([job], { python: findPython(root, setting), seconds: SECONDS, signal: abort.signal });
  });
  return answer ?? { ok: false, problem: 'no answer' };
}

async function tell(answer: Answer, what: string, output: vscode.LogOutputChannel): Promise<void> {
  const [details, setting] = ['Details', 'Set Interpreter'];
  const worst = answer.runs?.find(({ maxError }) => typeof maxError === 'number');
  const error = worst ? `; ${worst.dtype} max error ${worst.maxError?.toExponential(1) ?? ''}` : '';
  const message = `${what}: ${answer.problem ?? verdictLine(answer) + error}`;
  const actions = answer.noTorch ? [setting, details] : [details];
  const show = answer.ok ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
  const picked = await show(message, ...actions);
  if (picked === details) output.show();
  if (picked === setting) await vscode.commands.executeCommand('workbench.action.openSettings', 'ikboLens.python');
}
