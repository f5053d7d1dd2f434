/** Shapes that a docstring states of parameters: `x: Feature tensor of shape (B, F, D).` */
import type { FunctionModel } from './model';
import { childOf, textOf } from './syntax';

const NOTHING: ReadonlyMap<string, readonly string[]> = new Map();

export function shapesInDocstring(
  model: FunctionModel,
  names: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const [first] = childOf(model.node, 'body')?.children ?? [];
  const [string] = first?.kind === 'expression_statement' ? first.children : [];
  if (string?.kind !== 'string') return NOTHING;
  const text = textOf(string);
  const found = new Map<string, readonly string[]>();
  // `query [B, D], keys [B, T, D] -> scores [B, T]`, `x: [B, T]`, `x (B, T, D)`.
  for (const match of text.matchAll(/\b(\w+)`{0,2}\s*:?\s*[[(]([A-Za-z]\w*(?:\s*,\s*\w+)+)[\])]/g)) {
    const [, name = '', list = ''] = match;
    const dims = list.split(',').map((d) => d.trim());
    if (names.includes(name) && dims.every((d) => /^([A-Z]\w*|\d+)$/.test(d))) found.set(name, dims);
  }
  if (!/shape/i.test(text)) return found;
  const lines = text.split('\n');
  for (const [i, line] of lines.entries()) {
    const match = /^\s*:?(?:param\s+)?`{0,2}(\w+)`{0,2}\s*(?:\([^)]*\))?\s*:/.exec(line);
    const name = match?.[1];
    if (name === undefined || !names.includes(name)) continue;
    const more = lines[i + 1] ?? '';
    const rest = line.slice(match?.[0].length ?? 0) + (/^\s*\w+\s*(\(|:)/.test(more) ? '' : ` ${more.trim()}`);
    const shape = /\bshape:?\s+`{0,2}[([]([\w\s,+*]+)[)\]]/i.exec(rest)?.[1];
    if (shape === undefined) continue;
    const dims = shape
      .split(',')
      .map((d) => d.trim())
      .filter((d) => d !== '');
    if (dims.length > 0 && dims.every((d) => /^\w+$/.test(d))) found.set(name, dims);
  }
  return found;
}
