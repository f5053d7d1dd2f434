/** Opening an .onnx file opens its text: this editor stands in for the file for the moment that this takes. */
import * as vscode from 'vscode';
import { textOfModel } from './files';

export function registerModelEditor(): vscode.Disposable {
  const provider: vscode.CustomReadonlyEditorProvider = {
    openCustomDocument: (uri) => ({ uri, dispose: () => undefined }),
    async resolveCustomEditor({ uri }, panel) {
      const name = uri.path.slice(uri.path.lastIndexOf('/') + 1);
      // One side of a diff, or a file that is not on disk: there is no text to go to.
      panel.webview.html = page(`${name} is a binary model.`);
      if (uri.scheme !== 'file' || !hasTab(uri)) return;
      const document = await vscode.workspace.openTextDocument(textOfModel(uri));
      await vscode.window.showTextDocument(document, {
        viewColumn: panel.viewColumn ?? vscode.ViewColumn.Active,
        preserveFocus: !panel.active,
      });
      panel.dispose();
    },
  };
  return vscode.window.registerCustomEditorProvider('ikboLens.model', provider);
}

/** A tab of its own: the sides of a comparison have none. */
const hasTab = (uri: vscode.Uri): boolean =>
  vscode.window.tabGroups.all.some(({ tabs }) =>
    tabs.some(({ input }) => input instanceof vscode.TabInputCustom && input.uri.toString() === uri.toString()),
  );

const page = (text: string): string => `<!DOCTYPE html>
<html lang="en">
  <head><meta http-equiv="Content-Security-Policy" content="default-src 'none'" /></head>
  <body><p>${text.replace(/[&<]/g, (c) => (c === '&' ? '&amp;' : '&lt;'))}</p></body>
</html>`;
