/** A model from its text: what the analysis needs, with the places of the text as it stands. */
import type { Model, Node } from './model';
import { parseModelText } from './parse/parse-text';
import { lineRanges } from './parse/spans';
import { readModel } from './read';
import { memorySource } from './source';
import type { LineRange, ModelText } from './text';

export { OnnxTextError } from './parse/lexer';

export interface ModelOfText {
  readonly model: Model;
  /** The given text, with the lines of nodes and declarations. */
  readonly printed: ModelText;
}

/** Throws `OnnxTextError` where the text is not a model, `OnnxError` where it is one beyond the reader's limits. */
export function readModelText(text: string): ModelOfText {
  const parsed = parseModelText(text);
  const model = readModel(memorySource(parsed.bytes));
  const lines = lineRanges(text, parsed.nodes);
  const nodes = new Map<Node, LineRange>();
  const visit = (list: readonly Node[]): void => {
    for (const node of list) {
      const range = lines[nodes.size];
      if (range) nodes.set(node, range);
      for (const { g, graphs } of node.attributes) for (const graph of g ? [g, ...graphs] : graphs) visit(graph.nodes);
    }
  };
  visit(model.graph.nodes);
  for (const def of model.functions) visit(def.nodes);
  const names = [...parsed.declarations.keys()];
  const places = lineRanges(text, [...parsed.declarations.values()]);
  const declarations = new Map(names.flatMap((name, i) => (places[i] ? [[name, places[i]] as const] : [])));
  return { model, printed: { text, nodes, declarations } };
}

/** Comments that speak to this tool; a `#` inside quotes begins none. */
export function commentsOf(text: string): { readonly line: number; readonly text: string }[] {
  if (!text.includes('ikbo:')) return [];
  return text.split('\n').flatMap((line, i) => {
    const comment = /^(?:[^"#]|"(?:[^"\\]|\\.)*")*(#.*)$/.exec(line)?.[1];
    return comment?.includes('ikbo:') ? [{ line: i + 1, text: comment }] : [];
  });
}
