#!/usr/bin/env node
import { program } from './program';
import { EXIT, UsageError } from './output';
import { createContext } from './context';

// Output piped into `head` ends early; that is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.clean);
  throw error;
});

const context = createContext(process.cwd(), __dirname, {
  out: (text) => process.stdout.write(text),
  error: (text) => process.stderr.write(text),
  color: process.stdout.isTTY && process.env['NO_COLOR'] === undefined,
});

program(context, process.argv)
  .then((code) => {
    process.exitCode = code;
  })
  .catch((error: unknown) => {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(
      error instanceof UsageError ? `ikbo: ${error.message}\n` : `ikbo: internal error: ${detail}\n`,
    );
    process.exitCode = EXIT.failed;
  });
