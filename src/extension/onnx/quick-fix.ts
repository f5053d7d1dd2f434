/**
 * Quick fixes in a text that is only read: the editor's own menu is for documents that can be edited, but these fixes
 * write a new file. On the same keys as everywhere.
 */
import * as vscode from 'vscode';
import { isModelText } from './files';

export async function showQuickFixes(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor || !isModelText(editor.document.uri)) return;
  const found = await vscode.commands.executeCommand<vscode.CodeAction[]>(
    'vscode.executeCodeActionProvider',
    editor.document.uri,
    editor.selection,
    vscode.CodeActionKind.QuickFix.value,
  );
  const items = found.flatMap(({ title, command }) => (command ? [{ label: title, command }] : []));
  if (items.length === 0) {
    void vscode.window.setStatusBarMessage('No quick fixes on this line', 3000);
    return;
  }
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: 'Rewrite the model' });
  const { command, arguments: given = [] } = chosen?.command ?? {};
  if (command !== undefined) await vscode.commands.executeCommand(command, ...(given as unknown[]));
}
