/** The imports of a text, without a parse: enough to tell whether anything that it imports is worth one. */
import type { ImportBinding } from './model';

const IMPORT = /^[ \t]*(?:from[ \t]+(\.+[ \t]+[\w.]+|[\w.]+)[ \t]+import[ \t]*(\([^)]*\)|.*)|import[ \t]+(.*))/gm;
/** What follows on the same line (`import os, sys; f(a, b).start()`) is no name. */
const ITEM = /^\s*(\w[\w.]*)(?:\s+as\s+(\w+))?/;

/** Names that import statements of a text bind; those in strings and comments may be among them. */
export function importsOf(text: string): ReadonlyMap<string, ImportBinding> {
  const names = new Map<string, ImportBinding>();
  for (const [, module, members, modules] of text.matchAll(IMPORT)) {
    const list = (members ?? modules ?? '').replace(/#.*/g, '').replace(/[()\\]/g, '');
    for (const item of list.split(',')) {
      const [, name, alias] = ITEM.exec(item) ?? [];
      if (name === undefined) continue;
      const first = name.split('.')[0] ?? name;
      if (module !== undefined)
        names.set(alias ?? name, { kind: 'import', module: module.replace(/[ \t]/g, ''), name });
      else names.set(alias ?? first, { kind: 'import', module: alias === undefined ? first : name, name: null });
    }
  }
  return names;
}
