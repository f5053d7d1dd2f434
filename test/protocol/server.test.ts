/** The built server over stdio, as any editor meets it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DiagnosticSeverity, LSPErrorCodes, type Diagnostic } from 'vscode-languageserver-protocol/node';
import { parseBenchTarget, parseDiagnosticData, VERIFY_JOB_REQUEST } from '../../src/protocol/editor';
import type { Job } from '../../src/verify/job';
import { startClient, type Client, type Options } from './client';

const URI = 'untitled:ranker.py';

const RANKER = `import torch
from torch import nn

# ikbo: U=16, n_cand=64, Ku=512


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(512 + 256, 64)

    def forward(self, user: torch.FloatTensor, cand: torch.FloatTensor, n_cand: int):
        U, Ku = user.shape
        u = user.repeat_interleave(n_cand, dim=0)
        x = torch.cat([u, cand], dim=1)
        return self.fc(x)
`;

/** Position of the first character of \`what\`, moved by \`offset\`. */
function at(text: string, what: string, offset = 0) {
  const index = text.indexOf(what);
  assert.notEqual(index, -1, `no ${what}`);
  const before = text.slice(0, index + offset).split(/\r\n|\n/);
  return { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
}

function slice(text: string, { range }: Diagnostic): string {
  const lines = text.split(/\r\n|\n/);
  assert.equal(range.start.line, range.end.line);
  return lines[range.start.line]?.slice(range.start.character, range.end.character) ?? '';
}

describe('language server', () => {
  let client: Client;
  const start = async (options?: Options) => (client = await startClient(options));
  afterEach(() => client.stop());

  it('reports a finding with code, severity, related places and data', async () => {
    await start();
    client.open(URI, RANKER);
    const [finding, ...rest] = await client.diagnostics(URI);
    assert.ok(finding);
    assert.deepEqual(rest, []);
    assert.equal(finding.code, 'IKB101');
    assert.equal(finding.source, 'ikbo');
    assert.equal(finding.severity, DiagnosticSeverity.Warning);
    assert.match(slice(RANKER, finding), /^user\.repeat_interleave\(/);
    assert.match(finding.codeDescription?.href ?? '', /^file:.*\/docs\/rules\/IKB101\.md$/);
    const lines = finding.relatedInformation?.map(({ location }) => location.range.start.line + 1) ?? [];
    assert.ok(lines.length >= 2, 'the chain names at least the copy and the sink');
    assert.deepEqual(
      lines,
      lines.toSorted((a, b) => a - b),
      'in the order in which the data flows',
    );
    assert.equal(parseDiagnosticData(finding.data)?.rule, 'IKB101');
  });

  it('is silent in a file that does not mention torch', async () => {
    await start();
    client.open(URI, RANKER.replaceAll('torch', 'numpy'));
    assert.deepEqual(await client.diagnostics(URI), []);
    assert.deepEqual(await client.lenses(URI), []);
  });

  it('follows incremental changes, several in one notification, each seen from the one before', async () => {
    await start();
    client.open(URI, RANKER);
    assert.equal((await client.diagnostics(URI)).length, 1);
    const start_ = at(RANKER, 'repeat_interleave(');
    client.change(
      URI,
      { range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, text: '\n\n' },
      {
        range: { start: { line: start_.line + 2, character: 8 }, end: { line: start_.line + 2, character: 8 } },
        text: 'pass; ',
      },
    );
    const [moved] = await client.diagnostics(URI);
    assert.ok(moved);
    assert.match(slice(client.text(URI), moved), /^user\.repeat_interleave\(/);
    client.change(URI, {
      range: {
        start: at(client.text(URI), 'repeat_interleave('),
        end: at(client.text(URI), 'repeat_interleave(', 'repeat_interleave'.length),
      },
      text: 'view',
    });
    assert.deepEqual(await client.diagnostics(URI), []);
  });

  it('comes to the same findings by increments as from scratch, with broken code in between', async () => {
    await start();
    client.open(URI, '');
    for (const line of RANKER.split('\n')) {
      const end = client.text(URI).split('\n').length - 1;
      const here = { line: end, character: 0 };
      client.change(URI, { range: { start: here, end: here }, text: `${line}\n` });
    }
    const grown = await client.diagnostics(URI);
    client.open('untitled:whole.py', client.text(URI));
    const whole = await client.diagnostics('untitled:whole.py');
    assert.equal(grown.length, 1);
    assert.deepEqual(
      grown.map(({ code, message, range }) => ({ code, message, range })),
      whole.map(({ code, message, range }) => ({ code, message, range })),
    );
  });

  it('publishes for the last version of a burst and not for the stale ones', async () => {
    await start();
    client.open(URI, RANKER);
    await client.diagnostics(URI);
    const end = { line: 3, character: 0 };
    for (let i = 0; i < 40; i++) client.change(URI, { range: { start: end, end }, text: '# typing\n' });
    await client.diagnostics(URI);
    const versions = client.published.map(({ version }) => version);
    assert.ok(versions.length < 10, `published ${versions.length} times for 40 changes`);
  });

  it('counts columns in UTF-16', async () => {
    await start();
    const text = RANKER.replace('u = user', "s = '🚀𝛼'; u = user");
    client.open(URI, text);
    const [finding] = await client.diagnostics(URI);
    assert.ok(finding);
    assert.match(slice(text, finding), /^user\.repeat_interleave\(/);
  });

  it('edits a file with CR LF and characters outside of the basic plane', async () => {
    await start();
    const text = RANKER.replace('        u = user', "        s = '🚀𝛼'\n        u = user").replaceAll('\n', '\r\n');
    client.open(URI, text);
    const [finding] = await client.diagnostics(URI);
    assert.ok(finding);
    const [fix] = await client.actions(URI, finding.range.start);
    const fixed = client.applied(URI, fix?.edit);
    assert.ok(!/[^\r]\n/.test(fixed), 'every line still ends in CR LF');
    assert.ok(fixed.includes("        s = '🚀𝛼'\r\n"), 'the line above the edit is whole');
    client.change(URI, { text: fixed });
    assert.deepEqual(await client.diagnostics(URI), []);
  });

  it('offers the rewrites with rule and tier, the safe one preferred, and none for stale diagnostics', async () => {
    await start();
    client.open(URI, RANKER);
    const [finding] = await client.diagnostics(URI);
    assert.ok(finding);
    const actions = await client.actions(URI, finding.range.start);
    const preferred = actions.filter(({ isPreferred }) => isPreferred);
    assert.equal(preferred.length, 1);
    assert.match(preferred[0]?.title ?? '', /^IKB101 \(safe\): /);
    client.change(URI, { text: client.applied(URI, preferred[0]?.edit) });
    assert.deepEqual(await client.diagnostics(URI), [], 'the fix removes its finding');
    const stale = await client.connection.sendRequest('textDocument/codeAction', {
      textDocument: { uri: URI },
      range: finding.range,
      context: { diagnostics: [finding] },
    });
    assert.deepEqual(stale, []);
  });

  it('explains why there is no fix', async () => {
    await start();
    const text = RANKER.replace(
      'self.fc = nn.Linear(512 + 256, 64)',
      'self.fc = nn.utils.spectral_norm(nn.Linear(512 + 256, 64))',
    );
    client.open(URI, text);
    const [finding] = await client.diagnostics(URI);
    assert.ok(finding);
    const actions = await client.actions(URI, finding.range.start);
    assert.ok(actions.every(({ title }) => !title.includes('(safe)')));
    const explain = actions.find(({ title }) => title === 'IKB101: Explain why there is no fix');
    await client.connection.sendRequest('workspace/executeCommand', explain?.command);
    assert.match(client.messages.join(), /^IKB101\. .*spectral_norm/);
  });

  it('ignores a rule on a line, and adds to a comment that is there', async () => {
    await start();
    client.open(URI, RANKER);
    const [finding] = await client.diagnostics(URI);
    assert.ok(finding);
    const ignore = (await client.actions(URI, finding.range.start)).find(({ title }) => title.startsWith('Ignore'));
    const ignored = client.applied(URI, ignore?.edit);
    assert.match(ignored, /repeat_interleave\(n_cand, dim=0\) {2}# ikbo: ignore\[IKB101\]\n/);
    client.change(URI, { text: ignored });
    assert.deepEqual(await client.diagnostics(URI), []);

    client.change(URI, { text: RANKER.replace('dim=0)', 'dim=0)  # ikbo: ignore[IKB301]') });
    const [again] = (await client.diagnostics(URI)).filter(({ code }) => code === 'IKB101');
    assert.ok(again);
    const extend = (await client.actions(URI, again.range.start)).find(({ title }) => title.startsWith('Ignore'));
    assert.match(client.applied(URI, extend?.edit), /# ikbo: ignore\[IKB301, IKB101\]\n/);
  });

  it('fixes all that is safe on request only, and leaves nothing safe behind', async () => {
    await start();
    const second = RANKER.slice(RANKER.indexOf('class Ranker')).replace('Ranker', 'Second');
    client.open(URI, `${RANKER}\n\n${second}`);
    const findings = await client.diagnostics(URI);
    assert.equal(findings.length, 2);
    const ordinary = await client.actions(URI, findings[0]?.range.start ?? { line: 0, character: 0 });
    assert.ok(ordinary.every(({ kind }) => kind === 'quickfix'));
    for (const only of ['source', 'source.fixAll', 'source.fixAll.ikbo']) {
      const [all, ...others] = await client.actions(URI, { line: 0, character: 0 }, [only]);
      assert.equal(all?.kind, 'source.fixAll.ikbo');
      assert.deepEqual(others, []);
    }
    const [all] = await client.actions(URI, { line: 0, character: 0 }, ['source.fixAll.ikbo']);
    client.change(URI, { text: client.applied(URI, all?.edit) });
    assert.deepEqual(await client.diagnostics(URI), []);
    assert.deepEqual(await client.actions(URI, { line: 0, character: 0 }, ['source.fixAll.ikbo']), []);
  });

  it('says on hover what the copy costs, which way it takes and what can be done', async () => {
    await start();
    client.open(URI, RANKER);
    const text = async (what: string) =>
      ((await client.hover(URI, at(RANKER, what)))?.contents as { value: string } | undefined)?.value ?? '';
    const broadcast = await text('repeat_interleave(');
    for (const part of ['Copied per call', 'safe: ', 'About IKB101']) assert.ok(broadcast.includes(part), broadcast);
    const sink = await text('self.fc(x)');
    for (const part of ['Copied per call', '[line 14]', 'safe: ']) assert.ok(sink.includes(part), sink);
    assert.equal(await client.hover(URI, at(RANKER, 'super()')), null);
  });

  it('puts a lens on each finding that leads to its benchmark', async () => {
    await start({ initializationOptions: { benchCommand: 'mine.open' } });
    client.open(URI, RANKER);
    const [lens] = await client.lenses(URI);
    assert.match(lens?.command?.title ?? '', /^Benchmark \(1\.0 MB copied per call at U=16, n_cand=64, Ku=512\)$/);
    assert.equal(lens?.command?.command, 'mine.open');
    const target = parseBenchTarget(lens?.command?.arguments?.[0]);
    assert.equal(target?.bench.op, 'concat-linear');
    assert.deepEqual(await client.connection.sendRequest('ikbo/benchTargets'), [target]);
  });

  it('gives clients without a panel a command that shows the command line', async () => {
    await start();
    client.open(URI, RANKER);
    const [lens] = await client.lenses(URI);
    assert.ok(lens?.command);
    await client.connection.sendRequest('workspace/executeCommand', lens.command);
    assert.deepEqual(client.messages, ['Run: ikbo bench --finding ranker.py:14']);
  });

  it('obeys settings, also when they change', async () => {
    await start({ settings: { enable: true, ignore: ['IKB1'] } });
    client.open(URI, RANKER);
    assert.deepEqual(await client.diagnostics(URI), []);
    const changed = async (settings: Record<string, unknown>) => {
      const seen = client.published.length;
      client.configure(settings);
      while (client.published.length === seen) await new Promise((turn) => setTimeout(turn, 5));
      return client.published.at(-1)?.diagnostics.length;
    };
    assert.equal(await changed({}), 1);
    assert.equal(await changed({ select: ['IKB2'] }), 0);
    assert.equal(await changed({ select: 'nonsense', hints: 7 }), 1, 'values of a wrong type count as defaults');
    assert.equal(await changed({ enable: false }), 0);
  });

  it('answers a cancelled request as cancelled, and goes on', async () => {
    await start();
    client.open(URI, RANKER);
    await client.diagnostics(URI);
    const answer = client.rawAnswer('mine');
    // In one piece, so that the request cannot have been answered when the cancellation is read.
    client.sendRaw(
      { id: 'mine', method: 'textDocument/codeLens', params: { textDocument: { uri: URI } } },
      { method: '$/cancelRequest', params: { id: 'mine' } },
    );
    assert.match(await answer, new RegExp(`"code":${LSPErrorCodes.RequestCancelled}`));
    assert.equal((await client.lenses(URI)).length, 1);
  });

  it('survives what it is not prepared for', async () => {
    await start();
    await assert.rejects(
      client.connection.sendRequest('workspace/executeCommand', { command: 'ikbo.none' }),
      /unknown command/,
    );
    assert.equal(
      await client.connection.sendRequest('textDocument/hover', {
        textDocument: { uri: 'file:///none.py' },
        position: { line: 0, character: 0 },
      }),
      null,
    );
    client.open(URI, 'import torch\ndef f(:\n\x00\ud800 = ((((');
    await client.diagnostics(URI);
    client.connection.sendNotification('textDocument/didClose', { textDocument: { uri: URI } });
    client.open('untitled:next.py', RANKER);
    assert.equal((await client.diagnostics('untitled:next.py')).length, 1);
  });
});

describe('language server in a project', () => {
  const root = mkdtempSync(join(tmpdir(), 'ikbo-protocol-'));
  after(() => rmSync(root, { recursive: true, force: true }));
  let client: Client;
  afterEach(() => client.stop());
  const uri = (name: string) => pathToFileURL(join(root, name)).href;

  it('comes to the same findings as the command line, with the same configuration, as `ikbo lsp`', async () => {
    writeFileSync(join(root, 'ikbo.toml'), '[severity]\nIKB101 = "error"\n[shapes]\nKu = 512\n');
    writeFileSync(join(root, 'ranker.py'), RANKER);
    client = await startClient({ root, command: [join(__dirname, '../../dist/cli.js'), 'lsp'] });
    client.open(uri('ranker.py'), RANKER);
    const diagnostics = await client.diagnostics(uri('ranker.py'));
    const cli = spawnSync(process.execPath, [join(__dirname, '../../dist/cli.js'), 'check', '--format', 'json'], {
      cwd: root,
    });
    const report = JSON.parse(cli.stdout.toString()) as {
      findings: { rule: string; message: string; level: string; line: number; column: number }[];
    };
    assert.equal(report.findings.length, 1);
    assert.deepEqual(
      diagnostics.map(({ code, message, severity, range }) => [code, message, severity, range.start]),
      report.findings.map(({ rule, message, line, column }) => [
        rule,
        message,
        DiagnosticSeverity.Error,
        { line: line - 1, character: column - 1 },
      ]),
    );
  });

  it('offers to verify each rewrite of a file, and makes the job from the text in the editor', async () => {
    writeFileSync(join(root, 'ikbo.toml'), '[shapes]\nKu = 1\nT = 7\n');
    client = await startClient({ root, initializationOptions: { verifyCommand: 'my.verify' } });
    const text = `# unsaved\n${RANKER}`;
    client.open(uri('ranker.py'), text);
    const [finding] = await client.diagnostics(uri('ranker.py'));
    assert.ok(finding);
    const actions = await client.actions(uri('ranker.py'), finding.range.start);
    const checks = actions.filter(({ title }) => title.startsWith('IKB101: Verify this rewrite: '));
    assert.equal(checks.length, actions.filter(({ edit, title }) => edit && !title.startsWith('Ignore')).length);
    assert.equal(checks[0]?.command?.command, 'my.verify');
    const [target] = checks[0].command.arguments as [{ readonly line: number }];
    const job = await client.connection.sendRequest<Job | null>(VERIFY_JOB_REQUEST, target);
    assert.ok(job);
    assert.deepEqual([job.file, job.original], [join(root, 'ranker.py'), text]);
    assert.ok(job.rewritten !== text && job.rewritten.startsWith('# unsaved'));
    assert.deepEqual(job.sizes, { U: 16, n_cand: 64, Ku: 512, T: 7 });
    const gone = await client.connection.sendRequest(VERIFY_JOB_REQUEST, { ...target, line: target.line + 1 });
    assert.equal(gone, null);
  });

  it('says how to verify in a client that cannot run it', async () => {
    client = await startClient({ root });
    client.open(uri('ranker.py'), RANKER);
    const [finding] = await client.diagnostics(uri('ranker.py'));
    assert.ok(finding);
    const actions = await client.actions(uri('ranker.py'), finding.range.start);
    const check = actions.find(({ title }) => title.includes('Verify'));
    await client.connection.sendRequest('workspace/executeCommand', check?.command);
    assert.match(client.messages.join(), /^Run: ikbo verify ranker\.py:\d+ --rewrite \w+$/);
  });

  it('completes and checks the configuration, which is no Python', async () => {
    client = await startClient({ root });
    client.open(uri('pyproject.toml'), '[project]\ndependencies = ["torch>=2.5"]\n[tool.ikbo]\nsel\nignore = 3\n');
    const position = { line: 3, character: 3 };
    const params = { textDocument: { uri: uri('pyproject.toml') }, position };
    const items = await client.connection.sendRequest<{ label: string }[]>('textDocument/completion', params);
    assert.ok(items.some(({ label }) => label === 'select'));
    client.change(uri('pyproject.toml'), { text: '[tool.ikbo]\nignore = 3\n' });
    const [mistake, ...rest] = await client.diagnostics(uri('pyproject.toml'));
    assert.ok(mistake && rest.length === 0);
    assert.deepEqual(mistake.range, { start: { line: 1, character: 0 }, end: { line: 1, character: 6 } });
  });

  it('says once what is wrong with the configuration, and goes on without it', async () => {
    writeFileSync(join(root, 'ikbo.toml'), 'sevrity = 3\n');
    client = await startClient({ root });
    client.open(uri('ranker.py'), RANKER);
    assert.equal((await client.diagnostics(uri('ranker.py'))).length, 1);
    client.open(uri('other.py'), RANKER);
    assert.equal((await client.diagnostics(uri('other.py'))).length, 1);
    assert.equal(client.messages.length, 1);
    assert.match(client.messages[0] ?? '', /unknown key sevrity/);
  });

  it('checks an importing document again when the imported one changes, on disk or in the editor', async () => {
    const head = `from torch import nn\n\n\nclass Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(768, 64)

    def forward(self, x):
        return self.fc(x)\n`;
    const ranker = RANKER.replace('import torch\n', 'import torch\n\nfrom head import Head\n')
      .replace('nn.Linear(512 + 256, 64)', 'Head()')
      .replace('# ikbo', '# sizes');
    writeFileSync(join(root, 'ikbo.toml'), '');
    writeFileSync(join(root, 'head.py'), head);
    client = await startClient({ root });
    client.open(uri('ranker.py'), ranker);
    assert.equal((await client.diagnostics(uri('ranker.py'))).length, 1);
    const latest = () => client.published.findLast((params) => params.uri === uri('ranker.py'))?.diagnostics.length;
    client.open(uri('head.py'), head.replace('self.fc(x)', 'x'));
    while (latest() !== 0) await new Promise((turn) => setTimeout(turn, 5));
    await client.connection.sendNotification('textDocument/didClose', { textDocument: { uri: uri('head.py') } });
    await client.connection.sendNotification('workspace/didChangeWatchedFiles', {
      changes: [{ uri: uri('head.py'), type: 2 }],
    });
    while (latest() !== 1) await new Promise((turn) => setTimeout(turn, 5));
  });
});
