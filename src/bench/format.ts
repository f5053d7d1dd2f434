/** Numbers as reports print them: three significant digits, decimal units. */

export function significant(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude >= 99.95) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(magnitude >= 9.995 ? 1 : 2);
}

export function milliseconds(value: number): string {
  if (value >= 1000) return `${significant(value / 1000)} s`;
  return value >= 1 ? `${significant(value)} ms` : `${significant(value * 1000)} µs`;
}

export const times = (ratio: number): string => `${significant(ratio)}×`;

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let power = 0;
  for (; value >= 999.5 && power < units.length - 1; power++) value /= 1000;
  return `${power === 0 ? value : significant(value)} ${units[power]}`;
}
