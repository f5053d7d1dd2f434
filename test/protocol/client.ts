/** A small language client that speaks to the real server process over stdio. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type CodeAction,
  type CodeLens,
  type Diagnostic,
  type Hover,
  type Position,
  type ProtocolConnection,
  type PublishDiagnosticsParams,
  type TextDocumentContentChangeEvent,
  type WorkspaceEdit,
} from 'vscode-languageserver-protocol/node';
import { TextDocument } from 'vscode-languageserver-textdocument';

const SERVER = join(__dirname, '../../dist/server.js');

export interface Options {
  /** Folder of the workspace; none for a client without one. */
  readonly root?: string;
  /** Further folders of the workspace. */
  readonly more?: readonly string[];
  /** Answers `workspace/configuration`; none for a client that cannot be asked. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly initializationOptions?: unknown;
  /** How Node starts the server; by its own bundle when left out. */
  readonly command?: readonly string[];
}

export interface Cell {
  readonly uri: string;
  readonly text: string;
  /** `python` when left out; `markdown` for a cell of text. */
  readonly language?: string;
}

export interface Client {
  readonly connection: ProtocolConnection;
  readonly process: ChildProcess;
  /** All `textDocument/publishDiagnostics` so far. */
  readonly published: readonly PublishDiagnosticsParams[];
  /** Texts of `window/showMessage` and `window/showMessageRequest` so far. */
  readonly messages: readonly string[];
  open(uri: string, text: string): void;
  /** Opens a notebook whose cells are documents of their own from then on. */
  openNotebook(uri: string, cells: readonly Cell[]): void;
  /** Changes one cell. */
  changeCell(notebook: string, uri: string, ...changes: TextDocumentContentChangeEvent[]): void;
  /** Sends the changes as they are, one notification. Applies them to the client's own copy. */
  change(uri: string, ...changes: TextDocumentContentChangeEvent[]): void;
  text(uri: string): string;
  version(uri: string): number;
  /** The diagnostics of the document's present version, once they are there. */
  diagnostics(uri: string): Promise<Diagnostic[]>;
  actions(uri: string, at: Position, only?: string[]): Promise<CodeAction[]>;
  lenses(uri: string): Promise<CodeLens[]>;
  hover(uri: string, at: Position): Promise<Hover | null>;
  /** The document's text after the edit. Fails on edits of another version or document. */
  applied(uri: string, edit: WorkspaceEdit | undefined): string;
  configure(settings: Readonly<Record<string, unknown>>): void;
  /** Writes messages as one piece, past the connection. */
  sendRaw(...messages: readonly object[]): void;
  /** The text of the answer to a raw request. */
  rawAnswer(id: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startClient(options: Options = {}): Promise<Client> {
  if (!existsSync(SERVER)) throw new Error('dist/server.js is missing: run npm run build');
  const server = spawn(process.execPath, options.command ?? [SERVER, '--stdio'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const connection = createProtocolConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin),
  );
  const documents = new Map<string, TextDocument>();
  const published: PublishDiagnosticsParams[] = [];
  const messages: string[] = [];
  let settings = options.settings;
  let arrived = () => {};

  connection.onNotification('textDocument/publishDiagnostics', (params: PublishDiagnosticsParams) => {
    published.push(params);
    arrived();
  });
  connection.onNotification('window/showMessage', ({ message }: { message: string }) => void messages.push(message));
  connection.onRequest('window/showMessageRequest', ({ message }: { message: string }) => {
    messages.push(message);
    return null;
  });
  connection.onRequest('workspace/configuration', ({ items }: { items: unknown[] }) => items.map(() => settings));
  connection.onRequest('workspace/codeLens/refresh', () => null);
  connection.onRequest('client/registerCapability', () => null);
  connection.listen();

  const root = options.root === undefined ? null : pathToFileURL(options.root).href;
  const more = (options.more ?? []).map((folder) => pathToFileURL(folder).href);
  await connection.sendRequest('initialize', {
    processId: process.pid,
    rootUri: root,
    workspaceFolders: root === null ? null : [root, ...more].map((uri) => ({ uri, name: 'test' })),
    capabilities: {
      workspace: { configuration: settings !== undefined, codeLens: { refreshSupport: true }, workspaceFolders: true },
    },
    initializationOptions: options.initializationOptions,
  });
  await connection.sendNotification('initialized', {});

  const get = (uri: string): TextDocument => {
    const document = documents.get(uri);
    if (!document) throw new Error(`${uri} is not open`);
    return document;
  };
  const client: Client = {
    connection,
    process: server,
    published,
    messages,
    open(uri, text) {
      documents.set(uri, TextDocument.create(uri, 'python', 1, text));
      const textDocument = { uri, languageId: 'python', version: 1, text };
      void connection.sendNotification('textDocument/didOpen', { textDocument });
    },
    openNotebook(uri, cells) {
      const cellTextDocuments = cells.map(({ uri: cell, text, language = 'python' }) => {
        documents.set(cell, TextDocument.create(cell, language, 1, text));
        return { uri: cell, languageId: language, version: 1, text };
      });
      const list = cellTextDocuments.map(({ uri: document, languageId }) => ({
        kind: languageId === 'markdown' ? 1 : 2,
        document,
      }));
      const notebookDocument = { uri, notebookType: 'jupyter-notebook', version: 1, cells: list };
      void connection.sendNotification('notebookDocument/didOpen', { notebookDocument, cellTextDocuments });
    },
    changeCell(notebook, uri, ...changes) {
      const version = get(uri).version + 1;
      documents.set(uri, TextDocument.update(get(uri), changes, version));
      const textContent = [{ document: { uri, version }, changes }];
      const params = { notebookDocument: { uri: notebook, version }, change: { cells: { textContent } } };
      void connection.sendNotification('notebookDocument/didChange', params);
    },
    change(uri, ...changes) {
      const version = get(uri).version + 1;
      documents.set(uri, TextDocument.update(get(uri), changes, version));
      const textDocument = { uri, version };
      void connection.sendNotification('textDocument/didChange', { textDocument, contentChanges: changes });
    },
    text: (uri) => get(uri).getText(),
    version: (uri) => get(uri).version,
    async diagnostics(uri) {
      for (;;) {
        const { version } = get(uri);
        const found = published.findLast((params) => params.uri === uri && params.version === version);
        if (found) return found.diagnostics;
        await new Promise<void>((done) => (arrived = done));
      }
    },
    async actions(uri, at, only) {
      const diagnostics = (await client.diagnostics(uri)).filter(
        ({ range }) => before(range.start, at) && before(at, range.end),
      );
      const context = { diagnostics, ...(only && { only }) };
      const params = { textDocument: { uri }, range: { start: at, end: at }, context };
      return (await connection.sendRequest<CodeAction[] | null>('textDocument/codeAction', params)) ?? [];
    },
    async lenses(uri) {
      return (
        (await connection.sendRequest<CodeLens[] | null>('textDocument/codeLens', { textDocument: { uri } })) ?? []
      );
    },
    hover: (uri, position) => connection.sendRequest('textDocument/hover', { textDocument: { uri }, position }),
    applied(uri, edit) {
      const [change, ...rest] = edit?.documentChanges ?? [];
      if (!change || rest.length > 0 || !('edits' in change)) throw new Error('expected one document change');
      if (change.textDocument.uri !== uri) throw new Error(`edit of ${change.textDocument.uri}`);
      if (change.textDocument.version !== get(uri).version) throw new Error('edit of another version');
      return TextDocument.applyEdits(
        get(uri),
        change.edits.map((one) => {
          if (!('newText' in one)) throw new Error('a snippet edit');
          return one;
        }),
      );
    },
    configure(next) {
      settings = next;
      void connection.sendNotification('workspace/didChangeConfiguration', { settings: null });
    },
    sendRaw(...sent) {
      const frames = sent.map((message) => {
        const body = JSON.stringify({ jsonrpc: '2.0', ...message });
        return `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
      });
      server.stdin.write(frames.join(''));
    },
    rawAnswer: (id) =>
      new Promise((done) => {
        let text = '';
        server.stdout.on('data', (chunk: Buffer) => {
          text += chunk.toString();
          const found = text.split('Content-Length').find((frame) => frame.includes(`"id":"${id}"`));
          if (found) done(found);
        });
      }),
    async stop() {
      const exited = once(server, 'exit');
      await connection.sendRequest('shutdown');
      await connection.sendNotification('exit');
      await exited;
      connection.dispose();
    },
  };
  return client;
}

const before = (a: Position, b: Position) => a.line < b.line || (a.line === b.line && a.character <= b.character);
