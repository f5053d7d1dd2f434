import { randomBytes } from 'node:crypto';
import { accessSync, chmodSync, constants, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

/** Replaces a file's text in one step: a crash leaves the old file or the new one. Follows links, keeps the mode; a read-only file stays. */
export function replaceFile(path: string, text: string): void {
  const target = realpathSync(path);
  accessSync(target, constants.W_OK);
  const fresh = `${target}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    writeFileSync(fresh, text, { flag: 'wx' });
    chmodSync(fresh, statSync(target).mode & 0o7777);
    renameSync(fresh, target);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}
