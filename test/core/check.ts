/**
 * One helper for all tests of the engine: Python source whose comments say what is expected.
 *
 *     u = user.repeat_interleave(4, dim=0)  #! IKB101 -> sink
 *     y = self.fc(x)                        #= sink
 *
 * `#! RULE -> label` on a line of the broadcast expects a materialized finding there whose consumer stands on the line
 * of `#= label`; `#? RULE -> label` a lazy one. Every finding must be expected and every expectation found.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createEngine } from '../../src/core/create-engine';
import type { CheckOptions, Engine, Grammars } from '../../src/core/engine';
import type { Finding } from '../../src/core/finding';

let engine: Promise<Engine> | null = null;

export const grammarsForTests = (): Grammars => ({
  runtime: readFileSync(require.resolve('web-tree-sitter/tree-sitter.wasm')),
  python: readFileSync(require.resolve('tree-sitter-python/tree-sitter-python.wasm')),
});

export const engineForTests = (): Promise<Engine> => (engine ??= createEngine(grammarsForTests()));

const HEADER = `import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor
`;

interface Expectation {
  readonly rule: string;
  readonly line: number;
  readonly consumer: number;
  readonly materialized: boolean;
}

const text = (e: Expectation): string =>
  `${e.materialized ? 'materialized' : 'lazy'} ${e.rule} line ${e.line} -> ${e.consumer}`;

export async function check(source: string, options: CheckOptions = {}): Promise<readonly Finding[]> {
  const code = HEADER + source.replace(/^\n/, '');
  const lines = code.split('\n');
  const labels = new Map<string, number>();
  lines.forEach((line, i) => {
    const label = /#=\s*(\w+)/.exec(line)?.[1];
    if (label !== undefined) labels.set(label, i + 1);
  });
  const expected: Expectation[] = [];
  lines.forEach((line, i) => {
    for (const match of line.matchAll(/#([!?])\s*(IKB\d+)\s*->\s*(\w+)/g)) {
      const consumer = labels.get(match[3]!);
      assert.ok(consumer, `no #= ${match[3]} in the source`);
      expected.push({ rule: match[2]!, line: i + 1, consumer, materialized: match[1] === '!' });
    }
  });
  const hints = expected.some((e) => !e.materialized);
  const analysis = (await engineForTests()).check('model.py', code, { hints, ...options });
  assert.deepEqual(analysis.notes, []);
  const found = analysis.findings.map((f): Expectation => ({
    rule: f.rule,
    line: f.line,
    consumer: f.consumer.line,
    materialized: f.materialized,
  }));
  const order = (list: Expectation[]): string[] => list.map(text).sort();
  assert.deepEqual(order(found), order(expected), `\n${lines.map((l, i) => `${i + 1}: ${l}`).join('\n')}`);
  return analysis.findings;
}

/** The same for a module whose forward is given: `self` has layers of every kind. */
export const checkForward = (body: string, options: CheckOptions = {}): Promise<readonly Finding[]> =>
  check(
    `
class Model(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.fc = nn.Linear(d, h)
        self.norm = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, 1))
        self.w = nn.Parameter(torch.zeros(h, d))
        self.table = nn.Parameter(torch.zeros(50, d))
        self.token = nn.Parameter(torch.zeros(1, 1, d))
        self.conv = nn.Conv1d(d, h, 1)
        self.wide = nn.Conv1d(d, h, 3)
        self.gru = nn.GRU(d, h, batch_first=True)
        self.mha = nn.MultiheadAttention(d, 4, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(d, 4)
        self.emb = nn.Embedding(100, d)
        self.drop = nn.Dropout(0.1)
        self.weights = nn.Parameter(torch.zeros(8, d, h))
    def forward(self, x, y, user, cand, q, k, v, mask, n, cand_to_user, edge_index):
${body.replace(/^\n/, '')}`,
    options,
  );
