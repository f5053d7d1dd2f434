/** Models of imported files, kept between analyses: every file of a project imports the same few. */
import { importsOf } from './imports';
import { type FileModel, type ImportBinding, modelOf } from './model';
import type { ParsedFile, PythonParser } from './parser';
import { mayProduceReplicas } from './producers';
import type { Node } from './syntax';

/** Paths that were asked for, with their texts; undefined for a file that was not there. */
export type Asked = ReadonlyMap<string, string | undefined>;

/** What was found out about a function of an imported file, and the files that were asked for until then. */
export interface Quiet {
  readonly isQuiet: boolean;
  readonly asked: Asked;
}

const CAPACITY = 200;
const STARRED = /^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*\*/gm;

/** What a text says of itself without a parse. */
export interface Outline {
  readonly produces: boolean;
  readonly imports: ReadonlyMap<string, ImportBinding>;
  readonly starred: readonly string[];
}

export interface Library {
  model(path: string, text: string): FileModel;
  outline(path: string, text: string): Outline;
  /** Functions of imported files, see `evaluateFile`. Of use only while what was asked holds. */
  readonly quiet: WeakMap<Node, Quiet>;
  /** Frees the longest unused trees. Only between analyses: nodes of a freed tree lose children not asked for yet. */
  trim(): void;
}

export function createLibrary(parser: PythonParser): Library {
  const held = new Map<string, { readonly file: ParsedFile; readonly model: FileModel }>();
  const outlines = new Map<string, { readonly text: string; readonly outline: Outline }>();
  return {
    outline(path, text) {
      const known = outlines.get(path);
      if (known?.text === text) return known.outline;
      const starred = [...text.matchAll(STARRED)].map((match) => match[1] ?? '');
      const outline = { produces: mayProduceReplicas(text), imports: importsOf(text), starred };
      outlines.set(path, { text, outline });
      return outline;
    },
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
