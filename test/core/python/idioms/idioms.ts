/** Ways of model code that are seen once in many repositories: each with what it must be taken for. */
import { check } from '../../check';

/** One test a source, see `check`. `withModules` spares each module the head of its class. */
export function idioms(title: string, sources: Readonly<Record<string, string>>): void {
  describe(title, () => {
    for (const [name, source] of Object.entries(sources)) it(name, async () => void (await check(withModules(source))));
  });
}

/**
 * `module Name(d):`, the statements of its constructor, then its methods, as a class:
 *
 *     module Scorer(d):                    class Scorer(nn.Module):
 *         self.fc = nn.Linear(d, d)            def __init__(self, d):
 *         def forward(self, x):                    super().__init__()
 *                                                  self.fc = nn.Linear(d, d)
 *                                              def forward(self, x):
 */
const withModules = (source: string): string =>
  source.replace(
    /^module (\w+)\(([^)]*)\):\n((?: {4}(?!def |@).*\n)*)/gm,
    (_, name: string, parameters: string, statements: string) =>
      `class ${name}(nn.Module):\n    def __init__(self, ${parameters}):\n        super().__init__()\n` +
      statements.replace(/^/gm, '    ').trimEnd() +
      '\n',
  );
