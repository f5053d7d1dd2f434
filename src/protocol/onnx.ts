/**
 * How an ONNX model is shown as text in the editor: the text of `/dir/model.onnx` is the document
 * `ikbo-onnx:/dir/model.onnxtxt`, and what a rewrite would make of it is the same with `only=IKB101:27` as query (several
 * are separated by commas; `only=` alone is every rewrite; `&target=ikbo` uses operators of ai.ikbo). The server reads the files, the extension shows the texts.
 */
export const MODEL_SCHEME = 'ikbo-onnx';
export const MODEL_LANGUAGE = 'onnx';

/** What to tell whoever asks for a run of a model where none is possible. */
export const RUNTIME_MISSING =
  'onnxruntime-node, which runs models, is not installed. Install it beside your project (npm install onnxruntime-node) or name its folder in IKBO_ONNXRUNTIME';

/** The extension's commands that code actions and lenses name: rewrite (uri, only, target),
 * measure (uri, only), chain (uri, rule, line). */
export const REWRITE_COMMAND = 'ikboLens.rewriteModel';
export const MEASURE_COMMAND = 'ikboLens.measureModel';
export const CHAIN_COMMAND = 'ikboLens.showChain';

/** `{ uri }` of this scheme to its `ModelText`. */
export const MODEL_TEXT_REQUEST = 'ikbo/modelText';
/** `{ uri }` with a query to the `ModelRewrite`. */
export const MODEL_REWRITE_REQUEST = 'ikbo/modelRewrite';
/** `ModelSave` to `ModelSaved`. */
export const MODEL_SAVE_REQUEST = 'ikbo/modelSave';
/** `{ uri }` to the sizes that a model leaves open, by symbol: what is known of each, else null. */
export const MODEL_SIZES_REQUEST = 'ikbo/modelSizes';
/** `ModelMeasure` to the sizes of the benchmark's operator at those sizes, as far as they follow. */
export const MODEL_DIMS_REQUEST = 'ikbo/modelDims';
/** `ModelMeasure` to what was measured, in words. */
export const MODEL_MEASURE_REQUEST = 'ikbo/modelMeasure';
/** `{ uri, rule, line }` to a `ChainPicture`, or null where there is no such finding any more. */
export const CHAIN_REQUEST = 'ikbo/chain';

export interface ModelText {
  /** Of a file that is no model, a comment that says so. */
  readonly text: string;
}

export interface ModelRewrite {
  /** What was rewritten, and under which condition it computes the same. */
  readonly done: readonly string[];
  /** What was not, and why. */
  readonly refused: readonly string[];
}

export interface ModelSave {
  /** The rewrite, as in the other requests. */
  readonly uri: string;
  /** The new file as a file URI. The original is refused. */
  readonly target: string;
  /** False where the workspace is not trusted: onnxruntime may be part of it. */
  readonly verify: boolean;
}

export interface ModelMeasure {
  readonly uri: string;
  /** `IKB101:27`. */
  readonly finding: string;
  readonly sizes: Readonly<Record<string, number>>;
}

export type ModelSizes = Readonly<Record<string, number | null>>;

export interface ModelSaved {
  /** Null when the file was written, and computes the same wherever that could be tried. */
  readonly problem: string | null;
  /** What was verified and measured, or why not. */
  readonly lines: readonly string[];
}

/** One way from a source tensor to the product that reads its copies; every box is a node of the text. */
export interface ChainPicture {
  readonly title: string;
  readonly rows: readonly (readonly ChainBox[])[];
}

export interface ChainBox {
  readonly role: 'source' | 'replica' | 'step' | 'sink';
  /** The operator, or the name of a tensor. */
  readonly title: string;
  /** `float[B, 32]`-like. */
  readonly shape: string;
  /** What it weighs; null where that says nothing. */
  readonly bytes: string | null;
  /** 1-based; null for a tensor that is declared nowhere. */
  readonly line: number | null;
}
