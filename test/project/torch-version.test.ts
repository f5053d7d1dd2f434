import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { oldestOf, torchVersion } from '../../src/project/torch-version';

describe('oldest torch of a requirement', () => {
  const cases: readonly [string, readonly [number, number] | null][] = [
    ['torch>=2.1', [2, 1]],
    ['torch >= 2.1.2, <3', [2, 1]],
    ['torch==2.5.1+cu124  # pinned', [2, 5]],
    ['torch~=2.2', [2, 2]],
    ['torch^2.3', [2, 3]],
    ['torch (>=1.13)', [1, 13]],
    ['torch[opt]>=2.4; python_version > "3.8"', [2, 4]],
    ['torch!=2.0.1,>=1.12', [1, 12]],
    ['Torch>2', [2, 0]],
    ['torch<2.5', [2, 4]],
    ['torch<2.5.1', [2, 5]],
    ['torch<=2.3', [2, 3]],
    ['torch<2.0', [1, 13]],
    ['torch<3', null],
    ['torch', null],
    ['torch!=2.1', null],
    ['torchvision>=0.20', null],
    ['torch-geometric>=2.5', null],
    ['# torch>=2.5', null],
  ];
  for (const [requirement, expected] of cases) it(requirement, () => assert.deepEqual(oldestOf(requirement), expected));
});

describe('torch version of a project', () => {
  let root = '';
  const { IKBO_PYTHON, VIRTUAL_ENV } = process.env;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'ikbo-torch-'));
    delete process.env['IKBO_PYTHON'];
    delete process.env['VIRTUAL_ENV'];
  });
  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
    if (IKBO_PYTHON !== undefined) process.env['IKBO_PYTHON'] = IKBO_PYTHON;
    if (VIRTUAL_ENV !== undefined) process.env['VIRTUAL_ENV'] = VIRTUAL_ENV;
  });
  const write = (path: string, text = '') => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };

  const files: readonly [string, string][] = [
    ['pyproject.toml', '[project]\ndependencies = ["numpy", "torch>=2.3"]\n'],
    ['pyproject.toml', '[project.optional-dependencies]\ngpu = ["torch>=2.3"]\n'],
    ['pyproject.toml', '[dependency-groups]\ndev = ["torch>=2.3", {include-group = "x"}]\n'],
    ['pyproject.toml', '[tool.poetry.dependencies]\ntorch = "2.3"\n'],
    ['pyproject.toml', '[tool.poetry.dependencies]\ntorch = { version = ">=2.3", source = "x" }\n'],
    ['requirements.txt', 'numpy\ntorch==2.3.1\n'],
    ['setup.cfg', '[options]\ninstall_requires =\n    numpy\n    torch>=2.3\n'],
  ];
  for (const [name, text] of files)
    it(`${name}: ${JSON.stringify(text)}`, () => {
      write(name, text);
      assert.deepEqual(torchVersion(root, null), [2, 3]);
      assert.deepEqual(torchVersion(root, '2.6'), [2, 6], 'the configuration wins');
    });
  it('a virtual environment counts where nothing is required, a named interpreter before it', () => {
    assert.equal(torchVersion(root, null), null);
    for (const [folder, version] of [
      ['.venv', '2.7.0+cpu'],
      ['other', '2.4.1'],
    ]) {
      write(`${folder}/bin/python`);
      write(`${folder}/lib/python3.12/site-packages/torch-${version}.dist-info/METADATA`);
      write(`${folder}/lib/python3.12/site-packages/torchvision-0.20.dist-info/METADATA`);
    }
    assert.deepEqual(torchVersion(root, null), [2, 7]);
    assert.deepEqual(torchVersion(root, null, join(root, 'other/bin/python')), [2, 4]);
    write('requirements.txt', 'torch>=2.2\n');
    assert.deepEqual(torchVersion(root, null), [2, 2]);
  });
  it('looks above, as far as the repository goes', () => {
    write('requirements.txt', 'torch>=2.2\n');
    write('a/b/m.py');
    assert.equal(torchVersion(join(root, 'a/b'), null), null);
    write('.git/HEAD');
    assert.deepEqual(torchVersion(join(root, 'a/b'), null), [2, 2]);
  });
  it('a broken pyproject.toml says nothing', () => {
    write('pyproject.toml', 'torch = [');
    assert.equal(torchVersion(root, null), null);
  });
});
