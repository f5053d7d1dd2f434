/** A result as CSV (RFC 4180 but for plain line feeds): one row per arm and regime, for spreadsheets and scripts. */
import type { BenchResult } from '../protocol/bench';

const COLUMNS = [
  ...['op', 'dims', 'dtype', 'grouping', 'device', 'date', 'regime', 'arm', 'title'],
  ...['median_ms', 'p10_ms', 'p90_ms', 'low_ms', 'high_ms', 'samples', 'gflops', 'gbytes', 'peak_bytes'],
  ...['error', 'limit', 'problem'],
];

export function csvReport({ request, environment, arms }: BenchResult): string {
  const dims = Object.entries(request.dims)
    .map(([name, size]) => `${name}=${size}`)
    .join(' ');
  const shared = [request.op, dims, request.dtype, request.grouping, environment.device.name, environment.date];
  const rows = arms.map(({ id, title, regime, timing, check, gflops, gbytes, peakBytes, problem }) => [
    ...[...shared, regime, id, title],
    ...[timing?.median, timing?.p10, timing?.p90, timing?.low, timing?.high, timing?.samples.length],
    ...[gflops, gbytes, peakBytes, check?.error, check?.limit, problem],
  ]);
  return [COLUMNS, ...rows].map((row) => `${row.map(cell).join(',')}\n`).join('');
}

function cell(value: string | number | null | undefined): string {
  const text = value === null || value === undefined ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
