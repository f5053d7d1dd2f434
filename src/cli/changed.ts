import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { heldFolder } from '../project/scope';
import { UsageError } from './output';

/**
 * Whether a file, by its absolute path, differs from `revision` in the working tree, or is new, in the repository of what is
 * named. Throws UsageError.
 */
export function changedSince(root: string, named: readonly string[], revision: string): (file: string) => boolean {
  const git = (folder: string, ...args: string[]): string => {
    try {
      return execFileSync('git', args, {
        cwd: folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        maxBuffer: 2 ** 28,
      });
    } catch (error) {
      const detail = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
      throw new UsageError(`--changed-since ${revision}: git says: ${detail || 'git is not installed'}`);
    }
  };
  if (revision.startsWith('-')) throw new UsageError(`--changed-since ${revision}: not a revision`);
  const top = git(heldFolder(root, named), 'rev-parse', '--show-toplevel').trim();
  // From the top: below a folder, git lists new files of that folder only, and the user may have made it say so of changed ones.
  const changed = git(top, 'diff', '--name-only', '--no-relative', '-z', '--diff-filter=d', revision, '--').split('\0');
  const untracked = git(top, 'ls-files', '--others', '--exclude-standard', '-z').split('\0');
  const files = new Set([...changed, ...untracked].filter(Boolean).map((path) => realOf(resolve(top, path))));
  return (file) => files.has(realOf(file));
}

/** Git names the folders that links lead to. */
function realOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
