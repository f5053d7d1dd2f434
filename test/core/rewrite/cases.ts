import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createEngine } from '../../../src/core/create-engine';
import { applyEdits } from '../../../src/core/edits';
import type { Engine } from '../../../src/core/engine';
import type { Finding, Rewrite } from '../../../src/core/finding';

const root = join(__dirname, '..', '..', '..');
const fixtures = join(root, 'test', 'fixtures', 'rewrite');

let engine: Promise<Engine> | undefined;

export const theEngine = (): Promise<Engine> =>
  (engine ??= createEngine({
    runtime: readFileSync(join(root, 'node_modules', 'web-tree-sitter', 'tree-sitter.wasm')),
    python: readFileSync(join(root, 'node_modules', 'tree-sitter-python', 'tree-sitter-python.wasm')),
  }));

/** A folder of test/fixtures/rewrite: bad.py has one finding of the rule, good.py has none, proof.py calls them. */
export interface Case {
  readonly rule: string;
  readonly name: string;
  /** Path below test/, for golden files. */
  readonly folder: string;
  readonly bad: string;
  readonly good: string;
  readonly proof: string;
}

export function allCases(): readonly Case[] {
  return readdirSync(fixtures)
    .sort()
    .flatMap((rule) =>
      readdirSync(join(fixtures, rule))
        .sort()
        .map((name) => {
          const read = (file: string): string => readFileSync(join(fixtures, rule, name, file), 'utf8');
          const folder = `fixtures/rewrite/${rule}/${name}`;
          return { rule, name, folder, bad: read('bad.py'), good: read('good.py'), proof: read('proof.py') };
        }),
    );
}

export interface Applied {
  readonly finding: Finding;
  readonly rewrite: Rewrite;
  /** The text after the rewrite; null when it was refused. */
  readonly text: string | null;
}

/** Every rewrite of every finding of a text, each applied to it alone. */
export async function rewritesOf(text: string): Promise<readonly Applied[]> {
  const { findings } = (await theEngine()).check('model.py', text);
  return findings.flatMap((finding) =>
    finding.rewrites.map((rewrite) => ({
      finding,
      rewrite,
      text: rewrite.edits.length > 0 ? applyEdits(text, rewrite.edits) : null,
    })),
  );
}

export async function findingsOf(text: string): Promise<readonly Finding[]> {
  return (await theEngine()).check('model.py', text).findings;
}
