import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Analysis } from '../../src/core/engine';
import { hashText, openCache, type TextHash } from '../../src/project/cache';
import { finding } from '../finding';

const found: Analysis = { findings: [finding({ path: 'a.py', line: 3 })], suppressed: [], notes: [], parsed: true };
const empty: Analysis = { findings: [], suppressed: [], notes: [], parsed: true };
const broken: Analysis = { ...empty, broken: { path: 'a.py', line: 3, message: 'syntax error' } };

describe('cache', () => {
  let root = '';
  let folder = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'ikbo-cache-'));
    folder = join(root, 'deep/cache');
    for (const name of ['a.py', 'b.py']) writeFileSync(join(root, name), name);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const open = (key = 'engine 1') => openCache(folder, root, key);
  const now = (files: Record<string, TextHash>) => (path: string) => files[path] ?? null;
  const fill = () => {
    const cache = open();
    cache.store('a.py', { hash: 'A', asked: [['h.py', 'H'], ['gone.py', null]] }, found); // prettier-ignore
    cache.store('b.py', { hash: 'B', asked: [['h.py', 'H']] }, empty);
    assert.equal(cache.save(), null);
  };
  const only = () => join(folder, readdirSync(folder)[0] ?? '');

  it('gives back what was stored, while nothing has changed', () => {
    assert.equal(open().hasEntries, false);
    fill();
    const cache = open();
    assert.ok(cache.hasEntries);
    assert.deepEqual(cache.find('a.py', 'A', now({ 'h.py': 'H' })), found);
    assert.deepEqual(cache.find('b.py', 'B', now({ 'h.py': 'H' })), empty);
  });
  it('keeps what a result says, whatever that is', () => {
    const all = [
      found,
      empty,
      broken,
      { ...empty, parsed: false },
      { ...empty, notes: [{ path: 'a.py', line: 1, message: 'm' }] },
    ];
    for (const analysis of all) {
      const cache = open();
      cache.store('a.py', { hash: 'A', asked: [] }, analysis);
      cache.save();
      assert.deepEqual(open().find('a.py', 'A', now({})), analysis);
    }
  });
  const changes: readonly [string, string, Record<string, TextHash>][] = [
    ['the file', 'A2', { 'h.py': 'H' }],
    ['a file that it depends on', 'A', { 'h.py': 'H2' }],
    ['a file that it depends on is gone', 'A', {}],
    ['a file that was looked for appears', 'A', { 'h.py': 'H', 'gone.py': 'G' }],
  ];
  for (const [title, text, files] of changes)
    it(`forgets when this changes: ${title}`, () => {
      fill();
      assert.equal(open().find('a.py', text, now(files)), undefined);
    });
  it('knows nothing of another engine, other options or another project', () => {
    fill();
    assert.equal(open('engine 2').hasEntries, false);
    assert.equal(openCache(folder, join(root, 'deep'), 'engine 1').hasEntries, false);
  });
  it('a file that is cut off or changed anywhere is no cache', () => {
    fill();
    const file = only();
    const whole = readFileSync(file, 'utf8');
    for (let length = 0; length < whole.length; length += 1) {
      writeFileSync(file, whole.slice(0, length));
      assert.equal(open().hasEntries, false, `${length} of ${whole.length}`);
    }
    writeFileSync(file, whole.replace('"A"', '"Z"'));
    assert.equal(open().hasEntries, false);
    fill();
    assert.ok(open().hasEntries);
  });
  it('keeps the results of files that a run did not look at, and drops those of files that are gone', () => {
    fill();
    const cache = open();
    cache.store('c.py', { hash: 'C', asked: [] }, empty);
    rmSync(join(root, 'b.py'));
    cache.save();
    assert.deepEqual(open().find('a.py', 'A', now({ 'h.py': 'H' })), found);
    assert.equal(open().find('b.py', 'B', now({ 'h.py': 'H' })), undefined);
    assert.ok(open().find('c.py', 'C', now({})));
  });
  it('two at once leave the whole file of one of them', () => {
    const [one, two] = [open(), open()];
    one.store('a.py', { hash: 'A', asked: [] }, found);
    two.store('b.py', { hash: 'B', asked: [] }, empty);
    one.save();
    two.save();
    assert.equal(open().find('a.py', 'A', now({})), undefined);
    assert.deepEqual(open().find('b.py', 'B', now({})), empty);
  });
  it('removes what crashes and forgotten projects leave, and nothing else', () => {
    fill();
    const name = '0'.repeat(40);
    const old = [`${name}.json`, `${name}.json.1.2.tmp`, 'mine.json'];
    for (const one of old) {
      writeFileSync(join(folder, one), '');
      utimesSync(join(folder, one), 0, 0);
    }
    fill();
    assert.deepEqual(readdirSync(folder).filter((one) => old.includes(one)), ['mine.json']); // prettier-ignore
  });
  it('a folder that cannot be written is a reason, not a failure', () => {
    const cache = openCache(join(root, 'a.py'), root, 'engine 1');
    cache.store('a.py', { hash: 'A', asked: [] }, found);
    assert.match(cache.save() ?? '', /EEXIST|ENOTDIR/);
  });
  it('texts have different hashes', () => {
    assert.notEqual(hashText('a'), hashText('b'));
    assert.equal(hashText('é'), hashText('é'));
  });
});
