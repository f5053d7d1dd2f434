/** Completion and mistakes in `ikbo.toml` and in `[tool.ikbo]` of `pyproject.toml`. What there is comes from the schema. */
import {
  CompletionItemKind,
  DiagnosticSeverity,
  type CompletionItem,
  type Diagnostic,
  type Position,
  type Range,
} from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { properties } from '../../../media/ikbo.schema.json';
import { RULES } from '../../core/rules';
import { ConfigError, readConfig } from '../../project/config';
import { SOURCE } from './diagnostics';

const isShared = (path: string): boolean => path.endsWith('pyproject.toml');

interface Key {
  readonly type?: string;
  readonly description?: string;
}

const KEYS: Readonly<Record<string, Key>> = properties;
const LEVELS = Object.values(properties.severity.patternProperties).flatMap((level) => level.enum);
const TABLES = Object.keys(KEYS).filter((name) => KEYS[name]?.type === 'object');
/** Keys whose values are rule codes. */
const CODES = new Set(['select', 'ignore']);

export function completions(path: string, document: TextDocument, position: Position): CompletionItem[] {
  const at = contextOf(path, document.getText({ start: { line: 0, character: 0 }, end: position }));
  if (!at) return [];
  const { table, key, typed } = at;
  const items = itemsFor(table, key, typed, document.getText());
  const start = { line: position.line, character: position.character - typed.length };
  return items.map(({ label, insert, detail, kind }) => ({
    label,
    kind,
    ...(detail === undefined ? {} : { documentation: detail }),
    filterText: insert,
    textEdit: { range: { start, end: position }, newText: insert },
  }));
}

interface Item {
  readonly label: string;
  readonly insert: string;
  readonly detail?: string | undefined;
  readonly kind: CompletionItemKind;
}

function itemsFor(table: string, key: string | null, typed: string, whole: string): readonly Item[] {
  const codes = RULES.map(({ code, summary }) => ({
    label: code,
    detail: summary,
    kind: CompletionItemKind.EnumMember,
  }));
  // Where a quote is open, the editor has closed it already.
  const quoted = (text: string): string => `"${text}${typed.startsWith('"') ? '' : '"'}`;
  if (typed.startsWith('[')) {
    const prefix = isSharedHeader(typed) ? 'tool.ikbo.' : '';
    return TABLES.map((name) => item(`[${prefix}${name}]`, KEYS[name]?.description, CompletionItemKind.Struct));
  }
  if (key === null) {
    if (table === 'severity') return codes.map((code) => ({ ...code, insert: `${code.label} = ` }));
    if (table !== '') return [];
    const used = (name: string) => new RegExp(`^\\s*${name}\\s*=`, 'm').test(whole);
    return Object.entries(KEYS).flatMap(([name, { type, description }]) =>
      type === 'object' || used(name)
        ? []
        : [{ ...item(name, description, CompletionItemKind.Property), insert: `${name} = ` }],
    );
  }
  if (table === 'severity')
    return LEVELS.map((level) => ({ ...item(level, undefined, CompletionItemKind.EnumMember), insert: quoted(level) }));
  if (table === 'per-file-ignores' || (table === '' && CODES.has(key)))
    return codes.map((code) => ({ ...code, insert: quoted(code.label) }));
  if (table === '' && KEYS[key]?.type === 'boolean')
    return ['true', 'false'].map((text) => item(text, undefined, CompletionItemKind.Value));
  return [];
}

const item = (text: string, detail: string | undefined, kind: CompletionItemKind): Item => ({
  label: text,
  insert: text,
  detail,
  kind,
});
const isSharedHeader = (typed: string): boolean => /^\[\s*tool\b/.test(typed);

interface Context {
  /** Empty at the top of the configuration. */
  readonly table: string;
  /** The key whose value the cursor is in; null where a key or a header begins. */
  readonly key: string | null;
  /** What of the word stands before the cursor. */
  readonly typed: string;
}

/** Null outside of the configuration, e.g. in other tables of `pyproject.toml`. */
function contextOf(path: string, before: string): Context | null {
  let table: string | null = isShared(path) ? null : '';
  let key: string | null = null;
  let depth = 0;
  const lines = before.split(/\r?\n/);
  const current = lines.pop() ?? '';
  for (const line of lines) {
    const header = depth === 0 ? /^\s*\[([^[\]]+)\]/.exec(line)?.[1] : undefined;
    if (header !== undefined) table = tableOf(path, header);
    const opened = depth === 0 ? /^\s*("[^"]*"|[\w-]+)\s*=/.exec(line)?.[1] : undefined;
    if (opened !== undefined) key = opened;
    depth = Math.max(0, depth + bracketsOf(line));
    if (depth === 0) key = null;
  }
  if (/^[^"]*#/.test(current)) return null;
  if (depth === 0) {
    const header = /^\s*(\[[\w.\s-]*)$/.exec(current)?.[1];
    if (header !== undefined)
      return isShared(path) && !isSharedHeader(header) ? null : { table: '', key: null, typed: header };
    key = /^\s*("[^"]*"|[\w-]+)\s*=/.exec(current)?.[1] ?? null;
  }
  return table === null ? null : { table, key, typed: /"?[\w-]*$/.exec(current)?.[0] ?? '' };
}

function tableOf(path: string, header: string): string | null {
  const name = header.replace(/\s/g, '');
  if (!isShared(path)) return name;
  if (name === 'tool.ikbo') return '';
  return name.startsWith('tool.ikbo.') ? name.slice('tool.ikbo.'.length) : null;
}

/** Opening brackets less closing ones, outside of strings and comments. */
function bracketsOf(line: string): number {
  const plain = line.replace(/"(?:\\.|[^"\\])*"|'[^']*'/g, '').replace(/#.*/, '');
  if (/^\s*\[[^=]*\]\s*$/.test(plain)) return 0; // A header.
  return (plain.match(/[[{]/g)?.length ?? 0) - (plain.match(/[\]}]/g)?.length ?? 0);
}

/** What the reader says of the file, at the key that it names. */
export function configDiagnostics(path: string, document: TextDocument): Diagnostic[] {
  const text = document.getText();
  if (isShared(path) && !/^\s*\[\s*tool\s*\.\s*ikbo\b/m.test(text)) return [];
  try {
    readConfig(path, text, '');
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const message = error.message.replace(`${path}: `, '');
    return [{ range: rangeFor(message, document), severity: DiagnosticSeverity.Error, source: SOURCE, message }];
  }
}

function rangeFor(message: string, document: TextDocument): Range {
  const place = /^line (\d+), column (\d+)/.exec(message);
  if (place) {
    const start = { line: Number(place[1]) - 1, character: Math.max(0, Number(place[2]) - 1) };
    return { start, end: { line: start.line + 1, character: 0 } };
  }
  const name = /^(?:unknown key )?([\w-]+)/.exec(message)?.[1] ?? '';
  const match = new RegExp(`^[ \\t]*(?:\\[[\\w. ]*\\b)?(${name})\\b`, 'm').exec(document.getText());
  const start = match ? match.index + match[0].length - name.length : 0;
  return { start: document.positionAt(start), end: document.positionAt(start + (match ? name.length : 0)) };
}
