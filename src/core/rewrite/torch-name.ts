/** `from torch.nn import Linear as Lin`: what PyTorch calls the class that a file calls by another name. */
import type { SourceFile } from '../python/syntax';
import type { Call } from './expression';

const IMPORT = /^[ \t]*from[ \t]+torch\.nn(?:\.modules(?:\.\w+)?)?[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)/gm;

/** Imported names by what the file calls them; looked for once per file. */
const aliases = new WeakMap<SourceFile, ReadonlyMap<string, string>>();

function aliasesOf(file: SourceFile): ReadonlyMap<string, string> {
  const known = aliases.get(file);
  if (known) return known;
  const found = new Map<string, string>();
  for (const [, names = ''] of file.text.matchAll(IMPORT)) {
    for (const [, name = '', alias = ''] of names.matchAll(/\b(\w+)\s+as\s+(\w+)/g)) found.set(alias, name);
  }
  aliases.set(file, found);
  return found;
}

/** The class (or function) that a call names, as PyTorch calls it: `Linear` of `nn.Linear(..)` and of `Lin(..)`. */
export const torchName = ({ node, name, method }: Call): string =>
  name === method ? (aliasesOf(node.file).get(method) ?? method) : method;
