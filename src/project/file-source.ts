import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { FileSource } from '../core/engine';
import { hashText, type Sources, type TextHash } from './cache';
import { readText } from './read-text';

export interface ProjectFiles extends FileSource {
  /** Content hash of a file as `read` gives it. */
  hash(path: string): TextHash;
  /** Does the work and says which files it asked for. */
  recorded<T>(work: (files: FileSource) => T): { readonly result: T; readonly asked: Sources['asked'] };
}

/** Other files of the project below `root`, read at most once each; a file that cannot be read is not there. */
export function fileSource(root: string): ProjectFiles {
  const texts = new Map<string, string | undefined>();
  const hashes = new Map<string, TextHash>();
  const names = namesByFolder();
  const read = (path: string): string | undefined => {
    if (!texts.has(path)) {
      const file = join(root, path);
      // Most paths that imports could mean are not there: a listing tells so for less than a failed attempt to read.
      const found = names(dirname(file)).has(basename(file)) ? readText(file) : null;
      texts.set(path, found && 'text' in found ? found.text : undefined);
    }
    return texts.get(path);
  };
  const hash = (path: string): TextHash => {
    const known = hashes.get(path);
    if (known !== undefined) return known;
    const text = read(path);
    const made = text === undefined ? null : hashText(text);
    hashes.set(path, made);
    return made;
  };
  return {
    read,
    hash,
    recorded(work) {
      const asked = new Set<string>();
      const result = work({
        read(path) {
          asked.add(path);
          return read(path);
        },
      });
      return { result, asked: [...asked].map((path) => [path, hash(path)] as const) };
    },
  };
}

function namesByFolder(): (folder: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  return (folder) => {
    const found = known.get(folder);
    if (found) return found;
    let names: readonly string[] = [];
    try {
      names = readdirSync(folder);
    } catch {
      // No such folder.
    }
    const made = new Set(names);
    known.set(folder, made);
    return made;
  };
}
