/** Models of imported files, kept between analyses: every file of a project imports the same few. */
import { type FileModel, modelOf } from './model';
import type { ParsedFile, PythonParser } from './parser';
import type { Node } from './syntax';

const CAPACITY = 200;

export interface Library {
  model(path: string, text: string): FileModel;
  /** Functions of imported files, see `evaluateFile`. Forgotten when any of the files changes. */
  readonly quiet: WeakMap<Node, boolean>;
  /** Frees the longest unused trees. Only between analyses: nodes of a freed tree lose children not asked for yet. */
  trim(): void;
}

export function createLibrary(parser: PythonParser): Library {
  const held = new Map<string, { readonly file: ParsedFile; readonly model: FileModel }>();
  let quiet = new WeakMap<Node, boolean>();
  return {
    get quiet() {
      return quiet;
    },
    model(path, text) {
      const known = held.get(path);
      held.delete(path);
      if (known && known.file.text === text) {
        held.set(path, known);
        return known.model;
      }
      if (known) quiet = new WeakMap();
      known?.file.close();
      const file = parser.parse(path, text);
      const model = modelOf(file);
      held.set(path, { file, model });
      return model;
    },
    trim() {
      for (const [path, { file }] of held) {
        if (held.size <= CAPACITY) return;
        held.delete(path);
        file.close();
      }
    },
  };
}
