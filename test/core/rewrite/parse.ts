import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PythonParser, createParser } from '../../../src/core/python/parser';
import { type Node, textOf } from '../../../src/core/python/syntax';
import { visit } from '../../../src/core/rewrite/names';

const modules = join(__dirname, '..', '..', '..', 'node_modules');
let parser: Promise<PythonParser> | undefined;

/** The root node of a parsed text. */
export async function parse(text: string): Promise<Node> {
  parser ??= createParser({
    runtime: readFileSync(join(modules, 'web-tree-sitter', 'tree-sitter.wasm')),
    python: readFileSync(join(modules, 'tree-sitter-python', 'tree-sitter-python.wasm')),
  });
  return (await parser).parse('model.py', text).root;
}

/** The nth outermost node with this text, in the order of the file. */
export function nodeAt(root: Node, text: string, nth = 0): Node {
  const found: Node[] = [];
  visit(root, (node) => {
    const inner = found.at(-1);
    if (textOf(node) === text && !(inner && inner.start <= node.start && node.end <= inner.end)) found.push(node);
  });
  const node = found[nth];
  if (!node) throw new Error(`no ${text}`);
  return node;
}
