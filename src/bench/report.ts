/** A result as Markdown: what was measured where, a table per regime, the verdicts, and what to beware of. */
import { BROADCAST_EXCLUDED, AS_WRITTEN, CANDIDATE_ALONE } from './arms';
import { bytes, milliseconds, significant, times } from './format';
import { OPS } from '../protocol/dims';
import { regimeText, type ArmResult, type BenchResult, type Comparison, type Regime } from '../protocol/bench';

export function markdownReport(result: BenchResult): string {
  const { request, environment, warnings } = result;
  const { device, date, version, ceilings } = environment;
  const dims = OPS[request.op].dims.map(({ name }) => `${name} ${request.dims[name]}`).join(', ');
  const lines = [
    `# ${OPS[request.op].title}`,
    '',
    `${dims}; ${request.dtype}, ${request.grouping} groups, seed ${request.seed}.`,
    `Measured on ${device.name} (${device.detail}) at ${date} with IKBO Lens ${version}.`,
  ];
  if (device.kind === 'cpu') lines.push('This is a CPU: no claim about a GPU follows from these numbers.');
  if (ceilings)
    lines.push(
      `Ceilings measured in the same run: ${significant(ceilings.gflops)} GFLOP/s (large product), ` +
        `${significant(ceilings.gbytes)} GB/s (large copy).`,
    );
  for (const regime of request.regimes) lines.push('', ...regimeTable(result, regime), '', ...verdicts(result, regime));
  if (warnings.length > 0) lines.push('', '## Beware', '', ...warnings.map((warning) => `- ${warning}`));
  return `${lines.join('\n')}\n`;
}

function regimeTable(result: BenchResult, regime: Regime): string[] {
  return [
    `## ${regime}`,
    '',
    regimeText(regime)?.how ?? '',
    '',
    '| Arm | Time | 95 % interval | Against as written | GFLOP/s | GB/s | Memory | Error |',
    '| --- | --: | --: | --: | --: | --: | --: | --: |',
    ...result.arms.filter((arm) => arm.regime === regime).map((arm) => row(result, arm)),
  ];
}

function row(result: BenchResult, arm: ArmResult): string {
  const { timing, check } = arm;
  const compared = comparison(result, arm.regime, AS_WRITTEN, arm.id);
  const cells = [
    arm.title,
    timing ? milliseconds(timing.median) : (arm.problem ?? 'not measured'),
    timing ? `${milliseconds(timing.low)} to ${milliseconds(timing.high)}` : '',
    compared ? (compared.verdict === 'no difference' ? 'no difference' : times(compared.ratio)) : '',
    arm.gflops === null ? '' : significant(arm.gflops),
    arm.gbytes === null ? '' : significant(arm.gbytes),
    arm.peakBytes === null ? '' : bytes(arm.peakBytes),
    check && Number.isFinite(check.error) ? check.error.toExponential(1) : '',
  ];
  return `| ${cells.map((cell) => cell.replace(/\|/g, '\\|')).join(' | ')} |`;
}

/** One line per comparison, but for ready copies, which nobody's program starts from, and for part of the operator. */
function verdicts(result: BenchResult, regime: Regime): string[] {
  const title = (id: string): string => result.arms.find((arm) => arm.id === id)?.title ?? id;
  return result.comparisons
    .filter((each) => each.regime === regime && each.arm !== BROADCAST_EXCLUDED && !CANDIDATE_ALONE.includes(each.arm))
    .map((each) => `- ${title(each.arm)} against ${title(each.base)}: ${verdict(each)}`);
}

function verdict({ verdict, ratio, low, high, p }: Comparison): string {
  const numbers = `${times(ratio)}, 95 % interval ${times(low)} to ${times(high)}, p ${p < 0.001 ? '< 0.001' : p.toFixed(3)}`;
  return `**${verdict}** (${numbers})`;
}

function comparison(result: BenchResult, regime: Regime, base: string, arm: string): Comparison | undefined {
  return result.comparisons.find((each) => each.regime === regime && each.base === base && each.arm === arm);
}
