/** The operands of one benchmark in the device's memory, and the shape and arguments that each arm runs on. */
import type { Work } from '../arms';
import type { Plan } from '../plan';
import { BYTES_PER_ELEMENT } from '../../protocol/dims';
import type { Addon, Device, Memory } from './addon';
import { callOf, materialize, type Call } from './operands';

export interface Problem {
  readonly plan: Plan;
  /** Inputs by name, as natural batches; the first set is the one that is checked. */
  readonly inputs: readonly Readonly<Record<string, Memory>>[];
  readonly weight: Memory | null;
  readonly index: Memory;
  readonly out: Memory;
  /** Rows of the output that the reference can be asked for, and elements of each. */
  readonly rows: number;
  readonly rowWidth: number;
  call(work: Work & { kind: 'stage' }): Call;
  /** Of the operand with this name. */
  bytesOf(name: string): number;
  /** Of one set of inputs, weight and output; of the inputs as ready copies if `copied`. */
  operandBytes(copied: boolean): number;
  free(): void;
}

interface Sizes {
  readonly inputs: Readonly<Record<string, number>>;
  readonly weight: number;
  readonly rows: number;
  readonly rowWidth: number;
}

/** Elements of each operand. */
function sizesOf({ request: { op, dims } }: Plan): Sizes {
  const { B = 0, U = 0, Ku = 0, Kc = 0, M = 0, N = 0, Q = 0, S = 0, H = 0, Hkv = 0, D = 0 } = dims;
  switch (op) {
    case 'concat-linear':
      return { inputs: { user: U * Ku, candidate: B * Kc }, weight: M * (Ku + Kc), rows: B, rowWidth: M };
    case 'linear-compression':
      return { inputs: { user: U * Ku * N, candidate: B * Kc * N }, weight: M * (Ku + Kc), rows: B * M, rowWidth: N };
    case 'attention':
      return {
        inputs: { q: B * Q * H * D, k: U * S * Hkv * D, v: U * S * Hkv * D },
        weight: 0,
        rows: B * Q * H,
        rowWidth: D,
      };
  }
}

export function createProblem(addon: Addon, device: Device, plan: Plan, sets: number): Problem {
  const { dtype, dims, seed } = plan.request;
  const size = BYTES_PER_ELEMENT[dtype];
  const sizes = sizesOf(plan);
  const owned: Memory[] = [];
  const allocate = (bytes: number): Memory => {
    const memory = new addon.Memory(device, bytes);
    owned.push(memory);
    return memory;
  };
  const random = (elements: number, stream: number, scale: number): Memory => {
    const memory = allocate(elements * size);
    memory.normal(dtype, seed * 64 + stream, scale);
    return memory;
  };
  try {
    const names = Object.entries(sizes.inputs);
    const inputs = Array.from({ length: sets }, (_, set) =>
      Object.fromEntries(names.map(([name, elements], i) => [name, random(elements, 8 * set + i, 1)])),
    );
    const width = (dims['Ku'] ?? 0) + (dims['Kc'] ?? 0);
    const weight = sizes.weight > 0 ? random(sizes.weight, 63, 1 / Math.sqrt(width)) : null;
    const index = allocate(plan.index.byteLength);
    index.upload(rawBytes(plan.index), 0);
    const out = allocate(sizes.rows * sizes.rowWidth * size);
    const copies = lazily(() => inputs.map((set) => materialize(plan, set, allocate)));
    const call = (work: Work & { kind: 'stage' }): Call => callOf(plan, work, { inputs, weight, index, out, copies });
    const bytesOf = (name: string): number => (name === 'weight' ? sizes.weight : (sizes.inputs[name] ?? 0)) * size;
    const operandBytes = (copied: boolean): number => {
      const natural = Object.values(sizes.inputs).reduce((sum, elements) => sum + elements, 0);
      const { B = 0, U = 0 } = dims;
      const user = plan.request.op === 'attention' ? natural - (sizes.inputs['q'] ?? 0) : (sizes.inputs['user'] ?? 0);
      const inputs = copied ? natural - user + (user / U) * B : natural;
      return (inputs + sizes.weight + sizes.rows * sizes.rowWidth) * size;
    };
    const free = (): void => owned.forEach((memory) => memory.free());
    return {
      plan,
      inputs,
      weight,
      index,
      out,
      rows: sizes.rows,
      rowWidth: sizes.rowWidth,
      call,
      bytesOf,
      operandBytes,
      free,
    };
  } catch (error) {
    owned.forEach((memory) => memory.free());
    throw error;
  }
}

export const rawBytes = (array: Int32Array | Float64Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function lazily<T>(make: () => T): () => T {
  let value: { made: T } | null = null;
  return () => (value ??= { made: make() }).made;
}
