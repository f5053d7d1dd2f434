/**
 * Which files of a project construct which classes, and import which functions or call them through their modules, by their texts:
 * looked through once, when somebody first asks.
 */
import { readdirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { readText } from './read-text';
import { reportPath, SKIPPED_FOLDERS } from './walk';

/** A folder with more than this is no project of one's own: nothing is said of its files. */
const MOST_FILES = 1_500;
const MOST_FOLDERS = 1_000;
/** Characters; longer files are data, or made by a program. */
const LONGEST = 400_000;

/** Paths relative to `root` of files below the first of `folders` that is no larger than a project, in the order of their names. */
export function createNaming(root: string, folders: readonly string[] = [root]): (name: string) => readonly string[] {
  let index: ReadonlyMap<string, readonly string[]> | undefined;
  return (name) => (index ??= indexOf(root, folders)).get(name) ?? [];
}

function indexOf(root: string, folders: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const index = new Map<string, string[]>();
  for (const file of filesOfFirst(folders)) {
    const path = reportPath(root, file);
    const read = readText(file);
    if (!('text' in read) || read.text.length > LONGEST) continue;
    const { text } = read;
    for (const name of new Set([...(text.match(CONSTRUCTION) ?? []), ...importedBy(text), ...calledThroughIn(text)])) {
      const known = index.get(name);
      if (known) known.push(path);
      else index.set(name, [path]);
    }
  }
  return index;
}

/** A name as classes have them, with the bracket of a call, or of its bases, behind it. */
const CONSTRUCTION = /\b[A-Z]\w*(?=\()/g;

const IMPORT = /^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)/gm;

/** Names that a text imports from modules and that are none of classes. */
const importedBy = (text: string): readonly string[] =>
  [...text.matchAll(IMPORT)].flatMap(([, list = '']) => list.match(/\b[a-z_]\w*/g) ?? []);

const MODULE =
  /^[ \t]*(?:import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?[ \t]*(?:#.*)?$|from[ \t]+[\w.]+[ \t]+import[ \t]+(\w+)(?:[ \t]+as[ \t]+(\w+))?)/gm;
/** Libraries of everybody's, whose functions no project defines. */
const NOT_OWN =
  /^(torch|nn|F|np|numpy|os|sys|math|random|time|json|copy|logging|pickle|tf|plt|pd|argparse|tqdm|re|glob)$/;

/** Names of functions that a text calls through what it imports, `utils.evaluate(..)`: modules, for all that it says. */
function* calledThroughIn(text: string): Iterable<string> {
  const modules = new Set(
    [...text.matchAll(MODULE)].map(([, path = '', as, name = '', other]) => as ?? other ?? (path || name)),
  );
  for (const module of modules) {
    if (NOT_OWN.test(module)) continue;
    const through = `${module}.`;
    for (let at = text.indexOf(through); at >= 0; at = text.indexOf(through, at + 1)) {
      if (/[\w.]/.test(text.charAt(at - 1))) continue;
      const [, name] = /^([a-z_]\w*)\(/.exec(text.slice(at + through.length, at + through.length + LONGEST_NAME)) ?? [];
      if (name !== undefined) yield name;
    }
  }
}

const LONGEST_NAME = 60;

function filesOfFirst(folders: readonly string[]): readonly string[] {
  for (const folder of folders) {
    const files = pythonFiles(folder);
    if (files) return files;
  }
  return [];
}

/** Absolute paths; null where there are too many. */
function pythonFiles(root: string): readonly string[] | null {
  const files: string[] = [];
  const folders = [root];
  for (const folder of folders) {
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name);
      if (entry.isFile() && entry.name.endsWith('.py')) files.push(path);
      else if (entry.isDirectory() && !entry.name.startsWith('.') && !SKIPPED_FOLDERS.has(entry.name))
        folders.push(path);
    }
    if (files.length > MOST_FILES || folders.length > MOST_FOLDERS) return null;
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
