/** The invariants of ARCHITECTURE.md that can be read off the source: which room may import which, and no cycles. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize, relative, resolve } from 'node:path';

const src = join(__dirname, '../src');

/** Each room and the rooms it may import, besides itself. `core` alone names the files directly in src/core. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'core/tensor': [],
  'core/python': ['core/tensor'],
  'core/onnx': ['core/tensor', 'core/judge', 'core/rules', 'core/cost'],
  'core/cost': ['core/tensor'],
  'core/judge': ['core/tensor', 'core/cost', 'core/python'],
  'core/rules': ['core/tensor', 'core/cost', 'core/python', 'core/judge'],
  'core/rewrite': ['core/tensor', 'core/cost', 'core/python', 'core/judge', 'core/rules'],
  core: ['core/tensor', 'core/cost', 'core/python', 'core/onnx', 'core/judge', 'core/rules', 'core/rewrite'],
  'core/finding': [],
  'core/edits': [],
  'core/suppress': ['core/finding'],
  'core/engine': ['core/finding'],
  'core/recent': [],
  protocol: [],
  notebook: ['core'],
  project: ['core', 'notebook', 'protocol'],
  bench: ['core', 'protocol'],
  verify: ['core', 'protocol'],
  server: ['core', 'bench', 'notebook', 'project', 'verify', 'protocol'],
  cli: ['core', 'bench', 'notebook', 'project', 'verify', 'server', 'protocol'],
  extension: ['core', 'bench', 'project', 'verify', 'server', 'protocol'],
  panel: ['protocol'],
};

/** Leaves of src/core, the public types and what serves several rooms, that the rooms inside core may import. */
const CONTRACTS = new Set(['core/finding', 'core/engine', 'core/edits', 'core/suppress', 'core/recent']);

function sources(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return sources(path);
    return /\.ts$/.test(name) ? [path] : [];
  });
}

interface Import {
  readonly from: string;
  readonly target: string;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const pattern = /(?:^|\n)\s*(?:import|export)\s[^;'"]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g;
  return [...text.matchAll(pattern)].map((match) => ({ from: file, target: match[1] ?? match[2] ?? '' }));
}

/** `core/judge` for a file below src/core/judge, `core/finding` for a contract, `core` for other files of src/core. */
function roomOf(file: string): string {
  const parts = relative(src, file).replace(/\\/g, '/').replace(/\.ts$/, '').split('/');
  if (parts[0] !== 'core') return parts[0] ?? '';
  const two = parts.slice(0, 2).join('/');
  return parts.length > 2 || CONTRACTS.has(two) ? two : 'core';
}

function allowed(from: string, to: string): boolean {
  if (from === to || (CONTRACTS.has(to) && from.startsWith('core'))) return true;
  const list = MAY_IMPORT[from] ?? [];
  return list.includes(to) || (list.includes('core') && to.startsWith('core'));
}

describe('architecture', () => {
  const files = sources(src);
  const edges = files.flatMap(importsOf);
  const local = edges.flatMap(({ from, target }) => {
    if (!target.startsWith('.') || target.endsWith('.json')) return [];
    const base = resolve(dirname(from), target);
    const hit = [`${base}.ts`, join(base, 'index.ts'), base].map(normalize).find((path) => files.includes(path));
    return hit ? [{ from, to: hit }] : [{ from, to: base }];
  });

  it('imports point one way', () => {
    const wrong = local
      .filter(({ from, to }) => !allowed(roomOf(from), roomOf(to)))
      .map(({ from, to }) => `${relative(src, from)} -> ${relative(src, to)}`);
    assert.deepEqual(wrong, []);
  });

  it('core imports no Node builtin and no editor API; only extension imports vscode', () => {
    const builtins = new Set(builtinModules);
    const wrong = edges
      .filter(({ from, target }) => {
        const room = roomOf(from);
        const name = target.replace(/^node:/, '');
        if (target === 'vscode') return room !== 'extension';
        return (room.startsWith('core') || room === 'protocol') && (target.startsWith('node:') || builtins.has(name));
      })
      .map(({ from, target }) => `${relative(src, from)} -> ${target}`);
    assert.deepEqual(wrong, []);
  });

  it('no file imports itself through others', () => {
    const next = new Map<string, string[]>();
    for (const { from, to } of local) next.set(from, [...(next.get(from) ?? []), to]);
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      const at = path.indexOf(file);
      if (at >= 0) cycles.push([...path.slice(at), file].map((f) => relative(src, f)).join(' -> '));
      if (at >= 0 || done.has(file)) return;
      for (const target of next.get(file) ?? []) visit(target, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    assert.deepEqual(cycles, []);
  });
});
