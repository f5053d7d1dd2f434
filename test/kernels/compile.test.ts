/** The build of the kernels refuses code that would run slowly without saying so. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const script = join(__dirname, '../../kernels/compile.cmake');
const home = process.env['CUDA_HOME'] ?? '/usr/local/cuda';
const nvcc = existsSync(join(home, 'bin/nvcc')) ? join(home, 'bin/nvcc') : 'nvcc';

describe('kernels/compile.cmake', () => {
  let folder = '';
  before(function () {
    if (spawnSync(nvcc, ['--version']).status !== 0) this.skip(); // kernels are not built here either
    folder = mkdtempSync(join(tmpdir(), 'ikbo-test-'));
  });
  after(() => {
    if (folder) rmSync(folder, { recursive: true });
  });

  function compile(source: string, defines = ''): { status: number | null; text: string; made: boolean } {
    const [file, output] = [join(folder, 'kernel.cu'), join(folder, 'kernel.fatbin')];
    rmSync(output, { force: true });
    writeFileSync(file, source);
    const options = [`-DNVCC=${nvcc}`, `-DSOURCE=${file}`, `-DOUTPUT=${output}`, '-DTARGETS=90a', `-DDEFINES=${defines}`];
    const { status, stdout, stderr } = spawnSync('cmake', [...options, '-P', script], { encoding: 'utf8' });
    return { status, text: stdout + stderr, made: existsSync(output) };
  }

  /** 64 values that live across a barrier, in 32 registers or as many as they need. */
  const kernel = (bounds: string): string =>
    `extern "C" __global__ void ${bounds} busy(float *p) {
       float v[64];
       for (int i = 0; i < 64; ++i) v[i] = p[i * blockDim.x + threadIdx.x];
       __syncthreads();
       for (int i = 0; i < 64; ++i) p[i * blockDim.x + threadIdx.x] = v[63 - i] * v[i];
     }`;

  it('takes a kernel that keeps to its registers', () => {
    const { status, text, made } = compile(kernel('__launch_bounds__(128)'));
    assert.equal(status, 0, text);
    assert.ok(made);
  }).timeout(60_000);

  it('refuses spilled registers, and leaves no image behind', () => {
    const { status, text, made } = compile(kernel('__launch_bounds__(1024, 2)'));
    assert.notEqual(status, 0, text);
    assert.match(text, /spilled registers or serialized wgmma/);
    assert.match(text, /bytes spill/);
    assert.ok(!made);
  }).timeout(60_000);

  it('refuses wgmma that the compiler serializes', () => {
    // An accumulator is read while the product that writes it may still run.
    const { status, text, made } = compile(`#include "wgmma.cuh"
      using namespace ptx;
      extern "C" __global__ void __launch_bounds__(128, 1) early(float *out) {
        float d[32];
        for (int i = 0; i < 32; ++i) d[i] = out[i];
        wgmma_fence();
        wgmma_ss<__nv_bfloat16, 64, Major::K, Major::K>(d, swizzled_descriptor(0), swizzled_descriptor(8192), true);
        wgmma_commit();
        for (int i = 0; i < 32; ++i) out[i * 128 + threadIdx.x] = d[i];
        wgmma_wait<0>();
      }`);
    assert.notEqual(status, 0, text);
    assert.match(text, /C75\d\d/);
    assert.ok(!made);
  }).timeout(60_000);

  it('refuses warnings', () => {
    const { status, text } = compile('extern "C" __global__ void idle() { int unused; }');
    assert.notEqual(status, 0, text);
    assert.match(text, /unused/);
  }).timeout(60_000);
});
