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
import { type Editor, editorSession, ROOT } from './editor';
import { reach, until } from './reach';

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

  it('opens a model as its text, in colours, with a squiggle and an entry in Problems', async () => {
    await editor.openFile(MODEL, TEXT);
    await line('main_graph').waitFor();
    await editor.goTo(await editor.problems('IKB101'));
    await editor.page.locator('.squiggly-warning').first().waitFor();
    const operator = line('GatherND').locator('span', { hasText: /^GatherND$/ });
    // The first style is that of plain text.
    await until('colours', async () => /^mtk(?:[2-9]|\d\d)/.test((await operator.first().getAttribute('class')) ?? ''));
    // The binary stand-in is gone.
    await until('one tab', async () => (await editor.tab(/^dlrm_ranker\.onnx$/).count()) === 0);
  });

  /** 1-based place of a text on the first line that contains another one, in the text of the model. */
  const placeOf = (on: string, text: string): { row: number; column: number } => {
    const lines = readModelText(path(MODEL)).split('\n');
    const row = lines.findIndex((one) => one.includes(on));
    return { row: row + 1, column: (lines[row] ?? '').indexOf(text) + 1 };
  };

  it('says on hover what a value is, who makes it and who reads it', async () => {
    const { row, column } = placeOf('= Concat', '(val_');
    const hover = editor.page.locator('.monaco-hover').filter({ visible: true, hasText: 'Made by GatherND' }).first();
    await editor.at(row, column + 1, 'hover', hover, () => editor.command('Show or Focus Hover', hover));
    assert.match(await hover.innerText(), /float\[B, 96\].*Read by Concat on line \d+/s);
  });

  it('goes to the definition of a value', async () => {
    const { row, column } = placeOf('= Concat', '(val_');
    const made = editor.onLine(placeOf('= GatherND', '[').row);
    await editor.at(row, column + 1, 'definition', made, () => editor.page.keyboard.press('F12'));
  });

  it('draws the way of the copy, and its boxes lead to their lines by the keyboard', async () => {
    const panel = editor.panel();
    const box = panel.locator('a.box.replica');
    await reach('chain', box, (timeout) => lens('Show chain').click({ timeout }), 10_000);
    assert.match((await box.getAttribute('aria-label')) ?? '', /copies, GatherND, \[B, 96\].*line \d+/);
    assert.match((await panel.locator('a.box.source').getAttribute('aria-label')) ?? '', /source, user, \[U, 96\]/);
    const sink = panel.locator('a.box.sink');
    const row = /line (\d+)/.exec((await sink.getAttribute('aria-label')) ?? '')?.[1];
    await reach('line of the box', editor.onLine(row ?? ''), (timeout) => sink.press('Enter', { timeout }));
  });

  it('shows the quick fix as a diff, and saves a verified model beside the original', async () => {
    const original = readFileSync(path(MODEL));
    const entries = await editor.problems('IKB101');
    await editor.fix(entries, editor.fixes(/IKB101 \(safe\): /, '.focused'), editor.activeTab('rewritten'));
    await editor.page.locator('.monaco-diff-editor .line-insert').first().waitFor();
    await editor.page.locator('.monaco-diff-editor .line-delete').first().waitFor();
    const saved = path('dlrm_ranker.ikbo.onnx');
    await editor.answer('Split the product', 'Save as dlrm_ranker.ikbo.onnx', () => existsSync(saved));
    await editor.notice('same results on 2 sets of inputs');
    assert.ok(readFileSync(path(MODEL)).equals(original), 'the original is as it was');
    assert.deepEqual(checkModel('m', memorySource(readFileSync(saved))).findings, []);
    await runsAlike(path(MODEL), saved);
    await editor.answer('same results', 'Open', editor.activeTab('dlrm_ranker.ikbo.onnxtxt'));
  });

  it('measures the operator of a finding and the whole model around it in one run', async () => {
    await editor.openFile(MODEL, TEXT);
    await editor.closeTab('Chain of');
    const panel = editor.panel();
    const value = (id: string) => panel.locator(`#${id}`).inputValue();
    const model = panel.locator('#model-size-B');
    await reach('panel of the lens', model, (timeout) => lens(/^Benchmark/).click({ timeout }), 10_000);
    // The sizes of the operator follow from those of the model.
    const follow = async () => (await value('size-B')) === '64' && (await value('model-size-U')) === '4';
    await reach('sizes that follow', follow, async (timeout) => {
      await panel.locator('#device').selectOption('cpu', { timeout });
      await model.fill('64', { timeout });
      await panel.locator('#model-size-U').fill('4', { timeout });
      await panel.locator('#seconds').fill('1', { timeout });
    });
    assert.equal(await value('size-Ku'), '96');
    const running = panel.locator('.stage').filter({ visible: true });
    await reach('run', running, (timeout) => panel.locator('#run').click({ timeout }));
    await panel.locator('.bar[data-arm=model-rewritten] .fill').waitFor({ timeout: 90_000 });
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
    await editor.openFile('edited.onnxtxt');
    const entries = await editor.problems('IKB103');
    const edited = editor.page.locator('.tab.active.dirty').filter({ hasText: 'edited.onnxtxt' });
    const gone = async () => (await edited.isVisible()) && (await entries.count()) === 0;
    await editor.fix(entries, editor.fixes(/^IKB103 \(safe\): /, '.focused'), gone);
    await editor.press('Control+S', () => readFileSync(path('edited.onnxtxt'), 'utf8') !== text);
    await editor.press('Control+Home', editor.onLine(1, 1));
    const problem = await editor.problems("'<' expected at the beginning of a model");
    await editor.press('x', problem);
    await editor.press('Control+Z', async () => (await problem.count()) === 0);
  });

  it('shows a corrupt model as the error that it is', async () => {
    writeFileSync(path('corrupt.onnx'), readFileSync(path(MODEL)).subarray(0, 2000));
    await editor.openFile('corrupt.onnx', 'corrupt.onnxtxt');
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
    const clicked = await editor.pick('Control+P', name, name, editor.activeTab(`${name}txt`), 30_000);
    await line('ir_version').waitFor();
    return Date.now() - clicked;
  };

  it('opens 20,000 nodes', async () => {
    writeFileSync(path('large.onnx'), largeModel(20_000));
    const small = await timeToOpen('din_unit.onnx');
    const took = await timeToOpen('large.onnx');
    console.log(`      20,000 nodes: ${took} ms from the click to the text; 16 nodes: ${small} ms`);
    // Two seconds are the aim, which the line above shows; a machine that is busy with other things must not fail here.
    assert.ok(took < Math.max(10_000, 10 * small), `${took} ms`);
    await editor.press('Control+End', editor.onLine('2\\d{4}'));
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
