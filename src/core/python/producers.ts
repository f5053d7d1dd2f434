/** Which functions can make a replica at all: only those are evaluated, and what uses their results. */
import type { FunctionModel } from './model';
import { produces } from './producer-texts';
import type { SourceFile } from './syntax';

/** Can any function of a file with this text make a replica? If not, and what it imports cannot, no parse is needed. */
export const mayProduceReplicas = (text: string): boolean => produces(text, text);

const cache = new WeakMap<FunctionModel['node'], boolean>();

/** Does the text of the function have what makes a replica? */
export function producesReplicas(model: FunctionModel): boolean {
  const { node, file } = model;
  const known = cache.get(node);
  if (known !== undefined) return known;
  const text = node.file.text.slice(node.start, node.end);
  const found = produces(text, file.file.text) || (/\w\[/.test(text) && declaresIndex(file.file));
  cache.set(node, found);
  return found;
}

const declaring = new WeakMap<SourceFile, boolean>();

/** `# ikbo: index idx many-to-one`: any function of the file may pick rows by it. */
function declaresIndex(file: SourceFile): boolean {
  const known = declaring.get(file) ?? /#\s*ikbo:\s*index\s/.test(file.text);
  declaring.set(file, known);
  return known;
}

export interface Definition {
  /** What `producesReplicas` will say of it. */
  readonly produces: boolean;
  /** Names that it calls or takes items of, without members of anything; of a value all names in it. */
  readonly calls: readonly string[];
}

/**
 * What the text of a file says of its functions and values of a name, `OPS = {'rep': rep}`, without a parse; undefined when it defines
 * none. Looked for when first asked.
 */
export function definitionsIn(text: string): (name: string) => Definition | undefined {
  const known = new Map<string, Definition>();
  let starts: ReadonlyMap<string, readonly number[]> | undefined;
  return (name) => {
    const found = known.get(name);
    if (found) return found;
    const own = (starts ??= startsIn(text)).get(name);
    if (!own) return undefined;
    const definition = definitionAt(own, text);
    known.set(name, definition);
    return definition;
  };
}

/** Where the lines begin that define a function, a value of the module or an entry of it, by its name. */
function startsIn(text: string): ReadonlyMap<string, readonly number[]> {
  const starts = new Map<string, number[]>();
  for (const { index, 1: called, 2: value } of text.matchAll(DEFINED)) {
    const name = called ?? value ?? '';
    const known = starts.get(name);
    if (known) known.push(index);
    else starts.set(name, [index]);
  }
  return starts;
}

const DEFINED = /^(?:[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)|(\w+)(?:\[[^\]\n]+\])?[ \t]*(?::[^=\n]+)?=(?!=))/gm;

function definitionAt(starts: readonly number[], text: string): Definition {
  const bodies = starts.map((start) => text.slice(start, endOf(text, start)));
  const isValue = bodies.every((body) => VALUE.test(body));
  const names = new Set(bodies.flatMap((body) => body.match(isValue ? WORD : USED) ?? []));
  // A value may be an object: any method of its class may be called.
  const isObject = isValue && [...names].some((name) => new RegExp(`^class ${name}\\b`, 'm').test(text));
  return { produces: isObject ? produces(text, text) : bodies.some((body) => produces(body, text)), calls: [...names] };
}

const VALUE = /^\w+[ \t]*[:=[]/;
const WORD = /(?<![.\w])[A-Za-z_]\w*/g;
const USED = /(?<![.\w])[A-Za-z_]\w*(?=\(|\[|\.get\()/g;

/** The classes of a text that have bases, with the names of those. */
export const basesIn = (text: string): ReadonlyMap<string, readonly string[]> =>
  new Map([...text.matchAll(CLASS)].map(([, name = '', bases = '']) => [name, namesOf(bases)]));

/** Of `Base[T]` the class. */
const namesOf = (bases: string): readonly string[] =>
  bases
    .replace(/\[[^\]]{0,200}\]+/g, '')
    .split(',')
    .map((b) => b.trim());

const CLASS = /^class[ \t]+(\w+)\(([\w.,=\s[\]"|]*)\)[ \t]*:/gm;

/** Where the definition ends: at the next line that is indented no deeper, unless that is in a string over several lines. */
function endOf(text: string, start: number): number {
  let code = start;
  while (/[ \t]/.test(text.charAt(code))) code++;
  const indent = code - start;
  const next = new RegExp(`\\n[ \\t]{0,${indent}}[^\\s#)\\]}]`, 'g');
  next.lastIndex = start;
  for (let found = next.exec(text); found; found = next.exec(text)) {
    const quotes = text.slice(start, found.index).match(/"""|'''/g)?.length ?? 0;
    if (quotes % 2 === 0) return found.index;
  }
  return text.length;
}
