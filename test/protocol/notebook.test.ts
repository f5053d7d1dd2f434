/** Notebooks in the built server: cells arrive one by one and are answered one by one, but are one program. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MarkupContent, type Diagnostic } from 'vscode-languageserver-protocol/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import {
  BENCH_TARGETS_REQUEST,
  parseBenchTarget,
  parseVerifyTarget,
  VERIFY_JOB_REQUEST,
} from '../../src/protocol/editor';
import type { Job } from '../../src/verify/job';
import { IMPORTS, RANKER } from '../notebook/notebook';
import { startClient, type Client } from './client';

describe('language server and notebooks', () => {
  let root = '';
  let client: Client;
  let uri = '';
  const cell = (number: number) => `vscode-notebook-cell:/nb.ipynb#${number}`;
  const place = (text: string, what: string) => TextDocument.create('', '', 0, text).positionAt(text.indexOf(what));
  const latest = (of: string): readonly Diagnostic[] | undefined =>
    client.published.findLast((one) => one.uri === of)?.diagnostics;
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise((turn) => setTimeout(turn, 5));
  };
  const open = (ranker = RANKER) =>
    client.openNotebook(uri, [
      { uri: cell(1), text: '# torch', language: 'markdown' },
      { uri: cell(2), text: IMPORTS },
      { uri: cell(3), text: '%%bash\nls' },
      { uri: cell(4), text: ranker },
    ]);

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'ikbo-notebook-'));
    uri = pathToFileURL(join(root, 'nb.ipynb')).href;
    client = await startClient({ root });
  });
  afterEach(async () => {
    await client.stop();
    rmSync(root, { recursive: true, force: true });
  });

  it('reports in the cell, with its own positions, and nothing in the others', async () => {
    open();
    const [finding, ...rest] = await client.diagnostics(cell(4));
    assert.ok(finding && rest.length === 0);
    assert.equal(finding.code, 'IKB101');
    assert.deepEqual(finding.range.start, place(RANKER, 'user.repeat_interleave'));
    for (const { location } of finding.relatedInformation ?? []) assert.equal(location.uri, cell(4));
    assert.deepEqual(await client.diagnostics(cell(2)), []);
  });
  it('a fix edits the cell, and one with an import the cell of the imports, too', async () => {
    open();
    const [finding] = await client.diagnostics(cell(4));
    assert.ok(finding);
    const actions = await client.actions(cell(4), finding.range.start);
    const fixes = actions.filter(({ title }) => title.startsWith('IKB101 ('));
    assert.ok(fixes.length >= 2);
    for (const { edit } of fixes) {
      const uris = edit?.documentChanges?.map((change) => ('textDocument' in change ? change.textDocument.uri : ''));
      assert.deepEqual(uris?.sort(), [cell(2), cell(4)]);
      for (const change of edit?.documentChanges ?? []) {
        assert.ok('edits' in change);
        const { uri: of } = change.textDocument;
        const document = TextDocument.create(of, 'python', 1, client.text(of));
        const text = TextDocument.applyEdits(
          document,
          change.edits as { range: Diagnostic['range']; newText: string }[],
        );
        assert.match(text, of === cell(2) ? /^import (ikbo_lens|torch\.nn\.functional as F)$/m : /^class Ranker/);
        if (of === cell(4)) assert.doesNotMatch(text, /torch\.cat\(/);
      }
    }
    const ignore = actions.find(({ title }) => title.startsWith('Ignore'));
    client.changeCell(uri, cell(4), { text: client.applied(cell(4), ignore?.edit) });
    await until(() => latest(cell(4))?.length === 0);
  });
  it('what verifies a rewrite is the program of the cells, where the finding is', async () => {
    open();
    const [finding] = await client.diagnostics(cell(4));
    assert.ok(finding);
    const actions = await client.actions(cell(4), finding.range.start);
    const verifications = actions.filter(({ title }) => title.includes('Verify this rewrite'));
    assert.equal(verifications.length, actions.filter(({ title }) => title.startsWith('IKB101 (')).length);
    const target = parseVerifyTarget(verifications[0]?.command?.arguments?.[0]);
    assert.deepEqual([target?.uri, target?.path, target?.line], [cell(4), 'nb.ipynb:cell 4', 7]);
    const job = await client.connection.sendRequest<Job>(VERIFY_JOB_REQUEST, target);
    assert.equal(job.file, join(root, 'nb.ipynb'));
    assert.deepEqual(job.cells, [{ number: 2, line: 1 }, { number: 4, line: 5 }]); // prettier-ignore
    assert.deepEqual([job.broadcast, job.consumer], [[11, 11], 12]);
    assert.match(job.original.split('\n')[10] ?? '', /user\.repeat_interleave/);
    assert.doesNotMatch(job.original, /bash|nvidia/);
    assert.doesNotMatch(job.rewritten, /torch\.cat\(/);
    const moved = { ...target, line: 3 };
    assert.equal(await client.connection.sendRequest<Job | null>(VERIFY_JOB_REQUEST, moved), null);
  });
  it('fixes all on request', async () => {
    open();
    const [finding] = await client.diagnostics(cell(4));
    assert.ok(finding);
    const [action] = await client.actions(cell(4), finding.range.start, ['source.fixAll.ikbo']);
    const changed = action?.edit?.documentChanges ?? [];
    assert.equal(changed.length, 2);
    for (const change of changed) assert.ok('edits' in change && change.textDocument.version === 1);
  });
  it('follows changes of any cell: the layer of one decides about another', async () => {
    open();
    assert.equal((await client.diagnostics(cell(4))).length, 1);
    client.changeCell(uri, cell(4), {
      range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
      text: '\n\n',
    });
    const [moved] = await client.diagnostics(cell(4));
    assert.equal(moved?.range.start.line, place(RANKER, 'user.repeat_interleave').line + 2);
    client.changeCell(uri, cell(2), { text: 'import numpy as nn' });
    await until(() => latest(cell(4))?.length === 0);
  });
  it('hovers and lenses count in the cell', async () => {
    open();
    const [finding] = await client.diagnostics(cell(4));
    assert.ok(finding);
    const hover = await client.hover(cell(4), place(RANKER, 'self.fc(torch'));
    assert.ok(MarkupContent.is(hover?.contents));
    assert.deepEqual(hover.range?.start.line, place(RANKER, 'self.fc(torch').line);
    assert.match(hover.contents.value, /line 7 of cell 4/);
    assert.doesNotMatch(hover.contents.value, /nb\.ipynb#L/);
    assert.equal(await client.hover(cell(1), { line: 0, character: 0 }), null);
    const [lens, ...rest] = await client.lenses(cell(4));
    assert.ok(lens && rest.length === 0);
    const target = parseBenchTarget(lens.command?.arguments?.[0]);
    assert.deepEqual([target?.line, target?.uri, target?.path], [7, cell(4), 'nb.ipynb:cell 4']);
    assert.deepEqual(await client.connection.sendRequest(BENCH_TARGETS_REQUEST), [target]);
    assert.deepEqual(await client.lenses(cell(2)), []);
  });
  it('obeys the project, and clears what it said when the notebook is closed', async () => {
    writeFileSync(join(root, 'ikbo.toml'), 'ignore = ["IKB1"]\n');
    open();
    assert.deepEqual(await client.diagnostics(cell(4)), []);
    rmSync(join(root, 'ikbo.toml'));
    await client.connection.sendNotification('workspace/didChangeWatchedFiles', { changes: [{ uri: `${uri}/../ikbo.toml`, type: 3 }] }); // prettier-ignore
    await until(() => latest(cell(4))?.length === 1);
    const cellTextDocuments = [1, 2, 3, 4].map((number) => ({ uri: cell(number) }));
    await client.connection.sendNotification('notebookDocument/didClose', {
      notebookDocument: { uri },
      cellTextDocuments,
    });
    await until(() => latest(cell(4))?.length === 0);
  });
});
