/**
 * The benchmark host: a child process that alone loads the native addon. JSON lines on stdin and stdout (protocol/bench).
 *   node host.js --addon PATH
 * Ends when its stdin does, and with its parent. IKBO_TEST_HOST=crash|hang|interrupt makes a run fail
 * that way, for tests.
 */
import { dirname } from 'node:path';
import { BENCH_PROTOCOL, type HostRequest, type HostResponse } from '../../protocol/bench';
import { lines, parseRequest } from '../wire';
import { loadAddon, type Addon } from './addon';
import { listDevices } from './environment';
import { Cancelled, run, type RunHooks } from './run';

const say = (response: HostResponse): void => void process.stdout.write(`${JSON.stringify(response)}\n`);

function addonPath(): string {
  const at = process.argv.indexOf('--addon');
  const path = at < 0 ? process.env['IKBO_ADDON'] : process.argv[at + 1];
  if (!path) throw new Error('the benchmark host needs --addon PATH');
  return path;
}

/** For tests of the process around it: a fault, or a kernel that never returns. */
function misbehave(addon: Addon): void {
  const how = process.env['IKBO_TEST_HOST'];
  if (how === 'crash') addon.crash();
  if (how === 'interrupt') process.kill(process.pid, 'SIGINT');
  while (how === 'hang');
}

/** Ids of runs that go on, and of those that were cancelled meanwhile. */
const running = new Set<number>();
const cancelled = new Set<number>();

async function answer(addon: Addon, request: HostRequest): Promise<void> {
  const { id } = request;
  switch (request.type) {
    case 'hello':
      if (request.protocol !== BENCH_PROTOCOL)
        throw new Error(`the benchmark host speaks protocol ${BENCH_PROTOCOL}, asked for ${request.protocol}`);
      return say({ id, type: 'hello', protocol: BENCH_PROTOCOL, version: addon.version });
    case 'devices':
      return say({ id, type: 'devices', ...listDevices(addon) });
    case 'cancel':
      if (running.has(request.run)) cancelled.add(request.run);
      return;
    case 'run': {
      if (running.size > 0) throw new Error('the benchmark host is busy with another run');
      const hooks: RunHooks = {
        progress(stage, done, total) {
          say({ id, type: 'progress', stage, done, total });
          if (stage.includes('round 2')) misbehave(addon);
        },
        sample: (arm, regime, milliseconds) => say({ id, type: 'sample', arm, regime, milliseconds }),
        cancelled: () => cancelled.has(id),
      };
      running.add(id);
      try {
        say({ id, type: 'result', result: await run(addon, request.request, hooks) });
      } finally {
        running.delete(id);
        cancelled.delete(id);
      }
    }
  }
}

function main(): void {
  const path = addonPath();
  const addon = loadAddon(path);
  addon.dieWithParent();
  process.stdin.setEncoding('utf8').on(
    'data',
    lines((line) => {
      const request = parseRequest(line);
      if (!request) return;
      answer(addon, request).catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        say({ id: request.id, type: 'error', message, cancelled: error instanceof Cancelled });
      });
    }),
  );
  process.stdin.on('end', () => process.exit(0));
  process.stdout.on('error', () => process.exit(0)); // the parent is gone
  process.chdir(dirname(path)); // the folder of the caller may go away while we run
}

main();
