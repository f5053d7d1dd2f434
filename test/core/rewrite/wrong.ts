import assert from 'node:assert/strict';
import type { Tier } from '../../../src/core/finding';
import { rewritesOf } from './cases';

/** A file with one model: what stands above its class, its constructor, and its `forward`. */
export interface Model {
  readonly imports?: readonly string[];
  readonly head?: readonly string[];
  readonly init?: readonly string[];
  readonly signature?: string;
  readonly forward?: readonly string[];
  readonly tail?: readonly string[];
}

const IMPORTS = ['import torch', 'import torch.nn as nn', 'import torch.nn.functional as F'];
const FORWARD = ['u = user.repeat_interleave(n, dim=0)', 'return self.fc(torch.cat([u, item], dim=-1))'];

const indented = (lines: readonly string[]): string[] => lines.map((line) => `        ${line}`);

/** What is untold in a signature is a tensor of floats, or a number. */
const typed = (signature: string): string => signature.replace(/(?<=^|, )(user|item)(?=,|$)/g, '$1: torch.FloatTensor');

export const modelText = (model: Model): string =>
  [
    ...(model.imports ?? IMPORTS),
    ...(model.head ?? []),
    '',
    'class Model(nn.Module):',
    '    def __init__(self):',
    '        super().__init__()',
    ...indented(model.init ?? ['self.fc = nn.Linear(10, 8)']),
    '',
    `    def forward(self, ${typed(model.signature ?? 'user, item, n')}):`,
    ...indented(model.forward ?? FORWARD),
    '',
    ...(model.tail ?? []),
    '',
  ].join('\n');

export interface Expected {
  readonly tier: Tier;
  /** What the reason says. */
  readonly reason?: RegExp;
  /** What the rewritten file holds. */
  readonly text?: RegExp;
}

/** The rewrite `id` of the first finding that offers it. */
export async function expectRewrite(text: string, id: string, expected: Expected): Promise<void> {
  const found = (await rewritesOf(text)).find(({ rewrite }) => rewrite.id === id);
  assert.ok(found, `no ${id}`);
  assert.equal(found.rewrite.tier, expected.tier, found.rewrite.reason ?? '');
  if (expected.reason) assert.match(found.rewrite.reason ?? '', expected.reason);
  if (expected.text) assert.match(found.text ?? '', expected.text);
}
