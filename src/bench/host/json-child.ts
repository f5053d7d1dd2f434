/** A further child process as an opponent: questions and answers are JSON lines, one at a time. */
import { spawn } from 'node:child_process';
import type { DeviceInfo, Op, Regime } from '../../protocol/bench';
import { lines } from '../wire';
import { pause, turnOf, type Sampler } from './sampler';

/** torch.compile may take minutes on a cold cache; everything else is quick. */
const PATIENCE_MILLISECONDS = 300_000;

export type Answer = Readonly<Record<string, unknown>>;

export interface JsonChild {
  /** Rejects with the child's own words: of its answer `{ error }`, or its last line when it has ended. */
  ask(question: Answer): Promise<Answer>;
  kill(): void;
}

export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Called while an answer takes long, so that the host shows a sign of life. */
  readonly alive: () => void;
}

export function startChild({ command, args, alive }: ChildCommand): JsonChild {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | null = null;
  let errors = '';
  let ended: string | null = null;
  const fail = (message: string): void => {
    ended ??= message;
    waiting?.reject(new Error(ended));
    waiting = null;
  };
  child.on('error', (error) => fail(`${command} cannot be started: ${error.message}`));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4000)));
  child.on('close', () => fail(`${command} ended: ${errors.trim().split('\n').pop() ?? 'without a word'}`));
  child.stdin.on('error', () => undefined); // its end is reported by 'close'
  child.stdout.setEncoding('utf8').on(
    'data',
    lines((line) => {
      const answer = JSON.parse(line) as Answer;
      const failed = answer['error'];
      if (typeof failed === 'string') waiting?.reject(new Error(failed));
      else waiting?.resolve(answer);
      waiting = null;
    }),
  );
  const ask = async (question: Answer): Promise<Answer> => {
    if (ended !== null) throw new Error(ended);
    const heartbeat = setInterval(alive, 1000);
    const limit = setTimeout(() => {
      fail(`${command} did not answer within ${PATIENCE_MILLISECONDS / 1000} s`);
      child.kill('SIGKILL');
    }, PATIENCE_MILLISECONDS);
    try {
      return await new Promise<Answer>((resolve, reject) => {
        waiting = { resolve, reject };
        child.stdin.write(`${JSON.stringify(question)}\n`);
      });
    } finally {
      clearInterval(heartbeat);
      clearTimeout(limit);
    }
  };
  return { ask, kill: () => void child.kill('SIGKILL') };
}

export interface ChildTimes {
  /** Milliseconds of one call. */
  readonly once: number;
  readonly op: Op;
  readonly kind: DeviceInfo['kind'];
  readonly flushBytes: number;
}

/** `question` is a sample to take; the turn and the bytes to flush are added, the same as for the library's own arms. */
export function childSampler(child: JsonChild, question: Answer, times: ChildTimes): Sampler {
  const ask = (regime: Regime): Promise<Answer> => {
    const turn = turnOf(regime, times.op, times.once, times.kind);
    return child.ask({ ...question, ...turn, flushBytes: regime === 'flush' ? times.flushBytes : 0 });
  };
  return {
    prepare: async (regime) => void (await ask(regime)),
    async sample(regime) {
      const { idle } = turnOf(regime, times.op, times.once, times.kind);
      if (idle > 0) await pause(idle);
      return numberOf(await ask(regime), 'milliseconds');
    },
    close: () => undefined,
  };
}

export function numberOf(answer: Answer, name: string): number {
  const value = answer[name];
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`the answer of a child has no ${name}`);
  return value;
}
