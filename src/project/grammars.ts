import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Grammars } from '../core/engine';

/** Reads the wasm files that the build put beside the bundles. `folder` is the bundle's own folder. */
export function readGrammars(folder: string): Grammars {
  return {
    runtime: readFileSync(join(folder, 'tree-sitter.wasm')),
    python: readFileSync(join(folder, 'tree-sitter-python.wasm')),
  };
}
