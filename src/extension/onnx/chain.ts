/** `Show chain`: the picture of a finding beside the model's text. Its boxes lead to their lines. */
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { CHAIN_REQUEST, type ChainPicture } from '../../protocol/onnx';
import type { Server } from '../server';
import { chainSvg } from './chain-svg';

export const REVEAL_COMMAND = 'ikboLens.revealLine';

export function createChainView(server: Server): { show(uri: unknown, rule: unknown, line: unknown): Promise<void> } {
  let panel: vscode.WebviewPanel | undefined;
  return {
    async show(uri, rule, line) {
      if (typeof uri !== 'string' || typeof rule !== 'string' || typeof line !== 'number') return;
      const picture = await server.request<ChainPicture | null>(CHAIN_REQUEST, { uri, rule, line });
      if (!picture) return;
      if (!panel) {
        panel = vscode.window.createWebviewPanel(
          'ikboLens.chain',
          'Chain',
          { viewColumn: vscode.ViewColumn.Beside, preserveFocus: false },
          { enableCommandUris: [REVEAL_COMMAND], enableScripts: false, localResourceRoots: [] },
        );
        panel.onDidDispose(() => (panel = undefined));
      } else panel.reveal();
      panel.title = `Chain of ${rule}`;
      panel.webview.html = page(picture, uri);
    },
  };
}

/** Commands of links come from the page: nothing but a line of a document is taken. */
export async function revealLine(uri: unknown, line: unknown): Promise<void> {
  if (typeof uri !== 'string' || typeof line !== 'number') return;
  const target = vscode.Uri.parse(uri);
  const shown = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === target.toString());
  const at = new vscode.Position(line - 1, 0);
  await vscode.window.showTextDocument(shown?.document ?? (await vscode.workspace.openTextDocument(target)), {
    viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One,
    selection: new vscode.Range(at, at),
  });
}

function page(picture: ChainPicture, uri: string): string {
  const nonce = randomBytes(16).toString('base64');
  const href = (line: number): string => `command:${REVEAL_COMMAND}?${encodeURIComponent(JSON.stringify([uri, line]))}`;
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="UTF-8" />
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'" />
    <title>Chain</title>
    <style nonce="${nonce}">${STYLE}</style>
  </head>
  <body>
    <p>${picture.title.replace(/[&<]/g, (c) => (c === '&' ? '&amp;' : '&lt;'))}</p>
    ${chainSvg(picture, href)}
  </body>
</html>`;
}

const STYLE = `
  body { overflow-x: auto; }
  .box rect { fill: var(--vscode-editorWidget-background); stroke: var(--vscode-editorWidget-border, var(--vscode-foreground)); stroke-width: 1.2; }
  .source rect { stroke: var(--vscode-charts-blue); }
  .replica rect { stroke: var(--vscode-charts-orange); stroke-width: 2; }
  .sink rect { stroke: var(--vscode-charts-green); }
  text { fill: var(--vscode-foreground); font: 12px var(--vscode-editor-font-family); }
  text.t0 { fill: var(--vscode-descriptionForeground); font-family: var(--vscode-font-family); }
  text.t1 { font-weight: bold; }
  .arrow { fill: none; stroke: var(--vscode-foreground); }
  .tip { fill: var(--vscode-foreground); }
  a.box { outline: none; }
  a.box:focus-visible rect, a.box:hover rect { stroke: var(--vscode-focusBorder); stroke-width: 2.5; }
`;
