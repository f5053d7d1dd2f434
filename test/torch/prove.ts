import { join } from 'node:path';
import { jsonLines, root } from './python';

export interface Claim {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  /** Text of the proof: build(module), samples(), and large() where peaks are to be measured. */
  readonly proof: string;
  /** Is it to be proved under `torch.autocast`, too? */
  readonly autocast?: boolean;
}

export interface Proof {
  readonly name: string;
  readonly problems: readonly string[];
  /** Peak bytes of the allocator before and after, if the proof has large(). */
  readonly peaks: readonly [number, number] | null;
  readonly samples: number;
}

/** Runs all claims in one Python process: importing torch costs more than a proof. */
export const proveAll = (claims: readonly Claim[]): readonly Proof[] =>
  jsonLines<Proof>(
    [join(root, 'test', 'torch', 'proof.py')],
    claims.map((claim) => `${JSON.stringify(claim)}\n`).join(''),
  );
