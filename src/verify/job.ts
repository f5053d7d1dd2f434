/** What the Python side of a verification is asked and what it answers, one JSON line each (`ikbo_verify/__main__.py`). */
import { applyEdits } from '../core/edits';
import type { Finding, Rewrite } from '../core/finding';
import { bindingsOf } from '../core/python/bindings';
import { keepsGradients } from '../core/rewrite/gradients';
import { LETTER, NAME, patternOf } from '../core/python/words';

export interface Job {
  /** Absolute path of the file; it is only read. */
  readonly file: string;
  /** Of a notebook, both texts are its cells as one program, and lines are those of the program. */
  readonly original: string;
  readonly rewritten: string;
  /** Where imports are looked for, before and after Python's own path. */
  readonly folders: readonly string[];
  readonly packages: readonly string[];
  /** First and last line of the broadcast; a run that does not reach them proves nothing. */
  readonly broadcast: readonly [number, number];
  /** Line of the sink, or null when it is in another file. */
  readonly consumer: number | null;
  /** Qualified name of the function to call; null: the one around the finding. */
  readonly call: string | null;
  /** Run the file as a program instead of calling one function. */
  readonly script: boolean;
  readonly sizes: Readonly<Record<string, number>>;
  /** By parameter: a shape (`[N, D]`, `[N] < U` for integers, `[N] bool`) or a Python expression. */
  readonly arguments: Readonly<Record<string, string>>;
  /** Null for the GPU if torch can use one, else the CPU. */
  readonly device: string | null;
  /** False where the condition of the rewrite says that no gradient may be taken: then they are told, and decide nothing. */
  readonly keepsGradients: boolean;
  /** Null for a file that is no notebook. */
  readonly cells: readonly CellStart[] | null;
}

/** Where a cell of a notebook begins in its program, 1-based. */
export interface CellStart {
  readonly number: number;
  readonly line: number;
}

/** What the texts of a job are taken from; of a notebook, `text` is its program, and so are places and edits. */
export interface Subject {
  readonly file: string;
  readonly text: string;
  readonly folders: readonly string[];
  readonly cells: readonly CellStart[] | null;
}

export interface Given {
  readonly sizes: Readonly<Record<string, number>>;
  readonly arguments: Readonly<Record<string, string>>;
  readonly call: string | null;
  readonly script: boolean;
  readonly device: string | null;
}

export interface DtypeRun {
  readonly dtype: string;
  /** Why this dtype was not compared; then nothing else is there. */
  readonly skipped?: string;
  /** Largest absolute difference of any element; null when the rewritten code failed. */
  readonly maxError?: number | null;
  readonly problem?: string | null;
  readonly peakBytes?: readonly [number, number] | null;
  /** Null or absent where the results already differ. */
  readonly gradients?: GradientRun | null;
}

/** Gradients of the results, weighted by fixed random numbers, by the parameters and the floating-point arguments. */
export interface GradientRun {
  /** Why they were not compared; then nothing else is there. */
  readonly skipped?: string;
  /** How many were compared. */
  readonly count?: number;
  /** Largest absolute difference of any element; null when the rewritten code gives none. */
  readonly maxError?: number | null;
  /** Largest absolute value of any element, to hold the error against. */
  readonly largest?: number;
  readonly problem?: string | null;
}

export interface Missing {
  readonly parameter: string;
  readonly of: string;
  readonly what: string;
  readonly how: string;
}

export interface Answer {
  readonly ok: boolean;
  readonly torch?: string;
  readonly python?: string;
  readonly call?: string;
  /** How peak memory was measured. */
  readonly memory?: string;
  readonly runs?: readonly DtypeRun[];
  /** False where gradients decide nothing, as the condition of the rewrite says. */
  readonly keepsGradients?: boolean;
  readonly missing?: readonly Missing[];
  readonly problem?: string;
  readonly noTorch?: boolean;
}

export const NOTHING_GIVEN: Given = { sizes: {}, arguments: {}, call: null, script: false, device: null };

/**
 * The job for one rewrite of one finding. What the caller gives wins over comments in the file (`# ikbo: B=64`,
 * `# ikbo: user=[B, 32]`), and those over the project's configuration.
 */
export function jobOf(
  { file, text, folders, cells }: Subject,
  finding: Finding,
  rewrite: Rewrite,
  given: Given,
  options: { readonly shapes: Readonly<Record<string, number>>; readonly packages: readonly string[] },
): Job {
  const comments = text.split('\n').filter((line) => line.includes('ikbo:')).map((line) => ({ text: line })); // prettier-ignore
  const { path, broadcast, consumer } = finding;
  return {
    file,
    original: text,
    rewritten: applyEdits(text, rewrite.edits),
    folders,
    packages: options.packages,
    broadcast: [broadcast.line, broadcast.endLine],
    consumer: consumer.path === path ? consumer.line : null,
    call: given.call,
    script: given.script,
    sizes: { ...options.shapes, ...bindingsOf(comments).shapes, ...given.sizes },
    arguments: { ...shapesInComments(comments), ...given.arguments },
    device: given.device,
    keepsGradients: keepsGradients(rewrite),
    cells,
  };
}

const AXES = patternOf(`(${NAME})\\s*=\\s*(\\[[^\\]]*\\](?:\\s*<\\s*${LETTER}+|\\s+bool\\b)?)`, 'gu');

/** `# ikbo: user=[U, D], index=[N] < U`. */
function shapesInComments(comments: readonly { readonly text: string }[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { text } of comments) {
    const body = /#\s*ikbo:\s*(.*)/.exec(text)?.[1] ?? '';
    for (const [, name = '', shape = ''] of body.matchAll(AXES(body))) found[name] = shape;
  }
  return found;
}
