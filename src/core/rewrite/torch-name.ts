/** What PyTorch calls the class that a file calls by another name, and whether it is a class of PyTorch at all. */
import type { SourceFile } from '../python/syntax';
import type { Call } from './expression';
import { indexOf } from './file-index';

const FROM = /^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)/gm;
const WHOLE = /^[ \t]*import[ \t]+([^\n#]+)/gm;
const NAMED = /([\w.]+)(?:\s+as\s+(\w+))?/g;

/** Full paths by the names that they are imported under; looked for once per file. */
const imports = new WeakMap<SourceFile, ReadonlyMap<string, readonly string[]>>();

function importsOf(file: SourceFile): ReadonlyMap<string, readonly string[]> {
  const known = imports.get(file);
  if (known) return known;
  const found = new Map<string, string[]>();
  const add = (name: string, path: string): void => void found.set(name, [...(found.get(name) ?? []), path]);
  for (const [, module = '', names = ''] of file.text.matchAll(FROM))
    for (const [, name = '', alias] of names.replace(/#.*/g, '').matchAll(NAMED))
      add(alias ?? name, `${module}.${name}`);
  for (const [, names = ''] of file.text.matchAll(WHOLE))
    for (const [, path = '', alias] of names.matchAll(NAMED))
      if (alias !== undefined) add(alias, path);
      else add(path.split('.')[0] ?? path, path.split('.')[0] ?? path);
  imports.set(file, found);
  return found;
}

const OF_TORCH = /^torch\.nn\.(modules\.(\w+\.)?)?\w+$/;

/** The class (or function) that a call names, as PyTorch calls it: `Linear` of `nn.Linear(..)` and of `Lin(..)`. */
export function torchName({ node, name, method }: Call): string {
  const path = name === method ? importsOf(node.file).get(method)?.at(-1) : undefined;
  return path !== undefined && OF_TORCH.test(path) ? (path.split('.').pop() ?? method) : method;
}

/** False for a class of the file, or of another package: `te.Linear(..)`, `Linear(..)` of `from layers import Linear`. */
export function isOfTorch({ node, name }: Call): boolean {
  const [root = '', ...rest] = name.split('.');
  const paths = importsOf(node.file).get(root);
  // A star may have brought it.
  if (!paths) return rest.length > 0 ? /^(torch\.)?nn$/.test([root, ...rest.slice(0, -1)].join('.')) : !indexOf(node.file).classes.has(root); // prettier-ignore
  return paths.every((path) => OF_TORCH.test([path, ...rest].join('.')));
}
