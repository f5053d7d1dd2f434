/** The operands of one benchmark in the device's memory, and the shape and arguments that each arm runs on. */
import type { Work } from '../arms';
import type { Plan } from '../plan';
import { BYTES_PER_ELEMENT } from '../../protocol/dims';
import type { Addon, Args, Device, Memory, Shape } from './addon';

/** What an arm hands to the library. The sets of arguments differ in their inputs only: calls rotate through them. */
export interface Call {
  readonly shape: Shape;
  readonly args: readonly Args[];
}

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

type Named = Readonly<Record<string, Memory>>;

/** The copies that "broadcast excluded" starts from: what the code as written would have made. */
function materialize(plan: Plan, set: Named, allocate: (bytes: number) => Memory): Named {
  const { op, dims, dtype } = plan.request;
  const { B = 0, Ku = 0, Kc = 0, S = 0, Hkv = 0, D = 0 } = dims;
  const size = BYTES_PER_ELEMENT[dtype];
  const copy = (to: Memory, from: Memory | undefined, item: number, at: number, stride: number, rows: Int32Array) => {
    if (from) to.replicate(from, item, item, at, stride, rows);
  };
  if (op === 'attention') {
    const item = S * Hkv * D * size;
    const [k, v] = [allocate(B * item), allocate(B * item)];
    copy(k, set['k'], item, 0, item, plan.index);
    copy(v, set['v'], item, 0, item, plan.index);
    return { ...set, k, v };
  }
  const columns = op === 'linear-compression' ? (dims['N'] ?? 0) : 1;
  const [user, candidate] = [Ku * columns * size, Kc * columns * size];
  const whole = allocate(B * (user + candidate));
  const every = plan.index.map((_, row) => row);
  copy(whole, set['user'], user, 0, user + candidate, plan.index);
  copy(whole, set['candidate'], candidate, user, user + candidate, every);
  return { whole };
}

interface Operands {
  readonly inputs: readonly Named[];
  readonly weight: Memory | null;
  readonly index: Memory;
  readonly out: Memory;
  readonly copies: () => readonly Named[];
}

function callOf(plan: Plan, work: Work & { kind: 'stage' }, operands: Operands): Call {
  const { op, dims, dtype } = plan.request;
  const { B = 0, U = 0, Ku = 0, Kc = 0, M = 0, N = 0, Q = 0, S = 0, H = 0, Hkv = 0, D = 0 } = dims;
  const { weight, index, out } = operands;
  const copied = work.input === 'copies';
  const sets = copied ? operands.copies() : operands.inputs;
  const repeats = plan.repeats;
  const map = repeats === null ? { map: 'index', indexBits: 32 } : { map: 'repeats', repeats };
  const common = { kind: op, dtype, stage: work.stage };
  const args = (make: (set: Named) => Args): Args[] => sets.map(make);
  const of = (set: Named, name: string): Memory | null => set[name] ?? null;
  if (op === 'concat-linear') {
    const blocks = copied
      ? [{ rows: B, width: Ku + Kc }]
      : [
          { rows: U, width: Ku, ...map },
          { rows: B, width: Kc },
        ];
    return {
      shape: { ...common, rows: B, outputs: M, blocks },
      args: args((set) => ({
        x: copied ? [of(set, 'whole')] : [of(set, 'user'), of(set, 'candidate')],
        index: [index, null],
        weight,
        out,
      })),
    };
  }
  if (op === 'linear-compression') {
    const parts = copied
      ? { users: B, userWidth: 0, candidateWidth: Ku + Kc }
      : { users: U, userWidth: Ku, candidateWidth: Kc, ...map };
    return {
      shape: { ...common, batch: B, outputs: M, columns: N, ...parts },
      args: args((set) => ({
        user: of(set, 'user'),
        candidate: of(set, copied ? 'whole' : 'candidate'),
        index,
        weight,
        out,
      })),
    };
  }
  const rows =
    work.input === 'folded'
      ? { batch: U, users: U, queries: (B / U) * Q }
      : copied
        ? { batch: B, users: B, queries: Q }
        : { batch: B, users: U, queries: Q, ...map };
  return {
    shape: { ...common, ...rows, heads: H, keyHeads: Hkv, headWidth: D, keys: S, scale: 1 / Math.sqrt(D) },
    args: args((set) => ({ q: of(set, 'q'), k: of(set, 'k'), v: of(set, 'v'), index, out })),
  };
}
