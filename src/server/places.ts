/** Between the client's URIs and the report's paths, which are relative to a workspace folder. */
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseModelUri } from './onnx/uri';

/** Where a document stands: `root` is an absolute folder, or null for a document that is in no file system. */
export interface Place {
  readonly root: string | null;
  /** Relative to `root`, with forward slashes: the path of the report. */
  readonly path: string;
}

/** A document outside of every folder is a project of its own: its folder is the root. */
export function placeOf(uri: string, folders: readonly string[]): Place {
  const file = fileOf(uri);
  if (!file) return { root: null, path: uri.replace(/^.*[:/]/, '') };
  const inside = (folder: string) => !relative(folder, file).startsWith('..') && !isAbsolute(relative(folder, file));
  const holding = folders.filter(inside).sort((a, b) => b.length - a.length);
  const root = holding[0] ?? dirname(file);
  return { root, path: relative(root, file).split(sep).join('/') };
}

/** The URI of a path of the report, seen from a document's place. */
export function uriOf(place: Place, path: string, uri: string): string {
  if (path === place.path || place.root === null) return uri;
  return pathToFileURL(join(place.root, path)).href;
}

export function fileOf(uri: string): string | undefined {
  const model = parseModelUri(uri);
  if (model) return model.file;
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri) : undefined;
  } catch {
    return undefined; // a file URI with a host or an escaped slash names no file here
  }
}
