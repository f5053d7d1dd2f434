// npm run demo: the main job on examples/, from installation to a measured gain. Works before node_modules exists.
//   1 findings   2 every rewrite as a unified diff, on copies   3 a numeric check of each   4 a benchmark   5 a short report
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ensurePackages, root } from './packages.mjs';
import { missing, python } from './tools.mjs';

const started = Date.now();
const copies = join(root, 'build/demo');
const title = (text) => console.log(`\n\x1b[1m== ${text}\x1b[0m`);

function run(command, args, options = {}) {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28, ...options });
}

/** Kernels take minutes to compile, and without a GPU nothing would run them. */
const hasGpu = () => existsSync('/dev/nvidiactl');

function must(command, args, what, env = {}) {
  const result = run(command, args, { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env } });
  if (result.status !== 0) throw new Error(`${what} failed; its output is above`);
}

const ikbo = (...args) => run('node', ['dist/cli.js', ...args]);

/** One file per rewrite that has edits: the example with that rewrite alone. */
function writeCopies(findings, applyEdits) {
  rmSync(copies, { recursive: true, force: true });
  mkdirSync(copies, { recursive: true });
  return findings.flatMap((finding) =>
    finding.rewrites
      .filter((rewrite) => rewrite.edits.length > 0)
      .map((rewrite) => {
        const name = `${basename(finding.path, '.py')}_${finding.line}_${finding.rule}_${rewrite.id}.py`;
        const original = readFileSync(join(root, finding.path), 'utf8');
        writeFileSync(join(copies, name), applyEdits(original, rewrite.edits));
        return { finding, rewrite, name, original, path: join(copies, name) };
      }),
  );
}

/** Runs each example as a program before and after each rewrite, as `ikbo verify --main` does, in one interpreter. */
async function numericCheck(rewrites, { jobOf, NOTHING_GIVEN, runJobs }) {
  const options = { shapes: {}, packages: [join(root, 'kernels/python')] };
  const jobs = rewrites.map(({ finding, rewrite, original }) => {
    const place = { file: join(root, finding.path), text: original, folders: [], cells: null };
    return jobOf(place, finding, rewrite, { ...NOTHING_GIVEN, script: true }, options);
  });
  const answers = await runJobs(jobs, { python: python(), seconds: 120 });
  return answers.map((answer, at) => ({ ...answer, ...rewrites[at] }));
}

try {
  title('Installing and building');
  ensurePackages();
  must('node', ['scripts/build.mjs'], 'the build');
  const noNative = missing.native();
  if (noNative) console.log(`Native library not built: ${noNative}`);
  else must('node', ['scripts/native.mjs', 'build'], 'the native build', { IKBO_CUDA: hasGpu() ? '1' : '0' });

  title('1. Findings in examples/');
  const shown = ikbo('check', 'examples');
  process.stdout.write(shown.stdout);
  if (shown.status === 2) throw new Error(shown.stderr);
  const { findings } = JSON.parse(ikbo('check', 'examples', '--format', 'json').stdout);

  title('2. Rewrites, each alone on a copy in build/demo');
  const { createRequire } = await import('node:module');
  const require = createRequire(import.meta.url);
  require('tsx/cjs');
  const { applyEdits } = require('../src/core/edits.ts');
  const { createTwoFilesPatch } = require('diff');
  const verification = { ...require('../src/verify/job.ts'), ...require('../src/verify/run.ts') };
  const rewrites = writeCopies(
    findings.filter(({ path }) => path.endsWith('.py')),
    applyEdits,
  );
  for (const { finding, rewrite, name, original, path } of rewrites) {
    const condition = rewrite.reason ? `: ${rewrite.reason}` : '';
    console.log(
      `\n${finding.path}:${finding.line} ${finding.rule} ${rewrite.id} (${rewrite.tier}${condition}): ${rewrite.title}`,
    );
    console.log(
      createTwoFilesPatch(finding.path, `build/demo/${name}`, original, readFileSync(path, 'utf8'), '', '', {
        context: 2,
      }).replace(/^=+\n/, ''),
    );
  }

  const models = [...new Set(findings.flatMap(({ path }) => (path.endsWith('.onnx') ? [path] : [])))];
  let proven = 0;
  for (const path of models) {
    // Runs the original and the rewritten model where onnxruntime-node is installed, and says so where it is not.
    const out = join(copies, basename(path).replace('.onnx', '.ikbo.onnx'));
    const said = ikbo('rewrite', path, '-o', out).stderr.replaceAll(`${out}: `, '').trimEnd();
    if (said.includes('same results')) proven++;
    console.log(`\n${said}`);
  }

  title('3. Numeric check of each rewrite');
  const noTorch = missing.torch();
  const checked = noTorch ? [] : await numericCheck(rewrites, verification);
  if (noTorch) console.log(`Not checked: ${noTorch}`);
  for (const one of checked) {
    const run = one.runs?.[0];
    const outcome = !run
      ? `not run: ${one.problem}`
      : one.ok
        ? `max error ${run.maxError.toExponential(1)}, peak memory ${run.peakBytes.join(' -> ')} bytes`
        : `FAILED ${run.problem}`;
    console.log(`${basename(one.finding.path).padEnd(24)} ${one.finding.rule} ${one.rewrite.id.padEnd(12)} ${outcome}`);
  }

  title('4. Before and after, measured here');
  let measured = '';
  if (noNative) console.log(`Not measured: ${noNative}`);
  else {
    // One operator per story: a small ranking request that two CPU cores measure in seconds.
    const bench = ikbo('bench', '--op', 'concat-linear', '--seconds', '6', '--python', noTorch ? 'none' : python());
    process.stdout.write(bench.stdout);
    if (bench.status !== 0) throw new Error(`the benchmark failed: ${bench.stderr}`);
    measured = ', one operator measured';
  }

  title('Report');
  // A file that needs a package which is not installed says nothing about its rewrite.
  const ran = checked.filter(({ runs }) => runs);
  const good = ran.filter(({ ok }) => ok).length;
  console.log(
    `${findings.length} findings. ONNX: ${proven} of ${models.length} models rewritten and run with the same results. Python: ${rewrites.length} rewrites, ${noTorch ? 'none checked numerically' : `${good} of the ${ran.length} that ran numerically equal`}${measured}.`,
  );
  console.log(
    `Took ${((Date.now() - started) / 1000).toFixed(0)} s. Next: node dist/cli.js check YOUR_CODE, or open this folder in VS Code.`,
  );
  if (good < ran.length || (checked.length > 0 && good === 0)) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
