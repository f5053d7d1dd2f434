/**
 * Configuration: `ikbo.toml`, or `[tool.ikbo]` of `pyproject.toml`, the nearest one at or above a folder. Every mistake is an
 * error with the file and what to write instead; a wrong file is never half applied.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import type { Level } from '../core/finding';
import { describeError } from './walk';

export interface Config {
  /** The folder that patterns and the baseline are relative to. */
  readonly folder: string;
  /** The file it was read from, or null for the defaults. */
  readonly file: string | null;
  /** Code prefixes: `IKB1` selects IKB101 to IKB199. Null selects all. */
  readonly select: readonly string[] | null;
  readonly ignore: readonly string[];
  readonly severity: Readonly<Record<string, Level>>;
  /** Gitignore-style pattern to code prefixes. */
  readonly perFileIgnores: Readonly<Record<string, readonly string[]>>;
  /** Gitignore-style patterns of files that are not checked. */
  readonly exclude: readonly string[];
  readonly shapes: Readonly<Record<string, number>>;
  readonly baseline: string | null;
  readonly hints: boolean;
  /** The oldest PyTorch that the code has to run on, e.g. `2.4`; null to look for it (`torch-version.ts`). */
  readonly torch: string | null;
}

/** By the file's name: an editor need not know the language. */
export const isConfigFile = (path: string): boolean => /(^|\/)(ikbo|pyproject)\.toml$/.test(path);

export class ConfigError extends Error {}

export const defaultConfig = (folder: string): Config => ({
  folder,
  file: null,
  select: null,
  ignore: [],
  severity: {},
  perFileIgnores: {},
  exclude: [],
  shapes: {},
  baseline: null,
  hints: false,
  torch: null,
});

/** The configuration that applies to `folder`; looks upward, stops at the repository's root. Throws ConfigError. */
export function findConfig(folder: string): Config {
  for (let at = resolve(folder); ;) {
    const own = join(at, 'ikbo.toml');
    if (existsSync(own)) return readConfig(own, textOf(own), at);
    const project = join(at, 'pyproject.toml');
    if (existsSync(project)) {
      const text = textOf(project);
      if (/^\s*\[\s*tool\s*\.\s*ikbo\b/m.test(text)) return readConfig(project, text, at);
    }
    const parent = dirname(at);
    if (parent === at || existsSync(join(at, '.git'))) return defaultConfig(folder);
    at = parent;
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`${file}: ${describeError(error)}`);
  }
}

type Table = Readonly<Record<string, unknown>>;

/** `file` decides whether the keys stand at the top (`ikbo.toml`) or below `[tool.ikbo]`. */
export function readConfig(file: string, text: string, folder: string): Config {
  const fail = (message: string): never => {
    throw new ConfigError(`${file}: ${message}`);
  };
  let top: Table;
  try {
    top = parse(text);
  } catch (error) {
    if (error instanceof TomlError) return fail(`line ${error.line}, column ${error.column}: not valid TOML`);
    throw error;
  }
  const table = file.endsWith('pyproject.toml') ? asTable(asTable(top['tool'])?.['ikbo']) : top;
  if (!table) return fail('[tool.ikbo] is not a table');
  const unknown = Object.keys(table).filter((key) => !(key in KEYS));
  if (unknown.length > 0) return fail(`unknown key ${unknown.join(', ')}; there are ${Object.keys(KEYS).join(', ')}`);
  for (const [key, { valid, expected }] of Object.entries(KEYS)) {
    const value = table[key];
    if (value !== undefined && !valid(value)) return fail(`${key} must be ${expected}`);
  }
  const strings = (key: string): readonly string[] => (isStrings(table[key]) ? table[key] : []);
  return {
    folder,
    file,
    select: table['select'] === undefined ? null : strings('select').map(upper),
    ignore: strings('ignore').map(upper),
    severity: mapKeys(isSeverities(table['severity']) ? table['severity'] : {}, upper),
    perFileIgnores: isPerFile(table['per-file-ignores'])
      ? mapValues(table['per-file-ignores'], (codes) => codes.map(upper))
      : {},
    exclude: strings('exclude'),
    shapes: isShapes(table['shapes']) ? { ...table['shapes'] } : {},
    baseline: typeof table['baseline'] === 'string' ? table['baseline'] : null,
    hints: table['hints'] === true,
    torch: typeof table['torch'] === 'string' ? table['torch'] : null,
  };
}

const LEVELS: readonly string[] = ['error', 'warning', 'information', 'hint'];
const CODE = /^ikb\d{0,3}$/i;

const isString = (value: unknown): value is string => typeof value === 'string';
const isStrings = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isString);
const isCodes = (value: unknown): value is readonly string[] =>
  isStrings(value) && value.every((code) => CODE.test(code));
const asTable = (value: unknown): Table | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : undefined;
const every = (value: unknown, valid: (key: string, value: unknown) => boolean): boolean => {
  const table = asTable(value);
  return table !== undefined && Object.entries(table).every(([key, one]) => valid(key, one));
};
const isSeverities = (value: unknown): value is Record<string, Level> =>
  every(value, (key, level) => /^ikb\d{3}$/i.test(key) && isString(level) && LEVELS.includes(level));
const isPerFile = (value: unknown): value is Record<string, readonly string[]> =>
  every(value, (_, codes) => isCodes(codes));
const isShapes = (value: unknown): value is Record<string, number> =>
  every(
    value,
    (key, size) => /^[A-Za-z_]\w*(\.\w+|\[\d+\])*$/.test(key) && Number.isSafeInteger(size) && Number(size) >= 0,
  );

interface Key {
  readonly valid: (value: unknown) => boolean;
  readonly expected: string;
}

const KEYS: Readonly<Record<string, Key>> = {
  select: { valid: isCodes, expected: 'a list of rule codes or prefixes, e.g. ["IKB1", "IKB202"]' },
  ignore: { valid: isCodes, expected: 'a list of rule codes or prefixes, e.g. ["IKB202"]' },
  severity: {
    valid: isSeverities,
    expected: `a table of rule codes to ${LEVELS.join(', ')}, e.g. { IKB101 = "error" }`,
  },
  'per-file-ignores': {
    valid: isPerFile,
    expected: 'a table of patterns to lists of codes, e.g. { "tests/**" = ["IKB1"] }',
  },
  exclude: { valid: isStrings, expected: 'a list of patterns, e.g. ["third_party/**"]' },
  shapes: { valid: isShapes, expected: 'a table of names to whole numbers, e.g. { B = 1024 }' },
  baseline: { valid: isString, expected: 'the path of a baseline file, e.g. "ikbo-baseline.json"' },
  hints: { valid: (value) => typeof value === 'boolean', expected: 'true or false' },
  torch: {
    valid: (value) => isString(value) && /^\d+\.\d+(\.\d+)?$/.test(value),
    expected: 'the oldest PyTorch that the code has to run on, e.g. "2.4"',
  },
};

const upper = (text: string): string => text.toUpperCase();
const mapKeys = <T>(table: Readonly<Record<string, T>>, change: (key: string) => string): Record<string, T> =>
  Object.fromEntries(Object.entries(table).map(([key, value]) => [change(key), value]));
const mapValues = <T, R>(table: Readonly<Record<string, T>>, change: (value: T) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(table).map(([key, value]) => [key, change(value)]));
