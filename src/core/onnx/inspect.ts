/** What the editor asks of a model's text: which value stands at a place, where it comes from, what it looks like. */
import { format } from '../tensor/dim';
import { unescapeText } from './parse/lexer';
import { buildGraph, type Value } from './graph';
import { inferShapes } from './infer';
import { ELEMENT_TYPES, type Model, type Node } from './model';
import { printModel, type LineRange, type ModelText } from './text';

export interface ValueFacts {
  readonly name: string;
  /** `float[B, 32]`, inferred; `?` where nothing is known. */
  readonly type: string;
  readonly kind: 'input' | 'weight' | 'result';
  /** The line that makes or declares it; null for a name that nothing defines. */
  readonly definition: LineRange | null;
  /** The operator that makes it. */
  readonly producer: string | null;
  readonly consumers: readonly { readonly operator: string; readonly name: string; readonly at: LineRange }[];
  readonly isOutput: boolean;
}

export interface ModelIndex {
  readonly text: ModelText;
  /** Facts of a value of the main graph, or of the one with that name in any subgraph. */
  describe(name: string): ValueFacts | null;
  /** The name under a position of the text (1-based line and column), without its quotes; null between names. */
  nameAt(line: number, column: number): string | null;
  /** The same with its place on the line (1-based). */
  tokenAt(line: number, column: number): Token | null;
  /** Places where the name stands as a whole token, for highlighting and renaming views. */
  occurrences(name: string): readonly { readonly line: number; readonly column: number; readonly length: number }[];
}

/** `text` is the model's text as it stands; by default as printed. */
export function inspectModel(model: Model, text: ModelText = printModel(model)): ModelIndex {
  const graph = buildGraph(model);
  const infer = inferShapes(graph);
  const lines = text.text.split('\n');
  const byName = new Map<string, Value>();
  for (const value of graph.values) {
    if (!byName.has(value.name)) byName.set(value.name, value);
    // Read now: the caller may close the file before anybody asks.
    infer.of(value);
  }
  const place = (node: Node): LineRange | null => text.nodes.get(node) ?? null;
  const describe = (name: string): ValueFacts | null => {
    const value = graph.main.values.get(name) ?? byName.get(name);
    if (!value) return null;
    const { element, shape, sequence } = infer.of(value);
    const dims = shape?.map((dim) => format(dim)).join(', ');
    const known = `${ELEMENT_TYPES[element] ?? 'undefined'}${dims === undefined ? '[]' : dims === '' ? '' : `[${dims}]`}`;
    const { producer } = value;
    return {
      name,
      type: sequence ? 'sequence' : element === 0 && !shape ? '?' : known,
      kind: producer ? 'result' : value.initializer ? 'weight' : 'input',
      definition: producer ? place(producer.call ?? producer.node) : (text.declarations.get(name) ?? null),
      producer: producer ? producer.node.op : null,
      consumers: value.uses.flatMap(({ operator }) => {
        const at = place(operator.call ?? operator.node);
        return at ? [{ operator: operator.node.op, name: operator.node.name, at }] : [];
      }),
      isOutput: value.isOutput,
    };
  };
  const tokenAt = (line: number, column: number): Token | null =>
    tokens(lines[line - 1] ?? '').find((token) => token.column <= column && column < token.column + token.length) ??
    null;
  return {
    text,
    describe,
    nameAt: (line, column) => tokenAt(line, column)?.name ?? null,
    tokenAt,
    occurrences: (name) =>
      lines.flatMap((line, i) =>
        (line.includes(name.slice(0, 8)) ? tokens(line) : [])
          .filter((token) => token.name === name)
          .map(({ column, length }) => ({ line: i + 1, column, length })),
      ),
  };
}

export interface Token {
  readonly name: string;
  readonly column: number;
  readonly length: number;
}

/** Names of a line: quoted ones with their escapes undone, and bare ones. */
function tokens(line: string): Token[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|[A-Za-z_][A-Za-z0-9_.]*/g)].map((match) => ({
    name: match[1] === undefined ? match[0] : unescapeText(match[1]),
    column: match.index + 1,
    length: match[0].length,
  }));
}
