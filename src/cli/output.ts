/** Where a subcommand writes, and how it ends. Injected, so that tests run the real commands in process. */
export interface Output {
  out(text: string): void;
  error(text: string): void;
  readonly color: boolean;
}

/** Exit codes of every subcommand, as documented in the README and `ikbo --help`. */
export const EXIT = { clean: 0, findings: 1, failed: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A mistake in how the command was called; printed without a stack. */
export class UsageError extends Error {}
