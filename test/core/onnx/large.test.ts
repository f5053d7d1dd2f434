/** Models of 358 MB and 4.5 GB: what it costs to check them, in bytes read and in memory. `scripts/onnx-scan.mjs` has times. */
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { writeLargeModel } from './large-file';

const PROGRAM = `
import { checkModel } from './src/core/onnx';
import { openFileBytes } from './src/project/byte-source';
const file = openFileBytes(process.argv[2] ?? '');
let bytes = 0;
const source = { size: file.size, read: (offset: number, length: number) => ((bytes += length), file.read(offset, length)) };
const { findings, parsed } = checkModel('m.onnx', source);
console.log(JSON.stringify({ bytes, findings: findings.length, parsed, rss: process.resourceUsage().maxRSS * 1024 }));
`;

describe('onnx, a large model', function () {
  this.timeout(60_000);

  for (const [side, least] of [
    [901, 350e6],
    [3200, 4.3e9],
  ] as const) {
    it(`of ${least / 1e6} MB is checked with little of it read and little memory`, () => check(side, least));
  }

  function check(side: number, least: number): void {
    const folder = mkdtempSync(join(tmpdir(), 'ikbo-onnx-'));
    try {
      const path = join(folder, 'large.onnx');
      const size = writeLargeModel(path, side);
      assert.ok(size > least);
      const program = join(folder, 'check.cjs');
      const root = join(__dirname, '../../..');
      buildSync({
        stdin: { contents: PROGRAM, resolveDir: root, loader: 'ts' },
        bundle: true,
        platform: 'node',
        outfile: program,
        logLevel: 'error',
      });
      const idle = spawnSync(process.execPath, ['-e', 'console.log(process.resourceUsage().maxRSS * 1024)'], {
        encoding: 'utf8',
      });
      const child = spawnSync(process.execPath, [program, path], { encoding: 'utf8' });
      assert.equal(child.status, 0, child.stderr);
      const { bytes, parsed, rss } = JSON.parse(child.stdout) as { bytes: number; parsed: boolean; rss: number };
      console.log(
        `      ${(size / 1e6).toFixed(0)} MB: ${(bytes / 1e6).toFixed(1)} MB read, ${(rss / 1e6).toFixed(0)} MB of memory, ${(Number(idle.stdout) / 1e6).toFixed(0)} MB of them Node's own`,
      );
      assert.ok(parsed);
      assert.ok(bytes < size * 0.05, `${bytes} bytes read`);
      assert.ok(rss < 100e6, `${rss} bytes of memory`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
});
