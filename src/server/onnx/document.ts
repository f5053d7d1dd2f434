/** Models as open documents: an .onnxtxt file that is edited, and the text of an .onnx file that is only read. */
import type { Analysis, CheckOptions, OpenDocument } from '../../core/engine';
import { applyEdits } from '../../core/edits';
import {
  checkModel,
  checkModelText,
  inspectModel,
  OnnxError,
  OnnxTextError,
  printModel,
  readModel,
  readModelText,
  type ByteSource,
  type Model,
  type ModelIndex,
  type ModelOptions,
  type ModelText,
} from '../../core/onnx';
import { openFileBytes } from '../../project/byte-source';
import { describeError } from '../../project/walk';
import type { ModelUri } from './uri';

export interface ModelDocument extends OpenDocument {
  /** The .onnx file whose text this is; null for a text that is edited itself. */
  readonly file: string | null;
  /** The values and nodes of the text; null where it is no model. Computed once per text. */
  index(): ModelIndex | null;
  /** Calls `work` with the model while its bytes can be read; null where it is no model. */
  read<R>(work: (model: Model, text: ModelText) => R): R | null;
}

export function openModelText(path: string, text: string): ModelDocument {
  return modelDocument(path, text, null, {
    check: (now, options) => checkModelText(path, now, wantedOf(options)),
    read(now, work) {
      const { model, printed } = readModelText(now);
      return work(model, printed);
    },
  });
}

/** A preview of a rewrite has no findings: it is one side of a diff. */
export function openModelFile(path: string, text: string, { file, only }: ModelUri): ModelDocument {
  return modelDocument(path, text, file, {
    check: (_, options) => (only ? NOTHING : withFile(file, (source) => checkModel(path, source, wantedOf(options)))),
    read: (now, work) =>
      only
        ? ((model) => work(model.model, model.printed))(readModelText(now))
        : withFile(file, (source) => {
            const model = readModel(source);
            return work(model, printModel(model));
          }),
  });
}

const wantedOf = ({ shapes = {}, rewrites = true }: CheckOptions): ModelOptions => ({ shapes, rewrites });

const NOTHING: Analysis = { findings: [], suppressed: [], notes: [], parsed: true };

interface Behaviour {
  check(text: string, options: CheckOptions): Analysis;
  read<R>(text: string, work: (model: Model, text: ModelText) => R): R;
}

function modelDocument(path: string, first: string, file: string | null, behaviour: Behaviour): ModelDocument {
  let text = first;
  let index: { readonly of: ModelIndex | null } | null = null;
  const document: ModelDocument = {
    path,
    file,
    get text() {
      return text;
    },
    change(changes) {
      for (const change of changes) text = applyEdits(text, [change]);
      index = null;
    },
    check(options = {}) {
      try {
        return behaviour.check(text, options);
      } catch (error) {
        return { ...NOTHING, notes: [{ path, line: 1, message: describeError(error) }], parsed: false };
      }
    },
    read(work) {
      try {
        return behaviour.read(text, work);
      } catch (error) {
        if (error instanceof OnnxError || error instanceof OnnxTextError || isSystemError(error)) return null;
        throw error;
      }
    },
    index: () => (index ??= { of: document.read(inspectModel) }).of,
    close: () => undefined,
  };
  return document;
}

const isSystemError = (error: unknown): boolean => error instanceof Error && 'code' in error;

/** Throws the system's error where the file cannot be read. */
export function withFile<R>(file: string, work: (source: ByteSource) => R): R {
  const source = openFileBytes(file);
  try {
    return work(source);
  } finally {
    source.close();
  }
}
