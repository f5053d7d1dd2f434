/** The engine for Python: text in, findings out. */
import type { Analysis, Change, CheckOptions, Engine, Grammars, OpenDocument } from './engine';
import { type Note, type Rewrite, refused } from './finding';
import { isOfTorch } from './python/frameworks';
import { bodiesOf } from './python/bodies';
import { bindingsOf } from './python/bindings';
import type { Source } from './python/evaluation';
import { evaluateFile } from './python/evaluator';
import { type Held, type Library, createLibrary } from './python/library';
import { type ParsedFile, createParser } from './python/parser';
import { type Project, openProject } from './python/project';
import { importsOf } from './python/imports';
import { modelOf } from './python/model';
import { importedProducers } from './python/entries';
import { mayProduceReplicas } from './python/producers';
import { type Node, positionOf, lineOf } from './python/syntax';
import { createJudge } from './judge/judge';
import type { Match } from './judge/match';
import type { GivenName } from './judge/names';
import { describe } from './rules/describe';
import { rewritesFor } from './rewrite';
import { suppress } from './suppress';
import { resetIds } from './tensor/shape';
import { withLineEnds } from './line-ends';
import { withoutVain } from './vain';

const MAX_LENGTH = 3_000_000;
const MAX_LINE = 200_000;

/** Generated data, not code: parsing it takes longer than anybody waits. */
function isOversized(text: string): boolean {
  if (text.length > MAX_LENGTH) return true;
  for (let at = 0; at + MAX_LINE < text.length;) {
    const end = text.lastIndexOf('\n', at + MAX_LINE);
    if (end <= at) return true;
    at = end;
  }
  return false;
}

const declined = (path: string, message: string): Analysis => ({
  findings: [],
  suppressed: [],
  notes: [{ path, line: 1, message }],
  parsed: false,
});

const OVERSIZED = 'not analysed: larger than any source text that people write';

const NOTHING: Analysis = { findings: [], suppressed: [], notes: [], parsed: false };

const SYNTAX_ERROR = 'syntax error; what it touches was not analysed';

/** The innermost broken node on the way to the first error. */
function firstError(root: Node): Node | null {
  if (!root.broken) return null;
  let at = root;
  for (let inner: Node | undefined = root; inner; inner = at.children.find((child) => child.broken)) at = inner;
  return at;
}

/** That a file was parsed, and the first error in it. */
function brokenness({ path, root }: ParsedFile): Pick<Analysis, 'parsed' | 'broken'> {
  const error = firstError(root);
  return { parsed: true, ...(error && { broken: { path, line: lineOf(error), message: SYNTAX_ERROR } }) };
}

const heldBy = (file: ParsedFile): Held => ({ file, model: modelOf(file) });

/** Below this the parse costs nothing worth saving, and it tells of a broken file. */
const SHORT = 2048;

/** `share` is the part of a process's memory that this engine may fill with texts and trees that it keeps: a half for each of two threads. */
export async function createEngine(grammars: Grammars, share = 1): Promise<Engine> {
  const parser = await createParser(grammars, share);
  const library = createLibrary(parser, share);

  /**
   * `parsed` is asked for only if something in the text, or in what it imports, could make a copy, or if there is an error
   * to be told of.
   */
  function analyse(path: string, text: string, parsed: () => Held, options: CheckOptions): Analysis {
    if (!isOfTorch(text)) return NOTHING;
    resetIds();
    let held: Held | undefined;
    const main = (): Held => (held ??= parsed());
    const project = openProject(path, () => main().model, library, options.files ?? null);
    try {
      const callsProducer = importedProducers(text, importsOf(text), project);
      const isProductive = text.includes('ikbo:') || mayProduceReplicas(text);
      const source = { text, isProductive, callsProducer };
      const open = (): ParsedFile => main().file;
      const judged = isProductive || callsProducer ? judgeFile(project, source, open, library.quiet, options) : null;
      if (judged) return judged;
      return text.length < SHORT || bodiesOf(text) === null ? { ...NOTHING, ...brokenness(open()) } : NOTHING;
    } catch (error) {
      // Only nesting deeper than the stack gets here; anything else is a defect and must be seen.
      if (!(error instanceof RangeError)) throw error;
      return { ...declined(path, 'not analysed: too deeply nested'), parsed: true };
    }
  }

  /** Without rewrites, so that it ends. */
  const found =
    (path: string, options: CheckOptions) =>
    (text: string): Analysis => {
      const file = parser.parse(path, text);
      try {
        return analyse(path, text, () => heldBy(file), { ...options, rewrites: false });
      } finally {
        file.close();
      }
    };

  return withLineEnds({
    check(path, text, options = {}) {
      if (isOversized(text)) return declined(path, OVERSIZED);
      let file: ParsedFile | undefined;
      const parsed = () => library.held(path, text) ?? heldBy((file = parser.parse(path, text)));
      try {
        return withoutVain(analyse(path, text, parsed, options), path, text, found(path, options));
      } finally {
        file?.close();
      }
    },
    parse(text) {
      const file = parser.parseWhole('', text);
      const { nodeCount } = file;
      file.close();
      return nodeCount;
    },
    open(path, text) {
      let file = parser.parseWhole(path, text);
      const document: OpenDocument = {
        path,
        get text() {
          return file.text;
        },
        change(changes: readonly Change[]) {
          file = file.edited(changes);
        },
        check(options = {}) {
          const { text: now } = file;
          if (isOversized(now)) return declined(path, OVERSIZED);
          // Of a broken text, a parse at once and one of parts may recover in different ways: `check` knows the second.
          const parts = file.isBroken() ? parser.parse(path, now) : undefined;
          try {
            return withoutVain(
              analyse(path, now, () => heldBy(parts ?? file), options),
              path,
              now,
              found(path, options),
            );
          } finally {
            parts?.close();
          }
        },
        close: () => file.close(),
      };
      return document;
    },
  });
}

/** Null, and `open` is not asked, where nothing in the text, or in what it imports, makes a copy. */
function judgeFile(
  project: Project,
  source: Source,
  open: () => ParsedFile,
  quiet: Library['quiet'],
  options: CheckOptions,
): Analysis | null {
  const notes: Note[] = [];
  const comments = source.text.includes('ikbo:') ? open().commentsWith('ikbo:') : [];
  const bindings = bindingsOf(comments);
  const judge = createJudge();
  const names = new Map<string, readonly GivenName[]>();
  const isEvaluated = evaluateFile(
    project,
    source,
    {
      onSink: (event) => judge.collect(event),
      onNote: (node, message) => notes.push({ path: open().path, line: lineOf(node), message }),
      manyToOne: bindings.manyToOne,
      stated: bindings.stated,
      onName(symbol, name, at, inClass) {
        const given = names.get(symbol) ?? [];
        if (!given.some((known) => known.name === name && known.at === at))
          names.set(symbol, [...given, { name, at, inClass }]);
      },
    },
    quiet,
  );
  if (!isEvaluated) return null;
  const file = open();
  const matches = judge.matches({ ...options.shapes, ...bindings.shapes }, names);
  const rewrites =
    options.rewrites === false ? () => [] : oncePerSink((match) => rewritesFor(match, options.torch ?? null));
  const findings = matches.flatMap((match) =>
    match.origin.file === file || match.via?.file === file
      ? (describe(match, options.hints ?? false, rewrites) ?? [])
      : [],
  );
  const kept = suppress(file.path, comments, findings);
  return {
    findings: kept.findings,
    suppressed: kept.suppressed,
    notes: [...notes, ...kept.notes],
    ...brokenness(file),
  };
}

/** Keys and values of one attention are two findings, but what is rewritten is one piece of text: offered with the first. */
function oncePerSink(build: (match: Match) => readonly Rewrite[]): (match: Match) => readonly Rewrite[] {
  const attended = new Map<Node, Match>();
  const offered = new Map<string, Match>();
  return (match) => {
    const same = match.attention ? attended.get(match.sink.node) : undefined;
    if (match.attention && !same) attended.set(match.sink.node, match);
    return build(match).map((rewrite) => {
      if (rewrite.tier === 'none') return rewrite;
      const edits = JSON.stringify(rewrite.edits);
      const before = same ?? (match.code === 'IKB202' ? offered.get(edits) : undefined);
      if (!before) offered.set(edits, match);
      if (!before || before.code !== match.code || before.origin === match.origin) return rewrite;
      const { line } = positionOf(before.origin.file, before.origin.start);
      return refused(rewrite, `Offered with the finding on line ${line}, which rewrites the same attention.`);
    });
  };
}
