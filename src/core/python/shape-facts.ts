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
  if (!/shape/i.test(text)) return NOTHING;
  const found = new Map<string, readonly string[]>();
  for (const [i, line] of text.split('\n').entries()) {
    const match = /^\s*:?(?:param\s+)?`{0,2}(\w+)`{0,2}\s*(?:\([^)]*\))?\s*:/.exec(line);
    const name = match?.[1];
    if (name === undefined || !names.includes(name)) continue;
    const more = text.split('\n')[i + 1] ?? '';
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
