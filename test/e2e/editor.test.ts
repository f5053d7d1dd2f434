/**
 * The main job through the interface of a real VS Code: find, fix, measure. IKBO_SCREENSHOTS=1 writes the pictures of the
 * README into media/.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { CELLS, notebook } from '../notebook/notebook';
import { again, type Editor, editorSession, ROOT, until } from './editor';

const RANKER = 'dlrm_ranker.py';
const SCREENSHOTS = process.env.IKBO_SCREENSHOTS === '1';

describe('in a real editor', function () {
  let editor: Editor;
  editorSession(this, (started) => (editor = started));

  /** Arranges what is to be seen in both themes; leaves the editor dark. */
  const picture = async (name: string, arrange: () => Promise<void> = async () => {}): Promise<void> => {
    if (!SCREENSHOTS) return;
    for (const theme of ['Light', 'Dark']) {
      await editor.theme(`${theme} Modern`);
      await arrange();
      await editor.page.screenshot({
        path: join(ROOT, `media/${name}-${theme.toLowerCase()}.png`),
        animations: 'disabled',
      });
      await editor.page.keyboard.press('Escape');
    }
  };
  const findings = () => editor.problems('IKB1');
  const lens = () =>
    editor.page
      .locator('.codelens-decoration a')
      .filter({ hasText: /^Benchmark \(/ })
      .first();

  /** Opens an example with its first finding in view. */
  const openFinding = async (name: string): Promise<void> => {
    await editor.openFile(name);
    const entries = (await editor.problems(/IKB\d/)).filter({ visible: true });
    await entries.first().dblclick();
    await editor.page.locator('.squiggly-warning').first().waitFor();
    await lens().waitFor();
  };

  it('shows squiggles, a lens and an entry in Problems when an example is opened', async () => {
    await openFinding(RANKER);
    assert.match(await lens().innerText(), /^Benchmark \(.*copied/);
  });

  it('activates in less than 150 ms of its own work', async () => {
    const time = () => /activated in ([\d.]+) ms/.exec(editor.log())?.[1];
    await until('the log has the activation time', time);
    assert.ok(Number(time()) < 150, editor.log());
  });

  it('says on hover what the copy costs', async () => {
    const hover = async () => {
      await editor.page.mouse.move(0, 0);
      await editor.page.locator('.squiggly-warning').first().hover({ force: true });
      await editor.page
        .locator('.monaco-hover')
        .getByText('Copied per call')
        .filter({ visible: true })
        .first()
        .waitFor();
    };
    await hover();
    await picture('editor', hover);
  });

  it('obeys its settings as they change', async () => {
    const file = join(editor.workspace, '.vscode/settings.json');
    mkdirSync(join(editor.workspace, '.vscode'));
    writeFileSync(file, JSON.stringify({ 'ikboLens.ignore': ['IKB'] }));
    await editor.page.locator('.markers-panel').getByText('No problems').waitFor();
    rmSync(file);
    await (await findings()).first().waitFor();
  });

  it('removes a finding by its quick fix, and Python still imports the file', async () => {
    const entries = await findings();
    const count = await entries.count();
    const before = await entries.first().innerText();
    await entries.first().dblclick();
    // The preferred fix has the focus.
    const preferred = editor.page
      .locator('.action-widget .monaco-list-row.focused')
      .filter({ hasText: /^IKB\d+ \(safe\): / });
    const menu = async () => {
      await editor.page.keyboard.press('Control+1'); // from the list into the editor
      await editor.page.locator('.monaco-editor.focused').waitFor();
      await editor.page.keyboard.press('Control+.');
      await preferred.waitFor({ timeout: 2000 });
    };
    await picture('fix', menu);
    await again(editor.page, async () => {
      await menu();
      // It is marked before the keyboard is with it: a key pressed in between is typed over the selection.
      await editor.page.locator('.action-widget *:focus').waitFor({ timeout: 2000 });
      await editor.page.keyboard.press('Enter');
    });
    await until('the finding is gone', async () => {
      const texts = await entries.allInnerTexts();
      return texts.length < count && !texts.includes(before);
    });
    await editor.page.keyboard.press('Control+S');
    const path = join(editor.workspace, RANKER);
    const original = readFileSync(join(ROOT, 'examples', RANKER), 'utf8');
    await until('the file is saved', () => readFileSync(path, 'utf8') !== original);
    importable(editor.workspace, RANKER.replace('.py', ''));
  });

  it('opens the panel from the code lens with the shapes of the finding', async () => {
    await openFinding('wukong_compression.py');
    await lens().click();
    const panel = editor.panel();
    await panel.locator('#choice').waitFor();
    assert.match(await selectedText(panel.locator('#choice')), /^IKB103 wukong_compression\.py:\d+$/);
    assert.match(await panel.locator('#size-B').inputValue(), /^\d+$/);
    await panel.locator('#device option[value=cpu]').waitFor({ state: 'attached' });
  });

  it('names the size that makes no sense, and runs nothing', async () => {
    const panel = editor.panel();
    await panel.locator('#size-U').fill('1000000');
    await panel.getByText('every user needs a candidate').waitFor();
    assert.equal(await panel.locator('#run').isDisabled(), true);
  });

  const small = async (seconds: string): Promise<void> => {
    const panel = editor.panel();
    const sizes = { B: '256', U: '8', Ku: '64', Kc: '32', M: '32', N: '64' };
    for (const [name, size] of Object.entries(sizes)) await panel.locator(`#size-${name}`).fill(size);
    await panel.locator('#device').selectOption('cpu');
    await panel.locator('#seconds').fill(seconds);
    await panel.locator('#seconds').blur();
  };

  it('measures on the CPU and shows a bar and a row of numbers for each arm', async () => {
    const panel = editor.panel();
    await small(SCREENSHOTS ? '8' : '2');
    await panel.locator('#run').click();
    await panel.locator('.bar[data-arm=as-written] .fill').waitFor({ timeout: 45_000 });
    const bars = await panel.locator('.chart .bar[data-arm]').count();
    assert.ok(bars >= 3, `${bars} bars`);
    assert.equal(await panel.locator('tbody tr').count(), bars);
    const checks = await panel.locator('td.check').allInnerTexts();
    assert.ok(
      checks.every((text) => text.startsWith('✓')),
      checks.join('\n'),
    );
    await picture('benchmark', async () => {
      if (await editor.page.locator('.markers-panel').isVisible()) await editor.page.keyboard.press('Control+J');
      await panel.locator('#choice').scrollIntoViewIfNeeded();
    });
  });

  it('exports the run as a document', async () => {
    await editor.panel().getByRole('button', { name: 'Markdown' }).click();
    await editor.page.locator('.tab.active', { hasText: 'Untitled-1' }).waitFor();
    await editor.page.locator('.view-line').filter({ hasText: 'As written' }).first().waitFor();
    await editor.command('IKBO Lens: Open Benchmark');
    await editor.panel().locator('.bar[data-arm=as-written]').waitFor();
  });

  it('runs and cancels by the keyboard, within three seconds', async () => {
    const panel = editor.panel();
    await small('60');
    await panel.locator('#seconds').press('Control+Enter');
    await panel.locator('.stage', { hasNotText: /^starting$/ }).waitFor();
    const asked = Date.now();
    await panel.locator('#cancel').press('Escape');
    await panel.getByText('Cancelled. Nothing was recorded.').waitFor();
    assert.ok(Date.now() - asked < 3000, `${Date.now() - asked} ms`);
  });

  it('says what happened when the benchmark process dies, and the editor lives', async () => {
    const panel = editor.panel();
    await panel.locator('#run').click();
    await panel.locator('.stage', { hasNotText: /^starting$/ }).waitFor();
    const hosts = editor.processes('host.js');
    assert.equal(hosts.length, 1, 'one benchmark process');
    for (const pid of hosts) process.kill(pid, 'SIGKILL');
    const alert = panel.locator('[role=alert]');
    await alert.getByText('SIGKILL').waitFor();
    await panel.locator('#run').waitFor();
    await openFinding('din.py');
  });

  /** Runs the first "Verify this rewrite" of the place of the cursor, until its result is told. */
  const verifyChosen = async (): Promise<void> => {
    await editor.page.locator('.monaco-editor.focused').waitFor();
    await editor.page.keyboard.press('Control+.');
    const chosen = editor.page.locator('.action-widget .monaco-list-row.focused');
    await chosen.waitFor();
    for (let left = 9; left > 0 && !/Verify this rewrite/.test(await chosen.innerText()); left--)
      await editor.page.keyboard.press('ArrowDown');
    await editor.page.keyboard.press('Enter');
    const told = editor.page.locator('.notification-list-item').filter({ hasText: /IKB\d+ \S+: / });
    await told.first().waitFor({ timeout: 45_000 });
    await editor.command('Notifications: Clear All Notifications');
  };

  it('runs a rewrite before it is applied, or says what it lacks', async () => {
    await openFinding('din.py');
    await editor.page.keyboard.press('Control+1');
    await verifyChosen();
    assert.match(editor.log(), /\.py:\d+: IKB\d+ \S+\n +(call|not verified)/);
  });

  it('shows findings in the cells of a notebook', async () => {
    writeFileSync(join(editor.workspace, 'ranker.ipynb'), notebook(CELLS));
    await editor.openFile('ranker.ipynb');
    // The cell is further down than the view reaches.
    await (await editor.problems('in front of `self.fc`')).first().dblclick();
    await editor.page.locator('.notebook-editor .squiggly-warning').first().waitFor();
    await verifyChosen();
    assert.match(editor.log(), /ranker\.ipynb:cell 4:\d+: IKB101 \S+\n +not verified/);
    await editor.page.keyboard.press('Control+F4');
  });

  it('explains a rule on a page of its own', async () => {
    await editor.command('IKBO Lens: Explain a Rule');
    await editor.page.locator('.quick-input-list .monaco-list-row', { hasText: 'IKB101' }).click();
    await editor.page.locator('.tab.active', { hasText: 'IKB101.md' }).waitFor();
    await editor.page.keyboard.press('Control+F4');
  });

  it('says how to build the addon where there is none', async () => {
    for (const name of readdirSync(join(editor.extension, 'dist'))) {
      if (name.endsWith('.node')) renameSync(join(editor.extension, 'dist', name), join(editor.workspace, name));
    }
    await editor.command('IKBO Lens: Open Benchmark');
    const panel = editor.panel();
    await panel.locator('#run').click();
    await panel.locator('[role=alert] code', { hasText: 'scripts/native.mjs build' }).waitFor();
  });
});

/** By the Python of the torch tests where it has torch; else compiled only. */
function importable(folder: string, module: string): void {
  const python = process.env.IKBO_PYTHON ?? 'python3';
  const torch = spawnSync(python, ['-c', 'import torch']).status === 0;
  const args = torch ? ['-c', `import ${module}`] : ['-m', 'py_compile', `${module}.py`];
  const env = { ...process.env, PYTHONPATH: join(ROOT, 'kernels/python'), PYTHONDONTWRITEBYTECODE: '1' };
  const run = spawnSync(python, args, { cwd: folder, encoding: 'utf8', env });
  assert.equal(run.status, 0, run.stderr);
}

function selectedText(select: Locator): Promise<string> {
  return select.locator('option:checked').innerText();
}
