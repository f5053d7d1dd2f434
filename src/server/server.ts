/** The language server: which message goes to which feature, and when documents are checked. */
import {
  CodeLensRefreshRequest,
  CompletionRequest,
  DidChangeConfigurationNotification,
  DidChangeWatchedFilesNotification,
  LSPErrorCodes,
  ResponseError,
  TextDocumentSyncKind,
  TextDocuments,
  type CancellationToken,
  type CodeActionParams,
  type Connection,
  type Diagnostic,
  type InitializeParams,
  type ServerCapabilities,
} from 'vscode-languageserver';
import type { Engine } from '../core/engine';
import { BENCH_TARGETS_REQUEST, parseVerifyTarget, VERIFY_JOB_REQUEST, type BenchTarget } from '../protocol/editor';
import { isConfigFile } from '../project/config';
import type { Job } from '../verify/job';
import { createClientSettings } from './client-settings';
import { documentFactory, type LensDocument } from './documents';
import { quickFixes, wants } from './features/code-actions';
import { benchTargets, codeLenses } from './features/code-lens';
import {
  actionsInCells,
  diagnosticsByCell,
  hoverInCell,
  lensesInCell,
  targetsInCells,
  toProgram,
} from './features/cells';
import { COMMANDS, executeCommand, SHOW_BENCH_COMMAND, SHOW_VERIFY_COMMAND } from './features/commands';
import { completions, configDiagnostics } from './features/config';
import { askedFor, diagnosticsOf } from './features/diagnostics';
import { FIX_ALL, fixAll } from './features/fix-all';
import { hover } from './features/hover';
import { verifyJob, verifyJobInCell } from './features/verify';
import { modelFixes, modelLenses } from './onnx/actions';
import { valueHover, withValue } from './onnx/features';
import { registerModels, serveModels } from './onnx/serve';
import { createNotebooks, type OpenNotebook } from './notebooks';
import { fileOf, placeOf } from './places';
import { createProjects } from './projects';
import { createScheduler } from './scheduler';
import { createCollector } from '../project/collect';
import { createSession, type Session } from './session';

/** A document is checked once it has been quiet for a quarter of its last check's time, within these bounds (milliseconds). */
const SHORTEST_WAIT = 5;
const LONGEST_WAIT = 300;
/** Other documents may import the changed one; they can wait until typing pauses. */
const OTHERS_WAIT = 400;
/** Key of the scheduler for "everything that is open". */
const ALL = '';
/** Key for those among them that rest on what has changed. */
const OUTDATED = 'outdated';
/** Key for collecting garbage, which is done while nobody waits: after this many milliseconds without a check. */
const COLLECT = 'collect';
const QUIET = 250;

/** For configuration files; registered for these alone where the client can. */
const COMPLETION = { triggerCharacters: ['"', '['] };

const CAPABILITIES: ServerCapabilities = {
  notebookDocumentSync: { notebookSelector: [{ notebook: { notebookType: 'jupyter-notebook' } }] },
  textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
  codeActionProvider: { codeActionKinds: ['quickfix', FIX_ALL] },
  codeLensProvider: {},
  hoverProvider: true,
  executeCommandProvider: { commands: COMMANDS },
  workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
};

/** Serves on the connection until the client ends it. The engine is made when the client initializes. */
export function startServer(connection: Connection, createEngine: () => Promise<Engine>): void {
  const settings = createClientSettings(connection);
  const lastCheck = new Map<string, number>();
  const collect = createCollector();
  let folders: readonly string[] = [];
  let client: InitializeParams['capabilities'] = {};
  let benchCommand = SHOW_BENCH_COMMAND;
  let verifyCommand = SHOW_VERIFY_COMMAND;
  let session: Session | undefined;

  const ready = (): Session => {
    if (!session) throw new ResponseError(LSPErrorCodes.ServerCancelled, 'the server is not initialized yet');
    return session;
  };
  const documents = new TextDocuments<LensDocument>(
    documentFactory(
      () => ready().engine,
      (uri) => placeOf(uri, folders),
    ),
  );
  const notebooks = createNotebooks(
    () => ready().engine,
    (uri) => placeOf(uri, folders),
  );
  const publish = (uri: string): void => {
    const notebook = notebooks.get(uri);
    const document = notebook?.document ?? documents.get(uri);
    if (!document || !settings.isKnown(uri)) return;
    const started = performance.now();
    try {
      const { path } = document.place;
      const diagnostics = isConfigFile(path)
        ? configDiagnostics(path, document.text)
        : diagnosticsOf(ready(), document, false);
      const byText = notebook ? diagnosticsByCell(notebook, diagnostics) : new Map([[document.text, diagnostics]]);
      for (const [{ uri, version }, list] of byText)
        void connection.sendDiagnostics({ uri, version, diagnostics: list });
    } catch (error) {
      // A defect in one document must not end the server for the others.
      connection.console.error(`${uri}: ${error instanceof Error ? error.stack : String(error)}`);
    }
    lastCheck.set(uri, performance.now() - started);
    scheduler.schedule(COLLECT, QUIET);
  };
  const openUris = () => [...documents.keys(), ...notebooks.all().map(({ document }) => document.uri)];
  /** After a change of settings or of a configuration. */
  const publishAll = (): void => {
    ready().forget();
    refresh(openUris());
  };
  /** After a change of some file: what rests on it. */
  const publishOutdated = (): void =>
    refresh(
      ready()
        .outdated()
        .map(({ uri }) => uri),
    );
  const refresh = (uris: readonly string[]): void => {
    for (const uri of uris) scheduler.schedule(uri, 0);
    if (uris.length > 0 && client.workspace?.codeLens?.refreshSupport)
      void connection.sendRequest(CodeLensRefreshRequest.type);
  };
  const scheduler = createScheduler((key) => {
    if (key === COLLECT) collect();
    else if (key === ALL) publishAll();
    else if (key === OUTDATED) publishOutdated();
    else publish(key);
  });
  const otherChanged = (uri: string): void => {
    if (uri.endsWith('.py')) {
      ready().forgetFiles();
      scheduler.schedule(OUTDATED, OTHERS_WAIT);
    } else scheduler.schedule(ALL, OTHERS_WAIT);
  };
  const checkSoon = (uri: string) =>
    scheduler.schedule(uri, Math.min(LONGEST_WAIT, Math.max(SHORTEST_WAIT, (lastCheck.get(uri) ?? 0) / 8)));

  connection.onInitialize(async ({ capabilities: able, workspaceFolders, initializationOptions }) => {
    client = able;
    folders = (workspaceFolders ?? []).flatMap(({ uri }) => fileOf(uri) ?? []);
    const options = (initializationOptions ?? {}) as Readonly<Record<string, unknown>>;
    settings.begin(client.workspace?.configuration ?? false, options['settings']);
    if (typeof options['benchCommand'] === 'string') benchCommand = options['benchCommand'];
    if (typeof options['verifyCommand'] === 'string') verifyCommand = options['verifyCommand'];
    const engine = await createEngine();
    const projects = createProjects((message) => connection.window.showWarningMessage(message));
    session = createSession({
      engine,
      projects,
      documents: () => [...documents.all(), ...notebooks.all().map(({ document }) => document)],
      folders: () => folders,
      settings: settings.of,
    });
    const capabilities = client.textDocument?.completion?.dynamicRegistration
      ? CAPABILITIES
      : { ...CAPABILITIES, completionProvider: COMPLETION };
    return { serverInfo: { name: 'IKBO Lens' }, capabilities };
  });
  connection.onInitialized(() => {
    registerModels(connection, client);
    if (client.textDocument?.completion?.dynamicRegistration) {
      const documentSelector = [{ pattern: '**/{ikbo,pyproject}.toml' }];
      void connection.client.register(CompletionRequest.type, { ...COMPLETION, documentSelector });
    }
    if (client.workspace?.didChangeConfiguration?.dynamicRegistration) {
      void connection.client.register(DidChangeConfigurationNotification.type, { section: 'ikboLens' });
    }
    if (client.workspace?.didChangeWatchedFiles?.dynamicRegistration) {
      const watchers = [
        '**/*.py',
        '**/{ikbo,pyproject}.toml',
        '**/{requirements.txt,setup.cfg}',
        '**/*baseline*.json',
      ].map((globPattern) => ({
        globPattern,
      }));
      void connection.client.register(DidChangeWatchedFilesNotification.type, { watchers });
    }
    if (!client.workspace?.workspaceFolders) return;
    connection.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
      const gone = new Set(removed.map(({ uri }) => fileOf(uri)));
      folders = [...folders.filter((folder) => !gone.has(folder)), ...added.flatMap(({ uri }) => fileOf(uri) ?? [])];
      scheduler.schedule(ALL, 0); // Imports may be found elsewhere now.
    });
  });

  documents.onDidOpen(({ document: { uri } }) => void settings.known(uri).then(() => checkSoon(uri)));
  documents.onDidChangeContent(({ document: { uri } }) => {
    checkSoon(uri);
    if (openUris().length > 1) scheduler.schedule(OUTDATED, OTHERS_WAIT);
  });
  documents.onDidSave(({ document: { uri } }) => otherChanged(uri));
  documents.onDidClose(({ document: { uri, tree } }) => {
    scheduler.cancel(uri);
    tree.close();
    settings.close(uri);
    lastCheck.delete(uri);
    void connection.sendDiagnostics({ uri, diagnostics: [] });
  });
  notebooks.listen(
    connection,
    (uri) => void settings.known(uri).then(() => checkSoon(uri)),
    ({ document: { uri }, cells }) => {
      scheduler.cancel(uri);
      settings.close(uri);
      lastCheck.delete(uri);
      for (const cell of cells) void connection.sendDiagnostics({ uri: cell.uri, diagnostics: [] });
    },
  );
  connection.onDidChangeWatchedFiles(({ changes }) => changes.forEach(({ uri }) => otherChanged(uri)));
  connection.onDidChangeConfiguration(({ settings: value }) => {
    settings.change(value);
    void Promise.all(openUris().map(settings.known)).then(() => scheduler.schedule(ALL, 0));
  });

  /**
   * Wraps a feature: it answers for the document as it was when the client asked. The turn lets cancellations and changes
   * that have already arrived be read first, so that no work is done for an answer that nobody wants.
   */
  const answer =
    <P extends { readonly textDocument: { readonly uri: string } }, R>(
      feature: (document: LensDocument, params: P) => R,
      inCell?: (notebook: OpenNotebook, params: P) => R,
    ) =>
    async (params: P, token: CancellationToken): Promise<R | ResponseError<void> | null> => {
      const { uri } = params.textDocument;
      const open = () => notebooks.holding(uri)?.document ?? documents.get(uri);
      const version = open()?.text.version;
      await settings.known(open()?.uri ?? uri);
      await new Promise((turn) => setImmediate(turn));
      const document = open();
      if (token.isCancellationRequested) return new ResponseError(LSPErrorCodes.RequestCancelled, 'cancelled');
      if (!document) return null;
      if (document.text.version !== version)
        return new ResponseError(LSPErrorCodes.ContentModified, 'document changed');
      const notebook = notebooks.holding(uri);
      if (notebook) return inCell?.(notebook, params) ?? null;
      return feature(document, params);
    };

  const verificationOf = ({ place, model }: LensDocument) =>
    place.root === null || model ? null : { command: verifyCommand, path: place.path };
  const verificationInCell = ({ document }: OpenNotebook, cell: number) => {
    const verification = verificationOf(document);
    return verification && { ...verification, path: `${verification.path}:cell ${cell}` };
  };
  /** Only on request: it rewrites and checks again until nothing is left to fix. */
  const fixAllOf = (document: LensDocument, { context }: CodeActionParams) =>
    context.only && wants(context.only, FIX_ALL) && !document.model ? fixAll(ready(), document) : [];
  /** What a client knows of the diagnostics that it asks about may be older than the document. */
  const withRewrites = (params: CodeActionParams, now: readonly Diagnostic[]): CodeActionParams => ({
    ...params,
    context: { ...params.context, diagnostics: askedFor(now, params.context.diagnostics) },
  });
  connection.onCodeAction(
    answer(
      (document, params) => {
        const asked = withRewrites(params, diagnosticsOf(ready(), document, true));
        if (document.model?.file != null) return modelFixes(document, asked);
        const fixes = quickFixes(document.text, asked, verificationOf(document));
        return [...fixes, ...fixAllOf(document, params)];
      },
      (notebook, params) => {
        const at = notebook.cells.findIndex(({ uri }) => uri === params.textDocument.uri);
        const cell = notebook.cells[at];
        const inCells = diagnosticsByCell(notebook, diagnosticsOf(ready(), notebook.document, true));
        const fixes = cell
          ? quickFixes(cell, withRewrites(params, inCells.get(cell) ?? []), verificationInCell(notebook, at + 1))
          : [];
        return [...fixes, ...actionsInCells(notebook, fixAllOf(notebook.document, params))];
      },
    ),
  );
  connection.onCodeLens(
    answer(
      (document) => [
        ...(document.model ? modelLenses(document, ready().check(document).findings) : []),
        ...codeLenses(ready(), document, benchCommand),
      ],
      (notebook, { textDocument }) =>
        lensesInCell(notebook, textDocument.uri, codeLenses(ready(), notebook.document, benchCommand)),
    ),
  );
  connection.onHover(
    answer(
      (document, { position }) => {
        const finding = hover(ready(), document, position);
        return document.model ? withValue(valueHover(document.model, position), finding) : finding;
      },
      (notebook, { textDocument, position }) => {
        const at = toProgram(notebook, textDocument.uri, position);
        return at ? hoverInCell(notebook, hover(ready(), notebook.document, at)) : null;
      },
    ),
  );
  connection.onCompletion(
    answer(({ place, text }, { position }) =>
      isConfigFile(place.path) ? completions(place.path, text, position) : [],
    ),
  );
  serveModels(connection, {
    document: (uri) => documents.get(uri),
    contextOf(uri) {
      const place = placeOf(uri, folders);
      return { path: place.path, shapes: ready().shapes(place) };
    },
    answer,
  });
  connection.onExecuteCommand(({ command, arguments: args }) => executeCommand(connection, command, args ?? []));
  connection.onRequest(BENCH_TARGETS_REQUEST, (): BenchTarget[] => [
    ...documents.all().flatMap((document) => benchTargets(ready(), document)),
    ...notebooks.all().flatMap((one) => targetsInCells(one, benchTargets(ready(), one.document))),
  ]);
  connection.onRequest(VERIFY_JOB_REQUEST, (value: unknown): Job | null => {
    const target = parseVerifyTarget(value);
    if (!target) return null;
    const notebook = notebooks.holding(target.uri);
    if (notebook) return verifyJobInCell(ready(), notebook, target);
    const document = documents.get(target.uri);
    return document ? verifyJob(ready(), document, target) : null;
  });
  documents.listen(connection);
  connection.listen();
}
