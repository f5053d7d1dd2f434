/** A benchmark's result for a terminal. */
import { regimeText, type BenchResult, type Comparison, type Regime } from '../../protocol/bench';
import { OPS } from '../../protocol/dims';

/** A ceiling that an arm passes by less is that of the run's own spread. */
const NOISE = 1.05;

export function benchText(result: BenchResult): string {
  const { request, environment } = result;
  const dims = Object.entries(request.dims).map(([name, size]) => `${name}=${size}`);
  const head = [
    `${OPS[request.op].title}, ${request.dtype}, ${request.grouping}: ${dims.join(' ')}`,
    `${environment.device.name} (${environment.device.detail}), ${environment.date}`,
  ];
  const tables = request.regimes.map((regime) => table(regime, result));
  const ceilings = environment.ceilings;
  const tail = [
    ...(ceilings
      ? [
          `ceilings measured in this run: ${ceilings.gflops.toFixed(0)} GFLOP/s, ${ceilings.gbytes.toFixed(0)} GB/s` +
            (result.arms.some((arm) => (arm.gflops ?? 0) > ceilings.gflops * NOISE)
              ? '; an arm is above: the machine was busy while they were measured'
              : ''),
        ]
      : []),
    ...result.comparisons.map((comparison) => verdict(comparison, result)),
    ...result.warnings.map((warning) => `warning: ${warning}`),
  ];
  return [...head, '', ...tables, '', ...tail].join('\n') + '\n';
}

function table(regime: Regime, { arms: all }: BenchResult): string {
  const arms = all.filter((arm) => arm.regime === regime);
  const rows = arms.map((arm) => {
    if (!arm.timing) return [arm.title, arm.problem ?? 'not measured'];
    const { median, low, high } = arm.timing;
    return [
      arm.title,
      `${milliseconds(median)} ms`,
      `[${milliseconds(low)}, ${milliseconds(high)}]`,
      arm.gflops === null ? '' : `${arm.gflops.toFixed(0)} GFLOP/s`,
      arm.gbytes === null ? '' : `${arm.gbytes.toFixed(1)} GB/s`,
      arm.check ? `error ${arm.check.error.toExponential(1)}${arm.check.ok ? '' : ' WRONG'}` : '',
    ];
  });
  const widths = [0, 1, 2, 3, 4].map((at) =>
    Math.max(0, ...rows.filter((row) => row.length > 2).map((row) => row[at]?.length ?? 0)),
  );
  const width = Math.max(widths[0] ?? 0, ...rows.map((row) => row[0]?.length ?? 0));
  const lines = rows.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(width) : row.length > 2 ? cell.padStart(widths[at] ?? 0) : cell))
      .join('  '),
  );
  return [`median per call, 95 % interval (${regime})`, ...lines, `${regime}: ${regimeText(regime)?.how ?? ''}`].join(
    '\n',
  );
}

function verdict({ base, arm, ratio, low, high, verdict: word, regime }: Comparison, result: BenchResult): string {
  const title = (id: string) => result.arms.find((one) => one.id === id)?.title ?? id;
  const where = result.request.regimes.length > 1 ? ` (${regime})` : '';
  return `${title(arm)} against ${title(base)}${where}: ${ratio.toFixed(2)}x [${low.toFixed(2)}, ${high.toFixed(2)}], ${word}`;
}

const milliseconds = (value: number): string => value.toPrecision(4);
