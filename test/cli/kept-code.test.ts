/** Compiled code that is kept between runs, through processes of the built command. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BAD } from './ranker';

const cli = join(__dirname, '../../dist/cli.js');

/** Where caches are, below what the environment names here. */
const FOLDERS: Readonly<Record<string, string>> = {
  darwin: 'Library/Caches/ikbo-lens',
  win32: 'cache/ikbo-lens/cache',
};

/** Loaded before the command, in each thread: says what V8 makes of the code that it is handed. */
const SPY = `const vm = require('node:vm');
const { Script } = vm;
vm.Script = class extends Script {
  constructor(source, options) {
    super(source, options);
    const what = options.cachedData ? (this.cachedDataRejected ? 'rejected' : 'used') : 'compiled';
    require('node:fs').appendFileSync(process.env.SPY, what + '\\n');
  }
};
`;

interface Run {
  readonly code: number;
  readonly out: string;
  readonly error: string;
  /** Per thread, what became of the kept code. */
  readonly threads: readonly string[];
}

describe('kept code', function () {
  this.timeout(120_000);
  let root = '';
  let project = '';
  let count = 0;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'ikbo-kept-'));
    project = join(root, 'project');
    mkdirSync(project);
    writeFileSync(join(root, 'spy.cjs'), SPY);
    writeFileSync(join(project, 'm0.py'), BAD);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const files = (): readonly string[] => (existsSync(folder()) ? readdirSync(folder()) : []);
  const folder = (): string => join(root, FOLDERS[process.platform] ?? 'cache/ikbo-lens');
  const only = (): string => {
    const [name, ...others] = files().filter((one) => one.endsWith('.code'));
    assert.deepEqual([typeof name, others], ['string', []]);
    return join(folder(), name ?? '');
  };
  /** A command line, `ikbo check --no-cache --jobs 1` unless it begins with another program. */
  const run = (
    args: readonly string[] = [],
    env: NodeJS.ProcessEnv = {},
    command = [cli, 'check', '--no-cache', '--jobs', '1'],
  ) =>
    new Promise<Run>((done) => {
      const spied = join(root, `spied${count++}`);
      writeFileSync(spied, '');
      const all: NodeJS.ProcessEnv = {
        ...process.env,
        HOME: root,
        XDG_CACHE_HOME: join(root, 'cache'),
        LOCALAPPDATA: join(root, 'cache'),
        SPY: spied,
      };
      delete all['NODE_DISABLE_COMPILE_CACHE'];
      const given = ['-r', join(root, 'spy.cjs'), ...command, ...args];
      execFile(process.execPath, given, { cwd: project, env: { ...all, ...env } }, (failed, out, error) =>
        done({
          code: typeof failed?.code === 'number' ? failed.code : 0,
          out: out.replace(/\(\d+ ms\)/, ''),
          error,
          threads: readFileSync(spied, 'utf8').split('\n').filter(Boolean),
        }),
      );
    });
  const check = async (expected: readonly string[], args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) => {
    const done = await run(args, env);
    assert.deepEqual([done.code, done.error, done.threads], [1, '', expected]);
    return done;
  };

  it('is that of the first run, for the second, and changes nothing of what is said', async () => {
    const first = await check(['compiled']);
    const written = statSync(only());
    assert.equal(written.mode & 0o777, process.platform === 'win32' ? 0o666 : 0o600);
    assert.deepEqual(await check(['used']), { ...first, threads: ['used'] });
    assert.deepEqual([statSync(only()).ino, files().length], [written.ino, 1]);
  });
  it('is for all threads, that of a run over many files also', async () => {
    for (let i = 1; i < 90; i += 1) writeFileSync(join(project, `m${i}.py`), BAD.replaceAll('user', `user${i}`));
    const three = ['--jobs', '3'];
    const first = await check(['compiled', 'compiled', 'compiled'], three);
    assert.equal((await check(['used', 'used', 'used'], three)).out, first.out);
    assert.equal((await check(['used'])).out, first.out);
  });
  it('is written anew by a run that does much more', async () => {
    await check(['compiled']);
    const first = statSync(only()).ino;
    for (let i = 1; i < 5; i += 1) writeFileSync(join(project, `m${i}.py`), BAD);
    await check(['used'], ['m0.py', 'm1.py']);
    assert.equal(statSync(only()).ino, first);
    await check(['used']);
    const second = statSync(only()).ino;
    assert.notEqual(second, first);
    await check(['used'], ['m0.py']);
    assert.equal(statSync(only()).ino, second);
  });
  it('of other flags of V8 lies beside', async () => {
    await check(['compiled']);
    const flags = { NODE_OPTIONS: '--stack-trace-limit=11' };
    await check(['compiled'], [], flags);
    assert.equal(files().length, 2);
    await check(['used'], [], flags);
    await check(['used']);
  });
  it('that V8 rejects, or that is not whole, of somebody else or of another version is made anew', async () => {
    const spoils: readonly (readonly [string, 'compiled' | 'rejected', (file: string) => void])[] = [
      ['cut off', 'compiled', (file) => truncateSync(file, 100_000)],
      ['empty', 'compiled', (file) => truncateSync(file, 0)],
      ['no such format', 'compiled', (file) => writeFileSync(file, '\n')],
      ['one bit', 'compiled', (file) => writeFileSync(file, changed(file, (code) => code.length >> 1, false))], // prettier-ignore
      ['another version of V8', 'rejected', (file) => writeFileSync(file, changed(file, () => 4, true))], // prettier-ignore
      ['another version of Node', 'compiled', (file) => writeFileSync(file, readFileSync(file, 'latin1').replace(` ${process.version} `, ' v20.0.0 '), 'latin1')], // prettier-ignore
      ...(process.getuid
        ? [['writable by others', 'compiled', (file: string) => chmodSync(file, 0o666)] as const]
        : []),
    ];
    await check(['compiled']);
    for (const [what, expected, spoil] of spoils) {
      spoil(only());
      await check([expected]).catch((error: unknown) => assert.fail(`${what}: ${String(error)}`));
      await check(['used']).catch((error: unknown) => assert.fail(`after ${what}: ${String(error)}`));
    }
    assert.equal(files().length, 1);
  });
  it('of processes at once is that of one', async () => {
    const runs = await Promise.all([run(), run(), run()]);
    // On a busy machine one may begin when another has ended.
    for (const { threads } of runs) assert.match(threads.join(), /^(compiled|used)$/);
    for (const one of runs) assert.deepEqual({ ...one, threads: [] }, { ...runs[0], threads: [] });
    assert.equal(files().length, 1);
    await check(['used']);
  });
  it('is missing without a word where nothing can be written', async () => {
    writeFileSync(join(root, 'file'), '');
    const where = [join(root, 'file'), ...(process.platform === 'linux' ? ['/proc/nosuch'] : [])];
    for (const XDG_CACHE_HOME of where) await check(['compiled'], [], { XDG_CACHE_HOME, LOCALAPPDATA: XDG_CACHE_HOME });
  });
  it('lies in no folder that is relative to where the command runs', async () => {
    await check(['compiled'], [], { XDG_CACHE_HOME: 'cache', LOCALAPPDATA: 'cache' });
    if (process.platform === 'linux') await check([], [], { XDG_CACHE_HOME: 'cache', HOME: '' });
    assert.deepEqual(readdirSync(project), ['m0.py']);
  });
  it('is used, but not left, by who names a folder for results', async () => {
    const named = [cli, 'check', '--jobs', '1', '--cache-dir', '../named'];
    assert.deepEqual((await run([], {}, named)).threads, ['compiled']);
    assert.deepEqual([files(), readdirSync(join(root, 'named')).length], [[], 1]);
    await check(['compiled']);
    assert.deepEqual((await run([], {}, named)).threads, ['used']);
    assert.deepEqual(
      readdirSync(join(root, 'named')).filter((name) => name.endsWith('.code')),
      [],
    );
  });
  it('is off, as for Node itself, by NODE_DISABLE_COMPILE_CACHE, and where source maps are on', async () => {
    await check([], [], { NODE_DISABLE_COMPILE_CACHE: '1' });
    await check([], [], { NODE_OPTIONS: '--enable-source-maps' });
    assert.deepEqual(files(), []);
  });
  it('is the same through a link, as npm makes one, and is not written by what checks nothing', async function () {
    if (process.platform === 'win32') this.skip();
    const link = join(root, 'ikbo');
    symlinkSync(cli, link);
    const explained = await run(['IKB101'], {}, [link, 'explain']);
    assert.deepEqual([explained.code, explained.threads, files()], [0, ['compiled'], []]);
    assert.deepEqual((await run([], {}, [link, 'check'])).threads, ['compiled']);
    await check(['used']);
    assert.deepEqual((await run(['IKB101'], {}, [link, 'explain'])).threads, ['used']);
  });
});

/** The file with one bit of its code changed, with the hash that goes with that or the one that it had. */
function changed(file: string, at: (code: Buffer) => number, isWhole: boolean): Buffer {
  const all = readFileSync(file);
  const end = all.indexOf(10) + 1;
  const code = Buffer.from(all.subarray(end));
  const sum = (of: Buffer) => createHash('sha1').update(of).digest('hex');
  const before = sum(code);
  code.writeUInt8(code.readUInt8(at(code)) ^ 1, at(code));
  const head = all.toString('latin1', 0, end);
  return Buffer.concat([Buffer.from(isWhole ? head.replace(before, sum(code)) : head), code]);
}
