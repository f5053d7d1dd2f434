/** A real VS Code in a headless Chromium, with the packaged extension installed in folders of its own. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { until } from './reach';
import { type Workbench, workbenchOf } from './workbench';

export const ROOT = join(__dirname, '../..');
export const EDITOR = process.env.IKBO_EDITOR ?? join(ROOT, '.cache/editor');
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** Null when the tools are there, else what is missing and how to get it. */
export function missingTools(): string | null {
  if (!existsSync(join(EDITOR, 'ready'))) return `no editor in ${EDITOR}: run scripts/setup-editor.sh .cache/editor`;
  return existsSync(CHROMIUM) ? null : `no ${CHROMIUM}: install chromium, or set CHROMIUM`;
}

/** Packages what `npm run build` and `scripts/native.mjs build` have left. */
export function packagedExtension(): string {
  execFileSync(process.execPath, [join(ROOT, 'scripts/package.mjs'), '--no-build'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return join(ROOT, 'build/ikbo-lens.vsix');
}

export interface Editor extends Workbench {
  readonly page: Page;
  /** Copy of `examples/`, open as the workspace. */
  readonly workspace: string;
  /** The installed extension. */
  readonly extension: string;
  /** Processes of this editor whose command line contains the text. */
  processes(text: string): number[];
  /** What the extension wrote to its output channel. */
  log(): string;
  close(): Promise<void>;
}

/**
 * One editor for the tests of a suite, which are one session, in order, as a user would go: the first failure ends it, and
 * nothing is tried again as a whole, since a test finds what those before it have left. A failure leaves a picture and the
 * extension's log in build/e2e/. Without the tools the suite is skipped, or fails where IKBO_REQUIRE names them. IKBO_VSIX
 * names another package than the one that is made here.
 */
export function editorSession(
  suite: Mocha.Suite,
  started: (editor: Editor) => void,
  settings: Readonly<Record<string, unknown>> = {},
): void {
  let editor: Editor | undefined;
  suite.timeout(120_000);
  suite.bail(true);
  before(async function () {
    const missing = missingTools();
    if (missing) {
      if ((process.env.IKBO_REQUIRE ?? '').split(',').includes('editor')) throw new Error(missing);
      console.log(`      skipped: ${missing}`);
      this.skip();
    }
    this.timeout(240_000);
    editor = await startEditor(process.env.IKBO_VSIX ?? packagedExtension(), settings);
    started(editor);
  });
  afterEach(async function () {
    const { currentTest: test } = this;
    if (editor && test?.state === 'failed') await keepEvidence(editor.page, editor.log(), test.fullTitle());
  });
  after(() => editor?.close());
}

/** What was on the screen and what the extension had said when a test failed, under the name of the test. */
async function keepEvidence(page: Page, log: string, test: string): Promise<void> {
  const folder = join(ROOT, 'build/e2e');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, test.replace(/\W+/g, '-').slice(0, 120));
  writeFileSync(`${path}.log`, log);
  await page.screenshot({ path: `${path}.png` });
  console.log(`      the screen: ${path}.png\n      the log of the extension: ${path}.log`);
}

const SETTINGS = {
  'workbench.startupEditor': 'none',
  'workbench.colorTheme': 'Default Dark Modern',
  'workbench.tips.enabled': false,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'editor.minimap.enabled': false,
  'files.autoSave': 'off',
  'git.enabled': false,
  'security.workspace.trust.enabled': false,
};

/** A busy machine takes its time to start an editor. */
const START = 90_000;

/** With `settings` on top of those that keep the editor quiet. */
export async function startEditor(vsix: string, settings: Readonly<Record<string, unknown>> = {}): Promise<Editor> {
  const scratch = mkdtempSync(join(tmpdir(), 'ikbo-editor-'));
  const [user, extensions, workspace] = ['user', 'extensions', 'workspace'].map((name) => join(scratch, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(join(user, 'User'), { recursive: true });
  writeFileSync(join(user, 'User/settings.json'), JSON.stringify({ ...SETTINGS, ...settings }));
  cpSync(join(ROOT, 'examples'), workspace, { recursive: true, filter: (path) => !path.includes('__pycache__') });
  const command = join(EDITOR, 'bin/editor');
  const common = ['--config', join(scratch, 'config.yaml'), '--user-data-dir', user, '--extensions-dir', extensions];
  execFileSync(command, [...common, '--install-extension', vsix], { stdio: 'ignore' });
  const installed = readdirSync(extensions).find((name) => name.startsWith('ikbo-lens'));
  if (!installed) throw new Error(`${vsix} was not installed`);

  const port = await freePort();
  // A process group of its own, so that its helpers end with it.
  const server = spawn(command, [...common, '--bind-addr', `127.0.0.1:${port}`, workspace], {
    stdio: 'ignore',
    detached: true,
  });
  const stopServer = async (): Promise<void> => {
    if (server.pid === undefined || server.exitCode !== null) return;
    const exited = once(server, 'exit');
    process.kill(-server.pid, 'SIGKILL');
    await exited;
  };
  const browsers: Browser[] = [];
  const close = async (): Promise<void> => {
    for (const browser of browsers) await browser.close();
    await stopServer();
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    const origin = `http://127.0.0.1:${port}`;
    const answers = async () => (await fetch(`${origin}/healthz`).catch(() => null))?.ok;
    await until('the editor server answers', answers, START);
    const args = ['--no-sandbox', '--disable-gpu'];
    const browser = await chromium.launch({ executablePath: CHROMIUM, args, timeout: START });
    browsers.push(browser);
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(45_000);
    page.setDefaultNavigationTimeout(START);
    try {
      await page.goto(`${origin}/?folder=${workspace}`);
      await page.locator('.explorer-folders-view .monaco-list-row').first().waitFor({ timeout: START });
    } catch (error) {
      await keepEvidence(page, logOf(user), 'start');
      throw error;
    }
    const extension = join(extensions, installed);
    return {
      ...workbenchOf(page),
      page,
      workspace,
      extension,
      processes: (text) => processesOf(extension, text),
      log: () => logOf(user),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What the extension wrote to its output channel; the editor keeps it among the user's data. */
function logOf(user: string): string {
  if (!existsSync(join(user, 'logs'))) return '';
  const files = readdirSync(join(user, 'logs'), { recursive: true, encoding: 'utf8' });
  const own = files.filter((name) => name.endsWith('IKBO Lens.log'));
  return own.map((name) => readFileSync(join(user, 'logs', name), 'utf8')).join('');
}

/** Looks into /proc: the editor's processes name the extension's folder, which is this run's own. */
function processesOf(extension: string, text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const line = readFileSync(join('/proc', pid, 'cmdline'), 'utf8');
        return line.includes(extension) && line.includes(text);
      } catch {
        return false; // it has ended meanwhile
      }
    })
    .map(Number);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
