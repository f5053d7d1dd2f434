/**
 * The syntax tree as the engine sees it: tree-sitter's nodes, named ones and operators, as plain objects whose children
 * are made when first asked for. Offsets are UTF-16 code units, lines 1-based.
 */
export interface Node {
  /** tree-sitter's type: `call`, `assignment`, `binary_operator`, ...; an anonymous token is its own text. */
  readonly kind: string;
  /** Name of the parent's field that holds this node (`function`, `left`, `operator`, ...), or null. */
  readonly field: string | null;
  readonly start: number;
  readonly end: number;
  readonly parent: Node | null;
  /** Named children and tokens that stand in a field, comments left out. */
  readonly children: readonly Node[];
  /** True for ERROR and missing nodes, and for whatever contains one. */
  readonly broken: boolean;
  readonly file: SourceFile;
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly root: Node;
  /** Offset of the first character of each line. */
  readonly lineStarts: readonly number[];
}

export const textOf = (node: Node): string => node.file.text.slice(node.start, node.end);

export function childOf(node: Node, field: string): Node | null {
  for (const child of node.children) if (child.field === field) return child;
  return null;
}

export const childrenOf = (node: Node, field: string): readonly Node[] =>
  node.children.filter((c) => c.field === field);

/** 1-based line and column of an offset; a byte order mark counts as no column. */
export function positionOf(file: SourceFile, offset: number): { line: number; column: number } {
  let low = 0;
  let high = file.lineStarts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((file.lineStarts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  const lineStart = file.lineStarts[low] ?? 0;
  const mark = lineStart === 0 && file.text.charCodeAt(0) === 0xfeff ? 1 : 0;
  return { line: low + 1, column: Math.max(1, offset - lineStart - mark + 1) };
}

/** 1-based line on which a node begins. */
export const lineOf = (node: Node): number => positionOf(node.file, node.start).line;

/** The innermost node of one of these kinds around `node`, itself included. */
export function enclosing(node: Node, ...kinds: readonly string[]): Node | null {
  for (let at: Node | null = node; at; at = at.parent) if (kinds.includes(at.kind)) return at;
  return null;
}

/** The innermost node around an offset. Comments are of no node of their own. */
export function innermostAt(root: Node, offset: number): Node {
  let at = root;
  for (let inner: Node | undefined = root; inner;) {
    at = inner;
    inner = childAround(at.children, offset);
  }
  return at;
}

/** By halving: a file may have thousands of functions, and be asked about each. */
function childAround(children: readonly Node[], offset: number): Node | undefined {
  let [low, high] = [0, children.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((children[middle]?.end ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  const child = children[low];
  return child && child.start <= offset ? child : undefined;
}

/** The statement that `node` is part of: the child of the innermost block (or of the module). */
export function statementOf(node: Node): Node {
  let at = node;
  while (at.parent && at.parent.kind !== 'block' && at.parent.kind !== 'module') at = at.parent;
  return at;
}

/** The function, lambda or module whose scope `node` is in. */
export function scopeOf(node: Node): Node {
  return enclosing(node.parent ?? node, 'function_definition', 'lambda') ?? node.file.root;
}
