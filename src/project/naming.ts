/** Which files of a project construct which classes, by their texts: looked through once, when somebody first asks. */
import { readdirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { SKIPPED_FOLDERS } from './walk';
import { readText } from './read-text';

/** A folder with more than this is no project of one's own: nothing is said of its files. */
const MOST_FILES = 1_500;
const MOST_FOLDERS = 1_000;
/** Characters; longer files are data, or made by a program. */
const LONGEST = 400_000;

/** Paths relative to `root`, in the order of their names. */
export function createNaming(root: string): (name: string) => readonly string[] {
  let index: ReadonlyMap<string, readonly string[]> | undefined;
  return (name) => (index ??= indexOf(root)).get(name) ?? [];
}

function indexOf(root: string): ReadonlyMap<string, readonly string[]> {
  const index = new Map<string, string[]>();
  for (const path of pythonFiles(root)) {
    const read = readText(join(root, path));
    if (!('text' in read) || read.text.length > LONGEST) continue;
    for (const name of new Set(read.text.match(CONSTRUCTION))) {
      const known = index.get(name);
      if (known) known.push(path);
      else index.set(name, [path]);
    }
  }
  return index;
}

/** A name as classes have them, with the bracket of a call, or of its bases, behind it. */
const CONSTRUCTION = /\b[A-Z]\w*(?=\()/g;

function pythonFiles(root: string): readonly string[] {
  const files: string[] = [];
  const folders = [''];
  for (const folder of folders) {
    for (const entry of entriesOf(join(root, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isFile() && entry.name.endsWith('.py')) files.push(path);
      else if (entry.isDirectory() && !entry.name.startsWith('.') && !SKIPPED_FOLDERS.has(entry.name))
        folders.push(path);
    }
    if (files.length > MOST_FILES || folders.length > MOST_FOLDERS) return [];
  }
  return files.sort();
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // Not readable: nothing is known of it.
  }
}
