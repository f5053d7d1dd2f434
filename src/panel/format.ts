/** Numbers as the panel prints them: three significant digits, decimal units. */

export function milliseconds(value: number): string {
  if (value >= 1000) return `${significant(value / 1000)} s`;
  return value >= 1 ? `${significant(value)} ms` : `${significant(value * 1000)} µs`;
}

/** "4.04–4.16 ms": one unit, that of the larger end. */
export function millisecondRange(low: number, high: number): string {
  const unit = high >= 1000 ? 's' : high >= 1 ? 'ms' : 'µs';
  const scale = unit === 's' ? 1e-3 : unit === 'ms' ? 1 : 1e3;
  return `${significant(low * scale)}–${significant(high * scale)} ${unit}`;
}

export function times(ratio: number): string {
  return `${significant(ratio)}×`;
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let power = 0;
  for (; value >= 999.5 && power < units.length - 1; power++) value /= 1000;
  return `${power === 0 ? value : significant(value)} ${units[power]}`;
}

export function significant(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude >= 99.95) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(magnitude >= 9.995 ? 1 : 2);
}

export function integer(value: number): string {
  return value.toLocaleString('en-US');
}
