/**
 * Comments that tell the analysis what text cannot: `# ikbo: B=1024, config.deep[0]=512`,
 * `# ikbo: index cand_to_user many-to-one`.
 */
export interface Bindings {
  readonly shapes: Readonly<Record<string, number>>;
  readonly manyToOne: ReadonlySet<string>;
}

export function bindingsOf(comments: readonly { readonly text: string }[]): Bindings {
  const shapes: Record<string, number> = {};
  const manyToOne = new Set<string>();
  for (const { text } of comments) {
    const body = /#\s*ikbo:\s*(.*)/.exec(text)?.[1] ?? '';
    if (body.startsWith('ignore')) continue;
    const index = /^index\s+([\w.]+)\s+many-to-one\b/.exec(body);
    if (index?.[1] !== undefined) manyToOne.add(index[1]);
    else
      for (const pair of body.matchAll(/([A-Za-z_]\w*(?:\.\w+|\[\d+\])*)\s*=\s*(\d+)/g))
        shapes[pair[1] ?? ''] = Number(pair[2]);
  }
  return { shapes, manyToOne };
}
