/** The page around the panel's script: its policy allows this extension's script and styles, and nothing else. */
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';

export function pageOf(webview: vscode.Webview, extension: vscode.Uri): string {
  const nonce = randomBytes(16).toString('base64');
  const uri = (...path: string[]) => webview.asWebviewUri(vscode.Uri.joinPath(extension, ...path)).toString();
  const policy = [
    "default-src 'none'",
    `style-src ${webview.cspSource}`,
    `font-src ${webview.cspSource}`,
    `script-src 'nonce-${nonce}'`,
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="UTF-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>IKBO Lens Benchmark</title>
    <link rel="stylesheet" href="${uri('media', 'panel.css')}" />
  </head>
  <body>
    <script nonce="${nonce}" src="${uri('dist', 'panel.js')}"></script>
  </body>
</html>`;
}
