/** Positions of pairs, `combinations(range(n), 2)`: each stands in many of them. */
import { UNKNOWN_SHAPE, tensor } from '../tensor/shape';
import type { Place, Tensor } from '../tensor/value';
import type { Frame } from './run';
import { type Node, textOf } from './syntax';

/** The first of each pair, or the second: an index of many rows of the same things, as a tensor or as a list of numbers. */
export const endOfPairs = (place: Place, isList = false): Tensor =>
  tensor(UNKNOWN_SHAPE, {
    content: 'index',
    index: { kind: 'many-to-one', evidence: 'strong', map: 'indexed', ...(isList && { isList }) },
    place,
  });

const PAIRS = '(?:itertools\\.)?(?:combinations(?:_with_replacement)?|permutations|product)\\(\\s*range\\(';
const ZIPPED = new RegExp(`^zip\\(\\s*\\*\\s*(?:(?:list|tuple)\\(\\s*)?${PAIRS}`);
const LISTED = new RegExp(`^[\\w.]+\\(\\s*(?:list\\(\\s*|\\[\\s*\\*\\s*)${PAIRS}`);

/** `zip(*combinations(range(n), 2))` */
export const isZippedPairs = (call: Node): boolean => ZIPPED.test(textOf(call));

/** `torch.tensor(list(combinations(range(n), 2)))` */
export const isTensorOfPairs = (call: Node): boolean => LISTED.test(textOf(call));

const lists = new WeakMap<Node, ReadonlySet<string>>();

/** A list of numbers that the function, or the class, fills with one end of all pairs of a range. */
export function listsPairs(name: string, { function: model }: Frame): boolean {
  const around = model?.owner?.node ?? model?.node;
  if (!around) return false;
  let known = lists.get(around);
  if (!known) lists.set(around, (known = new Set(filledWithPairs(textOf(around)))));
  return known.has(name);
}

const RANGES =
  /^([ \t]*)for (?<first>\w+) in range\([^\n]*\):[^\n]*\n(?:\1[ \t]+(?!for\b)[^\n]*\n)?(\1[ \t]+)for (?<second>\w+) in range\([^\n]*\):[^\n]*\n(?<body>(?:\3[ \t]+[^\n]*(?:\n|$))+)/gm;
const ITERATED = new RegExp(
  `^([ \\t]*)for \\(?(?<first>\\w+), *(?<second>\\w+)\\)? in ${PAIRS}[^\\n]*\\n(?<body>(?:\\1[ \\t]+[^\\n]*(?:\\n|$))+)`,
  'gm',
);
const COMPREHENDED =
  /([\w.]+) *= *(?:torch\.tensor\()?\[(\w+) for (\w+) in range\([^\n]*?\) for (\w+) in range\([^\n]*\]/g;

function filledWithPairs(text: string): readonly string[] {
  const loops = [RANGES, ITERATED].flatMap((pattern) => [...text.matchAll(pattern)]);
  const appended = loops.flatMap(({ groups: { first = '', second = '', body = '' } = {} }) =>
    [...body.matchAll(/([\w.]+)\.append\((\w+)\)/g)].flatMap(([, list = '', item]) =>
      item === first || item === second ? [list] : [],
    ),
  );
  const written = [...text.matchAll(COMPREHENDED)].flatMap(([, list = '', item, first, second]) =>
    item === first || item === second ? [list] : [],
  );
  return [...appended, ...written];
}
