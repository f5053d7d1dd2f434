/** Open documents: the client's text and the engine's kept syntax tree, changed together. */
import type { TextDocumentsConfiguration } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Engine, OpenDocument } from '../core/engine';
import { changeOf } from './positions';
import type { Place } from './places';

export interface LensDocument {
  readonly uri: string;
  readonly place: Place;
  text: TextDocument;
  readonly tree: OpenDocument;
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
      return { uri, place: at, text, tree: engine().open(at.path, content) };
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
