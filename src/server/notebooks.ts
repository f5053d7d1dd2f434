/** Open notebooks: the client's cells, and per notebook a document of the engine that is all of them as one program. */
import { NotebookCellKind, NotebookDocuments, type Connection, type NotebookDocument } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Engine } from '../core/engine';
import { programOf, type Program } from '../notebook/program';
import type { LensDocument } from './documents';
import type { Place } from './places';

/** The program of a notebook as it is now, and the cells behind it. */
export interface OpenNotebook {
  readonly document: LensDocument;
  readonly program: Program;
  /** Text documents of all cells, by number - 1. */
  readonly cells: readonly TextDocument[];
}

export interface Notebooks {
  all(): readonly OpenNotebook[];
  /** By the notebook's own URI. */
  get(uri: string): OpenNotebook | undefined;
  /** The notebook that has this cell. */
  holding(cell: string): OpenNotebook | undefined;
  /** Listens to the client. `onChange` hears the URI of a notebook that was opened or changed. */
  listen(connection: Connection, onChange: (uri: string) => void, onClose: (closed: OpenNotebook) => void): void;
}

export function createNotebooks(engine: () => Engine, place: (uri: string) => Place): Notebooks {
  const client = new NotebookDocuments(TextDocument);
  const open = new Map<string, OpenNotebook>();
  let version = 0;

  const read = (notebook: NotebookDocument): OpenNotebook => {
    const { uri } = notebook;
    const cells = notebook.cells.map((cell) => client.getCellTextDocument(cell) ?? TextDocument.create(cell.document, '', 0, '')); // prettier-ignore
    const code = notebook.cells.flatMap(({ kind }, at) => {
      const text = cells[at];
      const isPython = kind === NotebookCellKind.Code && text?.languageId === 'python';
      return isPython ? [{ number: at + 1, text: text.getText() }] : [];
    });
    const program = programOf(code);
    const at = place(uri);
    version += 1;
    const text = TextDocument.create(uri, 'python', version, program.text);
    return {
      document: { uri, place: at, text, tree: engine().open(at.path, program.text), model: null },
      program,
      cells,
    };
  };
  const replace = (notebook: NotebookDocument): void => {
    open.get(notebook.uri)?.document.tree.close();
    open.set(notebook.uri, read(notebook));
  };
  return {
    all: () => [...open.values()],
    get: (uri) => open.get(uri),
    holding: (cell) => open.get(client.findNotebookDocumentForCell(cell)?.uri ?? ''),
    listen(connection, onChange, onClose) {
      client.onDidOpen((notebook) => {
        replace(notebook);
        onChange(notebook.uri);
      });
      client.onDidChange(({ notebookDocument }) => {
        replace(notebookDocument);
        onChange(notebookDocument.uri);
      });
      client.onDidClose(({ uri }) => {
        const closed = open.get(uri);
        open.delete(uri);
        if (!closed) return;
        closed.document.tree.close();
        onClose(closed);
      });
      client.listen(connection);
    },
  };
}
