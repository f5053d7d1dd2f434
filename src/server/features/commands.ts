/** Commands that any client can run: what the editor extension has in its own interface, as plain messages. */
import { ErrorCodes, ResponseError, type Connection } from 'vscode-languageserver';
import { parseBenchTarget, parseVerifyTarget } from '../../protocol/editor';
import { rulePageUri } from '../rule-pages';

export const EXPLAIN = 'ikbo.explain';
export const SHOW_BENCH_COMMAND = 'ikbo.showBenchCommand';
export const SHOW_VERIFY_COMMAND = 'ikbo.showVerifyCommand';
export const COMMANDS = [EXPLAIN, SHOW_BENCH_COMMAND, SHOW_VERIFY_COMMAND];

const OPEN_PAGE = 'Open rule page';

export async function executeCommand(connection: Connection, command: string, args: readonly unknown[]): Promise<void> {
  switch (command) {
    case EXPLAIN:
      return explain(connection, String(args[0]), Array.isArray(args[1]) ? args[1].map(String) : []);
    case SHOW_BENCH_COMMAND: {
      const target = parseBenchTarget(args[0]);
      if (target) connection.window.showInformationMessage(`Run: ikbo bench --finding ${target.path}:${target.line}`);
      return;
    }
    case SHOW_VERIFY_COMMAND: {
      const target = parseVerifyTarget(args[0]);
      if (!target) return;
      const { path, line, rewrite } = target;
      connection.window.showInformationMessage(`Run: ikbo verify ${path}:${line} --rewrite ${rewrite}`);
      return;
    }
    default:
      throw new ResponseError(ErrorCodes.InvalidParams, `unknown command ${command}; known are ${COMMANDS.join(', ')}`);
  }
}

async function explain(connection: Connection, rule: string, texts: readonly string[]): Promise<void> {
  const page = rulePageUri(rule);
  const actions = page ? [{ title: OPEN_PAGE }] : [];
  const answer = await connection.window.showInformationMessage(`${rule}. ${texts.join(' ')}`, ...actions);
  if (page && answer?.title === OPEN_PAGE) await connection.window.showDocument({ uri: page });
}
