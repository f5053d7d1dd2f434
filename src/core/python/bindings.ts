/**
 * Comments that tell the analysis what text cannot: `# ikbo: B=1024, config.deep[0]=512`,
 * `# ikbo: index cand_to_user many-to-one`, `# ikbo: user=[U, Ku], w=[K, N]`.
 */
export interface Bindings {
  readonly shapes: Readonly<Record<string, number>>;
  readonly manyToOne: ReadonlySet<string>;
  /** Axes of tensors by the names of variables, where all comments of the file agree. */
  readonly stated: ReadonlyMap<string, readonly string[]>;
}

export function bindingsOf(comments: readonly { readonly text: string }[]): Bindings {
  const shapes: Record<string, number> = {};
  const manyToOne = new Set<string>();
  const stated = new Map<string, readonly string[]>();
  const contrary = new Set<string>();
  for (const { text } of comments) {
    const body = /#\s*ikbo:\s*(.*)/.exec(text)?.[1] ?? '';
    if (body.startsWith('ignore')) continue;
    for (const [, name = '', list = ''] of body.matchAll(
      /(?<![\p{L}\p{N}_.])([\p{L}_][\p{L}\p{N}_]*)\s*=\s*\[([\p{L}\p{N}_\s,]*)\]/gu,
    )) {
      const dims = list.split(',').map((dim) => dim.trim());
      if (!dims.every((dim) => /^([\p{L}_][\p{L}\p{N}_]*|\d+)$/u.test(dim))) continue;
      if (stated.has(name) && stated.get(name)?.join() !== dims.join()) contrary.add(name);
      stated.set(name, dims);
    }
    const index = /^index\s+([\w.]+)\s+many-to-one\b/.exec(body);
    if (index?.[1] !== undefined) manyToOne.add(index[1]);
    else
      for (const pair of body.matchAll(/([\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}\p{N}_]+|\[\d+\])*)\s*=\s*(\d+)/gu))
        shapes[pair[1] ?? ''] = Number(pair[2]);
  }
  for (const name of contrary) stated.delete(name);
  return { shapes, manyToOne, stated };
}
