import { listDevices, runBench } from '../bench/client';
import { presets } from '../bench/presets';
import { markdownReport } from '../bench/report';
import { completeRequest, requestForFinding } from '../bench/request';
import type { Finding } from '../core/finding';
import { isModel } from '../project/check-files';
import { configFor } from '../project/scope';
import { findPython } from '../project/interpreter';
import type { BenchRequest, Dims, Dtype, Grouping, Op, Regime } from '../protocol/bench';
import { checkDims, OPS } from '../protocol/dims';
import { isModelPlace, lineOfNode, modelRun } from './bench-model';
import { hostOptions, type Context } from './context';
import { toUsageError } from './devices';
import { benchText } from './formats/bench-text';
import { EXIT, UsageError, type ExitCode } from './output';
import { findingsAt } from './place';
import { parseSizes } from './sizes';

export interface BenchArguments {
  readonly op?: Op;
  readonly preset?: string;
  readonly shape: string;
  readonly finding?: string;
  readonly device?: string;
  readonly dtype?: Dtype;
  readonly grouping?: Grouping;
  readonly regime: Regime | 'all';
  readonly arms?: string;
  readonly seconds: number;
  readonly seed: number;
  readonly python?: string;
  readonly json: boolean;
  readonly markdown: boolean;
}

/** `ikbo bench`: 0 when every arm that ran was right, 1 when one failed its check, 2 when nothing could be measured. */
export async function bench(context: Context, given: BenchArguments): Promise<ExitCode> {
  if (given.preset === 'list') {
    for (const { name, title, detail } of presets) context.output.out(`${name.padEnd(24)} ${title}: ${detail}\n`);
    return EXIT.clean;
  }
  const device = given.device ?? (await bestDevice(context));
  const { finding, ...measured } = await shapes(context, given, device);
  const request = completeRequest({
    ...measured,
    device,
    regimes: given.regime === 'all' ? ['burst', 'flush', 'sustained'] : [given.regime],
    arms: given.arms?.split(',') ?? null,
    seconds: given.seconds,
    seed: given.seed,
    // An interpreter without torch is reported by the host and costs nothing else.
    python: given.python === 'none' ? null : findPython(context.root, given.python ?? null),
    ...(finding && isModel(finding.path)
      ? {
          model: modelRun(context, finding, {
            ...configFor(context.root, [finding.path]).shapes,
            ...parseSizes(given.shape),
          }),
        }
      : {}),
  });
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  process.once('SIGINT', stop);
  try {
    const result = await runBench(request, {
      ...hostOptions(context),
      signal: abort.signal,
      onProgress: progress(context),
    }).catch(toUsageError);
    if (given.json) context.output.out(`${JSON.stringify(result, null, 2)}\n`);
    else context.output.out(given.markdown ? markdownReport(result) : benchText(result));
    return result.arms.some((arm) => arm.check?.ok === false) ? EXIT.findings : EXIT.clean;
  } finally {
    process.off('SIGINT', stop);
  }
}

async function bestDevice(context: Context): Promise<string> {
  const { devices } = await listDevices(hostOptions(context)).catch(toUsageError);
  return (devices.find((device) => device.kind === 'cuda') ?? devices[0])?.id ?? 'cpu';
}

/** Progress goes to the error stream, so that the result can be piped. */
function progress(context: Context): (at: { stage: string; done: number; total: number }) => void {
  let last = '';
  return ({ stage, done, total }) => {
    if (context.output.color) context.output.error(`\r\x1b[K${done < total ? `${stage} ${done}/${total}` : ''}`);
    else if (stage !== last) context.output.error(`${stage}\n`);
    last = stage;
  };
}

type Shapes = Pick<BenchRequest, 'op' | 'dims'> & Partial<Pick<BenchRequest, 'dtype' | 'grouping'>>;
type Measurable = Shapes & { readonly finding?: Finding };

/** What to measure: a finding's shapes, or a preset's, with single sizes replaced by --shape. Throws UsageError. */
async function shapes(context: Context, given: BenchArguments, device: string): Promise<Measurable> {
  const sizes = parseSizes(given.shape);
  const start =
    given.finding === undefined ? fromPreset(given, device) : await fromFinding(context, given.finding, sizes);
  const known = new Set(OPS[start.op].dims.map(({ name }) => name));
  // A model's own symbols are sizes, too.
  const free = given.finding !== undefined && isModelPlace(given.finding);
  const unknown = Object.keys(sizes).filter((name) => !known.has(name) && !free);
  if (unknown.length > 0)
    throw new UsageError(`--shape: ${start.op} has no size ${unknown.join(', ')}; it has ${[...known].join(', ')}`);
  const dims = {
    ...start.dims,
    ...Object.fromEntries(Object.entries(sizes).filter(([name]) => known.has(name) && !free)),
  };
  const problems = Object.entries(checkDims(start.op, dims)).map(([name, problem]) => `${name}: ${problem}`);
  if (problems.length > 0) throw new UsageError(`--shape: ${problems.join(' ')}`);
  return {
    ...start,
    dims,
    ...(given.dtype ? { dtype: given.dtype } : {}),
    ...(given.grouping ? { grouping: given.grouping } : {}),
  };
}

function fromPreset({ preset, op }: BenchArguments, device: string): Shapes {
  const fits = (name: string): boolean => name.startsWith('cpu-') === (device === 'cpu');
  const wanted = op ?? 'concat-linear';
  const found =
    preset === undefined
      ? presets.find(({ name, request }) => request.op === wanted && fits(name))
      : presets.find(({ name }) => name === preset);
  if (!found) throw new UsageError(`no preset ${preset ?? `for ${wanted}`}; \`ikbo bench --preset list\` shows them`);
  if (op !== undefined && found.request.op !== op)
    throw new UsageError(`--preset ${found.name} measures ${found.request.op}, not ${op}`);
  return found.request;
}

async function fromFinding(context: Context, place: string, sizes: Dims): Promise<Measurable> {
  // Sizes of a model are those of its inputs; of a source file, those of the operator.
  const model = isModelPlace(place);
  const at = lineOfNode(context, place);
  const { findings: here } = await findingsAt(context, `--finding ${place}`, at, model ? sizes : {});
  const requests = here.map((finding) => ({ finding, found: requestForFinding(finding, model ? {} : sizes) }));
  const { finding, found: request } = requests.find(({ found }) => found !== null) ?? {};
  if (!request)
    throw new UsageError(`--finding ${place}: no bundled operator measures this finding (${here[0]?.rule ?? ''})`);
  if (request.missing.length > 0) {
    const named = OPS[request.request.op].dims.filter(({ name }) => request.missing.includes(name));
    const list = named.map(({ name, what }) => `${name} (${what})`).join(', ');
    throw new UsageError(
      `--finding ${place}: sizes not known: ${list}. Give them: --shape ${request.missing.map((name) => `${name}=...`).join(',')}`,
    );
  }
  return { ...request.request, ...(finding && { finding }) };
}
