/** The measuring rounds: every arm once a round, A B C A B C, so that drift hits all alike. */
import type { Regime } from '../../protocol/bench';
import type { ReadyArm } from './arm-run';

export interface RoundHooks {
  sample(arm: string, regime: Regime, milliseconds: number): void;
  /** Share of the budget used, 0 to 1. */
  progress(round: number, share: number): Promise<void>;
  /** Throws when the run was cancelled; also lets messages come in. */
  breathe(): Promise<void>;
}

/** The least and the greatest of five samples enclose the median with 94 %, of four with 88; more than the most say nothing new. */
const LEAST_ROUNDS = 5;
const MOST_ROUNDS = 200;

/** Samples by arm. Stops when the seconds are used up, but not before the least number of rounds. */
export async function measureRounds(
  arms: readonly ReadyArm[],
  regime: Regime,
  seconds: number,
  hooks: RoundHooks,
): Promise<Map<string, number[]>> {
  const timed = arms.flatMap(({ arm, sampler }) => (sampler ? [{ id: arm.id, sampler }] : []));
  const samples = new Map(timed.map(({ id }) => [id, [] as number[]]));
  for (const { sampler } of timed) {
    await hooks.breathe();
    await sampler.prepare(regime);
  }
  const start = performance.now();
  const used = (): number => (performance.now() - start) / 1000 / seconds;
  for (let round = 0; timed.length > 0 && round < MOST_ROUNDS && (round < LEAST_ROUNDS || used() < 1); round++) {
    for (const { id, sampler } of timed) {
      await hooks.breathe();
      const milliseconds = await sampler.sample(regime);
      samples.get(id)?.push(milliseconds);
      hooks.sample(id, regime, milliseconds);
    }
    await hooks.progress(round + 1, Math.min(1, used()));
  }
  return samples;
}
