/** What the editor asks of a model's text besides findings: values, their definition and readers, an outline. */
import {
  MarkupContent,
  MarkupKind,
  SymbolKind,
  type DocumentSymbol,
  type FoldingRange,
  type Hover,
  type Location,
  type Position,
  type Range,
} from 'vscode-languageserver';
import type { Graph, LineRange, ModelIndex, Node, ValueFacts } from '../../core/onnx';
import type { ModelDocument } from './document';

export function valueHover({ index }: ModelDocument, position: Position): Hover | null {
  const found = factsAt(index(), position);
  return found && { contents: { kind: MarkupKind.Markdown, value: describe(found.facts) }, range: found.range };
}

/** The value under the cursor first, then the finding of its line. */
export function withValue(value: Hover | null, finding: Hover | null): Hover | null {
  if (!value || !finding) return value ?? finding;
  const parts = [value, finding].flatMap(({ contents }) => (MarkupContent.is(contents) ? [contents.value] : []));
  return { ...value, contents: { kind: MarkupKind.Markdown, value: parts.join('\n\n---\n\n') } };
}

export function definitionOf({ index }: ModelDocument, uri: string, position: Position): Location | null {
  const definition = factsAt(index(), position)?.facts.definition;
  return definition ? { uri, range: rangeOf(definition) } : null;
}

/** Every place where the name stands: with what makes it or without. */
export function referencesOf(
  { index }: ModelDocument,
  uri: string,
  position: Position,
  withDefinition: boolean,
): Location[] {
  const model = index();
  const found = factsAt(model, position);
  if (!model || !found) return [];
  const { name, definition } = found.facts;
  return model
    .occurrences(name)
    .filter(({ line }) => withDefinition || line !== definition?.first)
    .map(({ line, column, length }) => ({ uri, range: tokenRange(line, column, length) }));
}

function factsAt(index: ModelIndex | null, { line, character }: Position): { facts: ValueFacts; range: Range } | null {
  const token = index?.tokenAt(line + 1, character + 1);
  const facts = token && index?.describe(token.name);
  return facts ? { facts, range: tokenRange(line + 1, token.column, token.length) } : null;
}

const MOST_CONSUMERS = 8;

function describe({ name, type, kind, definition, producer, consumers, isOutput }: ValueFacts): string {
  const made = {
    input: 'input of the model',
    weight: 'weight',
    result: `made by ${producer ?? 'nothing'}${definition ? ` on line ${definition.first}` : ''}`,
  }[kind];
  const readers = consumers
    .slice(0, MOST_CONSUMERS)
    .map(({ operator, at }) => `${operator} on line ${at.first}`)
    .join(', ');
  const more = consumers.length > MOST_CONSUMERS ? ` and ${consumers.length - MOST_CONSUMERS} more` : '';
  return [
    `\`\`\`onnx\n${type} ${JSON.stringify(name)}\n\`\`\``,
    `${capital(made)}${isOutput ? ', output of the model' : ''}.`,
    readers ? `Read by ${readers}${more}.` : 'Read by no node.',
  ].join('\n\n');
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** An outline of more nodes than this is no help, and slow. */
const MOST_SYMBOLS = 5_000;

export function symbolsOf(document: ModelDocument): DocumentSymbol[] {
  const symbols = document.read((model, text) => {
    let left = MOST_SYMBOLS;
    const nodes = (list: readonly Node[]): DocumentSymbol[] =>
      list.flatMap((node) => {
        const range = text.nodes.get(node);
        if (!range || left-- <= 0) return [];
        const graphs = node.attributes.flatMap(({ g, graphs }): readonly Graph[] => (g ? [g, ...graphs] : graphs));
        return [
          {
            name: node.name || node.outputs[0] || node.op,
            detail: node.op,
            kind: graphs.length > 0 ? SymbolKind.Namespace : SymbolKind.Function,
            range: rangeOf(range),
            selectionRange: rangeOf(range),
            children: graphs.flatMap((graph) => nodes(graph.nodes)),
          },
        ];
      });
    const declared = [...text.declarations].map(([name, range]): DocumentSymbol => {
      const at = { start: rangeOf(range).start, end: rangeOf({ ...range, last: range.first }).end };
      return { name: name || '(unnamed)', kind: SymbolKind.Variable, range: at, selectionRange: at };
    });
    return [...declared, ...nodes(model.graph.nodes), ...model.functions.flatMap((def) => nodes(def.nodes))];
  });
  return symbols ?? [];
}

/** What stands between brackets that open at the end of a line and close at the beginning of one. */
export function foldsOf(text: string): FoldingRange[] {
  const folds: FoldingRange[] = [];
  const open: number[] = [];
  let line = 0;
  for (const content of linesOf(text)) {
    if (/^\s*[)}>\]]/.test(content)) {
      const start = open.pop();
      if (start !== undefined && line - 1 > start) folds.push({ startLine: start, endLine: line - 1 });
    }
    if (/[({<[]\s*$/.test(content) || isOpenNode(content)) open.push(line);
    line++;
  }
  return folds;
}

/** A node with subgraphs: its attributes go on below. */
const isOpenNode = (content: string): boolean => /\) <[^>]*,$/.test(content);

function* linesOf(text: string): Generator<string> {
  let at = 0;
  for (let next = text.indexOf('\n'); next >= 0; next = text.indexOf('\n', at)) {
    yield text.slice(at, next);
    at = next + 1;
  }
  yield text.slice(at);
}

function rangeOf({ first, last, column, endColumn }: LineRange): Range {
  const end = first === last ? { line: first - 1, character: endColumn - 1 } : { line: last, character: 0 };
  return { start: { line: first - 1, character: column - 1 }, end };
}

const tokenRange = (line: number, column: number, length: number): Range => ({
  start: { line: line - 1, character: column - 1 },
  end: { line: line - 1, character: column - 1 + length },
});
