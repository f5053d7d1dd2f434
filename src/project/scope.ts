/** What a run is about, by where it runs and by what it is told to look at: one folder may be named from within another. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { findConfig, type Config } from './config';

/**
 * The configuration for `paths` (relative to `root`): that of `root`, and where it has none, or where nothing that is named lies
 * below it, that of the folder that holds all that is named. Throws ConfigError.
 */
export function configFor(root: string, paths: readonly string[]): Config {
  const { held, below } = holding(root, paths);
  if (!below) return findConfig(held);
  const own = findConfig(root);
  if (own.file !== null) return own;
  const theirs = findConfig(held);
  return theirs.file === null ? own : theirs;
}

/**
 * Folders below which classes are looked for by name, the first of them that is no larger than a project: the project around,
 * wherever in it the command runs, then less.
 */
export function namingFolders(root: string, paths: readonly string[]): readonly string[] {
  const { held, below } = holding(root, paths);
  const around = below ? [projectAround(root), root] : [];
  return [...new Set([...around, projectAround(held)])];
}

/**
 * Folders in which something may appear that decides though nothing of it is looked at: configurations, and what is named and
 * is not there now.
 */
export const decidingFolders = (root: string, paths: readonly string[]): readonly string[] => [
  ...new Set([...namingFolders(root, paths), ...paths.map((path) => folderOf(resolve(root, path)))]),
];

/** The innermost folder that holds all of `paths`. */
export const heldFolder = (root: string, paths: readonly string[]): string => holding(root, paths).held;

/** The innermost folder that holds all of `paths`, and whether some of them lie below `root`. */
function holding(root: string, paths: readonly string[]): { readonly held: string; readonly below: boolean } {
  const folders = paths.map((path) => folderOf(resolve(root, path)));
  const below = folders.some((folder) => isInside(root, folder));
  const [first = root, ...others] = folders;
  return { held: others.reduce(common, first), below: below || folders.length === 0 };
}

function folderOf(path: string): string {
  try {
    return statSync(path).isDirectory() ? path : dirname(path);
  } catch {
    return dirname(path) === path ? path : folderOf(dirname(path)); // Not there: a slip, or a name for standard input.
  }
}

const isInside = (outer: string, inner: string): boolean => {
  const way = relative(outer, inner);
  return way !== '..' && !way.startsWith(`..${sep}`) && resolve(outer, way) === inner;
};

function common(a: string, b: string): string {
  let at = a;
  while (!isInside(at, b) && dirname(at) !== at) at = dirname(at);
  return at;
}

const MARKS = ['.git', 'ikbo.toml', 'pyproject.toml', 'setup.py', 'setup.cfg'];

/** The nearest folder at or above that a project begins in; where none says so, the one that its outermost package lies in. */
function projectAround(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (MARKS.some((name) => existsSync(join(at, name)))) return at;
    if (dirname(at) === at) break;
  }
  let at = folder;
  while (existsSync(join(at, '__init__.py')) && dirname(at) !== at) at = dirname(at);
  return at;
}
