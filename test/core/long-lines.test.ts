/** Lines of thousands of names: what is asked of each name must not look at all of them again. */
import assert from 'node:assert/strict';
import type { Engine } from '../../src/core/engine';
import { basesIn } from '../../src/core/python/producers';
import { engineForTests } from './check';

/** Far above what any of them takes, and below what they take when the time grows with the square. */
const PATIENCE = 10_000;

const FLAT = Array.from({ length: 5_000 }, (_, i) => `n${i}`);
const DEEP = Array<string>(1_500).fill('n');

const LINES: readonly [string, string][] = [
  ['arguments', `r = g(${FLAT.join(', ')})`],
  ['the same argument', `r = g(${FLAT.map(() => 'n').join(', ')})`],
  ['keyword arguments', `r = g(${FLAT.map((name) => `${name}=n`).join(', ')})`],
  ['unpacked arguments', `r = g(${FLAT.map((name) => `*${name}`).join(', ')})`],
  ['a list', `r = [${FLAT.join(', ')}]`],
  ['a dictionary', `r = {${FLAT.map((name) => `'${name}': n`).join(', ')}}`],
  ['a concatenation', `r = torch.cat([${FLAT.join(', ')}])`],
  ['an index', `r = n[${FLAT.join(', ')}]`],
  ['a text with values', `r = f'${FLAT.map((name) => `{${name}}`).join('')}'`],
  ['names given one value', `${FLAT.join(' = ')} = n`],
  ['names unpacked', `${FLAT.join(', ')} = n`],
  ['attributes unpacked', `${FLAT.map((name) => `self.${name}`).join(', ')} = n`],
  ['statements', FLAT.map((name) => `self.${name} = n`).join('; ')],
  ['names given values in arguments', `r = g(${FLAT.map((name) => `(${name} := n)`).join(', ')})`],
  ['imports', `from other import ${FLAT.join(', ')}`],
  ['modules', `import ${FLAT.join(', ')}`],
  ['global names', `global ${FLAT.join(', ')}`],
  ['deleted names', `del ${FLAT.join(', ')}`],
  ['what is returned', `if n: return ${FLAT.join(', ')}`],
  ['with items', `with ${FLAT.map((name) => `g(n) as ${name}`).join(', ')}: pass`],
  ['a loop over several', `for ${FLAT.map((name) => `self.${name}`).join(', ')} in n: pass`],
  ['parameters of a lambda', `r = lambda ${FLAT.map((name) => `${name}=n`).join(', ')}: n`],
  ['clauses', `r = [n for n in n ${FLAT.map((name) => `if ${name}`).join(' ')}]`],
  ['default arguments', `def g(${FLAT.map((name) => `${name}=n`).join(', ')}): return n`],
  ['annotations', `def g(${FLAT.map((name) => `${name}: int`).join(', ')}): return n`],
  ['decorators', `${FLAT.map((name) => `@${name}`).join('\n        ')}\n        def g(): return n`],
  ['alternatives of a case', `match n:\n            case ${FLAT.map((_, i) => i).join(' | ')}: pass`],
  ['arms', DEEP.map((name, i) => `${i ? 'elif' : 'if'} ${name} == ${i}: r = n`).join('\n        ')],
  ['cases', `match n:${DEEP.map((_, i) => `\n            case ${i}: r = n`).join('')}`],
  ['chained comparisons', `r = ${FLAT.join(' < ')}`],
  ['a sum', `r = ${DEEP.join(' + ')}`],
  ['powers', `r = ${DEEP.join(' ** ')}`],
  ['a product of matrices', `r = ${DEEP.join(' @ ')}`],
  ['choices', `r = ${DEEP.map(() => 'n if n else ').join('')}n`],
  ['conditions', `if ${DEEP.join(' and ')}: r = n`],
  ['alternatives', `while ${DEEP.join(' or ')}: r = n`],
  ['negations', `r = ${DEEP.map(() => 'not ').join('')}n`],
  ['attributes of attributes', `r = n${DEEP.map(() => '.n').join('')}`],
  ['methods of what methods return', `r = n${DEEP.map(() => '.n()').join('')}`],
  ['what calls return called', `r = n${DEEP.map(() => '()').join('')}`],
  ['items of items', `r = n${DEEP.map(() => '[0]').join('')}`],
  ['parentheses', `r = ${'('.repeat(500)}n${')'.repeat(500)}`],
];

const PLACES: readonly [string, (line: string) => string][] = [
  ['in a constructor', (line) => model(line, 'pass')],
  ['beside a copy', (line) => model('pass', line)],
];

const model = (made: string, used: string): string => `import torch
from torch import nn
from base import Base


class Model(Base):
    def __init__(self, n):
        super().__init__(n)
        self.fc = nn.Linear(8, 8)
        ${made}

    def forward(self, user, cand, n):
        u = user.unsqueeze(1).expand(-1, n, -1)
        ${used}
        x = torch.cat([u, cand], dim=-1)
        ${used}
        return self.fc(x)
`;

const BASE =
  'from torch import nn\nclass Base(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.n = n\n';

describe('a line of thousands of names', () => {
  let engine: Engine;
  before(async () => (engine = await engineForTests()));
  const files = { read: (path: string) => (path === 'base.py' ? BASE : undefined) };
  for (const [place, text] of PLACES)
    for (const [what, line] of LINES)
      it(`takes no time of its own ${place}: ${what}`, function () {
        this.timeout(PATIENCE);
        const { findings, notes, broken } = engine.check('m.py', text(line), { files });
        // Silence has a reason, or there is a return in front of the product.
        assert.ok(findings.length > 0 || notes.length > 0 || broken !== undefined, 'silence');
      });
});

it('bases of a class are read in time that grows with its line', function () {
  this.timeout(PATIENCE / 5);
  assert.deepEqual(basesIn('class A(B[C, D], E[F[G]]):').get('A'), ['B', 'E']);
  assert.equal(basesIn(`class A(${'['.repeat(100_000)}):`).size, 1);
});
