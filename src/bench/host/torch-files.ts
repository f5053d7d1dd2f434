/** Operands and outputs as raw files between this process and PyTorch: the same bits on both sides. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Dtype } from '../../protocol/bench';
import { BYTES_PER_ELEMENT } from '../../protocol/dims';
import type { Memory } from './addon';
import { rawBytes, type Problem } from './problem';

const CHUNK_BYTES = 64 * 2 ** 20;

/** One file per operand and one for the index; returns their paths by name. */
export function writeOperands(problem: Problem, folder: string): Record<string, string> {
  const [set] = problem.inputs;
  const memories: Record<string, Memory> = { ...set, ...(problem.weight ? { weight: problem.weight } : {}) };
  const files: Record<string, string> = {};
  for (const [name, memory] of Object.entries(memories)) {
    files[name] = join(folder, name);
    writeMemory(files[name], memory, problem.bytesOf(name));
  }
  files['index'] = join(folder, 'index');
  const handle = openSync(files['index'], 'w');
  writeSync(handle, rawBytes(problem.plan.index));
  closeSync(handle);
  return files;
}

function writeMemory(path: string, memory: Memory, bytes: number): void {
  const handle = openSync(path, 'w');
  try {
    for (let at = 0; at < bytes; at += CHUNK_BYTES)
      writeSync(handle, memory.download(at, Math.min(CHUNK_BYTES, bytes - at)));
  } finally {
    closeSync(handle);
  }
}

/** The named rows, `width` elements each, of an output file. */
export function readRows(path: string, dtype: Dtype, rows: readonly number[], width: number): Float64Array {
  const bytes = width * BYTES_PER_ELEMENT[dtype];
  const buffer = Buffer.alloc(bytes);
  const values = new Float64Array(rows.length * width);
  const handle = openSync(path, 'r');
  try {
    rows.forEach((row, i) => {
      if (readSync(handle, buffer, 0, bytes, row * bytes) !== bytes) throw new Error("PyTorch's output is too short");
      for (let j = 0; j < width; j++) values[i * width + j] = element(buffer, dtype, j);
    });
  } finally {
    closeSync(handle);
  }
  return values;
}

function element(buffer: Buffer, dtype: Dtype, i: number): number {
  if (dtype === 'fp32') return buffer.readFloatLE(4 * i);
  const bits = buffer.readUInt16LE(2 * i);
  if (dtype === 'bf16') {
    const wide = Buffer.alloc(4);
    wide.writeUInt16LE(bits, 2);
    return wide.readFloatLE(0);
  }
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}
