/** `ikbo check --watch`: checks again when something below the given paths changes, until Ctrl-C. */
import { mkdtempSync, rmSync, watch as watchFolder, type FSWatcher } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { BaselineError } from '../project/baseline';
import { isChecked } from '../project/check-files';
import { ConfigError } from '../project/config';
import type { Analysed } from './analyse';
import type { Context } from './context';
import { deltaReport } from './formats/delta';
import { UsageError } from './output';

/** Editors write a file in several steps; what follows within this time belongs together. */
const QUIET_MILLISECONDS = 100;

/** Files besides sources that decide what is reported. */
const DECIDING = /^(ikbo\.toml|pyproject\.toml|\.gitignore|\.ikboignore)$|\.(json|txt|cfg)$/;

/** A folder has no extension as a rule; anything else with one is none of ours. */
const matters = (name: string | null): boolean =>
  name === null || isChecked(name) || DECIDING.test(name) || extname(name) === '';

export interface Watching {
  /** One check of everything as it is now; `cache` is where results are kept meanwhile. */
  readonly run: (cache: string) => Promise<Analysed>;
  /** The whole report, printed first; and again after each change in formats that are no text. */
  readonly print: (analysed: Analysed) => void;
  /** Folders to watch besides those that were looked through, as they are now. */
  readonly beside: () => readonly string[];
  /** Print only what is new and what is gone. */
  readonly deltas: boolean;
  /** Kept results; null: for this run only. */
  readonly cache: string | null;
}

/** Resolves to the last result, when the user ends it. Rejects when the folders cannot be watched. */
export async function watch(context: Context, watching: Watching): Promise<Analysed> {
  const cache = watching.cache ?? mkdtempSync(join(tmpdir(), 'ikbo-watch-'));
  const watchers = new Map<string, FSWatcher>();
  let wake: () => void = () => undefined;
  let dirty = false;
  let ended = false;
  const change = (): void => {
    dirty = true;
    wake();
  };
  const end = (): void => {
    ended = true;
    wake();
  };
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  try {
    let last = await watching.run(cache);
    follow(watchers, [...last.folders, ...watching.beside()], change);
    watching.print(last);
    if (last.folders.length === 0) throw new UsageError('--watch: nothing that is named is there to be watched');
    context.output.error('watching for changes; Ctrl-C ends\n');
    while (!ended) {
      // Changes while a check ran are not missed: the flag was set.
      if (!dirty) await new Promise<void>((done) => (wake = done));
      if (ended) break;
      await new Promise((done) => setTimeout(done, QUIET_MILLISECONDS));
      dirty = false;
      const next = await attempt(context, () => watching.run(cache));
      if (!next) continue;
      follow(watchers, [...next.folders, ...watching.beside()], change);
      if (watching.deltas) context.output.out(deltaReport(last, next, context.output.color));
      else watching.print(next);
      last = next;
    }
    return last;
  } finally {
    process.off('SIGINT', end);
    process.off('SIGTERM', end);
    for (const one of watchers.values()) one.close();
    if (watching.cache === null) rmSync(cache, { recursive: true, force: true });
  }
}

/** A mistake in a file that is being edited is said, and the next change tried again. */
async function attempt(context: Context, run: () => Promise<Analysed>): Promise<Analysed | undefined> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof BaselineError)) throw error;
    context.output.error(`ikbo: ${error.message}\n`);
    return undefined;
  }
}

/** Watches exactly these folders. */
function follow(watchers: Map<string, FSWatcher>, folders: readonly string[], change: () => void): void {
  const wanted = new Set(folders);
  for (const [folder, watcher] of watchers) {
    if (wanted.has(folder)) continue;
    watcher.close();
    watchers.delete(folder);
  }
  for (const folder of wanted) {
    if (watchers.has(folder)) continue;
    try {
      const watcher = watchFolder(folder, (_, name) => {
        if (matters(name)) change();
      });
      watcher.on('error', change); // The folder is gone: the next check finds out.
      watchers.set(folder, watcher);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      if (code === 'ENOENT') continue;
      throw new UsageError(
        `--watch: ${folder} cannot be watched (${code})${code === 'ENOSPC' ? '; raise fs.inotify.max_user_watches, or name fewer folders' : ''}`,
      );
    }
  }
}
