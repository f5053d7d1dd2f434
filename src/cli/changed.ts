import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { reportPath } from '../project/walk';
import { UsageError } from './output';

/** Report paths of files that differ from `revision` in the working tree, untracked ones included. Throws UsageError. */
export function changedSince(root: string, revision: string): ReadonlySet<string> {
  const git = (...args: string[]): string => {
    try {
      return execFileSync('git', args, {
        cwd: root,
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
  const top = git('rev-parse', '--show-toplevel').trim();
  const changed = git('diff', '--name-only', '-z', '--diff-filter=d', revision, '--').split('\0');
  const untracked = git('ls-files', '--others', '--exclude-standard', '-z', '--full-name').split('\0');
  return new Set([...changed, ...untracked].filter(Boolean).map((path) => reportPath(root, resolve(top, path))));
}
