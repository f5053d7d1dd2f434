/** How a module is named in a file, and the one import that a rewrite adds when the file has none. */
import type { Condition } from '../finding';
import { type Node, childOf, enclosing, innermostAt, scopeOf, textOf } from '../python/syntax';
import { hasWord, placesOf } from '../python/words';
import { NO_TORCHSCRIPT, NO_TRACE } from './conditions';
import { type Edit, lineEnd } from './edit';
import { isBinding, occurrences } from './names';
import { refuse } from './refusal';

export interface Imported {
  /** How to write the module: `F`, `ikbo_lens`, `torch.nn.functional`. */
  readonly name: string;
  /** The import to add, if it is not there. */
  readonly edit: Edit | null;
}

const IMPORTS = new Set(['import_statement', 'import_from_statement', 'future_import_statement']);

/** `ikbo_lens` as the file calls it. */
export function importIkbo(at: Node): Imported {
  const file = at.file.root;
  const name = aliasOf(file, 'ikbo_lens') ?? 'ikbo_lens';
  if (isShadowed(at, name)) refuse(`\`${name}\` is a variable here, and the call needs that name for the package`);
  return { name, edit: missing(file, 'ikbo_lens', 'import ikbo_lens') };
}

/** What stands against a call of another package, as a condition. */
export function conditionsOfIkbo(file: Node): readonly Condition[] {
  const { text } = file.file;
  return [
    ...(/\bjit\.(script|ignore|export|unused)/.test(text) ? [NO_TORCHSCRIPT] : []),
    ...(/\bsymbolic_trace\b|\btorch\.fx\b/.test(text) ? [NO_TRACE] : []),
  ];
}

/** `torch` as the file calls it, null when it is not imported as a whole, or stands for something else at `at`. */
export const importTorch = (at: Node): string | null => readable(at, 'torch');

/** `torch.nn.functional` as the file calls it; adds the usual `as F` when `F` is free, else a longer name is used. */
export function importFunctional(at: Node): Imported {
  const file = at.file.root;
  const name = readable(at, 'torch.nn.functional');
  if (name) return { name, edit: null };
  if (!hasWord(file.file.text, 'F') || occurrences(file, 'F').length === 0) {
    return { name: 'F', edit: missing(file, 'torch.nn.functional', 'import torch.nn.functional as F') };
  }
  const torch = readable(at, 'torch');
  if (torch) return { name: `${torch}.nn.functional`, edit: null };
  const nn = readable(at, 'torch.nn');
  if (nn) return { name: `${nn}.functional`, edit: null };
  if (isShadowed(at, 'torch')) refuse('`F` and `torch` are variables here: there is no name left for `F.linear`');
  return { name: 'torch.nn.functional', edit: missing(file, 'torch', 'import torch') };
}

/** The name by which `at` can read a module, null when the file imports none or that name is a variable there. */
function readable(at: Node, module: string): string | null {
  const name = aliasOf(at.file.root, module);
  return name !== null && !isShadowed(at, name) ? name : null;
}

/** True when `name` is bound in a function around `at`, or (again) at the top of the file, but not by an import there. */
function isShadowed(at: Node, name: string): boolean {
  const file = at.file.root;
  return bindingsOf(file, name.replace(/\..*$/, '')).some((binding) => {
    if (binding.parent?.kind === 'global_statement') return true;
    const scope = scopeOf(binding.field === 'name' ? (binding.parent ?? binding) : binding);
    if (scope === file) return enclosing(binding, ...IMPORTS) === null && !inClass(binding);
    return scope.start <= at.start && at.end <= scope.end;
  });
}

/** By the text first, since most functions that read a module are parsed by nobody: a name that a dot or a bracket follows is read. */
const bindingsOf = (file: Node, name: string): readonly Node[] =>
  placesOf(file.file.text, name).flatMap((at) => {
    const { text } = file.file;
    const before = text.slice(text.lastIndexOf('\n', at) + 1, at);
    const next = text.charAt(at + name.length);
    if ((next === '.' && !IMPORTING.test(before)) || (next === '(' && !DEFINING.test(before))) return [];
    const node = innermostAt(file, at);
    return node.kind === 'identifier' && isBinding(node) ? [node] : [];
  });

const IMPORTING = /\b(import|from)\b/;
const DEFINING = /\b(def|class)\b/;

/** Names of a class body are not seen from its methods. A class itself is bound around it. */
function inClass(binding: Node): boolean {
  const own = binding.parent?.kind === 'class_definition' && binding.field === 'name' ? binding.parent : binding;
  return enclosing(own.parent ?? own, 'class_definition') !== null;
}

function missing(file: Node, module: string, line: string): Edit | null {
  return aliasOf(file, module) ? null : addImport(file, line);
}

/** The name that a top-level import binds to `module` (`torch.nn.functional`), or null. */
function aliasOf(file: Node, module: string): string | null {
  const parent = module.slice(0, Math.max(0, module.lastIndexOf('.')));
  const last = module.slice(module.lastIndexOf('.') + 1);
  for (const statement of file.children) {
    if (!IMPORTS.has(statement.kind)) continue;
    const from = childOf(statement, 'module_name');
    for (const item of statement.children.filter((c) => c.field === 'name')) {
      const aliased = item.kind === 'aliased_import';
      const name = textOf(aliased ? (childOf(item, 'name') ?? item) : item);
      const alias = aliased ? textOf(childOf(item, 'alias') ?? item) : name;
      if (from ? textOf(from) === parent && name === last : name === module) return alias;
      // `import torch` makes `torch.nn.functional` readable too, but the full name is long: a new import reads better.
    }
  }
  return null;
}

/** Puts an import behind the last one of PyTorch, or of all, at the head of the file; else behind the docstring. */
function addImport(file: Node, line: string): Edit {
  const { text } = file.file;
  const end = lineEnd(text);
  const head: Node[] = [];
  for (const statement of file.children) {
    if (!IMPORTS.has(statement.kind) && !isDocstring(statement) && head.some((s) => IMPORTS.has(s.kind))) {
      if (['class_definition', 'function_definition', 'decorated_definition'].includes(statement.kind)) break;
      continue;
    }
    if (IMPORTS.has(statement.kind) || (head.length === 0 && isDocstring(statement))) head.push(statement);
    else if (head.length > 0 || !IMPORTS.has(statement.kind)) break;
  }
  const torch = head.filter((s) => /^(import|from)\s+torch\b/.test(textOf(s)));
  const after = torch.at(-1) ?? head.at(-1);
  if (!after) {
    const first = file.children[0]?.start ?? 0;
    return { start: first, end: first, text: line + end };
  }
  const rest = /^[^\r\n]*/.exec(text.slice(after.end))?.[0] ?? '';
  const at = after.end + rest.length;
  const gap = isDocstring(after) ? end : '';
  return { start: at, end: at, text: end + gap + line };
}

const isDocstring = (statement: Node): boolean =>
  statement.kind === 'expression_statement' && statement.children[0]?.kind === 'string';
