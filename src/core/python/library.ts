/** Models of imported files, kept between analyses: every file of a project imports the same few. */
import { createRecent } from '../recent';
import { importsOf } from './imports';
import { type FileModel, type ImportBinding, modelOf } from './model';
import type { ParsedFile, PythonParser } from './parser';
import { type Definition, basesIn, definitionsIn, mayProduceReplicas } from './producers';
import type { Node } from './syntax';

/** The first `count` of the files that an analysis asked for, with their texts; undefined for a file that was not there. */
export interface Asked {
  /** Grows as the analysis goes on: shared by all that was found out in it. */
  readonly files: readonly (readonly [path: string, text: string | undefined])[];
  readonly count: number;
  /** Other folders in which imports were looked for. */
  readonly roots: string;
}

/** What was found out about a function of an imported file, and the files that were asked for until then. */
export interface Quiet {
  readonly isQuiet: boolean;
  readonly asked: Asked;
}

/**
 * Characters of text whose models are kept: nodes that were asked for take about sixteen bytes each. Each thread keeps as many: with
 * half as many, two threads parse so much again that one alone is faster.
 */
const MODEL_CHARACTERS = 2_000_000;
/** An outline holds its text and little else. */
const OUTLINE_CHARACTERS = 6_000_000;
const STAR = /\bimport[ \t]*\*/;
const STARRED = /^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*\*/gm;

const ALL = /^__all__\b/gm;
const ALL_LIST = /^__all__\s*=\s*[[(]([^\])]*)[\])]\s*$/m;

/** The part of a text that names what a star import brings: a plain `__all__`, or all of it. */
const exported = (text: string): string =>
  (text.match(ALL)?.length === 1 ? ALL_LIST.exec(text)?.[1] : undefined) ?? text;

/** What a text says of itself without a parse; each part is looked for when it is first asked for. */
export interface Outline {
  readonly produces: boolean;
  readonly imports: ReadonlyMap<string, ImportBinding>;
  readonly starred: readonly string[];
  /** Can `from this import *` bring the name, by itself? */
  exports(name: string): boolean;
  /** See `definitionsIn`. */
  definition(name: string): Definition | undefined;
  /** Names of the bases of a class. */
  bases(name: string): readonly string[];
}

export interface Held {
  readonly file: ParsedFile;
  readonly model: FileModel;
}

export interface Library {
  /** Owns the file: nobody else closes it. */
  open(path: string, text: string): Held;
  /** The same for a file that has been imported lately; undefined for others. */
  held(path: string, text: string): Held | undefined;
  outline(path: string, text: string): Outline;
  /** Functions of imported files, see `evaluateFile`. Of use only while what was asked holds. */
  readonly quiet: WeakMap<Node, Quiet>;
}

/** A package may star-import hundreds of files, of which one is asked what it binds. */
function outlineOf(text: string): Outline {
  let produces: boolean | undefined;
  let imports: ReadonlyMap<string, ImportBinding> | undefined;
  let classes: ReadonlyMap<string, readonly string[]> | undefined;
  let offered: string | undefined;
  return {
    get produces() {
      return (produces ??= mayProduceReplicas(text));
    },
    get imports() {
      return (imports ??= importsOf(text));
    },
    starred: STAR.test(text) ? [...text.matchAll(STARRED)].map((match) => match[1] ?? '') : [],
    exports: (name) => (offered ??= exported(text)).includes(name),
    definition: definitionsIn(text),
    bases: (name) => (classes ??= basesIn(text)).get(name) ?? [],
  };
}

/** See `createEngine` for the share. */
export function createLibrary(parser: PythonParser, share = 1): Library {
  const held = createRecent<string, Held>(MODEL_CHARACTERS, ({ file }) => file.close());
  const outlines = createRecent<string, { readonly text: string; readonly outline: Outline }>(
    share * OUTLINE_CHARACTERS,
  );
  const lately = (path: string, text: string): Held | undefined => {
    const known = held.get(path);
    return known?.file.text === text ? known : undefined;
  };
  return {
    outline(path, text) {
      const known = outlines.get(path);
      if (known?.text === text) return known.outline;
      const outline = outlineOf(text);
      outlines.set(path, { text, outline }, text.length);
      return outline;
    },
    quiet: new WeakMap(),
    held: lately,
    open(path, text) {
      const known = lately(path, text);
      if (known) return known;
      const file = parser.parse(path, text);
      const made = { file, model: modelOf(file) };
      held.set(path, made, text.length);
      return made;
    },
  };
}
