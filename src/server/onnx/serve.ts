/** The messages that are about ONNX models alone. Their features are offered for these documents, and for no others. */
import {
  DefinitionRequest,
  DocumentSymbolRequest,
  FoldingRangeRequest,
  ReferencesRequest,
  type CancellationToken,
  type ClientCapabilities,
  type Connection,
  type Position,
  type ResponseError,
} from 'vscode-languageserver';
import {
  CHAIN_REQUEST,
  MODEL_LANGUAGE,
  MODEL_DIMS_REQUEST,
  MODEL_MEASURE_REQUEST,
  MODEL_REWRITE_REQUEST,
  MODEL_SAVE_REQUEST,
  MODEL_SIZES_REQUEST,
  MODEL_TEXT_REQUEST,
  type ChainPicture,
  type ModelMeasure,
  type ModelRewrite,
  type ModelSave,
  type ModelSaved,
  type ModelSizes,
  type ModelText,
} from '../../protocol/onnx';
import type { LensDocument } from '../documents';
import { chainPicture } from './chain';
import type { ModelDocument } from './document';
import { definitionOf, foldsOf, referencesOf, symbolsOf } from './features';
import { benchDims, measureModel, modelRewrite, modelSizes, modelText, saveModel, type ModelContext } from './requests';

type Params = { readonly textDocument: { readonly uri: string } };

export interface ModelParts {
  document(uri: string): LensDocument | undefined;
  contextOf(uri: string): ModelContext;
  /** Wraps a feature so that it answers for the document as it was when the client asked. */
  answer<P extends Params, R>(
    feature: (document: LensDocument, params: P) => R,
  ): (params: P, token: CancellationToken) => Promise<R | ResponseError<void> | null>;
}

export function serveModels(connection: Connection, { document, contextOf, answer }: ModelParts): void {
  const onModel = <P extends Params, R>(feature: (model: ModelDocument, params: P) => R) =>
    answer<P, R | null>((of, params) => (of.model ? feature(of.model, params) : null));
  type At = Params & { readonly position: Position };
  connection.onDefinition(onModel((model, at: At) => definitionOf(model, at.textDocument.uri, at.position)));
  connection.onReferences(
    onModel((model, at: At & { readonly context: { readonly includeDeclaration: boolean } }) =>
      referencesOf(model, at.textDocument.uri, at.position, at.context.includeDeclaration),
    ),
  );
  connection.onDocumentSymbol(onModel((model) => symbolsOf(model)));
  connection.onFoldingRanges(onModel((model) => foldsOf(model.text)));

  connection.onRequest(MODEL_TEXT_REQUEST, ({ uri }: { uri: string }): ModelText => modelText(uri, contextOf(uri)));
  connection.onRequest(MODEL_REWRITE_REQUEST, ({ uri }: { uri: string }): ModelRewrite =>
    modelRewrite(uri, contextOf(uri)),
  );
  connection.onRequest(MODEL_SAVE_REQUEST, (save: ModelSave): Promise<ModelSaved> =>
    saveModel(save, contextOf(save.uri), __dirname),
  );
  connection.onRequest(MODEL_SIZES_REQUEST, ({ uri }: { uri: string }): ModelSizes => modelSizes(uri, contextOf(uri)));
  connection.onRequest(MODEL_DIMS_REQUEST, (measure: ModelMeasure): Readonly<Record<string, number>> =>
    benchDims(measure, contextOf(measure.uri)),
  );
  connection.onRequest(MODEL_MEASURE_REQUEST, (measure: ModelMeasure): Promise<string> =>
    measureModel(measure, __dirname),
  );
  connection.onRequest(
    CHAIN_REQUEST,
    ({ uri, rule, line }: { uri: string; rule: string; line: number }): ChainPicture | null => {
      const model = document(uri)?.model;
      return model ? chainPicture(model, rule, line, contextOf(uri).shapes) : null;
    },
  );
}

/** By registration, because a static capability would offer them for Python, too. */
export function registerModels(connection: Connection, { textDocument: can }: ClientCapabilities): void {
  const options = { documentSelector: [{ language: MODEL_LANGUAGE }] };
  const { client } = connection;
  if (can?.definition?.dynamicRegistration) void client.register(DefinitionRequest.type, options);
  if (can?.references?.dynamicRegistration) void client.register(ReferencesRequest.type, options);
  if (can?.documentSymbol?.dynamicRegistration) void client.register(DocumentSymbolRequest.type, options);
  if (can?.foldingRange?.dynamicRegistration) void client.register(FoldingRangeRequest.type, options);
}
