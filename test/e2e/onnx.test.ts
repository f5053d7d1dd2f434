/** An ONNX model through the interface of a real VS Code: read, rewritten, compared, saved; one session, in order. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { checkModel, memorySource, printModel, readModel } from '../../src/core/onnx';
import { findRuntime } from '../../src/project/onnx/find-runtime';
import { verifyModel } from '../../src/project/onnx/verify';
import { largeModel } from '../core/onnx/large-model';
import { again, type Editor, editorSession, ROOT, until } from './editor';

const MODEL = 'dlrm_ranker.onnx';
const TEXT = 'dlrm_ranker.onnxtxt';

describe('ONNX models in a real editor', function () {
  let editor: Editor;
  before(() => {
    process.env.IKBO_ONNXRUNTIME ??= findRuntime(ROOT) ?? '';
  });
  editorSession(this, (started) => (editor = started));

  const path = (name: string): string => join(editor.workspace, 'onnx', name);
  const line = (text: string | RegExp) => editor.page.locator('.view-line').filter({ hasText: text }).first();
  const lens = (title: string | RegExp) =>
    editor.page.locator('.codelens-decoration a').filter({ hasText: title }).first();
  const notice = (text: string | RegExp) =>
    editor.page.locator('.notifications-toasts .notification-list-item').filter({ hasText: text }).first();
  const open = async (name: string, shown = name): Promise<void> => {
    await editor.openFile(name);
    await editor.page.locator('.tab.active', { hasText: shown }).waitFor();
  };

  it('opens a model as its text, in colours, with a squiggle and an entry in Problems', async () => {
    await open(MODEL, TEXT);
    await line('main_graph').waitFor();
    const entries = (await editor.problems('IKB101')).filter({ visible: true });
    await entries.first().dblclick();
    await editor.page.locator('.squiggly-warning').first().waitFor();
    const operator = line('GatherND').locator('span', { hasText: /^GatherND$/ });
    // The first style is that of plain text.
    assert.match((await operator.first().getAttribute('class')) ?? '', /^mtk(?:[2-9]|\d\d)/);
    // The binary stand-in is gone.
    assert.equal(await editor.page.locator('.tab', { hasText: /^dlrm_ranker\.onnx$/ }).count(), 0);
  });

  /** 1-based place of a text on the first line that contains another one, in the text of the model. */
  const placeOf = (on: string, text: string): { row: number; column: number } => {
    const lines = readModelText(path(MODEL)).split('\n');
    const row = lines.findIndex((one) => one.includes(on));
    return { row: row + 1, column: (lines[row] ?? '').indexOf(text) + 1 };
  };
  const palette = () => editor.page.locator('.quick-input-widget input[type=text]');
  const goTo = (row: number, column: number): Promise<void> =>
    again(editor.page, async () => {
      await editor.page.keyboard.press('Control+G');
      await palette().fill(`:${row}:${column}`, { timeout: 2000 });
      await editor.page.keyboard.press('Enter');
      await editor.page.locator('.statusbar-item', { hasText: `Ln ${row}, Col ${column}` }).waitFor({ timeout: 2000 });
    });

  it('says on hover what a value is, who makes it and who reads it', async () => {
    const { row, column } = placeOf('= Concat', '(val_');
    await goTo(row, column + 1);
    await editor.page.keyboard.press('Control+K');
    await editor.page.keyboard.press('Control+I');
    const hover = editor.page.locator('.monaco-hover').filter({ visible: true, hasText: 'Made by GatherND' }).first();
    await hover.waitFor();
    assert.match(await hover.innerText(), /float\[B, 96\].*Read by Concat on line \d+/s);
    await editor.page.keyboard.press('Escape');
    await editor.page.keyboard.press('Escape');
  });

  it('goes to the definition of a value', async () => {
    const { row, column } = placeOf('= Concat', '(val_');
    await goTo(row, column + 1);
    await editor.page.keyboard.press('F12');
    const made = placeOf('= GatherND', '[').row;
    await editor.page.locator('.statusbar-item', { hasText: `Ln ${made},` }).waitFor();
  });

  it('draws the way of the copy, and its boxes lead to their lines by the keyboard', async () => {
    await lens('Show chain').click();
    const panel = editor.panel();
    const box = panel.locator('a.box.replica');
    await box.waitFor();
    assert.match((await box.getAttribute('aria-label')) ?? '', /copies, GatherND, \[B, 96\].*line \d+/);
    assert.match((await panel.locator('a.box.source').getAttribute('aria-label')) ?? '', /source, user, \[U, 96\]/);
    const sink = panel.locator('a.box.sink');
    const row = /line (\d+)/.exec((await sink.getAttribute('aria-label')) ?? '')?.[1];
    await sink.focus();
    await editor.page.keyboard.press('Enter');
    await editor.page.locator('.statusbar-item', { hasText: `Ln ${row},` }).waitFor();
  });

  it('shows the quick fix as a diff, and saves a verified model beside the original', async () => {
    const original = readFileSync(path(MODEL));
    const entries = (await editor.problems('IKB101')).filter({ visible: true });
    await entries.first().dblclick();
    await editor.page.keyboard.press('Control+1');
    await editor.page.locator('.monaco-editor.focused').waitFor();
    await editor.page.keyboard.press('Control+.');
    const fix = editor.page.locator('.quick-input-list .monaco-list-row.focused');
    await fix.filter({ hasText: 'IKB101 (safe): ' }).waitFor();
    await editor.page.keyboard.press('Enter');
    await editor.page.locator('.tab.active', { hasText: 'rewritten' }).waitFor();
    await editor.page.locator('.monaco-diff-editor .line-insert').first().waitFor();
    await editor.page.locator('.monaco-diff-editor .line-delete').first().waitFor();
    await notice('Split the product').getByRole('button', { name: 'Save as dlrm_ranker.ikbo.onnx' }).click();
    const saved = path('dlrm_ranker.ikbo.onnx');
    await until('the model is saved', () => existsSync(saved));
    await notice('same results on 2 sets of inputs').waitFor({ timeout: 45_000 });
    assert.ok(readFileSync(path(MODEL)).equals(original), 'the original is as it was');
    assert.deepEqual(checkModel('m', memorySource(readFileSync(saved))).findings, []);
    await runsAlike(path(MODEL), saved);
    await notice('same results').getByRole('button', { name: 'Open' }).click();
    await editor.page.locator('.tab.active', { hasText: 'dlrm_ranker.ikbo.onnxtxt' }).waitFor();
  });

  it('measures the operator of a finding and the whole model around it in one run', async () => {
    await open(MODEL, TEXT);
    await editor.page.locator('.tab', { hasText: 'Chain of' }).locator('.codicon-close').click();
    await lens(/^Benchmark/).click();
    const panel = editor.panel();
    await panel.locator('#device').selectOption('cpu');
    await panel.locator('#model-size-B').fill('64');
    await panel.locator('#model-size-U').fill('4');
    // The sizes of the operator follow from those of the model.
    await until('the sizes follow', async () => (await panel.locator('#size-B').inputValue()) === '64');
    assert.equal(await panel.locator('#size-Ku').inputValue(), '96');
    await panel.locator('#seconds').fill('1');
    await panel.locator('#run').click();
    await panel.locator('.bar[data-arm=model-rewritten] .fill').waitFor({ timeout: 45_000 });
    assert.match(await panel.locator('h3.headline').innerText(), /^The whole model, rewritten: .*95 % interval/);
    const rows = await panel.locator('tr[data-arm^=model]').allInnerTexts();
    assert.equal(rows.length, 2, rows.join('\n'));
    for (const row of rows) assert.match(row, /Whole model in onnxruntime \d+\.\d+\.\d+ \(CPU\)/);
    assert.match(rows[0] ?? '', /the reference/);
    assert.match(rows[1] ?? '', /✓ error/);
    await panel.getByText(/whole model, dlrm_ranker\.onnx at .*B=64/).waitFor();
  });

  it('edits a text in place, with findings as it changes', async () => {
    const text = readModelText(path('wukong_first_layer.onnx'));
    writeFileSync(path('edited.onnxtxt'), text);
    await open('edited.onnxtxt');
    const entries = (await editor.problems('IKB103')).filter({ visible: true });
    await entries.first().dblclick();
    await editor.page.keyboard.press('Control+1');
    await editor.page.locator('.monaco-editor.focused').waitFor();
    await editor.page.keyboard.press('Control+.');
    const fix = editor.page.locator('.action-widget .monaco-list-row.focused');
    await fix.filter({ hasText: /^IKB103 \(safe\): / }).waitFor();
    await editor.page.keyboard.press('Enter');
    await (await editor.problems('IKB103')).first().waitFor({ state: 'detached' });
    await editor.page.keyboard.press('Control+S');
    await until('the text is saved', () => readFileSync(path('edited.onnxtxt'), 'utf8') !== text);
    await editor.page.keyboard.press('Control+Home');
    await editor.page.keyboard.type('x');
    await (await editor.problems("'<' expected at the beginning of a model")).first().waitFor();
    await editor.page.keyboard.press('Control+Z');
  });

  it('shows a corrupt model as the error that it is', async () => {
    writeFileSync(path('corrupt.onnx'), readFileSync(path(MODEL)).subarray(0, 2000));
    await open('corrupt.onnx', 'corrupt.onnxtxt');
    await line(/corrupt\.onnx\scannot\sbe\sshown/).waitFor();
    const problem = (await editor.problems(/claims \d+ bytes.*\(byte \d+\)/)).first();
    await problem.waitFor();
    // Whoever writes it anew sees that.
    writeFileSync(path('corrupt.onnx'), readFileSync(path(MODEL)));
    await line('main_graph').waitFor();
    await problem.waitFor({ state: 'detached' });
  });

  /** From the click in the list of files to the first line of the text, in milliseconds. */
  const timeToOpen = async (name: string): Promise<number> => {
    const row = editor.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: name }).first();
    await again(editor.page, async () => {
      await editor.page.keyboard.press('Control+P');
      await palette().fill(name, { timeout: 2000 });
      await row.waitFor({ timeout: 2000 });
    });
    const began = Date.now();
    await row.click();
    await editor.page.locator('.tab.active', { hasText: `${name}txt` }).waitFor();
    await line('ir_version').waitFor();
    return Date.now() - began;
  };

  it('opens 20,000 nodes', async () => {
    writeFileSync(path('large.onnx'), largeModel(20_000));
    const small = await timeToOpen('din_unit.onnx');
    const took = await timeToOpen('large.onnx');
    console.log(`      20,000 nodes: ${took} ms from the click to the text; 16 nodes: ${small} ms`);
    // Two seconds are the aim, which the line above shows; a machine that is busy with other things must not fail here.
    assert.ok(took < 10_000, `${took} ms`);
    await editor.page.keyboard.press('Control+End');
    await line('op_19999').waitFor();
    await editor.page.locator('.squiggly-warning').first().waitFor();
  });
});

const readModelText = (file: string): string => printModel(readModel(memorySource(readFileSync(file)))).text;

/** By onnxruntime, in a child of the test's own. */
async function runsAlike(before: string, after: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'ikbo-verify-'));
  try {
    const outfile = join(folder, 'onnx-child.js');
    const entryPoints = [join(ROOT, 'src/project/onnx/child.ts')];
    const external = ['onnxruntime-node'];
    buildSync({ entryPoints, outfile, external, bundle: true, platform: 'node', logLevel: 'error' });
    const { ok, lines } = await verifyModel({ before, after, dist: folder, shapes: {} }, findRuntime(ROOT) ?? '');
    assert.ok(ok, lines.join('\n'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
