/** The benchmark's client with its real host process and addon: results, cancel, crash, hang, refusals, orphans. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { BenchError, listDevices, runBench, type FailureKind, type RunOptions } from '../../src/bench/client';
import { completeRequest } from '../../src/bench/request';
import { parseResult } from '../../src/bench/schema';
import { findRuntime } from '../../src/project/onnx/find-runtime';
import type { BenchRequest, Dtype, Grouping, ModelRun } from '../../src/protocol/bench';
import { describeHost, hostOptions } from '../bench/host-options';

const DIMS = {
  'concat-linear': { B: 96, U: 6, Ku: 40, Kc: 24, M: 33 },
  'linear-compression': { B: 12, U: 3, Ku: 20, Kc: 14, M: 17, N: 24 },
  attention: { B: 12, U: 3, Q: 5, S: 70, H: 4, Hkv: 2, D: 16 },
} as const;

type Part = Partial<BenchRequest> & Pick<BenchRequest, 'op'>;
const request = (part: Part): BenchRequest => completeRequest({ dims: DIMS[part.op], seconds: 0.05, ...part });

const options = (part: RunOptions = {}): RunOptions => ({ ...hostOptions, ...part });

async function failure(run: Promise<unknown>, kind: FailureKind): Promise<BenchError> {
  const error = await run.then(
    () => assert.fail('it should have failed'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof BenchError, String(error));
  assert.equal(error.kind, kind, error.message);
  return error;
}

describeHost('bench host', function () {
  this.timeout(60_000);

  it('lists the CPU, and says why there is no CUDA device where there is none', async () => {
    const { devices, notes } = await listDevices(options());
    assert.equal(devices[0]?.id, 'cpu');
    assert.match(devices[0]?.detail ?? '', /threads/);
    if (devices.length === 1) assert.match(notes.join(), /CUDA/);
  });

  const cases: [BenchRequest['op'], Dtype, Grouping][] = [
    ['concat-linear', 'fp32', 'uniform'],
    ['concat-linear', 'bf16', 'unsorted'],
    ['linear-compression', 'fp32', 'uneven'],
    ['linear-compression', 'fp16', 'uniform'],
    ['attention', 'fp32', 'uniform'],
    ['attention', 'bf16', 'unsorted'],
  ];
  for (const [op, dtype, grouping] of cases)
    it(`${op}, ${dtype}, ${grouping}: every arm is right and timed`, async () => {
      const result = await runBench(request({ op, dtype, grouping }), options());
      assert.ok(result.arms.length >= 4);
      for (const arm of result.arms) {
        assert.equal(arm.problem, null, arm.id);
        assert.equal(arm.check?.ok, true, arm.id);
        assert.ok((arm.timing?.median ?? 0) > 0, arm.id);
        assert.ok((arm.timing?.samples.length ?? 0) >= 5, arm.id);
        assert.ok((arm.peakBytes ?? 0) > 0, arm.id);
      }
      assert.equal(result.comparisons.filter(({ base }) => base === 'as-written').length, result.arms.length - 1);
      assert.ok((result.environment.ceilings?.gflops ?? 0) > 0);
      assert.deepEqual(parseResult(JSON.stringify(result)), result);
    });

  it('measures in every regime, chosen arms only, and says what it does meanwhile', async () => {
    const stages: string[] = [];
    let samples = 0;
    const result = await runBench(
      request({ op: 'concat-linear', regimes: ['burst', 'sustained'], arms: ['as-written', 'ikbo'] }),
      options({
        onProgress: ({ stage, done, total }) => {
          stages.push(stage);
          assert.ok(done >= 0 && done <= total, `${done} of ${total}`);
        },
        onSample: () => (samples += 1),
      }),
    );
    const measured = result.arms.map(({ id, regime }) => `${regime} ${id}`);
    assert.deepEqual(measured, ['burst as-written', 'burst ikbo', 'sustained as-written', 'sustained ikbo']);
    assert.equal(
      samples,
      result.arms.reduce((sum, { timing }) => sum + (timing?.samples.length ?? 0), 0),
    );
    assert.ok(stages.some((stage) => /measuring \(burst\)/.test(stage)));
  });

  it('refuses a request that makes no sense, in words', async () => {
    const error = await failure(runBench(request({ op: 'concat-linear', arms: ['magic'] }), options()), 'refused');
    assert.match(error.message, /no arm magic/);
    const other = await failure(runBench(request({ op: 'concat-linear', device: 'tpu:0' }), options()), 'refused');
    assert.match(other.message, /no device tpu:0/);
  });

  it('measures without PyTorch where the interpreter has none, and says so', async () => {
    const result = await runBench(request({ op: 'concat-linear', python: '/nowhere/python' }), options());
    assert.match(result.warnings.join(), /No PyTorch arms: .*cannot be started/);
    assert.deepEqual(
      result.arms.filter(({ timing }) => !timing),
      [],
    );
    const arms = ['ikbo', 'torch-as-written'];
    const chosen = await runBench(request({ op: 'concat-linear', python: '/nowhere/python', arms }), options());
    assert.match(chosen.arms[1]?.problem ?? '', /PyTorch did not start/);
  });

  const model: ModelRun = {
    path: join(__dirname, '../../examples/onnx/dlrm_ranker.onnx'),
    finding: 'IKB101:30',
    sizes: { B: 64, U: 4 },
    runtime: findRuntime(process.cwd()),
  };

  it('runs the whole model of a finding in the same rounds, as it is and rewritten', async () => {
    const result = await runBench(request({ op: 'concat-linear', model }), options());
    const [before, after] = result.arms.slice(-2);
    assert.match(before?.title ?? '', /^Whole model in onnxruntime \d+\.\d+\.\d+ \(CPU\), as it is$/);
    assert.match(after?.title ?? '', /^Whole model in onnxruntime .* \(CPU\), rewritten$/);
    const rounds = result.arms[0]?.timing?.samples.length ?? 0;
    for (const arm of [before, after]) {
      assert.equal(arm?.problem, null);
      assert.equal(arm?.timing?.samples.length, rounds, 'as often as the others');
      assert.deepEqual([arm?.gflops, arm?.gbytes], [null, null], 'the operator says nothing about the model');
    }
    assert.ok(after?.check?.ok && after.check.error <= after.check.limit);
    assert.deepEqual(
      result.comparisons
        .filter((one) => [one.base, one.arm].some((id) => id.startsWith('model')))
        .map((one) => one.base),
      ['model-as-written'],
    );
    assert.match(
      result.warnings.join(),
      /whole model, dlrm_ranker\.onnx at .*B=64.*, in onnxruntime \d.* on this machine's CPU/,
    );
    assert.deepEqual(parseResult(JSON.stringify(result)), result);
  });

  it('says why a model did not run, and measures the operator all the same', async () => {
    const cases: [Partial<ModelRun>, RegExp][] = [
      [
        { runtime: null },
        /No onnxruntime arms: onnxruntime-node, .* is not installed\. Install it beside your project/,
      ],
      [{ runtime: '/nowhere/onnxruntime-node' }, /No onnxruntime arms: Cannot find module '\/nowhere/],
      [{ path: '/nowhere/m.onnx' }, /No onnxruntime arms: .*no such file/],
      [{ finding: 'IKB101:1' }, /No rewritten model was measured: there is no finding IKB101:1/],
    ];
    for (const [part, said] of cases) {
      const arms = ['as-written', 'model-as-written', 'model-rewritten'];
      const result = await runBench(request({ op: 'concat-linear', arms, model: { ...model, ...part } }), options());
      assert.match(result.warnings.join(), said);
      assert.ok((result.arms[0]?.timing?.median ?? 0) > 0);
      assert.equal(result.arms.find(({ id }) => id === 'model-rewritten')?.timing ?? null, null);
    }
  });

  it('stops within a second of a cancel', async () => {
    const controller = new AbortController();
    let cancelled = 0;
    const onProgress = ({ stage }: { stage: string }) => {
      if (!/round 1/.test(stage) || cancelled > 0) return;
      cancelled = performance.now();
      controller.abort();
    };
    const run = runBench(request({ op: 'attention', seconds: 60 }), options({ signal: controller.signal, onProgress }));
    await failure(run, 'cancelled');
    assert.ok(performance.now() - cancelled < 1000);
  });

  it('stops within a second even when the host hangs', async () => {
    const controller = new AbortController();
    let cancelled = 0;
    const onProgress = ({ stage }: { stage: string }) => {
      if (!/round 2/.test(stage)) return;
      cancelled = performance.now();
      controller.abort();
    };
    const part = { signal: controller.signal, onProgress, env: { IKBO_TEST_HOST: 'hang' } };
    await failure(runBench(request({ op: 'attention', seconds: 60 }), options(part)), 'cancelled');
    assert.ok(performance.now() - cancelled < 1000);
  });

  it('does not start when it is cancelled already', async () => {
    await failure(runBench(request({ op: 'attention' }), options({ signal: AbortSignal.abort() })), 'cancelled');
  });

  it('a crash is an error with the last stage', async () => {
    const run = runBench(request({ op: 'attention', seconds: 60 }), options({ env: { IKBO_TEST_HOST: 'crash' } }));
    const error = await failure(run, 'crashed');
    assert.match(error.message, /SIGABRT; last stage: measuring \(flush\), round 2/);
  });

  it('a host that Ctrl-C ended was cancelled, and did not crash', async () => {
    const part = { env: { IKBO_TEST_HOST: 'interrupt' } };
    await failure(runBench(request({ op: 'attention', seconds: 60 }), options(part)), 'cancelled');
  });

  it('a hang is ended by the watchdog', async () => {
    const part = { env: { IKBO_TEST_HOST: 'hang' }, silenceSeconds: 1 };
    const error = await failure(runBench(request({ op: 'attention', seconds: 60 }), options(part)), 'hung');
    assert.match(error.message, /no sign of life for 1 s .*last stage: measuring/);
  });

  it('says how to build what is missing', async () => {
    const error = await failure(listDevices(options({ addonPath: '/nowhere/ikbo.node' })), 'no addon');
    assert.match(error.command ?? '', /native\.mjs build/);
    assert.match(error.message, /not built/);
  });

  it('a file that is no addon is an error, not a crash of the caller', async () => {
    const error = await failure(listDevices(options({ addonPath: __filename })), 'crashed');
    assert.match(error.details ?? '', /invalid ELF header|file too short|not a valid/);
  });

  it('ends with its parent', async () => {
    const { hostPath = '', addonPath = '', execArgv = [] } = hostOptions;
    const host = JSON.stringify([...execArgv, hostPath, '--addon', addonPath]);
    // A parent that starts a host, waits for its greeting, tells its process id and is then killed.
    const script = `
      const child = require('node:child_process').spawn(process.execPath, ${host}, { stdio: ['pipe', 'pipe', 'inherit'] });
      child.stdin.write('{"id":1,"type":"hello","protocol":1}\\n');
      child.stdout.once('data', () => process.stdout.write(child.pid + '\\n'));
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [text] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(String(text).trim());
    process.kill(pid, 0); // it is there
    parent.kill('SIGKILL');
    const deadline = Date.now() + 3000;
    const there = (): boolean => {
      try {
        process.kill(pid, 0);
        return true;
      } catch {
        return false;
      }
    };
    while (there() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(!there(), 'the host outlived its parent');
  });
});
