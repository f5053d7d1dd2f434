#!/usr/bin/env node
import { BaselineError } from '../project/baseline';
import { defaultCacheFolder } from '../project/cache';
import { ConfigError } from '../project/config';
import { program } from './program';
import { EXIT, UsageError } from './output';
import { createContext } from './context';

// Output piped into `head` ends early; that is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.clean);
  throw error;
});

/** Mistakes in the call or in the project's own files: said without a stack. */
const isUserError = (error: unknown): error is Error =>
  error instanceof UsageError || error instanceof ConfigError || error instanceof BaselineError;

const output = {
  out: (text: string) => process.stdout.write(text),
  error: (text: string) => process.stderr.write(text),
  color: process.stdout.isTTY && process.env['NO_COLOR'] === undefined,
};
const context = createContext(process.cwd(), __dirname, output, defaultCacheFolder());

program(context, process.argv)
  .then((code) => {
    process.exitCode = code;
  })
  .catch((error: unknown) => {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(isUserError(error) ? `ikbo: ${error.message}\n` : `ikbo: internal error: ${detail}\n`);
    process.exitCode = EXIT.failed;
  });
