/** What a reader of the numbers should beware of: a busy machine, caches that stay warm. */
import { loadavg } from 'node:os';
import type { BenchRequest } from '../../protocol/bench';
import type { OpenDevice } from './environment';

/** Other work on the processors: threads that wait for each other, as PyTorch's do, suffer most. */
export function busyNotes({ info, units }: OpenDevice): string[] {
  const [load = 0] = loadavg();
  if (info.kind !== 'cpu' || load < 0.5 * units) return [];
  return [
    `The machine was busy before the run (load ${load.toFixed(1)} on ${units} threads): times scatter, and those of ` +
      'multi-threaded libraries most. Repeat on an idle machine.',
  ];
}

/** `rotated`: bytes of all operands that the loops without a flush go through. */
export function cacheNotes(
  { regimes }: BenchRequest,
  { cacheBytes }: OpenDevice,
  flushed: number,
  rotated: number,
): string[] {
  const notes: string[] = [];
  if (regimes.includes('flush') && flushed < cacheBytes)
    notes.push(
      `flush writes ${mebibytes(flushed)} between calls, less than the ${mebibytes(cacheBytes)} last-level cache that ` +
        'this machine reports: parts of it may stay warm.',
    );
  if (regimes.some((regime) => regime !== 'flush') && rotated < 4 * cacheBytes)
    notes.push(
      `burst and sustained run with a partly warm cache: ${mebibytes(rotated)} of operands in rotation against ` +
        `${mebibytes(cacheBytes)} of cache.`,
    );
  return notes;
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
