/**
 * Results of earlier checks on disk. One file per project, engine and options; an entry holds as long as the file's text and
 * the text of every file that its result depends on are the same, those included that were looked for and not there.
 */
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Analysis } from '../core/engine';
import { writeWhole } from './cache-folder';

/** Content hash of a text; null for a file that is not there. */
export type TextHash = string | null;

/** What a result was computed from. */
export interface Sources {
  readonly hash: string;
  readonly asked: readonly (readonly [path: string, hash: TextHash])[];
}

export interface ResultCache {
  /** False on a first run: then nothing needs to be looked up. */
  readonly hasEntries: boolean;
  /** The result for a text, if `now` says that everything that it depends on is as it was. */
  find(path: string, textHash: string, now: (path: string) => TextHash): Analysis | undefined;
  store(path: string, sources: Sources, analysis: Analysis): void;
  /** Writes what is new; says why it could not, or null. Results of files that are gone are dropped. */
  save(): string | null;
}

/** Enough to tell texts apart; nothing here defends against somebody who forges them. */
export const hashText = (text: string): string => hash('sha1', text, 'base64').slice(0, 24);

const FORMAT = 'ikbo-cache/1';

/** Identifies the built engine: any change of it makes every result void. */
export function engineKey(dist: string, version: string): string {
  const parts = ['command.js', 'tree-sitter-python.wasm'].map((name) => hash('sha1', readFileSync(join(dist, name))));
  return [version, ...parts].join(' ');
}

/** A result that says nothing is written as 0: most files have none. */
type Entry = readonly [hash: string, asked: readonly number[], analysis: Analysis | 0 | 1];

interface Stored {
  /** Paths and hashes that entries refer to by index: every file of a project asks for the same ones. */
  readonly asked: (readonly [string, TextHash])[];
  readonly entries: Record<string, Entry>;
}

const nothing = (parsed: boolean): Analysis => ({ findings: [], suppressed: [], notes: [], parsed });

export function openCache(folder: string, root: string, key: string): ResultCache {
  const file = join(folder, `${hash('sha1', `${root}\0${key}`)}.json`);
  const old = read(file, key);
  const fresh = new Map<string, { readonly sources: Sources; readonly analysis: Analysis }>();
  const holds = new Map<number, boolean>();
  return {
    hasEntries: Object.keys(old.entries).length > 0,
    find(path, textHash, now) {
      const entry = Object.hasOwn(old.entries, path) ? old.entries[path] : undefined;
      if (!entry || entry[0] !== textHash) return undefined;
      const valid = entry[1].every((index) => {
        const known = holds.get(index);
        if (known !== undefined) return known;
        const row = old.asked[index];
        const same = row !== undefined && now(row[0]) === row[1];
        holds.set(index, same);
        return same;
      });
      if (!valid) return undefined;
      const analysis = entry[2];
      return typeof analysis === 'number' ? nothing(analysis === 1) : analysis;
    },
    store: (path, sources, analysis) => void fresh.set(path, { sources, analysis }),
    save() {
      if (fresh.size === 0) return null;
      try {
        write(file, key, merged(root, old, fresh));
        return null;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
  };
}

function merged(
  root: string,
  old: Stored,
  fresh: ReadonlyMap<string, { sources: Sources; analysis: Analysis }>,
): Stored {
  const asked: (readonly [string, TextHash])[] = [];
  const index = new Map<string, number>();
  const refer = (row: readonly [string, TextHash]): number => {
    const name = `${row[0]}\0${row[1] ?? ''}`;
    const known = index.get(name) ?? asked.push(row) - 1;
    index.set(name, known);
    return known;
  };
  const entries: Record<string, Entry> = {};
  for (const [path, [text, list, analysis]] of Object.entries(old.entries)) {
    if (fresh.has(path) || !existsSync(join(root, path))) continue;
    entries[path] = [text, list.flatMap((at) => (old.asked[at] ? [refer(old.asked[at])] : [])), analysis];
  }
  for (const [path, { sources, analysis }] of fresh) {
    const { findings, suppressed, notes, parsed, broken } = analysis;
    const isEmpty = findings.length + suppressed.length + notes.length === 0 && !broken;
    entries[path] = [sources.hash, sources.asked.map(refer), isEmpty ? (parsed ? 1 : 0) : analysis];
  }
  return { asked, entries };
}

/** Anything but a whole file of this very engine is no cache. */
function read(file: string, key: string): Stored {
  const empty: Stored = { asked: [], entries: {} };
  try {
    const text = readFileSync(file, 'utf8');
    const end = text.indexOf('\n');
    const body = text.slice(end + 1);
    if (text.slice(0, end) !== header(key, body)) return empty;
    return JSON.parse(body) as Stored;
  } catch {
    return empty; // Not there yet, or not readable.
  }
}

const header = (key: string, body: string): string => `${FORMAT} ${hash('sha1', key)} ${hash('sha1', body)}`;

function write(file: string, key: string, stored: Stored): void {
  const body = JSON.stringify(stored);
  writeWhole(file, `${header(key, body)}\n${body}`);
}
