/** Open documents: the client's text and the engine's kept syntax tree, changed together. */
import type { TextDocumentsConfiguration } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Engine, OpenDocument } from '../core/engine';
import { isConfigFile } from '../project/config';
import { changeOf } from './positions';
import { openModelFile, openModelText, type ModelDocument } from './onnx/document';
import { parseModelUri } from './onnx/uri';
import type { Place } from './places';
import { MODEL_LANGUAGE } from '../protocol/onnx';

export interface LensDocument {
  readonly uri: string;
  readonly place: Place;
  text: TextDocument;
  readonly tree: OpenDocument;
  /** The same as `tree` where the document is an ONNX model, else null. */
  readonly model: ModelDocument | null;
}

/** For `TextDocuments`, which keeps the list and calls these two on open and change. */
export function documentFactory(
  engine: () => Engine,
  place: (uri: string) => Place,
): TextDocumentsConfiguration<LensDocument> {
  return {
    create(uri, language, version, content) {
      const at = place(uri);
      const text = TextDocument.create(uri, language, version, content);
      const model = modelOf(uri, language, at.path, content);
      return { uri, place: at, text, tree: model ?? treeOf(engine, at.path, content), model };
    },
    update(document, events, version) {
      for (const event of events) {
        const change = changeOf(document.text, event);
        document.text = TextDocument.update(document.text, [event], version);
        document.tree.change([change]);
      }
      document.text = TextDocument.update(document.text, [], version);
      return document;
    },
  };
}

/** A configuration is no Python: the engine does not see it. */
function treeOf(engine: () => Engine, path: string, content: string): OpenDocument {
  if (!isConfigFile(path)) return engine().open(path, content);
  const nothing = { findings: [], suppressed: [], notes: [], parsed: false };
  return { path, text: '', change: () => undefined, check: () => nothing, close: () => undefined };
}

function modelOf(uri: string, language: string, path: string, content: string): ModelDocument | null {
  const file = parseModelUri(uri);
  if (file) return openModelFile(path, content, file);
  // Clients without this extension have no name for the language.
  return language === MODEL_LANGUAGE || path.endsWith('.onnxtxt') ? openModelText(path, content) : null;
}
