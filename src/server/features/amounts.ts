/** Symbolic costs as people read them: "2.1 GB copied per call at B=1024". */
import type { Cost } from '../../core/finding';

/** Decimal units, as data sheets of GPUs count bandwidth. */
export function formatBytes(bytes: number): string {
  return formatScaled(bytes, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']);
}

export function formatFlops(flops: number): string {
  return formatScaled(flops, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP']);
}

/** A formula longer than this says less than nothing in a lens. */
const LONGEST_FORMULA = 48;

export function describeCopy(cost: Cost): string {
  if (cost.bytesValue !== null) return `${formatBytes(cost.bytesValue)} copied per call${describeBindings(cost)}`;
  const readable = !cost.bytes.includes('?') && cost.bytes.length <= LONGEST_FORMULA;
  return readable ? `${cost.bytes} bytes copied per call` : 'copied on every call';
}

/** " at B=1024, U=15": only the names that the formula contains. */
export function describeBindings({ bytes, bound }: Cost): string {
  const names = new Set(bytes.match(/[A-Za-z_]\w*/g));
  const used = Object.entries(bound ?? {}).filter(([name]) => names.has(name));
  return used.length > 0 ? ` at ${used.map(([name, size]) => `${name}=${size}`).join(', ')}` : '';
}

function formatScaled(value: number, units: readonly string[]): string {
  let power = 0;
  for (; value >= 999.5 && power < units.length - 1; power++) value /= 1000;
  return `${value < 9.95 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}
