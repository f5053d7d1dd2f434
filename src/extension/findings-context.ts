/** The context key `ikboLens.hasFindings`: the active document has findings, so its title bar offers the benchmark. */
import * as vscode from 'vscode';

export function trackFindings(): vscode.Disposable {
  const update = () => {
    const uri = vscode.window.activeTextEditor?.document.uri;
    const has = uri !== undefined && vscode.languages.getDiagnostics(uri).some(({ source }) => source === 'ikbo');
    void vscode.commands.executeCommand('setContext', 'ikboLens.hasFindings', has);
  };
  return vscode.Disposable.from(
    vscode.languages.onDidChangeDiagnostics(update),
    vscode.window.onDidChangeActiveTextEditor(update),
  );
}
