/** `IKBO Lens: Explain a Rule`: the rule's page in the Markdown preview. */
import { readdir } from 'node:fs/promises';
import * as vscode from 'vscode';

/** `rule` comes from wherever the command was started; without one, the user picks. */
export async function explainRule(context: vscode.ExtensionContext, rule: unknown): Promise<void> {
  const folder = context.asAbsolutePath('docs/rules');
  const pages = (await readdir(folder)).filter((name) => /^IKB\d{3}\.md$/.test(name)).sort();
  const wanted = typeof rule === 'string' ? pages.find((name) => name === `${rule.toUpperCase()}.md`) : undefined;
  const page = wanted ?? (await pick(folder, pages));
  if (page)
    await vscode.commands.executeCommand('markdown.showPreview', vscode.Uri.joinPath(vscode.Uri.file(folder), page));
}

async function pick(folder: string, pages: readonly string[]): Promise<string | undefined> {
  const items = await Promise.all(
    pages.map(async (page) => {
      const text = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(vscode.Uri.file(folder), page));
      const title = /^#\s+(.*)$/m.exec(new TextDecoder().decode(text))?.[1] ?? '';
      return { label: page.replace('.md', ''), description: title.replace(/^IKB\d{3}:?\s*/, ''), page };
    }),
  );
  return (await vscode.window.showQuickPick(items, { placeHolder: 'Rule to explain', matchOnDescription: true }))?.page;
}
