/**
 * The four verbs' first two, for Python: read and judge. One engine serves the command line, the language server and
 * the tests. The engine does no I/O: the caller hands it the grammars and, through `FileSource`, other files' text.
 */
import type { Finding, Note } from './finding';

/** How the engine asks for another file of the project. Paths are those of the report: relative, forward slashes. */
export interface FileSource {
  /**
   * Text of the file, or undefined when there is none. Must be cheap to ask twice: each check asks for every file that its
   * result depends on, those that are not there included, so that a caller may record them.
   */
  read(path: string): string | undefined;
  /**
   * Files of the project that may construct the class of that name, or that import the function, by their texts and in a fixed
   * order. Left out where the project's files are not known.
   */
  naming?(name: string): readonly string[];
  /**
   * Other folders that are on Python's path as the project's own is, as paths of the report (`../lib`). Their order is not
   * known: what two of them have is not looked for in either.
   */
  readonly roots?: readonly string[];
}

/** Major and minor. */
export type TorchVersion = readonly [major: number, minor: number];

export interface CheckOptions {
  /** Report lazy broadcasts as hints too. Default false. */
  readonly hints?: boolean;
  /** Shape bindings of the project, below those that stand in the file (`# ikbo: B=1024`). */
  readonly shapes?: Readonly<Record<string, number>>;
  /** Work out the rewrites too, which takes longer than to find what they are for. Default true. */
  readonly rewrites?: boolean;
  /** The oldest PyTorch that the code has to run on; left out where it is not known. Decides what a rewrite may use. */
  readonly torch?: TorchVersion;
  /** Resolves imports; without it the file is analysed alone. */
  readonly files?: FileSource;
}

export interface Analysis {
  readonly findings: readonly Finding[];
  /** Findings that a suppression comment silences (`suppress.ts`). */
  readonly suppressed: readonly Finding[];
  readonly notes: readonly Note[];
  /** False when nothing in the text (or in what it imports) could make a copy, so that it was not parsed. */
  readonly parsed: boolean;
  /** The first syntax error of a file that was parsed: what it touches is not analysed. */
  readonly broken?: Note;
}

/** A change of a document, in UTF-16 offsets of the text before it. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** An open file whose syntax tree is kept and re-parsed incrementally. Call `close` to free the tree. */
export interface OpenDocument {
  readonly path: string;
  readonly text: string;
  /** Applies one change after another. */
  change(changes: readonly Change[]): void;
  check(options?: CheckOptions): Analysis;
  close(): void;
}

export interface Engine {
  /** Parses, checks and forgets. Never throws on any text. */
  check(path: string, text: string, options?: CheckOptions): Analysis;
  /** Parse alone, for the speed benchmark: returns the number of syntax nodes. */
  parse(text: string): number;
  open(path: string, text: string): OpenDocument;
}

/** The two wasm files: web-tree-sitter's runtime and the Python grammar, as bytes. */
export interface Grammars {
  readonly runtime: Uint8Array;
  readonly python: Uint8Array;
}
