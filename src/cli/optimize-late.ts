import { setFlagsFromString } from 'node:v8';

/**
 * V8 optimizes a function, in a thread of its own, once it has run so often. Most checks end before that pays: if it waits seven times
 * as long, they take two thirds of the processor time, of a million lines, too. Versions other than these would complain of the flag.
 * Of all threads of the process; before anything is loaded, see `launch.ts`.
 */
export function optimizeLate(): void {
  const major = Number(process.versions.node.split('.')[0]);
  if (major === 20) setFlagsFromString('--interrupt-budget=1000000');
  else if (major >= 22 && major <= 24) setFlagsFromString('--invocation-count-for-turbofan=20000');
}
