/** What the language server says of the texts of models. */
import assert from 'node:assert';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chainSvg } from '../../src/extension/onnx/chain-svg';
import { chainPicture } from '../../src/server/onnx/chain';
import { openModelFile, openModelText, type ModelDocument } from '../../src/server/onnx/document';
import { definitionOf, foldsOf, referencesOf, symbolsOf, valueHover } from '../../src/server/onnx/features';
import { modelRewrite, modelSizes, modelText, saveModel } from '../../src/server/onnx/requests';
import { modelTextUri, parseModelUri } from '../../src/server/onnx/uri';
import { placeOf } from '../../src/server/places';
import { largeModel } from '../core/onnx/large-model';

const EXAMPLE = join(__dirname, '../../examples/onnx/dlrm_ranker.onnx');
const context = { path: 'm.onnx', shapes: { B: 1000 } };

describe('texts of models', () => {
  const uri = modelTextUri(EXAMPLE);
  const { text } = modelText(uri, context);
  const lines = text.split('\n');
  const lineOf = (part: string): number => lines.findIndex((line) => line.includes(part));
  let document: ModelDocument;
  let folder = '';
  before(() => {
    document = openModelFile('m.onnx', text, { file: EXAMPLE, only: null, target: 'standard' });
    folder = mkdtempSync(join(tmpdir(), 'ikbo server ')); // with a blank: URIs escape it
  });
  after(() => rmSync(folder, { recursive: true }));

  it('have URIs that name the file and the rewrite', () => {
    assert.deepEqual(parseModelUri(uri), { file: EXAMPLE, only: null, target: 'standard' });
    assert.deepEqual(parseModelUri(`${uri}?only%3DIKB101%3A27%2CIKB102`)?.only, ['IKB101:27', 'IKB102']);
    assert.deepEqual(parseModelUri(`${uri}?only=`)?.only, []);
    assert.equal(parseModelUri(`${uri}?only%3D%26target%3Dikbo`)?.target, 'ikbo');
    assert.equal(parseModelUri('file:///m.onnxtxt'), null);
    assert.equal(parseModelUri('no uri'), null);
    assert.deepEqual(placeOf(modelTextUri('/a b/c.onnx'), ['/a b']), { root: '/a b', path: 'c.onnx' });
  });

  it('say what a value is, where it is made and where it is read', () => {
    const row = lineOf('= Concat');
    const at = { line: row, character: (lines[row] ?? '').indexOf('(val_') + 2 };
    const hover = valueHover(document, at);
    const { value } = hover?.contents as { value: string };
    assert.match(value, /float\[B, 96\] "val_\d+"/);
    assert.match(value, /Made by GatherND on line \d+\.\n\nRead by Concat on line \d+\./);
    assert.equal(definitionOf(document, uri, at)?.range.start.line, lineOf('= GatherND'));
    assert.deepEqual(
      referencesOf(document, uri, at, false).map(({ range }) => range.start.line),
      [row],
    );
    assert.equal(referencesOf(document, uri, at, true).length, 2);
    assert.equal(valueHover(document, { line: row, character: 0 }), null);
  });

  it('say what a value is that nothing reads, when the file is long closed', () => {
    const file = join(folder, 'large.onnx');
    writeFileSync(file, largeModel(5));
    const shown = modelText(modelTextUri(file), context).text.split('\n');
    const opened = openModelFile('large.onnx', shown.join('\n'), { file, only: null, target: 'standard' });
    opened.index();
    rmSync(file);
    const row = shown.findIndex((line) => line.includes(' zero = '));
    const hover = valueHover(opened, { line: row, character: (shown[row] ?? '').indexOf('zero') });
    assert.match((hover?.contents as { value: string }).value, /int64\[1\] "zero"[^]*Weight\.[^]*Read by no node/);
  });

  it('have an outline of inputs, weights and nodes, and fold', () => {
    const symbols = symbolsOf(document);
    const names = symbols.map(({ name }) => name);
    assert.ok(names.includes('user') && names.includes('ranker.head.weight') && names.includes('node_cat'));
    assert.equal(symbols.find(({ name }) => name === 'node_cat')?.detail, 'Concat');
    const nested = openModelText('t', 'x');
    assert.deepEqual(symbolsOf(nested), []);
    const folds = foldsOf(text).map(({ startLine, endLine }) => [
      lines[startLine]?.trim().at(-1),
      lines[endLine + 1]?.trim(),
    ]);
    assert.deepEqual(folds, [
      ['<', '>'],
      ['(', ') => (float[B] squeeze)'],
      ['<', '>'],
      ['{', '}'],
    ]);
  });

  it('fold the subgraphs of a node', () => {
    const path = join(__dirname, '../fixtures/onnx/op17_dyn/repeat_interleave_dyn.onnx');
    const { text: looped } = modelText(modelTextUri(path), context);
    const rows = looped.split('\n');
    const loop = rows.findIndex((row) => row.includes('= Loop'));
    assert.ok(foldsOf(looped).some(({ startLine }) => startLine === loop));
    assert.ok(symbolsOf(openModelText('t', looped)).find(({ detail }) => detail === 'Loop')?.children?.length);
  });

  it('draw the chain of a finding', () => {
    const [finding] = document.check().findings;
    const picture = chainPicture(document, 'IKB101', finding!.line, context.shapes);
    assert.deepEqual(
      picture?.rows.map((row) => row.map(({ role, title, shape, bytes }) => [role, title, shape, bytes])),
      [
        [
          ['source', 'user', '[U, 96]', '384*U bytes'],
          ['replica', 'GatherND', '[B, 96]', '384 kB'],
          ['step', 'Concat', '[B, 128]', '512 kB'],
          ['sink', 'Gemm', '[B, 32]', '128 kB'],
        ],
      ],
    );
    const svg = chainSvg({ ...picture!, title: '<&"' }, (line) => `command:x?${line}`);
    assert.match(svg, /aria-label="&lt;&amp;&quot;"/);
    assert.equal(svg.match(/<a class="box/g)?.length, 4);
    assert.equal(chainPicture(document, 'IKB101', 1, {}), null);
  });

  it('show a rewrite, and save it anywhere but over the original', async () => {
    const file = join(folder, 'm.onnx');
    copyFileSync(EXAMPLE, file);
    const rewritten = `${modelTextUri(file)}?only=`;
    assert.match(modelRewrite(rewritten, context).done.join(), /IKB101 on line \d+: Split the product/);
    const after = modelText(rewritten, context).text;
    assert.ok(!after.includes('[node_cat]') && after.includes('= Gather'));
    assert.deepEqual(openModelFile('m', after, { file, only: [], target: 'standard' }).check().findings, []);
    const save = (target: string) =>
      saveModel({ uri: rewritten, target: pathToFileURL(target).href, verify: false }, context, '');
    const over = await save(file);
    assert.match(over.problem ?? '', /never overwritten/);
    const target = join(folder, 'new.onnx');
    assert.equal((await save(target)).problem, null);
    assert.ok(existsSync(target) && readFileSync(file).equals(readFileSync(EXAMPLE)));
    const nowhere = await save(join(folder, 'no/such/new.onnx'));
    assert.match(nowhere.problem ?? '', /was not written: no such file/);
  });

  it('offer an operator of ai.ikbo where standard ones cannot help', () => {
    const example = join(__dirname, '../../examples/onnx/target_attention.onnx');
    const shown = modelText(modelTextUri(example), context).text;
    const [finding] = openModelFile('m', shown, { file: example, only: null, target: 'standard' }).check().findings;
    assert.deepEqual(
      finding!.rewrites.map(({ id, tier }) => [id, tier]),
      [
        ['fold', 'none'],
        ['ikbo', 'suggestion'],
      ],
    );
    const rewritten = `${modelTextUri(example)}?only=IKB201:${finding!.line}&target=ikbo`;
    assert.match(modelText(rewritten, context).text, /= ai\.ikbo\.BroadcastAttention \(/);
    assert.equal(modelRewrite(rewritten, context).done.length, 1);
    assert.equal(modelRewrite(rewritten.replace('&target=ikbo', ''), context).done.length, 0);
  });

  it('name the sizes that are open', () => {
    assert.deepEqual(modelSizes(uri, context), { U: null, B: 1000 });
  });

  it('say in words what cannot be shown', () => {
    const broken = join(folder, 'broken.onnx');
    writeFileSync(broken, readFileSync(EXAMPLE).subarray(0, 3000));
    const shown = modelText(modelTextUri(broken), context).text;
    assert.match(shown, /^# broken\.onnx cannot be shown: .*\(byte \d+\)\n$/);
    const opened = openModelFile('broken.onnx', shown, { file: broken, only: null, target: 'standard' });
    assert.equal(opened.check().parsed, false);
    assert.equal(opened.index(), null);
    const gone = openModelFile('gone.onnx', '', { file: join(folder, 'gone.onnx'), only: null, target: 'standard' });
    assert.match(gone.check().notes[0]?.message ?? '', /no such file/);
    assert.match(modelText(modelTextUri(join(folder, 'gone.onnx')), context).text, /no such file/);
  });
});
