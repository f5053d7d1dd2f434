/** The benchmark panel's side in the extension: one panel, one run at a time, every failure a message in the panel. */
import * as vscode from 'vscode';
import type { BenchResult } from '../protocol/bench';
import type { BenchTarget } from '../protocol/editor';
import { MODEL_SCHEME, type ModelSizes } from '../protocol/onnx';
import type { Choice, Devices, FromPanel, RunRequest, ToPanel } from '../protocol/panel';
import { failureOf, type Bench } from './bench';
import { choiceOfPreset, choiceOfTarget, idOf, modelRunOf } from './choices';
import { exportResult } from './export';
import { pageOf } from './webview';

/** Findings follow the typing at this distance (milliseconds). */
const REFRESH_WAIT = 300;

export interface BenchmarkPanel {
  /** Shows the panel; with a target, its shapes are in the form. */
  open(target: BenchTarget | undefined): Promise<void>;
  readonly disposable: vscode.Disposable;
}

export interface PanelParts {
  readonly extension: vscode.Uri;
  readonly bench: Bench;
  /** Asks the server; empty while it does not run. */
  readonly targets: () => Promise<readonly BenchTarget[]>;
  /** The sizes that a model leaves open. */
  readonly sizes: (uri: string) => Promise<ModelSizes | null>;
  /** The sizes of a finding's operator at given sizes of its model, as far as they follow. */
  readonly dims: (target: BenchTarget, sizes: Readonly<Record<string, number>>) => Promise<Record<string, number>>;
  readonly recorded: () => Promise<readonly BenchResult[]>;
  readonly onDevices: (devices: Devices) => void;
}

export function createBenchmarkPanel({
  extension,
  bench,
  targets,
  sizes,
  dims,
  recorded,
  onDevices,
}: PanelParts): BenchmarkPanel {
  let panel: vscode.WebviewPanel | undefined;
  /** All that were offered: the panel keeps what is chosen when its document is closed. */
  const known = new Map<string, BenchTarget>();
  let selected: BenchTarget | undefined;
  let running: AbortController | undefined;

  const post = (message: ToPanel) => void panel?.webview.postMessage(message);
  const fail = (error: unknown) => post({ type: 'failed', failure: failureOf(error) });

  const setup = async (select: BenchTarget | undefined): Promise<void> => {
    const found = await targets();
    const offered = select && !found.some((target) => idOf(target) === idOf(select)) ? [select, ...found] : found;
    for (const target of offered) known.set(idOf(target), target);
    const models = await Promise.all(
      offered.map(({ uri }) => (uri.startsWith(`${MODEL_SCHEME}:`) ? sizes(uri) : null)),
    );
    const choices: Choice[] = [
      ...offered.map((target, i) => choiceOfTarget(target, models[i] ?? null)),
      ...bench.presets.map(choiceOfPreset),
    ];
    const device = vscode.workspace.getConfiguration('ikboLens').get('device', '');
    const trusted = vscode.workspace.isTrusted;
    post({ type: 'setup', choices, selected: select ? idOf(select) : null, trusted, device });
  };
  const findDevices = async (): Promise<void> => {
    try {
      const found = await bench.devices();
      onDevices(found);
      post({ type: 'devices', found, failure: null });
    } catch (error) {
      post({ type: 'devices', found: null, failure: failureOf(error) });
    }
  };
  const run = async (request: RunRequest): Promise<void> => {
    if (!vscode.workspace.isTrusted) return fail(new Error('Running a benchmark needs a trusted workspace.'));
    running?.abort();
    const own = (running = new AbortController());
    try {
      const target = known.get(request.model?.choice ?? '');
      const model = target && request.model ? modelRunOf(target, request.model.sizes) : null;
      const result = await bench.run({ ...request, model }, post, own.signal);
      post({ type: 'result', result });
    } catch (error) {
      if (own.signal.aborted) post({ type: 'cancelled' });
      else fail(error);
    } finally {
      if (running === own) running = undefined;
    }
  };
  const receive = async (message: FromPanel): Promise<void> => {
    switch (message.type) {
      case 'ready':
        await setup(selected);
        post({ type: 'recorded', results: await recorded() });
        return findDevices();
      case 'run':
        return run(message.request);
      case 'cancel':
        return running?.abort();
      case 'modelSizes': {
        const { choice, sizes: given } = message.model;
        const target = known.get(choice);
        if (target) post({ type: 'dims', choice, dims: await dims(target, given) });
        return;
      }
      case 'findDevices':
        return findDevices();
      case 'reveal':
        return reveal(known.get(message.choice));
      case 'copy':
        return vscode.env.clipboard.writeText(message.text);
      case 'trust':
        return vscode.commands.executeCommand('workbench.trust.manage');
      case 'export':
        return exportResult(message.result, message.format);
    }
  };
  const create = (): vscode.WebviewPanel => {
    const made = vscode.window.createWebviewPanel(
      'ikboLens.benchmark',
      'IKBO Lens Benchmark',
      { viewColumn: vscode.ViewColumn.Active, preserveFocus: false },
      {
        enableScripts: true,
        localResourceRoots: [vscode.Uri.joinPath(extension, 'dist'), vscode.Uri.joinPath(extension, 'media')],
        retainContextWhenHidden: true, // a run goes on while another tab is in front
      },
    );
    made.iconPath = vscode.Uri.joinPath(extension, 'media', 'icon.svg');
    made.webview.onDidReceiveMessage((message: FromPanel) => receive(message).catch(fail));
    made.onDidDispose(() => {
      running?.abort();
      panel = undefined;
    });
    made.webview.html = pageOf(made.webview, extension);
    return made;
  };

  let waiting: NodeJS.Timeout | undefined;
  const refresh = () => {
    if (!panel) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => void setup(undefined), REFRESH_WAIT);
  };
  const listeners = [
    vscode.languages.onDidChangeDiagnostics(refresh),
    vscode.workspace.onDidGrantWorkspaceTrust(refresh),
  ];
  return {
    async open(target) {
      selected = target;
      if (panel) {
        panel.reveal();
        await setup(target);
      } else panel = create();
    },
    disposable: vscode.Disposable.from(...listeners, {
      dispose() {
        clearTimeout(waiting);
        panel?.dispose();
      },
    }),
  };
}

async function reveal(target: BenchTarget | undefined): Promise<void> {
  if (!target) return;
  for (const notebook of vscode.workspace.notebookDocuments) {
    const cell = notebook.getCells().find(({ document }) => document.uri.toString() === target.uri);
    if (!cell) continue;
    const selections = [new vscode.NotebookRange(cell.index, cell.index + 1)];
    await vscode.window.showNotebookDocument(notebook, { selections });
    return;
  }
  const at = new vscode.Position(target.line - 1, 0);
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(target.uri));
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(at, at) });
}
