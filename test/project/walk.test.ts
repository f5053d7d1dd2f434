import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { reportPath, walk } from '../../src/project/walk';

type Tree = Readonly<Record<string, string | { readonly link: string }>>;

/** Lays the tree out in a fresh folder, walks it and returns report paths and error lines. */
function check(tree: Tree, paths: readonly string[], expected: { files: string[]; errors?: string[] }): void {
  const root = mkdtempSync(join(tmpdir(), 'walk-'));
  try {
    for (const [path, content] of Object.entries(tree)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      if (typeof content === 'string') writeFileSync(join(root, path), content);
      else symlinkSync(content.link, join(root, path));
    }
    const found = walk(root, paths, (name) => name.endsWith('.py'));
    assert.deepEqual(
      found.files.map((file) => reportPath(root, file)),
      expected.files,
    );
    assert.deepEqual(
      found.errors.map((error) => `${error.path}: ${error.message}`),
      expected.errors ?? [],
    );
  } finally {
    rmSync(root, { recursive: true });
  }
}

describe('walk', () => {
  it('takes wanted files below folders, sorted, and named files whatever their name', () =>
    check({ 'b.py': '', 'a/c.py': '', 'a/readme.md': '', script: '' }, ['script', '.'], {
      files: ['a/c.py', 'b.py', 'script'],
    }));
  it('takes a file that is named twice once', () =>
    check({ 'a.py': '' }, ['a.py', './a.py', '.'], { files: ['a.py'] }));
  it('skips folders of tools and versions', () =>
    check({ 'node_modules/x.py': '', '.venv/lib/y.py': '', '.git/z.py': '', 'src/ok.py': '' }, ['.'], {
      files: ['src/ok.py'],
    }));
  it('respects .gitignore, nested, negated and anchored', () =>
    check(
      {
        '.git/HEAD': '',
        '.gitignore': 'gen/\n*.tmp.py\n/top.py\n',
        'gen/a.py': '',
        'x.tmp.py': '',
        'top.py': '',
        'sub/top.py': '',
        'sub/.gitignore': '!keep.tmp.py\nlocal.py\n',
        'sub/keep.tmp.py': '',
        'sub/local.py': '',
      },
      ['.'],
      { files: ['sub/keep.tmp.py', 'sub/top.py'] },
    ));
  it('respects ignore files above the folder that is walked', () =>
    check({ '.git/HEAD': '', '.gitignore': 'skip.py\n', 'pkg/skip.py': '', 'pkg/take.py': '' }, ['pkg'], {
      files: ['pkg/take.py'],
    }));
  it('checks an ignored file that is named', () =>
    check({ '.gitignore': '*.py\n', 'a.py': '' }, ['a.py'], { files: ['a.py'] }));
  it('reports a link that leads back, and goes on', () =>
    check({ 'a/b.py': '', 'a/loop': { link: '..' } }, ['.'], {
      files: ['a/b.py'],
      errors: ['a/loop: link leads back into a folder that contains it; not followed'],
    }));
  it('reports a broken link and a link to itself when they look like sources', () =>
    check({ 'gone.py': { link: 'nowhere' }, 'self.py': { link: 'self.py' }, 'gone.txt': { link: 'x' } }, ['.'], {
      files: [],
      errors: ['gone.py: no such file or directory', 'self.py: too many links: a link points to itself'],
    }));
  it('reports a device, which would never end', () => {
    const found = walk('/', ['/dev/zero'], () => true);
    assert.deepEqual(found, {
      files: [],
      folders: [],
      errors: [{ path: 'dev/zero', message: 'not a regular file; not analysed' }],
    });
  });
  it('reports a path that does not exist', () =>
    check({}, ['missing'], { files: [], errors: ['missing: no such file or directory'] }));
});
