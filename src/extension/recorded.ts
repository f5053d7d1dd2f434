/** Runs of the bundled kernels on other machines, recorded by the same command: shown as recorded, never as measured here. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type * as vscode from 'vscode';
import { parseResult } from '../bench/schema';
import type { BenchResult } from '../protocol/bench';

export async function recordedResults(
  context: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
): Promise<readonly BenchResult[]> {
  const folder = context.asAbsolutePath('kernels/results');
  const names = await readdir(folder).catch(() => []); // a package without recorded runs
  const results = await Promise.all(
    names
      .filter((name) => name.endsWith('.json'))
      .sort()
      .map(async (name) => {
        try {
          return [parseResult(await readFile(join(folder, name), 'utf8'))];
        } catch (error) {
          output.warn(`${name} is left out: ${error instanceof Error ? error.message : String(error)}`);
          return [];
        }
      }),
  );
  return results.flat();
}
