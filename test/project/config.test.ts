import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, defaultConfig, findConfig, readConfig, type Config } from '../../src/project/config';
import { excluder, selector } from '../../src/project/select';
import { finding } from '../finding';

describe('configuration', () => {
  const reads = (text: string, expected: Partial<Config>, file = 'ikbo.toml') =>
    assert.deepEqual(readConfig(file, text, '/p'), { ...defaultConfig('/p'), file, ...expected });
  const fails = (text: string, message: RegExp, file = 'ikbo.toml') =>
    assert.throws(
      () => readConfig(file, text, '/p'),
      (error) => error instanceof ConfigError && message.test(error.message),
    );

  it('reads every key', () =>
    reads(
      [
        'select = ["IKB1", "ikb202"]',
        'ignore = ["IKB103"]',
        'exclude = ["third_party/"]',
        'baseline = "b.json"',
        'hints = true',
        'shapes = { B = 1024, Ku = 0 }',
        '[severity]',
        'IKB101 = "error"',
        '[per-file-ignores]',
        '"tests/**" = ["IKB1"]',
      ].join('\n'),
      {
        select: ['IKB1', 'IKB202'],
        ignore: ['IKB103'],
        exclude: ['third_party/'],
        baseline: 'b.json',
        hints: true,
        shapes: { B: 1024, Ku: 0 },
        severity: { IKB101: 'error' },
        perFileIgnores: { 'tests/**': ['IKB1'] },
      },
    ));
  it('reads [tool.ikbo] of pyproject.toml and nothing else of it', () =>
    reads('[project]\nname = "x"\n[tool.ikbo]\nignore = ["IKB2"]\n', { ignore: ['IKB2'] }, 'pyproject.toml'));
  it('an empty file is the default', () => reads('', {}));
  it('says where TOML is broken', () => fails('a =\n', /ikbo\.toml: line 1, column \d: not valid TOML/));
  it('names unknown keys and the known ones', () =>
    fails('selects = []', /unknown key selects; there are select, ignore/));
  it('says what a value must be', () => {
    fails('select = "IKB1"', /select must be a list of rule codes/);
    fails('ignore = ["F401"]', /ignore must be a list of rule codes/);
    fails('[severity]\nIKB1 = "error"', /severity must be a table of rule codes/);
    fails('[severity]\nIKB101 = "fatal"', /error, warning, information, hint/);
    fails('[shapes]\nB = 1.5', /whole numbers/);
    fails('[shapes]\n"a b" = 1', /whole numbers/);
    fails('hints = 1', /true or false/);
    fails('[tool]\nikbo = 3', /\[tool\.ikbo\] is not a table/, 'pyproject.toml');
  });

  it('is looked for upward, ikbo.toml before pyproject.toml, up to the repository', () => {
    const root = mkdtempSync(join(tmpdir(), 'config-'));
    try {
      mkdirSync(join(root, 'repo/.git'), { recursive: true });
      mkdirSync(join(root, 'repo/pkg/deep'), { recursive: true });
      mkdirSync(join(root, 'repo/other'));
      writeFileSync(join(root, 'ikbo.toml'), 'ignore = ["IKB1"]'); // Above the repository: not ours.
      const find = (folder: string) => findConfig(join(root, folder));
      assert.equal(find('repo/pkg').file, null);
      writeFileSync(join(root, 'repo/pyproject.toml'), '[tool.ikbo]\nignore = ["IKB2"]\n');
      assert.deepEqual(find('repo/pkg/deep').ignore, ['IKB2']);
      assert.equal(find('repo/pkg/deep').folder, join(root, 'repo'));
      writeFileSync(join(root, 'repo/pkg/pyproject.toml'), '[project]\nname = "x"\n'); // Says nothing: keep looking.
      assert.deepEqual(find('repo/pkg/deep').ignore, ['IKB2']);
      writeFileSync(join(root, 'repo/pkg/ikbo.toml'), 'ignore = ["IKB3"]');
      assert.deepEqual(find('repo/pkg/deep').ignore, ['IKB3']);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe('selection', () => {
  const check = (text: string, rule: string, path: string, expected: string | undefined) => {
    const chosen = selector(readConfig('ikbo.toml', text, '/p'))(finding({ rule, line: 1 }), path);
    assert.equal(chosen?.level, expected);
  };
  it('lets all through by default', () => check('', 'IKB101', 'a.py', 'warning'));
  it('selects by prefix', () => {
    check('select = ["IKB1"]', 'IKB101', 'a.py', 'warning');
    check('select = ["IKB1"]', 'IKB201', 'a.py', undefined);
    check('select = []', 'IKB101', 'a.py', undefined);
  });
  it('ignoring wins over selecting', () =>
    check('select = ["IKB1"]\nignore = ["IKB101"]', 'IKB101', 'a.py', undefined));
  it('changes levels', () => check('[severity]\nikb101 = "error"', 'IKB101', 'a.py', 'error'));
  it('ignores per file', () => {
    const text = '[per-file-ignores]\n"tests/**" = ["IKB1"]';
    check(text, 'IKB101', 'tests/unit/a.py', undefined);
    check(text, 'IKB201', 'tests/unit/a.py', 'warning');
    check(text, 'IKB101', 'src/a.py', 'warning');
    check(text, 'IKB101', '../tests/a.py', 'warning');
  });
  it('excludes files', () => {
    const excluded = excluder(readConfig('ikbo.toml', 'exclude = ["third_party/", "*_pb2.py"]', '/p'));
    assert.deepEqual(['third_party/x.py', 'a/b_pb2.py', 'a/b.py', '../x_pb2.py'].map(excluded), [
      true,
      true,
      false,
      false,
    ]);
  });
});
