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
  it('a folder that is added later has its imports from then on', async () => {
    write('a/x.py', '');
    write('b/lib/spread.py', SPREAD);
    client = await startClient({ root: join(base, 'a') });
    const added = [{ uri: uri('b'), name: 'b' }];
    await client.connection.sendNotification('workspace/didChangeWorkspaceFolders', { event: { added, removed: [] } });
    assert.equal(await count('b/app/r.py'), 1);
  });
});
