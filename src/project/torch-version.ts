/**
 * The oldest PyTorch that a project has to run on: what the configuration says, else what its metadata requires, else what
 * its virtual environment has. Rewrites that need a newer one are then refused, and those that need no newer one lose that
 * condition.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'smol-toml';
import type { TorchVersion } from '../core/engine';
import { findPython } from './interpreter';

/** Null where nothing says which; `python` is an interpreter that the user has named. */
export function torchVersion(folder: string, stated: string | null, python: string | null = null): TorchVersion | null {
  if (stated !== null) return versionOf(stated);
  for (const at of upToRepository(folder)) {
    const version = required(at);
    if (version) return version;
  }
  return installed(findPython(folder, python));
}

/** `2.5.1+cu124` as [2, 5]. */
function versionOf(text: string): TorchVersion | null {
  const match = /^\s*v?(\d+)(?:\.(\d+))?/.exec(text);
  return match ? [Number(match[1]), Number(match[2] ?? 0)] : null;
}

/** The folder and those above it up to the repository's root; outside of a repository the folder alone. */
function upToRepository(folder: string): readonly string[] {
  const folders = [folder];
  for (let at = folder; !existsSync(join(at, '.git'));) {
    const parent = dirname(at);
    if (parent === at) return [folder];
    folders.push((at = parent));
  }
  return folders;
}

function required(folder: string): TorchVersion | null {
  const read = (name: string): string => {
    try {
      return readFileSync(join(folder, name), 'utf8');
    } catch {
      return ''; // Not there, or not readable.
    }
  };
  const lists = [
    fromPyproject(read('pyproject.toml')),
    read('requirements.txt').split('\n'),
    fromSetup(read('setup.cfg')),
  ];
  for (const list of lists) {
    for (const requirement of list) {
      const version = oldestOf(requirement);
      if (version) return version;
    }
  }
  return null;
}

/** The oldest version that a requirement of torch (PEP 508, or Poetry's `^`) lets in; null for other requirements. */
export function oldestOf(requirement: string): TorchVersion | null {
  const match = /^\s*torch\s*(?:\[[^\]]*\])?\s*\(?\s*([<>=~!^][^;#)]*)/i.exec(requirement);
  const parts = match?.[1]?.split(',').map((part) => /^\s*([<>=~!^]+)\s*(.*)$/.exec(part)) ?? [];
  let oldest: TorchVersion | null = null;
  let newest: TorchVersion | null = null;
  for (const part of parts) {
    const [, operator = '', text = ''] = part ?? [];
    const version = versionOf(text);
    if (!version) continue;
    if (['>=', '>', '==', '===', '~=', '^'].includes(operator)) {
      if (!oldest || compare(version, oldest) > 0) oldest = version;
    } else if (operator === '<=') newest = version;
    else if (operator === '<') newest = before(version, text);
  }
  // With an upper bound alone, the oldest can only be older than the newest.
  return oldest ?? newest;
}

const compare = (a: TorchVersion, b: TorchVersion): number => a[0] - b[0] || a[1] - b[1];

/** The newest release below: 1.13 was the last one before 2.0. What comes before 3.0, nobody knows. */
function before([major, minor]: TorchVersion, text: string): TorchVersion | null {
  if (/^\s*\d+\.\d+\.0*[1-9]/.test(text)) return [major, minor]; // <2.4.1 lets 2.4 in.
  if (minor > 0) return [major, minor - 1];
  return major === 2 ? [1, 13] : null;
}

type Table = Readonly<Record<string, unknown>>;
const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const tableAt = (value: unknown, ...path: readonly string[]): Table =>
  path.reduce<Table>((at, key) => (isTable(at[key]) ? at[key] : {}), isTable(value) ? value : {});
const strings = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];

function fromPyproject(text: string): readonly string[] {
  if (!/torch/i.test(text)) return [];
  let top: unknown;
  try {
    top = parse(text);
  } catch {
    return []; // The configuration's reader says what is wrong.
  }
  const project = tableAt(top, 'project');
  const groups = [
    ...Object.values(tableAt(project, 'optional-dependencies')),
    ...Object.values(tableAt(top, 'dependency-groups')),
  ];
  const poetry = Object.entries(tableAt(top, 'tool', 'poetry', 'dependencies')).map(([name, value]) => {
    const version = isTable(value) ? value['version'] : value;
    const bare = typeof version === 'string' && /^\d/.test(version) ? `^${version}` : version;
    return `${name}${typeof bare === 'string' ? bare : ''}`;
  });
  return [...strings(project['dependencies']), ...groups.flatMap(strings), ...poetry];
}

/** Lines of `install_requires`; a requirement that stands on the key's own line, too. */
const fromSetup = (text: string): readonly string[] =>
  text.split('\n').map((line) => line.replace(/^\s*install_requires\s*=\s*/, ''));

/** By the name of the installed package's metadata: nothing is started. */
function installed(python: string): TorchVersion | null {
  if (dirname(python) === '.') return null; // `python3`, wherever that is.
  const environment = dirname(dirname(python));
  const libraries = [join(environment, 'Lib'), ...foldersIn(join(environment, 'lib'))];
  for (const library of libraries) {
    const name = foldersIn(join(library, 'site-packages'), false).find((one) => /^torch-\d.*\.dist-info$/.test(one));
    if (name) return versionOf(name.slice('torch-'.length));
  }
  return null;
}

function foldersIn(folder: string, full = true): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((name) => (full ? join(folder, name) : name));
}
