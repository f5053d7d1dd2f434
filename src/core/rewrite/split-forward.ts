/** A forward that begins with a layer, cut in two behind it: the layer, and a method for all that follows. */
import type { Sink } from '../judge/match';
import { type Node, childOf, enclosing, statementOf, textOf } from '../python/syntax';
import { type Edit, indentOf, lineEnd, replace } from './edit';
import { canHoist } from './guards';
import { occurrences } from './names';
import { hasWord } from '../python/words';

export interface Split {
  /** The new method, which takes what the layer gives instead of the input. */
  readonly method: string;
  /** Where the input stands among the arguments of a call. */
  readonly position: number;
  readonly edits: readonly Edit[];
  /** Where the layer is one of a list: how the class calls it. */
  readonly layer?: string;
  /** That list, where it may be empty. */
  readonly list?: string;
}

/** Null when the layer is not the first thing that `callee` does with its input, and the only one. */
export function splitForward(callee: Node, { node, input, module }: Sink): Split | null {
  const list = childOf(callee, 'parameters')?.children ?? [];
  const plain = list.every((one) =>
    /^(identifier|typed_parameter|default_parameter|typed_default_parameter)$/.test(one.kind),
  );
  const names = list.map((one) =>
    textOf(one.kind === 'identifier' ? one : (childOf(one, 'name') ?? one.children[0] ?? one)),
  );
  const position = names.indexOf(input ? textOf(input) : '') - 1;
  const layer = /^self\.(\w+)$/.exec(module?.text ?? '')?.[1];
  const named = textOf(childOf(callee, 'name') ?? callee) === 'forward';
  const decorated = callee.parent?.kind === 'decorated_definition';
  if (!input || !layer || !named || decorated || !plain || names[0] !== 'self' || position < 0) return null;
  const body = childOf(callee, 'body');
  const first = body?.children.find((statement) => !isText(statement));
  const statement = statementOf(node);
  const once = occurrences(callee, names[position + 1] ?? '').length === 2;
  if (!body || first !== statement || !once || /^async\b/.test(textOf(callee)) || !canHoist(node)) return null;
  const { text } = callee.file;
  const [method, projected] = [unusedIn(callee, `after_${layer}`), unusedIn(callee, `${layer}_out`)];
  const others = list.slice(1).filter((_, i) => i !== position);
  const given = [textOf(node), ...names.slice(1).filter((_, i) => i !== position)];
  const [end, outer, inner] = [lineEnd(text), indentOf(callee), indentOf(statement)];
  // Arguments keep their places, so that a call of forward becomes one of the method.
  given.splice(0, 1);
  given.splice(position, 0, textOf(node));
  const parameters = others.map(textOf);
  parameters.splice(position, 0, projected);
  const header = `def ${method}(${['self', ...parameters].join(', ')})${returned(callee)}:`;
  const lines = `return self.${method}(${given.join(', ')})${end}${end}${outer}${header}${end}${inner}`;
  const edits = [{ start: statement.start, end: statement.start, text: lines }, replace(node, projected)];
  return enclosing(callee, 'class_definition') ? { method, position, edits } : null;
}

/** A name that the file does not have: the one asked for, or with a number behind it. */
export function unusedIn({ file }: Node, base: string): string {
  let name = base;
  for (let n = 2; hasWord(file.text, name); n++) name = `${base}_${n}`;
  return name;
}

/** ` -> Tensor` */
export function returned(callee: Node): string {
  const type = childOf(callee, 'return_type');
  return type ? ` -> ${textOf(type)}` : '';
}

/** A docstring. */
export const isText = (statement: Node): boolean =>
  statement.kind === 'expression_statement' && statement.children[0]?.kind === 'string';
