import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileSource } from '../../src/core/engine';
import { fileSource } from '../../src/project/file-source';
import { check } from '../core/check';

const POLICY = `
class Learner:
    def __init__(self, policy: nn.Module):
        self.policy = policy
    def act(self, seen, n):
        return self.policy(seen.repeat_interleave(n, dim=0))  #! IKB102 -> policy  #= policy
`;
const SCRIPT = `import torch.nn as nn
import numpy as np
import lib.scores as scores
from agent import losses
from rays import (render,
    sample)
from agent.model import Learner

learner = Learner(policy=nn.Linear(4, 2))
np.tile(scores.evaluate(learner), losses.weight)
`;

describe('files that construct a class or import a function', () => {
  let root: string;
  before(() => {
    root = mkdtempSync(join(tmpdir(), 'ikbo-naming-'));
    mkdirSync(join(root, 'scripts'));
    mkdirSync(join(root, 'node_modules'));
    writeFileSync(join(root, 'scripts', 'run.py'), SCRIPT);
    writeFileSync(join(root, 'node_modules', 'other.py'), SCRIPT);
    writeFileSync(join(root, 'notes.txt'), SCRIPT);
  });
  after(() => rmSync(root, { recursive: true }));

  it('are found once, by the names that they call', () => {
    const { naming } = fileSource(root);
    assert.deepEqual(naming?.('Learner'), ['scripts/run.py']);
    assert.deepEqual(naming?.('Teacher'), []);
    assert.deepEqual(naming?.('render'), ['scripts/run.py']);
    assert.deepEqual(naming?.('evaluate'), ['scripts/run.py']);
    for (const name of ['tile', 'weight', 'Linear(']) assert.deepEqual(naming?.(name), []);
  });

  it('say what a constructor is handed', async () => {
    const files = fileSource(root);
    await check(POLICY, { files });
    await check(POLICY.replaceAll(/#[!=][^\n#]*/g, ''), { files: { read: (path) => files.read(path) } });
  });

  it('say what a function is handed that is called through its module', async () => {
    const source = `
def evaluate(net, seen, n):
    return net(seen.repeat_interleave(n, dim=0))  #! IKB102 -> net  #= net
`;
    const files = (text: string): FileSource => ({
      read: (path) => (path === 'run.py' ? text : undefined),
      naming: () => ['run.py'],
    });
    await check(source, {
      files: files('import model\nimport torch.nn as nn\nmodel.evaluate(nn.Linear(4, 2), 1, 2)\n'),
    });
    // A method of something else of that name.
    await check(source.replaceAll(/#[!=][^\n#]*/g, ''), {
      files: files('import model\nimport torch.nn as nn\nbook = model.Book()\nbook.evaluate(nn.Linear(4, 2), 1, 2)\n'),
    });
  });

  const HEAD = 'import torch.nn as nn\n';
  const MADE = 'Learner(policy=nn.Linear(4, 2))\n';
  const POOLED = 'def of(cfg):\n    policy = nn.Linear(4, 2)\n';
  const NEW = `${HEAD}from agent.model import Learner\n`;
  for (const [what, text] of Object.entries({
    'another class of the name': `${HEAD}class Learner:\n    def __init__(self, policy): ...\n${MADE}`,
    'a class of the name of another package': `${HEAD}from teachers import Learner\n${MADE}`,
    'a member of another package': `${HEAD}import teachers\nteachers.${MADE}`,
    'a name that is bound with others': `${NEW}${POOLED}    policy, cfg = cfg.wrap(policy)\n    return Learner(policy)\n`,
    'a name that a loop binds': `${NEW}${POOLED}    for policy in cfg.all:\n        Learner(policy)\n`,
    'a name that a context binds': `${NEW}${POOLED}    with cfg.open() as policy:\n        Learner(policy)\n`,
    'a parameter of the name of a global': `${NEW}policy = nn.Linear(4, 2)\ndef of(policy):\n    return Learner(policy)\n`,
    'a variable of another function': `${NEW}from agent.parts import policy\n${POOLED}Learner(policy)\n`,
  }))
    it(`say nothing by ${what}`, async () => {
      const read = (path: string): string | undefined => (path === 'made.py' ? text : undefined);
      await check(POLICY.replaceAll(/#[!=][^\n#]*/g, ''), { files: { read, naming: () => ['made.py'] } });
    });

  it('are not asked for where no copies reach what the constructor is handed', async () => {
    const asked: string[] = [];
    const naming = (name: string): readonly string[] => (asked.push(name), []);
    await check(POLICY.replaceAll(/#[!=][^\n#]*/g, '').replace('self.policy(seen', 'list(seen'), {
      files: { read: () => undefined, naming },
    });
    assert.deepEqual(asked, []);
  });

  it('are what a result depends on', () => {
    const files = fileSource(root);
    const { asked } = files.recorded((source) => source.naming?.('Learner'));
    assert.deepEqual(
      asked.map(([path]) => path),
      ['Learner('],
    );
    assert.equal(asked[0]?.[1], files.hash('Learner('));
    writeFileSync(join(root, 'scripts', 'second.py'), SCRIPT);
    assert.notEqual(asked[0]?.[1], fileSource(root).hash('Learner('));
  });
});
