#!/usr/bin/env node
/** What starts the command, and each of its checking threads: one bundle, so that its code is kept once for both. */
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { defaultCacheFolder } from '../project/cache-folder';
import type * as Command from './command';
import { loadKept } from './kept-code';
import { optimizeLate } from './optimize-late';

// Before anything is loaded: V8 takes no code that was compiled under other flags, which are those of all threads. A language server
// stays, and is optimized as ever.
if (isMainThread && process.argv[2] !== 'lsp') optimizeLate();

const { exports, keep } = loadKept(
  join(__dirname, 'command.js'),
  require,
  process.env['NODE_DISABLE_COMPILE_CACHE'] === undefined ? defaultCacheFolder() : null,
);
const { run, serve } = exports as typeof Command;
if (isMainThread) run(keep);
else void serve();
