import { join } from 'node:path';
import type { FileSource } from '../core/engine';
import { readText } from './read-text';

/** Other files of the project below `root`, read at most once each; a file that cannot be read is not there. */
export function fileSource(root: string): FileSource {
  const cache = new Map<string, string | undefined>();
  return {
    read(path) {
      if (!cache.has(path)) {
        const read = readText(join(root, path));
        cache.set(path, 'text' in read ? read.text : undefined);
      }
      return cache.get(path);
    },
  };
}
