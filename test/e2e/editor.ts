/** A real VS Code in a headless Chromium, with the packaged extension installed in folders of its own. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type FrameLocator, type Locator, type Page } from 'playwright-core';

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

export interface Editor {
  readonly page: Page;
  /** Copy of `examples/`, open as the workspace. */
  readonly workspace: string;
  /** The installed extension. */
  readonly extension: string;
  openFile(name: string): Promise<void>;
  /** Runs a command by its title in the palette. */
  command(title: string): Promise<void>;
  /** Rows of the Problems view with this text; opens the view. */
  problems(text: string | RegExp): Promise<Locator>;
  panel(): FrameLocator;
  theme(title: string): Promise<void>;
  /** Processes of this editor whose command line contains the text. */
  processes(text: string): number[];
  /** What the extension wrote to its output channel. */
  log(): string;
  close(): Promise<void>;
}

/**
 * One editor for the tests of a suite, which are one session, in order, as a user would go: the first failure ends it and
 * leaves a screenshot in build/. Without the tools the suite is skipped, or fails where IKBO_REQUIRE names them.
 * IKBO_VSIX names another package than the one that is made here.
 */
export function editorSession(
  suite: Mocha.Suite,
  started: (editor: Editor) => void,
  settings: Readonly<Record<string, unknown>> = {},
): void {
  let editor: Editor | undefined;
  suite.timeout(60_000);
  suite.bail(true);
  before(async function () {
    const missing = missingTools();
    if (missing) {
      if ((process.env.IKBO_REQUIRE ?? '').split(',').includes('editor')) throw new Error(missing);
      console.log(`      skipped: ${missing}`);
      this.skip();
    }
    this.timeout(120_000);
    editor = await startEditor(process.env.IKBO_VSIX ?? packagedExtension(), settings);
    started(editor);
  });
  afterEach(async function () {
    if (this.currentTest?.state !== 'failed') return;
    mkdirSync(join(ROOT, 'build'), { recursive: true });
    await editor?.page.screenshot({ path: join(ROOT, 'build/editor-failure.png') });
  });
  after(() => editor?.close());
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
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  const close = async (): Promise<void> => {
    await browser.close();
    await stopServer();
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    const origin = `http://127.0.0.1:${port}`;
    await until('the editor server answers', async () => (await fetch(`${origin}/healthz`).catch(() => null))?.ok);
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(`${origin}/?folder=${workspace}`);
    await page.locator('.explorer-folders-view .monaco-list-row').first().waitFor({ timeout: 60_000 });
    return editorOf(page, { workspace, extension: join(extensions, installed), user, close });
  } catch (error) {
    await close();
    throw error;
  }
}

function editorOf(page: Page, parts: Pick<Editor, 'workspace' | 'extension' | 'close'> & { user: string }): Editor {
  const { workspace, extension, user, close } = parts;
  const input = page.locator('.quick-input-widget input[type=text]');
  const rows = page.locator('.quick-input-list .monaco-list-row');
  const pick = (prefix: string, text: string): Promise<void> =>
    again(page, async () => {
      await page.keyboard.press(prefix === '>' ? 'F1' : 'Control+P');
      await input.fill(`${prefix}${text}`, { timeout: 2000 });
      await rows.filter({ hasText: text }).first().click({ timeout: 2000 });
    });
  return {
    page,
    workspace,
    extension,
    close,
    async openFile(name) {
      await pick('', name);
      await page.locator('.tab.active', { hasText: name }).waitFor();
    },
    command: (title) => pick('>', title),
    async theme(title) {
      await pick('>', 'Preferences: Color Theme');
      await rows.filter({ hasText: 'Light Modern' }).first().waitFor();
      await input.fill(title);
      await page.keyboard.press('Enter');
      await page.locator(`.monaco-workbench.${title.includes('Dark') ? 'vs-dark' : 'vs'}`).waitFor();
    },
    async problems(text) {
      const view = page.locator('.markers-panel');
      if (!(await view.isVisible())) await page.keyboard.press('Control+Shift+M');
      await view.waitFor();
      return view.locator('.monaco-list-row').filter({ hasText: text });
    },
    panel: () => page.frameLocator('iframe.webview.ready[src*="extensionId=ikbo-lens"]').frameLocator('#active-frame'),
    processes: (text) => processesOf(extension, text),
    log() {
      const files = readdirSync(join(user, 'logs'), { recursive: true, encoding: 'utf8' });
      const own = files.filter((name) => name.endsWith('IKBO Lens.log'));
      return own.map((name) => readFileSync(join(user, 'logs', name), 'utf8')).join('');
    },
  };
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

/** Waits for something outside of the page. */
/**
 * Works through a menu or the palette, which close whenever something else takes the focus or the editor hears news of the file:
 * then they are opened again. `work` begins with the key that opens it, and waits for two seconds at most.
 */
export async function again(page: Page, work: () => Promise<void>): Promise<void> {
  for (let left = 5; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (left === 0) throw error;
      await page.keyboard.press('Escape');
    }
  }
}

export async function until(what: string, holds: () => unknown, timeout = 30_000): Promise<void> {
  const end = Date.now() + timeout;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ${timeout / 1000} s until ${what}`);
    await new Promise((turn) => setTimeout(turn, 50));
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
