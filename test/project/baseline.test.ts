import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Finding } from '../../src/core/finding';
import { BaselineError, compareBaseline, makeBaseline, parseBaseline } from '../../src/project/baseline';
import { finding } from '../finding';

const at = (path: string, rule: string, line: number) => finding({ path, rule, line });

const pathOf = (one: Finding) => one.path;

describe('baseline', () => {
  const old = [at('a.py', 'IKB101', 3), at('a.py', 'IKB101', 9), at('b.py', 'IKB202', 1)];
  const check = (findings: readonly Finding[], reported: number, known: number) => {
    const result = compareBaseline(makeBaseline(old, pathOf), findings, pathOf);
    assert.deepEqual([result.findings.length, result.known.length], [reported, known]);
  };

  it('counts per file and rule, sorted', () =>
    assert.equal(
      JSON.stringify(makeBaseline([...old].reverse(), pathOf)),
      '{"schema":"ikbo-baseline/1","counts":{"a.py":{"IKB101":2},"b.py":{"IKB202":1}}}',
    ));
  it('hides what it counts, wherever the lines moved', () =>
    check([at('a.py', 'IKB101', 30), at('a.py', 'IKB101', 90)], 0, 2));
  it('hides what is left when findings are gone', () => check(old.slice(1), 0, 2));
  it('reports all of a rule in a file that has one more than counted', () =>
    check([...old, at('a.py', 'IKB101', 20)], 3, 1));
  it('reports another rule and another file', () => check([at('a.py', 'IKB102', 3), at('c.py', 'IKB101', 3)], 2, 0));
  it('a file named __proto__ is a file', () => {
    const odd = [at('__proto__', 'IKB101', 1)];
    const read = parseBaseline('b.json', JSON.stringify(makeBaseline(odd, pathOf)));
    assert.equal(compareBaseline(read, odd, pathOf).known.length, 1);
  });
  it('right after writing it, nothing is reported', () =>
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a.py', 'b/c.py'), fc.constantFrom('IKB101', 'IKB202'), fc.nat(50))),
        (raw) => {
          const findings = raw.map(([path, rule, line]) => at(path, rule, line + 1));
          const read = parseBaseline('b.json', JSON.stringify(makeBaseline(findings, pathOf)));
          assert.equal(compareBaseline(read, findings, pathOf).findings.length, 0);
        },
      ),
    ));
  it('refuses what is no baseline and says how to write one', () => {
    for (const text of [
      '',
      '{}',
      '[]',
      '{"schema":"ikbo-baseline/2","counts":{}}',
      '{"schema":"ikbo-baseline/1","counts":{"a":{"IKB101":-1}}}',
      '{"schema":"ikbo-baseline/1"}',
    ])
      assert.throws(
        () => parseBaseline('b.json', text),
        (error) => error instanceof BaselineError && /--write-baseline b\.json/.test(error.message),
      );
  });
});
