/** The arms of each operator, in the order of the story they tell: from the code as written to the best. */
import { MODEL_AS_WRITTEN, MODEL_REWRITTEN, type BenchRequest, type DeviceInfo, type Op } from '../protocol/bench';

/** What an arm runs: a stage of the bundled kernels on the operator, on ready-made copies, or on another view of it. */
export type Work =
  | { readonly kind: 'stage'; readonly stage: number; readonly input: 'mapped' | 'copies' | 'folded' }
  | { readonly kind: 'torch'; readonly form: string }
  /** The whole model that the finding is in. */
  | { readonly kind: 'model' };

export interface Arm {
  readonly id: string;
  readonly title: string;
  readonly work: Work;
}

/** ikbo_stage of ikbo.h. */
export const STAGE = { materialized: 0, decomposed: 1, aligned: 2, fused: 3, warpSpecialized: 4 } as const;

export const AS_WRITTEN = 'as-written';
export const BROADCAST_EXCLUDED = 'broadcast-excluded';
/** The candidates' product alone: no program that a user could run, but what every program must do. */
export const CANDIDATE_ALONE: readonly string[] = ['torch-candidate-alone', 'torch-candidate-fastest'];
export { isModelArm, MODEL_AS_WRITTEN } from '../protocol/bench';

interface ArmSpec extends Arm {
  readonly ops: readonly Op[];
  readonly on: 'both' | 'cpu' | 'cuda';
}

const LINEAR: readonly Op[] = ['concat-linear', 'linear-compression'];
const ALL: readonly Op[] = [...LINEAR, 'attention'];

const stage = (number: number, input: 'mapped' | 'copies' | 'folded' = 'mapped'): Work => ({
  kind: 'stage',
  stage: number,
  input,
});
const torch = (form: string): Work => ({ kind: 'torch', form });
const arm = (id: string, title: string, ops: readonly Op[], on: ArmSpec['on'], work: Work): ArmSpec => ({
  id,
  title,
  ops,
  on,
  work,
});

const model: Work = { kind: 'model' };
const UPSTREAM = 'upstream-triton';
const FOLDED = 'Candidates folded into the queries';

const SPECS: readonly ArmSpec[] = [
  arm(AS_WRITTEN, 'As written: copy, then compute', ALL, 'both', stage(STAGE.materialized)),
  arm(BROADCAST_EXCLUDED, 'Broadcast excluded: on ready copies', ALL, 'both', stage(STAGE.materialized, 'copies')),
  arm('padded', 'On ready copies, K padded', LINEAR, 'cuda', stage(STAGE.aligned, 'copies')),
  arm('decomposed', 'Decomposed: two products, gather, add', LINEAR, 'both', stage(STAGE.decomposed)),
  arm('lookup', 'Lookup per candidate, no copy', ['attention'], 'both', stage(STAGE.decomposed)),
  arm('decomposed-padded', 'Decomposed, K padded', LINEAR, 'cuda', stage(STAGE.aligned)),
  arm('folded', FOLDED, ['attention'], 'cpu', stage(STAGE.fused, 'folded')),
  arm('folded', FOLDED, ['attention'], 'cuda', stage(STAGE.warpSpecialized, 'folded')),
  arm('ikbo', 'IKBO, fused', ALL, 'both', stage(STAGE.fused)),
  arm('ikbo-ws', 'IKBO, warp-specialized', ALL, 'cuda', stage(STAGE.warpSpecialized)),
  arm('torch-as-written', 'PyTorch as written', ALL, 'both', torch('as-written')),
  arm('torch-flash', 'PyTorch as written, flash backend', ['attention'], 'cuda', torch('flash')),
  arm('torch-cudnn', 'PyTorch as written, cuDNN backend', ['attention'], 'cuda', torch('cudnn')),
  arm('torch-compile', 'torch.compile as written', ALL, 'cuda', torch('compile-as-written')),
  arm('torch-decomposed', 'PyTorch decomposed', LINEAR, 'both', torch('decomposed')),
  arm('torch-decomposed-padded', 'PyTorch decomposed, K padded before', LINEAR, 'cuda', torch('decomposed-padded')),
  arm('torch-compile-decomposed', 'torch.compile decomposed', LINEAR, 'cuda', torch('compile-decomposed')),
  arm(
    'torch-compile-padded',
    'torch.compile decomposed, K padded before',
    LINEAR,
    'cuda',
    torch('compile-decomposed-padded'),
  ),
  arm('torch-folded', 'PyTorch, candidates folded into the queries', ['attention'], 'both', torch('folded')),
  arm('torch-folded-flash', 'PyTorch folded, flash backend', ['attention'], 'cuda', torch('folded-flash')),
  arm('torch-folded-cudnn', 'PyTorch folded, cuDNN backend', ['attention'], 'cuda', torch('folded-cudnn')),
  arm('torch-varlen', 'PyTorch varlen_attn, a sequence per user', ['attention'], 'cuda', torch('varlen')),
  arm(
    'torch-candidate-alone',
    "PyTorch, the candidates' product alone: a bound",
    LINEAR,
    'both',
    torch('candidate-alone'),
  ),
  arm(
    'torch-candidate-fastest',
    "The same by cuBLAS's fastest algorithm: a bound",
    LINEAR,
    'cuda',
    torch('candidate-fastest'),
  ),
  arm('torch-ikbo-lens', 'ikbo_lens, as rewritten code calls it', ALL, 'cuda', torch('ikbo-lens')),
  arm(MODEL_AS_WRITTEN, 'Whole model in onnxruntime (CPU), as it is', ALL, 'both', model),
  arm(MODEL_REWRITTEN, 'Whole model in onnxruntime (CPU), rewritten', ALL, 'both', model),
  arm(UPSTREAM, 'Upstream Triton kernels', ['linear-compression', 'attention'], 'cuda', torch('upstream')),
];

/** Folding needs equal, sorted groups: the candidates of a user become more query rows of that user. */
export function folds(request: Pick<BenchRequest, 'op' | 'dims' | 'grouping'>): boolean {
  const { B = 0, U = 0 } = request.dims;
  return request.op === 'attention' && request.grouping === 'uniform' && U > 0 && B % U === 0;
}

/** The arms that exist for a request, chosen or not. */
export function armsFor(
  request: Pick<BenchRequest, 'op' | 'dims' | 'grouping' | 'python' | 'model'>,
  kind: DeviceInfo['kind'],
): readonly Arm[] {
  const { Ku = 0, Kc = 0, H = 0, Hkv = 0 } = request.dims;
  return SPECS.filter(({ id, ops, on, work }) => {
    if (!ops.includes(request.op) || (on !== 'both' && on !== kind)) return false;
    if (work.kind === 'torch' && request.python === null) return false;
    if (work.kind === 'model' && !request.model) return false;
    if (id.startsWith('torch') && id.endsWith('padded')) return Ku % 8 !== 0 || Kc % 8 !== 0;
    if (id.includes('folded')) return folds(request);
    if (id === UPSTREAM && H !== Hkv) return false; // has no groups of heads
    return id !== 'torch-varlen' || !folds(request);
  }).map(({ id, title, work }) => ({ id, title, work }));
}
