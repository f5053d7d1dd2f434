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

/** Characters of text whose models are kept: their nodes take about as many bytes times twenty. */
const CAPACITY = 4_000_000;
const STARRED = /^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*\*/gm;

const ALL = /^__all__\b/gm;
const ALL_LIST = /^__all__\s*=\s*[[(]([^\])]*)[\])]\s*$/m;

/** The part of a text that names what a star import brings: a plain `__all__`, or all of it. */
const exported = (text: string): string =>
  (text.match(ALL)?.length === 1 ? ALL_LIST.exec(text)?.[1] : undefined) ?? text;

/** What a text says of itself without a parse. */
export interface Outline {
  readonly produces: boolean;
  readonly imports: ReadonlyMap<string, ImportBinding>;
  readonly starred: readonly string[];
  /** Can `from this import *` bring the name, by itself? */
  exports(name: string): boolean;
}

export interface Held {
  readonly file: ParsedFile;
  readonly model: FileModel;
}

export interface Library {
  /** Owns the file: nobody else closes it. */
  open(path: string, text: string): Held;
  outline(path: string, text: string): Outline;
  /** Functions of imported files, see `evaluateFile`. Of use only while what was asked holds. */
  readonly quiet: WeakMap<Node, Quiet>;
}

export function createLibrary(parser: PythonParser): Library {
  const held = new Map<string, Held>();
  let characters = 0;

  function drop(path: string): void {
    const found = held.get(path);
    if (!found) return;
    held.delete(path);
    characters -= found.file.text.length;
    found.file.close();
  }

  const outlines = new Map<string, { readonly text: string; readonly outline: Outline }>();
  return {
    outline(path, text) {
      const known = outlines.get(path);
      if (known?.text === text) return known.outline;
      const starred = [...text.matchAll(STARRED)].map((match) => match[1] ?? '');
      const outline = {
        produces: mayProduceReplicas(text),
        imports: importsOf(text),
        starred,
        exports: (name: string) => exported(text).includes(name),
      };
      outlines.set(path, { text, outline });
      return outline;
    },
    quiet: new WeakMap(),
    open(path, text) {
      const known = held.get(path);
      if (known && known.file.text === text) {
        held.delete(path);
        held.set(path, known);
        return known;
      }
      drop(path);
      const file = parser.parse(path, text);
      const made = { file, model: modelOf(file) };
      held.set(path, made);
      characters += text.length;
      for (const oldest of held.keys()) {
        if (characters <= CAPACITY || oldest === path) break;
        drop(oldest);
      }
      return made;
    },
  };
}
