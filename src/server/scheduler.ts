/** Runs a job per key once its key has been quiet for a while. */
export interface Scheduler {
  /** Starts or restarts the wait. */
  schedule(key: string, delay: number): void;
  cancel(key: string): void;
}

/**
 * A timer that fires does not run its job at once but lets the event loop read what arrived meanwhile: a newer change
 * then restarts the wait, and the job that would have been stale is never run.
 */
export function createScheduler(job: (key: string) => void): Scheduler {
  const waiting = new Map<string, NodeJS.Timeout | NodeJS.Immediate>();
  const drop = (key: string) => {
    const handle = waiting.get(key);
    if (handle === undefined) return;
    clearTimeout(handle as NodeJS.Timeout);
    clearImmediate(handle as NodeJS.Immediate);
    waiting.delete(key);
  };
  return {
    cancel: drop,
    schedule(key, delay) {
      drop(key);
      const due = () => {
        const turn = setImmediate(() => {
          waiting.delete(key);
          job(key);
        });
        waiting.set(key, turn);
      };
      waiting.set(key, setTimeout(due, delay));
    },
  };
}
