import assert from 'node:assert/strict';
import type { Finding } from '../../src/core/finding';
import { suppress } from '../../src/core/suppress';
import { finding as make } from '../finding';

const finding = (rule: string, line: number, endLine = line) => make({ rule, line, endLine });

describe('suppress', () => {
  const check = (
    comments: Record<number, string>,
    findings: readonly Finding[],
    expected: { kept: string[]; unused?: number[] },
  ) => {
    const list = Object.entries(comments).map(([line, text]) => ({ line: Number(line), text }));
    const result = suppress('a.py', list, findings);
    assert.deepEqual(
      result.findings.map((f) => `${f.rule}:${f.line}`),
      expected.kept,
    );
    assert.equal(result.findings.length + result.suppressed.length, findings.length);
    assert.deepEqual(
      result.notes.map((note) => note.line),
      expected.unused ?? [],
    );
  };
  const two = [finding('IKB101', 3), finding('IKB102', 3), finding('IKB101', 7, 9)];

  it('silences the named rule on its line', () =>
    check({ 3: '# ikbo: ignore[IKB101]' }, two, { kept: ['IKB102:3', 'IKB101:7'] }));
  it('silences every rule without a list', () => check({ 3: 'x = 1  # ikbo: ignore' }, two, { kept: ['IKB101:7'] }));
  it('takes several rules, in any case, after other words', () =>
    check({ 3: '# noqa: E501  # IKBO? #ikbo:ignore[ikb101 , IKB102] because' }, two, { kept: ['IKB101:7'] }));
  it('works on any line of a broadcast over several lines', () =>
    check({ 8: '# ikbo: ignore[IKB101]' }, two, { kept: ['IKB101:3', 'IKB102:3'] }));
  it('silences a file', () => check({ 1: '# ikbo: ignore-file' }, two, { kept: [] }));
  it('silences one rule of a file', () => check({ 1: '# ikbo: ignore-file[IKB101]' }, two, { kept: ['IKB102:3'] }));
  it('reports what silences nothing', () =>
    check({ 4: '# ikbo: ignore', 3: '# ikbo: ignore[IKB999]' }, two, {
      kept: ['IKB101:3', 'IKB102:3', 'IKB101:7'],
      unused: [3, 4],
    }));
  it('leaves shape bindings and other comments alone', () =>
    check({ 3: '# ikbo: B=1024', 7: '# ignore' }, two, { kept: ['IKB101:3', 'IKB102:3', 'IKB101:7'] }));
});
