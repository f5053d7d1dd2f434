/** Models of imported files, kept between analyses: every file of a project imports the same few. */
import { type FileModel, modelOf } from './model';
import type { ParsedFile, PythonParser } from './parser';
import type { Node } from './syntax';

/** Paths that were asked for, with their texts; undefined for a file that was not there. */
export type Asked = ReadonlyMap<string, string | undefined>;

/** What was found out about a function of an imported file, and the files that were asked for until then. */
export interface Quiet {
  readonly isQuiet: boolean;
  readonly asked: Asked;
}

const CAPACITY = 200;

export interface Library {
  model(path: string, text: string): FileModel;
  /** Functions of imported files, see `evaluateFile`. Of use only while what was asked holds. */
  readonly quiet: WeakMap<Node, Quiet>;
  /** Frees the longest unused trees. Only between analyses: nodes of a freed tree lose children not asked for yet. */
  trim(): void;
}

export function createLibrary(parser: PythonParser): Library {
  const held = new Map<string, { readonly file: ParsedFile; readonly model: FileModel }>();
  return {
    quiet: new WeakMap(),
    model(path, text) {
      const known = held.get(path);
      held.delete(path);
      if (known && known.file.text === text) {
        held.set(path, known);
        return known.model;
      }
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
