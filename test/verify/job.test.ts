import assert from 'node:assert/strict';
import type { Finding, Rewrite } from '../../src/core/finding';
import { jobOf, NOTHING_GIVEN, type Answer, type Given, type GradientRun } from '../../src/verify/job';
import { runJobs } from '../../src/verify/run';
import { answerLines } from '../../src/verify/text';
import { engineForTests } from '../core/check';

const TEXT = `# ikbo: B=64, D=32, user=[B, D], index=[N] < B, mask=[B, T] bool
import torch
import torch.nn as nn


class Ranker(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(2 * d, 8)

    def forward(self, user, cand, n):
        u = user.repeat_interleave(n, dim=0)
        return self.fc(torch.cat([u, cand], dim=-1))
`;

async function job(given: Partial<Given> = {}, shapes: Record<string, number> = {}) {
  const [finding] = (await engineForTests()).check('m.py', TEXT).findings as [Finding];
  const rewrite = finding.rewrites.find(({ edits }) => edits.length > 0) as Rewrite;
  const place = { file: '/p/m.py', text: TEXT, folders: ['/p'], cells: null };
  return jobOf(place, finding, rewrite, { ...NOTHING_GIVEN, ...given }, { shapes, packages: [] });
}

describe('verification job', () => {
  it('has both texts, the lines to reach, and what comments in the file state', async () => {
    const made = await job();
    assert.equal(made.original, TEXT);
    assert.notEqual(made.rewritten, TEXT);
    assert.deepEqual([made.broadcast, made.consumer], [[12, 12], 13]);
    assert.deepEqual(made.sizes, { B: 64, D: 32 });
    assert.deepEqual(made.arguments, { user: '[B, D]', index: '[N] < B', mask: '[B, T] bool' });
  });
  it('reads names in any script', async () => {
    const text = TEXT.replaceAll('user', 'hôte').replace('index', 'индекс');
    const [finding] = (await engineForTests()).check('m.py', text).findings as [Finding];
    const rewrite = finding.rewrites.find(({ edits }) => edits.length > 0) as Rewrite;
    const place = { file: '/p/m.py', text, folders: ['/p'], cells: null };
    const made = jobOf(place, finding, rewrite, NOTHING_GIVEN, { shapes: {}, packages: [] });
    assert.deepEqual(made.arguments, { hôte: '[B, D]', индекс: '[N] < B', mask: '[B, T] bool' });
  });
  it('the command line wins over the file, and the file over the configuration', async () => {
    const made = await job({ sizes: { B: 2 }, arguments: { user: '[B, 5]' } }, { B: 1, D: 1, T: 7 });
    assert.deepEqual(made.sizes, { B: 2, D: 32, T: 7 });
    assert.equal(made.arguments['user'], '[B, 5]');
  });
});

describe('running jobs', () => {
  const options = { python: process.execPath, seconds: 20 };
  it('an interpreter that is not there is the answer', async () => {
    const [answer] = await runJobs([await job()], { ...options, python: '/nowhere/python' });
    assert.match(answer?.problem ?? '', /\/nowhere\/python cannot be started/);
  });
  it('a process that ends early is the answer of every job', async () => {
    // This interpreter takes none of Python's options.
    const answers = await runJobs([await job(), await job()], options);
    assert.equal(answers.length, 2);
    for (const { ok, problem } of answers) assert.ok(!ok && problem?.includes('ended early'), problem);
  });
  it('a cancelled run is the answer, too', async () => {
    const signal = AbortSignal.abort();
    const [answer] = await runJobs([await job()], { ...options, signal });
    assert.equal(answer?.problem, 'cancelled');
  });
});

describe('verification in words', () => {
  it('names the missing arguments and how to state them', () => {
    const missing = [{ parameter: 'du', of: 'Ranker()', what: 'a size', how: '--shape du=64' }];
    const lines = answerLines({ ok: false, call: 'Ranker.forward', missing });
    assert.equal(lines[1], '  du of Ranker(), a size: --shape du=64');
  });
  it('says how to name an interpreter when PyTorch is missing', () => {
    const lines = answerLines({ ok: false, noTorch: true, problem: 'PyTorch cannot be imported' });
    assert.match(lines.join('\n'), /IKBO_PYTHON, or the setting ikboLens\.python/);
  });
  it('shows errors and peaks per dtype', () => {
    const runs = [
      { dtype: 'fp32', maxError: 1.5e-7, problem: null, peakBytes: [2_000_000, 1500] as const },
      { dtype: 'bf16', skipped: 'RuntimeError: no' },
    ];
    const lines = answerLines({ ok: true, call: 'f()', runs, torch: '2.5', python: 'p', memory: 'm' });
    assert.deepEqual(lines.slice(2, 4), [
      'fp32    max error 1.5e-7, peak memory 2.00 MB -> 1.50 kB',
      'bf16    not compared, the original does not run: RuntimeError: no',
    ]);
    assert.equal(lines.at(-1), 'same results in evaluation mode; gradients were not compared');
  });
  it('shows gradients beside the results, and judges by them where the rewrite keeps them', () => {
    const of = (gradients: GradientRun, more: Partial<Answer> = {}) =>
      answerLines({ ok: true, runs: [{ dtype: 'fp32', maxError: 0, problem: null, gradients }], ...more });
    const good = { count: 3, maxError: 2e-6, largest: 12.34, problem: null };
    assert.equal(of(good)[2], 'fp32    max error 0, of 3 gradients 2.0e-6 (values to 12)');
    assert.equal(of(good).at(-1), 'same results and gradients in evaluation mode');
    const bad = { ...good, problem: 'gradient of fc.weight: is no longer there' };
    assert.match(of(bad, { ok: false })[2] ?? '', /\(values to 12\); gradient of fc\.weight: is no longer there$/);
    assert.match(of(bad, { ok: false }).at(-1) ?? '', /NOT the same gradients$/);
    assert.match(of(bad, { keepsGradients: false }).at(-1) ?? '', /other gradients, as the condition says$/);
    assert.equal(of({ skipped: 'none flows' })[2], 'fp32    max error 0, no gradients: none flows');
  });
});
