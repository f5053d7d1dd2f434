/**
 * A carriage return alone ends a line, as Python and editors read it; the grammar knows no such end. The engine sees a line feed in
 * its place, which takes as much room, and edits get back the line ends of their file.
 */
import type { Analysis, CheckOptions, Engine, OpenDocument } from './engine';
import type { Finding } from './finding';

const LONE = /\r(?!\n)/g;

/** As long as the text. */
const unified = (text: string): string => (text.includes('\r') ? text.replace(LONE, '\n') : text);

export function withLineEnds(engine: Engine): Engine {
  return {
    ...engine,
    check: (path, text, options = {}) => restored(engine.check(path, unified(text), read(options)), path, text),
    open: (path, text) => document(engine, path, text),
  };
}

function document(engine: Engine, path: string, given: string): OpenDocument {
  let text = given;
  let inner = engine.open(path, unified(text));
  return {
    path,
    get text() {
      return text;
    },
    change(changes) {
      const before = text;
      for (const change of changes) text = text.slice(0, change.start) + change.text + text.slice(change.end);
      if (unified(before) === before && unified(text) === text) return inner.change(changes);
      inner.close();
      inner = engine.open(path, unified(text));
    },
    check: (options = {}) => restored(inner.check(read(options)), path, text),
    close: () => inner.close(),
  };
}

function read(options: CheckOptions): CheckOptions {
  const { files } = options;
  if (!files) return options;
  return {
    ...options,
    files: {
      ...files,
      read(path) {
        const text = files.read(path);
        return text === undefined ? text : unified(text);
      },
    },
  };
}

/** The first line end of a file is that of all lines which are added. */
function restored(analysis: Analysis, path: string, text: string): Analysis {
  if (/\r\n|\n|\r/.exec(text)?.[0] !== '\r') return analysis;
  const own = (finding: Finding): Finding => ({
    ...finding,
    rewrites: finding.rewrites.map((rewrite) => ({
      ...rewrite,
      edits: rewrite.edits.map((edit) =>
        edit.path === path ? { ...edit, text: edit.text.replaceAll('\n', '\r') } : edit,
      ),
    })),
  });
  return { ...analysis, findings: analysis.findings.map(own), suppressed: analysis.suppressed.map(own) };
}
