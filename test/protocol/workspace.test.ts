/** Workspaces as they are: very many files that are not ours, and several folders. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Report } from '../../src/core/finding';
import { startClient, type Client } from './client';

const RANKER = `import torch
from torch import nn

from lib.spread import spread


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(768, 64)

    def forward(self, user, cand, n):
        return self.fc(torch.cat([spread(user, n), cand], dim=-1))
`;
const SPREAD = 'import torch\n\n\ndef spread(x, n):\n    return x.repeat_interleave(n, dim=0)\n';
const HEAD = `import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(768, 64)

    def forward(self, x):
        return self.fc(x)
`;
const PLAIN = `import json\n\n\ndef load(path):\n${"    value = json.loads('{}')\n".repeat(20)}    return value\n`;
const FILES = 20_000;
const PER_FOLDER = 100;

/** Highest resident memory of a process in MB so far; null where the system does not say. */
function peakMemory(pid: number | undefined): number | null {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return null;
  const kilobytes = /^VmHWM:\s+(\d+)/m.exec(readFileSync(file, 'utf8'))?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1000;
}

describe('a workspace of 20,000 files', function () {
  this.timeout(180_000);
  let root = '';
  let client: Client | undefined;
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  before(() => {
    root = mkdtempSync(join(tmpdir(), 'ikbo-large-'));
    for (let i = 0; i < FILES; i += 1) {
      const folder = join(root, `p${Math.floor(i / PER_FOLDER)}`);
      if (i % PER_FOLDER === 0) mkdirSync(folder);
      writeFileSync(join(folder, `m${i}.py`), PLAIN);
    }
    write('app/ranker.py', RANKER);
    write('lib/spread.py', SPREAD);
  });
  after(async () => {
    await client?.stop();
    rmSync(root, { recursive: true, force: true });
  });

  it('the server opens it, answers at once and stays small, also when all of it changes', async () => {
    const started = performance.now();
    client = await startClient({ root });
    const uri = pathToFileURL(join(root, 'app/ranker.py')).href;
    client.open(uri, RANKER);
    assert.equal((await client.diagnostics(uri)).length, 1);
    const opened = performance.now() - started;
    const changes = Array.from({ length: FILES }, (_, i) => ({
      uri: pathToFileURL(join(root, `p${Math.floor(i / PER_FOLDER)}/m${i}.py`)).href,
      type: 2,
    }));
    await client.connection.sendNotification('workspace/didChangeWatchedFiles', { changes });
    const times: number[] = [];
    for (let i = 0; i < 40; i += 1) {
      const asked = performance.now();
      assert.equal((await client.lenses(uri)).length, 1);
      times.push(performance.now() - asked);
    }
    const p95 = times.sort((a, b) => a - b)[37] ?? 0;
    const memory = peakMemory(client.process.pid);
    console.log(
      `      opened in ${opened.toFixed(0)} ms, lenses p95 ${p95.toFixed(1)} ms, peak memory ${memory?.toFixed(0) ?? '?'} MB`,
    );
    assert.ok(opened < 20_000 && p95 < 1_000, 'far above what a loaded machine needs');
    assert.ok(memory === null || memory < 400);
  });

  it('the command line checks it, small, too', async () => {
    const args = [join(__dirname, '../../dist/cli.js'), 'check', '--format', 'json', '--no-cache'];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    let memory: number | null = null;
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    const poll = setInterval(() => (memory = peakMemory(child.pid) ?? memory), 20);
    await once(child, 'close');
    clearInterval(poll);
    const { findings, stats } = JSON.parse(out) as Report;
    assert.deepEqual(findings.map(({ path }) => path), ['app/ranker.py']); // prettier-ignore
    assert.equal(stats.files, FILES + 2);
    console.log(
      `      checked in ${stats.milliseconds} ms, peak memory ${(memory as number | null)?.toFixed(0) ?? '?'} MB`,
    );
    assert.ok(memory === null || memory < 400, 'main process and its threads together');
  });
});

describe('a workspace of several folders', () => {
  let base = '';
  let client: Client;
  const uri = (path: string) => pathToFileURL(join(base, path)).href;
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  };
  const count = async (path: string, text = RANKER) => {
    client.open(uri(path), text);
    return (await client.diagnostics(uri(path))).length;
  };
  beforeEach(() => (base = mkdtempSync(join(tmpdir(), 'ikbo-roots-'))));
  afterEach(async () => {
    await client.stop();
    rmSync(base, { recursive: true, force: true });
  });

  it('each has its own configuration and its own imports', async () => {
    for (const name of ['a', 'b', 'c'])
      write(`${name}/lib/spread.py`, name === 'c' ? 'def spread(x, n):\n    return x\n' : SPREAD);
    write('b/ikbo.toml', 'ignore = ["IKB1"]\n');
    client = await startClient({ root: join(base, 'a'), more: [join(base, 'b'), join(base, 'c')] });
    const counts = [await count('a/app/r.py'), await count('b/app/r.py'), await count('c/app/r.py')];
    assert.deepEqual(counts, [1, 0, 0]);
  });
  it('a folder within another one counts as the nearest', async () => {
    write('a/ikbo.toml', 'ignore = ["IKB1"]\n');
    write('a/inner/ikbo.toml', 'hints = false\n');
    write('a/inner/lib/spread.py', SPREAD);
    client = await startClient({ root: join(base, 'a'), more: [join(base, 'a/inner')] });
    assert.equal(await count('a/inner/app/r.py'), 1);
  });
  it('imports of one folder are found in another one, edited or on disk, as Python would with both on its path', async () => {
    write('a/x.py', '');
    // The package of the other folder imports one of its own.
    write('b/lib/spread.py', 'from pairs.repeat import spread\n');
    write('b/pairs/repeat.py', SPREAD);
    client = await startClient({ root: join(base, 'a'), more: [join(base, 'b')] });
    write('b/lib/head.py', HEAD);
    client.open(uri('a/app/r.py'), RANKER.replace('nn.Linear(768, 64)', 'Head()').replace('\n\n\n', '\nfrom lib.head import Head\n\n\n')); // prettier-ignore
    const [finding, ...rest] = await client.diagnostics(uri('a/app/r.py'));
    assert.ok(finding && rest.length === 0);
    const places = finding.relatedInformation?.map(({ location }) => location.uri);
    assert.ok(places?.includes(uri('b/lib/head.py')), JSON.stringify(places));
    client.open(uri('b/pairs/repeat.py'), SPREAD);
    client.change(uri('b/pairs/repeat.py'), { text: SPREAD.replace('x.repeat_interleave(n, dim=0)', 'x') });
    const latest = () => client.published.findLast((one) => one.uri === uri('a/app/r.py'))?.diagnostics.length;
    while (latest() !== 0) await new Promise((turn) => setTimeout(turn, 5));
  });
  it('what the own folder has comes first, also where it has only part of the package', async () => {
    write('b/lib/spread.py', SPREAD);
    write('a/lib/spread.py', 'def spread(x, n):\n    return x\n');
    write('c/lib/__init__.py', '');
    write('d/x.py', '');
    client = await startClient({ root: join(base, 'a'), more: [join(base, 'b'), join(base, 'c')] });
    assert.deepEqual([await count('a/app/r.py'), await count('b/app/r.py'), await count('c/app/r.py')], [0, 1, 0]);
  });
  it('what two other folders have is not known, and what only one has is', async () => {
    write('a/x.py', '');
    write('b/lib/spread.py', SPREAD);
    write('c/lib/spread.py', SPREAD);
    write('c/other/spread.py', SPREAD);
    client = await startClient({ root: join(base, 'a'), more: [join(base, 'b'), join(base, 'c')] });
    assert.equal(await count('a/app/r.py'), 0);
    assert.equal(await count('a/app/s.py', RANKER.replace('lib.spread', 'other.spread')), 1);
  });
  it('imports are found in a folder that is added, and no longer in one that is removed', async () => {
    write('a/x.py', '');
    write('b/lib/spread.py', SPREAD);
    client = await startClient({ root: join(base, 'a') });
    assert.equal(await count('a/app/r.py'), 0);
    const folder = { uri: uri('b'), name: 'b' };
    const latest = () => client.published.findLast((one) => one.uri === uri('a/app/r.py'))?.diagnostics.length;
    for (const [event, expected] of [
      [{ added: [folder], removed: [] }, 1],
      [{ added: [], removed: [folder] }, 0],
    ] as const) {
      // prettier-ignore
      await client.connection.sendNotification('workspace/didChangeWorkspaceFolders', { event });
      while (latest() !== expected) await new Promise((turn) => setTimeout(turn, 5));
    }
  });
  it('a folder that is added later has its imports from then on', async () => {
    write('a/x.py', '');
    write('b/lib/spread.py', SPREAD);
    client = await startClient({ root: join(base, 'a') });
    const added = [{ uri: uri('b'), name: 'b' }];
    await client.connection.sendNotification('workspace/didChangeWorkspaceFolders', { event: { added, removed: [] } });
    assert.equal(await count('b/app/r.py'), 1);
  });
});
