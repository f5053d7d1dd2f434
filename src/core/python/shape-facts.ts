/** What annotations and docstrings state of the shapes of parameters. */
import type { FunctionModel } from './model';
import { childOf, textOf } from './syntax';

const NOTHING: ReadonlyMap<string, readonly string[]> = new Map();

export interface TensorType {
  /** `Long`, `Bool`, ...; empty where nothing says it. */
  readonly type: string;
  /** One name or number for each axis, null for an axis of any size; null where not all axes are known. */
  readonly dims: readonly (string | null)[] | null;
}

const PLAIN_TENSOR = /^(?:torch\.)?(Float|Long|Half|Int|Bool)?Tensor$/;
/** jaxtyping's `Float[Tensor, "batch keys width"]`. */
const SHAPED_TENSOR =
  /^(?:jaxtyping\.)?([A-Z][A-Za-z]*?)(?:8|16|32|64)?\[\s*(?:torch\.)?Tensor\s*,\s*f?r?["']([^"'{]*)["']\s*\]$/;

/** A tensor's annotation; null for any other. */
export function tensorType(written: string): TensorType | null {
  // A forward reference: `"Float[Tensor, 'b k']"`.
  const annotation = /^(["'])(.*)\1$/s.exec(written)?.[2] ?? written;
  const inner = /^(?:typing\.)?Optional\[(.*)\]$|^(.*) \| None$/s.exec(annotation);
  const text = (inner?.[1] ?? inner?.[2] ?? annotation).trim();
  const plain = PLAIN_TENSOR.exec(text);
  if (plain) return { type: plain[1] ?? '', dims: null };
  const [, kind, shape] = SHAPED_TENSOR.exec(text) ?? [];
  if (kind === undefined || shape === undefined) return null;
  const axes = shape.split(/\s+/).filter((axis) => axis !== '');
  const exact = axes.every((axis) => !/[*]|\.\.\./.test(axis));
  // `name=4`, `_`, `?rows`, `dim+1`: an axis of its own, of a size that no other axis is compared with.
  const dims = axes.map((axis) => (/^[A-Za-z]\w*$|^\d+$/.test(axis) ? axis : (/^\w+=(\d+)$/.exec(axis)?.[1] ?? null)));
  return { type: /^(Int|UInt|Integer)$/.test(kind) ? 'Long' : kind, dims: exact ? dims : null };
}

/** Shapes in the docstring: `x: Feature tensor of shape (B, F, D).` */
export function shapesInDocstring(
  model: Pick<FunctionModel, 'node'>,
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
