/** The language server's process and the client that talks to it, which is loaded only when it is started. */
import * as vscode from 'vscode';
import type { LanguageClient, LanguageClientOptions } from 'vscode-languageclient/node';
import { MODEL_LANGUAGE, MODEL_SCHEME } from '../protocol/onnx';
import type { ServerState } from './status';

export interface Server {
  /** Starts it, or starts it again. A failure is said to the user and in the output channel; never rejects. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Waits for the first start. Undefined while the server does not run. */
  request<T>(method: string, parameter?: unknown): Promise<T | undefined>;
}

export function createServer(
  context: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
  onState: (state: ServerState) => void,
): Server {
  let client: LanguageClient | undefined;
  let began = (): void => undefined;
  const started = new Promise<void>((resolve) => (began = resolve));
  return {
    async start() {
      onState('starting');
      try {
        client ??= await createClient(context, output, onState);
        await (client.isRunning() ? client.restart() : client.start());
      } catch (error) {
        onState('stopped');
        output.error(error instanceof Error ? error : String(error));
        const message = 'IKBO Lens: the language server did not start. The output channel "IKBO Lens" says why.';
        void vscode.window.showErrorMessage(message);
      }
      began();
    },
    async stop() {
      await client?.stop();
    },
    async request<T>(method: string, parameter?: unknown) {
      await started;
      return client?.isRunning() ? client.sendRequest<T>(method, parameter) : undefined;
    },
  };
}

async function createClient(
  context: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
  onState: (state: ServerState) => void,
): Promise<LanguageClient> {
  const began = performance.now();
  const { LanguageClient: Client, State, TransportKind } = await import('vscode-languageclient/node');
  const run = { module: context.asAbsolutePath('dist/server.js'), transport: TransportKind.ipc };
  const debug = { ...run, options: { execArgv: ['--nolazy', '--inspect=6009'] } };
  const options: LanguageClientOptions = {
    // Not the other side of a diff. The cells of a notebook arrive with it, as one program.
    documentSelector: [
      ...['file', 'untitled'].flatMap((scheme) => [
        { language: 'python', scheme },
        { language: MODEL_LANGUAGE, scheme },
      ]),
      { language: 'python', scheme: 'vscode-notebook-cell' },
      { scheme: 'file', pattern: '**/{ikbo,pyproject}.toml' },
      { language: MODEL_LANGUAGE, scheme: MODEL_SCHEME },
    ],
    // The server names these commands: this client has a panel, and knows whether the workspace is trusted.
    initializationOptions: { benchCommand: 'ikboLens.openBenchmark', verifyCommand: 'ikboLens.verify' },
    outputChannel: output,
  };
  const client = new Client('ikboLens', 'IKBO Lens', { run, debug }, options);
  const states = { [State.Stopped]: 'stopped', [State.Starting]: 'starting', [State.Running]: 'running' } as const;
  client.onDidChangeState(({ newState }) => onState(states[newState]));
  output.info(`language client loaded in ${(performance.now() - began).toFixed(1)} ms`);
  return client;
}
