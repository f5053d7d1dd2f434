/** A model with one finding rewritten, as a file for a run: in a folder of its own, with the weights of the original. */
import { linkSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { readModel, rewriteModel, type Model } from '../../core/onnx';
import { analyse, type Analysed } from '../../core/onnx/analyse';
import { openFileBytes } from '../byte-source';
import { writeModel } from './write';

export interface Prepared {
  readonly analysed: Analysed;
  /** The rewritten model's file. */
  readonly after: string;
  /** Removes the file. */
  close(): void;
}

/**
 * `finding`: `IKB101:27`. The reason, in words, where there is no such rewrite. Throws the system's errors and `OnnxError`.
 */
export function prepareRewrite(path: string, finding: string): Prepared | string {
  const source = openFileBytes(path);
  let folder = '';
  const close = (): void => {
    if (folder !== '') rmSync(folder, { recursive: true, force: true });
  };
  try {
    const rewritten = rewriteModel(path, source, { only: [finding], force: true });
    const [outcome] = rewritten.outcomes;
    if (!outcome) return `there is no finding ${finding}`;
    if (outcome.reason !== null) return `${finding} is not rewritten: ${outcome.reason}`;
    const model = readModel(source);
    const places = externalPlaces(model);
    // Links to weights must be on their file system.
    folder = mkdtempSync(join(places.length > 0 ? dirname(path) : tmpdir(), '.ikbo-measure-'));
    const after = join(folder, 'rewritten.onnx');
    writeModel(after, source, rewritten.pieces);
    linkExternal(places, dirname(path), folder);
    return { analysed: analyse(model), after, close };
  } catch (error) {
    close();
    throw error;
  } finally {
    source.close();
  }
}

const externalPlaces = ({ graph }: Model): string[] => [
  ...new Set(graph.initializers.flatMap(({ external }) => (external ? [external.location] : []))),
];

/** The rewritten model finds the weights of the original beside itself. They are not copied; runtimes follow no soft links. */
function linkExternal(places: readonly string[], from: string, to: string): void {
  for (const place of places) {
    const target = resolve(to, place);
    if (!target.startsWith(`${resolve(to)}/`)) continue; // one that leaves its folder is not followed
    mkdirSync(dirname(target), { recursive: true });
    linkSync(resolve(from, place), target);
  }
}
