/** Activation: commands, the language server, the benchmark panel. Everything slow is started, not waited for. */
import { loadBegan } from './clock';
import * as vscode from 'vscode';
import { BENCH_TARGETS_REQUEST, parseBenchTarget, parseVerifyTarget, type BenchTarget } from '../protocol/editor';
import {
  CHAIN_COMMAND,
  MEASURE_COMMAND,
  MODEL_DIMS_REQUEST,
  MODEL_SIZES_REQUEST,
  REWRITE_COMMAND,
  type ModelMeasure,
  type ModelSizes,
} from '../protocol/onnx';
import { createBench } from './bench';
import { createBenchmarkPanel } from './benchmark-panel';
import { showDevices } from './devices';
import { trackFindings } from './findings-context';
import { createChainView, REVEAL_COMMAND, revealLine } from './onnx/chain';
import { registerModelEditor } from './onnx/editor';
import { registerModelFiles } from './onnx/files';
import { measureModel } from './onnx/measure';
import { showQuickFixes } from './onnx/quick-fix';
import { rewriteModel } from './onnx/rewrite';
import { recordedResults } from './recorded';
import { explainRule } from './rule-page';
import { createServer } from './server';
import { createStatus } from './status';
import { verifyRewrite } from './verify';

let stop: (() => Promise<void>) | undefined;
const loaded = performance.now() - loadBegan;

export function activate(context: vscode.ExtensionContext): void {
  const began = performance.now();
  const output = vscode.window.createOutputChannel('IKBO Lens', { log: true });
  const status = createStatus();
  const server = createServer(context, output, status.server);
  stop = server.stop;
  const bench = createBench(context);
  const panel = createBenchmarkPanel({
    extension: context.extensionUri,
    bench,
    targets: async () => (await server.request<BenchTarget[]>(BENCH_TARGETS_REQUEST)) ?? [],
    sizes: async (uri) => (await server.request<ModelSizes>(MODEL_SIZES_REQUEST, { uri })) ?? null,
    async dims({ uri, rule, line }, sizes) {
      const measure: ModelMeasure = { uri, finding: `${rule}:${line}`, sizes };
      return (await server.request<Record<string, number>>(MODEL_DIMS_REQUEST, measure)) ?? {};
    },
    recorded: () => recordedResults(context, output),
    onDevices: status.devices,
  });
  const chain = createChainView(server);
  const command = (name: string, run: (...given: unknown[]) => Promise<void>) =>
    vscode.commands.registerCommand(name, run);
  context.subscriptions.push(
    output,
    status.item,
    panel.disposable,
    trackFindings(),
    command('ikboLens.openBenchmark', (target) => panel.open(parseBenchTarget(target))),
    command('ikboLens.explain', (rule) => explainRule(context, rule)),
    command('ikboLens.verify', (target) => verifyRewrite(server, output, parseVerifyTarget(target))),
    registerModelFiles(server),
    registerModelEditor(),
    command(REWRITE_COMMAND, (uri, only, target) => rewriteModel(server, uri, only, target)),
    command(MEASURE_COMMAND, (uri, finding) => measureModel(server, uri, finding)),
    command(CHAIN_COMMAND, (uri, rule, line) => chain.show(uri, rule, line)),
    command(REVEAL_COMMAND, revealLine),
    command('ikboLens.quickFix', showQuickFixes),
    command('ikboLens.showDevices', () => showDevices(bench, status)),
    command('ikboLens.restartServer', () => server.start()),
  );
  setImmediate(() => void server.start());
  // Between loading and activating, the editor does other things: those are not counted.
  const own = performance.now() - began;
  output.info(`activated in ${(loaded + own).toFixed(1)} ms: ${loaded.toFixed(1)} to load, ${own.toFixed(1)} to run`);
}

export async function deactivate(): Promise<void> {
  await stop?.();
}
