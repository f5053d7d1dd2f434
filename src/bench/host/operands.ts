/** What each arm runs on: the shape it hands to the library, and arguments for it out of the operands. */
import type { Work } from '../arms';
import type { Plan } from '../plan';
import { BYTES_PER_ELEMENT } from '../../protocol/dims';
import type { Args, Memory, Shape } from './addon';

/** What an arm hands to the library. The sets of arguments differ in their inputs only: calls rotate through them. */
export interface Call {
  readonly shape: Shape;
  readonly args: readonly Args[];
}

type Named = Readonly<Record<string, Memory>>;

/** The copies that "broadcast excluded" starts from: what the code as written would have made. */
export function materialize(plan: Plan, set: Named, allocate: (bytes: number) => Memory): Named {
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

export function callOf(plan: Plan, work: Work & { kind: 'stage' }, operands: Operands): Call {
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
