/** The command in its main thread. */
import { BaselineError } from '../project/baseline';
import { defaultCacheFolder } from '../project/cache-folder';
import { undoLimits } from '../project/collect';
import { ConfigError } from '../project/config';
import { program } from './program';
import { EXIT, UsageError } from './output';
import { createContext } from './context';

/** Mistakes in the call or in the project's own files: said without a stack. */
const isUserError = (error: unknown): error is Error =>
  error instanceof UsageError || error instanceof ConfigError || error instanceof BaselineError;

/** Runs the command line of the process, and then calls `keep` with how many files were checked anew: see `kept-code.ts`. */
export function run(keep: (work: number) => void): void {
  // Output piped into `head` ends early; that is no failure of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.clean);
    throw error;
  });
  const output = {
    out: (text: string) => process.stdout.write(text),
    error: (text: string) => process.stderr.write(text),
    color: process.stdout.isTTY && process.env['NO_COLOR'] === undefined,
  };
  let checked = 0;
  const onChecked = (files: number): void => void (checked += files);
  program(createContext(process.cwd(), __dirname, output, defaultCacheFolder(), onChecked), process.argv)
    .then((code) => {
      process.exitCode = code;
      undoLimits();
      keep(checked);
    })
    .catch((error: unknown) => {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.stderr.write(isUserError(error) ? `ikbo: ${error.message}\n` : `ikbo: internal error: ${detail}\n`);
      process.exitCode = EXIT.failed;
    });
}
