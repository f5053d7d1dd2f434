import { readdirSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import type { FileSource } from '../core/engine';
import { createRecent } from '../core/recent';
import { hashText, type Sources, type TextHash } from './cache';
import { createNaming } from './naming';
import { readText } from './read-text';

export interface ProjectFiles extends FileSource {
  /** Content hash of a file as `read` gives it, or, for `Name(`, of the list of files that `naming` gives. */
  hash(path: string): TextHash;
  /** Does the work and says which files it asked for. */
  recorded<T>(work: (files: FileSource) => T): { readonly result: T; readonly asked: Sources['asked'] };
}

/** Characters of text that are kept; what was longest not asked for is read again. */
const CAPACITY = 6_000_000;

/**
 * Other files of the project, by paths relative to `root`, read about once each; a file that cannot be read is not there. See
 * `createEngine` for the share, and `createNaming` for the folders.
 */
export function fileSource(root: string, share = 1, folders: readonly string[] = [root]): ProjectFiles {
  const texts = createRecent<string, { readonly text: string | undefined }>(share * CAPACITY);
  const hashes = new Map<string, readonly [path: string, hash: TextHash]>();
  const names = namesByFolder(root);
  const naming = createNaming(root, folders);
  const read = (path: string): string | undefined => {
    const known = texts.get(path);
    if (known) return known.text;
    const file = join(root, path);
    // Most paths that imports could mean are not there: a listing tells so for less than a failed attempt to read.
    const found = names(dirname(file)).has(basename(file)) ? readText(file) : null;
    const text = found && 'text' in found ? found.text : undefined;
    texts.set(path, { text }, text?.length ?? 0);
    hashes.delete(path);
    return text;
  };
  /** One pair for all results that depend on the file: thousands may. */
  const hashed = (path: string): readonly [string, TextHash] => {
    const known = hashes.get(path);
    if (known) return known;
    const text = path.endsWith('(') ? naming(path.slice(0, -1)).join('\n') : read(path);
    const made = [path, text === undefined ? null : hashText(text)] as const;
    hashes.set(path, made);
    return made;
  };
  return {
    read,
    naming,
    hash: (path) => hashed(path)[1],
    recorded(work) {
      // Hashed when it is read: should the file change and be read again meanwhile, the result is not taken for newer.
      const asked = new Map<string, readonly [string, TextHash]>();
      const result = work({
        read(path) {
          const text = read(path);
          if (!asked.has(path)) asked.set(path, hashed(path));
          return text;
        },
        naming(name) {
          const key = `${name}(`;
          if (!asked.has(key)) asked.set(key, hashed(key));
          return naming(name);
        },
      });
      return { result, asked: [...asked.values()] };
    },
  };
}

/** What folders below `root` hold; of one whose parent does not name it, nothing, without an attempt to list it. */
function namesByFolder(root: string): (folder: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  const names = (folder: string): ReadonlySet<string> => {
    const found = known.get(folder);
    if (found) return found;
    const isThere = !folder.startsWith(`${root}${sep}`) || names(dirname(folder)).has(basename(folder));
    const made = isThere ? listed(folder) : NO_NAMES;
    known.set(folder, made);
    return made;
  };
  return names;
}

const NO_NAMES: ReadonlySet<string> = new Set();

function listed(folder: string): ReadonlySet<string> {
  try {
    return new Set(readdirSync(folder));
  } catch {
    return NO_NAMES; // No folder, or not for us to read.
  }
}
