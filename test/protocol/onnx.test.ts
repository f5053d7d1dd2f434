/** Models in ONNX's text syntax through the real server process, for any client. */
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { memorySource, printModel, readModel } from '../../src/core/onnx';
import { startClient, type Client } from './client';

const EXAMPLE = join(__dirname, '../../examples/onnx/wukong_first_layer.onnx');
const uri = 'file:///models/wukong.onnxtxt';

describe('language server on the text of a model', function () {
  this.timeout(30_000);
  let client: Client;
  before(async () => {
    client = await startClient();
  });
  after(() => client.stop());

  it('finds, fixes, and says where a text is no model, whatever the client calls the language', async () => {
    const text = printModel(readModel(memorySource(readFileSync(EXAMPLE)))).text;
    client.open(uri, text);
    const [finding, ...others] = await client.diagnostics(uri);
    assert.deepEqual([finding?.code, others], ['IKB103', []]);
    const at = finding!.range.start;
    assert.match(text.split('\n')[at.line] ?? '', /= GatherND /);
    const fix = (await client.actions(uri, at)).find(({ isPreferred }) => isPreferred);
    const fixed = client.applied(uri, fix?.edit);
    assert.ok(!fixed.includes('= GatherND ') && fixed.includes('= Split '));
    client.change(uri, { text: fixed });
    assert.deepEqual(await client.diagnostics(uri), []);
    client.change(uri, { text: fixed.replace('=> (', '=> [') });
    const [error] = await client.diagnostics(uri);
    assert.deepEqual([error?.severity, /'\(' expected/.test(error?.message ?? '')], [1, true]);
    client.change(uri, { text });
    const hover = await client.hover(uri, { line: at.line, character: text.split('\n')[at.line]!.indexOf('user') });
    assert.match((hover?.contents as { value: string }).value, /float\[U, 12, 8\] "user"[^]*Input of the model/);
  });
});
