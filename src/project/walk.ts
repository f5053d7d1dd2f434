/** Finds the files to check: what is named, and what lies below a named directory and is not ignored. */
import { readFileSync, readdirSync, realpathSync, statSync, type Dirent } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import type { ReportError } from '../core/finding';

/** Never entered, whatever the ignore files say. */
export const SKIPPED_FOLDERS = new Set([
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '__pycache__',
  '.ipynb_checkpoints',
  '.venv',
  'venv',
  '.tox',
  '.nox',
]);

export interface Walk {
  /** Absolute paths, sorted by report path, without duplicates. */
  readonly files: readonly string[];
  /** Absolute paths of the folders that were entered, and of those that hold named files. */
  readonly folders: readonly string[];
  readonly errors: readonly ReportError[];
}

/** A path as reports name it: relative to `root`, with forward slashes. Both are absolute, as `join` and `resolve` give them. */
export function reportPath(root: string, absolute: string): string {
  const folder = root.endsWith(sep) ? root : `${root}${sep}`;
  // Nearly all are below it, and `relative` takes as long as all else that is done for a file whose result is kept.
  const path = absolute.startsWith(folder) ? absolute.slice(folder.length) : relative(root, absolute);
  return path === '' ? '.' : path.replaceAll(sep, '/');
}

/**
 * Walks `paths` (relative to `root`). Files that are named are always taken; below directories only names that `wanted`
 * accepts, without what `.gitignore` and `.ikboignore` files exclude. Links that lead back into an open folder are reported.
 */
export function walk(root: string, paths: readonly string[], wanted: (name: string) => boolean): Walk {
  const files = new Map<string, string>();
  const folders = new Set<string>();
  const errors: ReportError[] = [];
  const fail = (path: string, error: unknown) => {
    const message = isLossy(path) ? 'its name is not UTF-8; not analysed' : describeError(error);
    errors.push({ path: reportPath(root, path), message });
  };

  /** `known` is what the folder really is, where that needs no question: a folder within a folder that is no link. */
  const visit = (folder: string, known: string | null, ignores: readonly Rules[], open: ReadonlySet<string>): void => {
    let real: string;
    let entries: Dirent[];
    try {
      real = known ?? realpathSync(folder);
      if (open.has(real)) {
        errors.push({
          path: reportPath(root, folder),
          message: 'link leads back into a folder that contains it; not followed',
        });
        return;
      }
      entries = readdirSync(folder, { withFileTypes: true });
    } catch (error) {
      fail(folder, error);
      return;
    }
    const inside = new Set(open).add(real);
    folders.add(folder);
    const own = IGNORE_FILES.filter((name) => entries.some((entry) => entry.name === name));
    const rules = [...ignores, ...rulesOf(folder, own)];
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const { name } = entry;
      const path = join(folder, name);
      try {
        // A link, or a file system that does not say what an entry is.
        const stat = entry.isFile() || entry.isDirectory() ? entry : statSync(path);
        if (stat.isDirectory()) {
          if (SKIPPED_FOLDERS.has(name) || isIgnored(rules, path, true)) continue;
          visit(path, entry.isDirectory() ? join(real, name) : null, rules, inside);
        } else if (stat.isFile() && wanted(name) && !isIgnored(rules, path, false)) {
          if (isLossy(name)) statSync(path);
          files.set(reportPath(root, path), path);
        }
      } catch (error) {
        if (wanted(name)) fail(path, error);
      }
    }
  };

  for (const given of paths) {
    if (given === '') {
      // From a variable that is not set: the whole folder is not what was meant.
      errors.push({ path: "''", message: 'an empty path; the current folder is .' });
      continue;
    }
    const path = resolve(root, given);
    try {
      const stat = statSync(path);
      if (stat.isDirectory()) visit(path, null, rulesAbove(path), new Set());
      else if (stat.isFile()) {
        files.set(reportPath(root, path), path);
        folders.add(dirname(path));
      }
      // A pipe or device may never end; `-` reads standard input.
      else errors.push({ path: reportPath(root, path), message: 'not a regular file; not analysed' });
    } catch (error) {
      fail(path, error);
    }
  }
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  return { files: sorted.map(([, absolute]) => absolute), folders: [...folders], errors };
}

/** Bytes that are no UTF-8 are replaced where names are read, and the name is then none of a file. */
const isLossy = (name: string): boolean => name.includes('\ufffd');

/** One ignore file and the folder that its patterns are relative to. */
interface Rules {
  readonly base: string;
  readonly match: Ignore;
}

const IGNORE_FILES = ['.gitignore', '.ikboignore'];

function rulesOf(folder: string, names: readonly string[]): Rules[] {
  return names.flatMap((name) => {
    try {
      return [{ base: folder, match: ignore().add(readFileSync(join(folder, name), 'utf8')) }];
    } catch {
      return []; // No such file, or not readable: nothing is ignored by it.
    }
  });
}

/** The ignore files of the folders above, up to the repository's root, outermost first. */
function rulesAbove(folder: string): Rules[] {
  const chain: string[] = [];
  for (let at = folder; ;) {
    const parent = resolve(at, '..');
    if (isRepositoryRoot(at) || parent === at) break;
    chain.unshift(parent);
    at = parent;
  }
  return chain.flatMap((at) => rulesOf(at, IGNORE_FILES));
}

function isRepositoryRoot(folder: string): boolean {
  try {
    statSync(join(folder, '.git'));
    return true;
  } catch {
    return false;
  }
}

/** The innermost file that speaks of the path decides, as in git. */
function isIgnored(rules: readonly Rules[], path: string, folder: boolean): boolean {
  for (const { base, match } of [...rules].reverse()) {
    const inside = reportPath(base, path);
    const verdict = match.test(folder ? `${inside}/` : inside);
    if (verdict.ignored) return true;
    if (verdict.unignored) return false;
  }
  return false;
}

/** Node's error codes in words that say what to do about the file. */
export function describeError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ENOENT':
      return 'no such file or directory';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'ELOOP':
      return 'too many links: a link points to itself';
    case 'EISDIR':
      return 'is a directory';
    default:
      return error instanceof Error ? error.message : String(error);
  }
}
