/** The server on a transport of its own: `--stdio`, `--node-ipc`, `--pipe` or `--socket`, as named in process.argv. */
import type { Connection } from 'vscode-languageserver';
import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { createEngine } from '../core/create-engine';
import { limitHeapGrowth } from '../project/collect';
import { readGrammars } from '../project/grammars';
import { startServer } from './server';

/** On the transport that the command line names. The process ends when the client ends the connection. */
export function serve(connection: Connection = createConnection(ProposedFeatures.all)): void {
  limitHeapGrowth();
  startServer(connection, () => createEngine(readGrammars(__dirname)));
}

/** On stdin and stdout, whatever the command line says: for `ikbo lsp`. Resolves when the client hangs up. */
export async function serveStdio(): Promise<void> {
  serve(createConnection(ProposedFeatures.all, process.stdin, process.stdout));
  await new Promise<void>((done) => process.stdin.once('close', () => done()));
}
