/**
 * Comments that tell the analysis what text cannot: `# ikbo: B=1024, config.deep[0]=512`,
 * `# ikbo: index cand_to_user many-to-one`, `# ikbo: user=[U, Ku], w=[K, N]`.
 */
import { LETTER, NAME, patternOf } from './words';

export interface Bindings {
  readonly shapes: Readonly<Record<string, number>>;
  readonly manyToOne: ReadonlySet<string>;
  /** Axes of tensors by the names of variables, where all comments of the file agree. */
  readonly stated: ReadonlyMap<string, readonly string[]>;
}

const AXES = patternOf(`(?<!\\.|${LETTER})(${NAME})\\s*=\\s*\\[([^\\[\\]=]*)\\]`, 'gu');
const AXIS = patternOf(`^(${NAME}|\\d+)$`, 'u');
const SIZE = patternOf(`(${NAME}(?:\\.${NAME}|\\[\\d+\\])*)\\s*=\\s*(\\d+)`, 'gu');
const INDEX = patternOf(`^index\\s+(${NAME}(?:\\.${NAME})*)\\s+many-to-one\\b`, 'u');

export function bindingsOf(comments: readonly { readonly text: string }[]): Bindings {
  const shapes: Record<string, number> = {};
  const manyToOne = new Set<string>();
  const stated = new Map<string, readonly string[]>();
  const contrary = new Set<string>();
  for (const { text } of comments) {
    const body = /#\s*ikbo:\s*(.*)/.exec(text)?.[1] ?? '';
    if (body.startsWith('ignore')) continue;
    for (const [, name = '', list = ''] of body.matchAll(AXES(body))) {
      const dims = list.split(',').map((dim) => dim.trim());
      if (!dims.every((dim) => AXIS(dim).test(dim))) continue;
      if (stated.has(name) && stated.get(name)?.join() !== dims.join()) contrary.add(name);
      stated.set(name, dims);
    }
    const index = INDEX(body).exec(body);
    if (index?.[1] !== undefined) manyToOne.add(index[1]);
    else for (const pair of body.matchAll(SIZE(body))) shapes[pair[1] ?? ''] = Number(pair[2]);
  }
  for (const name of contrary) stated.delete(name);
  return { shapes, manyToOne, stated };
}
