/** A notebook file as the engine's input: its cells are one program, and everything that is found is said of a cell. */
import type { Analysis, CheckOptions, Engine } from '../core/engine';
import { type ChainStep, type Finding, type Note, type Rewrite, type Site, refused } from '../core/finding';
import { cellEdit, partAtLine, programOf, type CellEdit, type CodeCell, type Program } from './program';
import { rawEdit, sourcesOf, textOfSource } from './source';

export const isNotebook = (path: string): boolean => path.endsWith('.ipynb');

/** What checks a text: the engine, or the engine with notebooks. */
export type Checker = Pick<Engine, 'check'>;

/** Checks notebooks by their cells and everything else as it is. */
export const withNotebooks = (engine: Checker): Checker => ({
  check: (path, text, options = {}) =>
    isNotebook(path) ? checkNotebook(engine, path, text, options) : engine.check(path, text, options),
});

const NOTHING: Analysis = { findings: [], suppressed: [], notes: [], parsed: false };

function checkNotebook(engine: Checker, path: string, raw: string, options: CheckOptions): Analysis {
  if (!raw.includes('torch')) return NOTHING;
  const cells = readCells(raw);
  if (typeof cells === 'string') return { ...NOTHING, notes: [{ path, line: 1, message: `not analysed: ${cells}` }] };
  const program = programOf(cells);
  const analysis = engine.check(path, program.text, options);
  const place = placer(path, program);
  const toFile = (rewrite: Rewrite) => inFile(path, raw, program, rewrite);
  const broken = program.open
    ? {
        path,
        cell: program.open.number,
        line: 1,
        message: 'syntax error: brackets or strings of this cell do not close',
      }
    : analysis.broken && place.step(analysis.broken);
  const finding = (one: Finding): Finding => ({
    ...place.finding(one),
    rewrites: one.rewrites.map(toFile).map(place.rewrite),
  });
  return {
    findings: analysis.findings.map(finding),
    suppressed: analysis.suppressed.map(finding),
    notes: analysis.notes.map(place.step),
    parsed: analysis.parsed,
    ...(broken && { broken }),
  };
}

interface RawCell {
  readonly cell_type?: unknown;
  readonly metadata?: { readonly vscode?: { readonly languageId?: unknown } | null } | null;
}

interface RawNotebook {
  readonly cells?: unknown;
  readonly metadata?: {
    readonly kernelspec?: { readonly language?: unknown } | null;
    readonly language_info?: { readonly name?: unknown } | null;
  } | null;
}

/** The Python cells of a notebook, none for one of another language, or why the text is no notebook. */
export function readCells(raw: string): readonly CodeCell[] | string {
  let notebook: RawNotebook | null;
  try {
    notebook = JSON.parse(raw.replace(/^\uFEFF/, '')) as RawNotebook | null;
  } catch {
    return 'not valid JSON';
  }
  const cells = notebook?.cells;
  if (!Array.isArray(cells)) return 'not a notebook: it has no list of cells (nbformat 4)';
  const language = notebook?.metadata?.kernelspec?.language ?? notebook?.metadata?.language_info?.name;
  if (typeof language === 'string' && !isPython(language)) return [];
  const sources = sourcesOf(raw);
  return cells.flatMap((cell: RawCell | null, at) => {
    const source = sources[at];
    const own = cell?.metadata?.vscode?.languageId;
    if (cell?.cell_type !== 'code' || !source || (typeof own === 'string' && !isPython(own))) return [];
    return [{ number: at + 1, text: textOfSource(source) }];
  });
}

const isPython = (language: string): boolean => /^i?python[\d.]*$/i.test(language);

/** Sites, steps and words of the program as those of its cells. Other files stay. */
export function placer(path: string, program: Program) {
  const step = <T extends ChainStep | Note>(one: T): T => {
    const part = one.path === path ? partAtLine(program, one.line) : undefined;
    return part ? { ...one, cell: part.cell.number, line: one.line - part.line + 1 } : one;
  };
  const site = <T extends Site>(one: T): T => {
    const part = one.path === path ? partAtLine(program, one.line) : undefined;
    if (!part) return one;
    const [line, endLine] = [one.line - part.line + 1, one.endLine - part.line + 1];
    return { ...one, cell: part.cell.number, line, endLine };
  };
  /** Lines that a message names. */
  const words = (text: string): string =>
    text.replace(/\b(line) (\d+)\b/gi, (whole, word: string, digits: string) => {
      const part = partAtLine(program, Number(digits));
      return part ? `${word} ${Number(digits) - part.line + 1} of cell ${part.cell.number}` : whole;
    });
  return {
    words,
    step: <T extends ChainStep | Note>(one: T): T => step(one),
    rewrite: (one: Rewrite): Rewrite => ({
      ...one,
      conditions: one.conditions.map(({ kind, text }) => ({ kind, text: words(text) })),
      reason: one.reason === null ? null : words(one.reason),
    }),
    finding: (one: Finding): Finding => ({
      ...site(one),
      message: words(one.message),
      broadcast: site(one.broadcast),
      written: one.written && site(one.written),
      consumer: site(one.consumer),
      chain: one.chain.map(step),
    }),
  };
}

export const TWO_CELLS = 'It would change text of two cells as one piece.';

/** A rewrite of the program as edits of the file, one per cell. */
function inFile(path: string, raw: string, program: Program, rewrite: Rewrite): Rewrite {
  const own = rewrite.edits.filter((edit) => edit.path === path).map((edit) => cellEdit(program, edit));
  if (own.includes(undefined)) return refused(rewrite, TWO_CELLS);
  const byCell = new Map<number, CellEdit[]>();
  for (const edit of own) if (edit) byCell.set(edit.cell.number, [...(byCell.get(edit.cell.number) ?? []), edit]);
  const sources = byCell.size > 0 ? sourcesOf(raw) : [];
  const edits = [...byCell].flatMap(([number, list]) => {
    const source = sources[number - 1];
    return source ? [{ path, ...rawEdit(raw, source, list) }] : [];
  });
  return { ...rewrite, edits: [...rewrite.edits.filter((edit) => edit.path !== path), ...edits] };
}
