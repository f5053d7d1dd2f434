/** The user's folder for what can be made again, and files in it that are written whole. */
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

/** What nobody has written anew for so long is removed. */
const STALE_MILLISECONDS = 30 * 24 * 3600 * 1000;

/** The folder for caches of this user, as the system has it; null where the environment names none, or one relative to who knows what. */
export function defaultCacheFolder(): string | null {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  const named = (folder: string | undefined, otherwise: string): string =>
    folder !== undefined && isAbsolute(folder) ? folder : join(homedir(), otherwise);
  const folder =
    process.platform === 'win32'
      ? join(named(LOCALAPPDATA, 'AppData/Local'), 'ikbo-lens/cache')
      : process.platform === 'darwin'
        ? join(homedir(), 'Library/Caches/ikbo-lens')
        : join(named(XDG_CACHE_HOME, '.cache'), 'ikbo-lens');
  return isAbsolute(folder) ? folder : null;
}

/**
 * Written beside the old file and moved into its place: a crash leaves the old one, two processes at once leave that of one. Makes
 * the folder, and removes what is stale there: files whose names are 40 hexadecimal digits and one of the extensions used here.
 * Throws what the file system says.
 */
export function writeWhole(file: string, content: string | Uint8Array, mode = 0o666): void {
  const folder = dirname(file);
  makeFolder(folder);
  const temporary = `${file}.${process.pid}.${Date.now()}.tmp`;
  try {
    writeFileSync(temporary, content, { mode });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  removeStale(folder);
}

/** Not mkdir's `recursive`: Node never returns where a parent is there and takes no folders, as /proc. */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have made it.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

function removeStale(folder: string): void {
  const now = Date.now();
  for (const name of readdirSync(folder)) {
    if (!/^[0-9a-f]{40}\.(json|code)(\.\d+\.\d+\.tmp)?$/.test(name)) continue;
    const path = join(folder, name);
    try {
      // A temporary file that old was left by a crash.
      const limit = name.endsWith('.tmp') ? 3600 * 1000 : STALE_MILLISECONDS;
      if (now - statSync(path).mtimeMs > limit) rmSync(path, { force: true });
    } catch {
      continue; // Another process was first.
    }
  }
}
