import assert from 'node:assert/strict';
import type { BenchResult, DeviceInfo } from '../../src/protocol/bench';
import type { Choice } from '../../src/protocol/panel';
import { dimsOf, INITIAL, reduce, requestOf, type Event, type State } from '../../src/panel/state';

const cpu: DeviceInfo = { id: 'cpu', name: 'CPU', kind: 'cpu', detail: '2 threads', memoryBytes: 1e9 };
const gpu: DeviceInfo = { id: 'cuda:0', name: 'GPU', kind: 'cuda', detail: 'sm_90', memoryBytes: 1e11 };
const finding: Choice = {
  id: 'finding',
  kind: 'finding',
  title: 'IKB101 ranker.py:4',
  detail: 'copied',
  op: 'concat-linear',
  dims: { B: 1024, U: 16, Ku: 512, Kc: 256, M: null },
  dtype: null,
  grouping: null,
  model: null,
};
const preset: Choice = {
  ...finding,
  id: 'preset',
  kind: 'preset',
  dims: { ...finding.dims, M: 64 },
  dtype: 'bf16',
  grouping: 'unsorted',
};

const run = (...events: readonly Event[]): State => events.reduce(reduce, INITIAL);
const setup = (selected: string | null): Event => ({
  type: 'setup',
  choices: [finding, preset],
  selected,
  trusted: true,
  device: '',
});
const devices = (...found: DeviceInfo[]): Event => ({
  type: 'devices',
  found: { devices: found, notes: [] },
  failure: null,
});

describe('panel state', () => {
  it('runs nothing before every size is there', () => {
    const state = run(setup('finding'), devices(cpu));
    assert.equal(dimsOf(state).M, null);
    assert.equal(requestOf(state), null);
    const filled = reduce(state, { type: 'size', name: 'M', text: '1,024' });
    assert.deepEqual(requestOf(filled)?.dims, { B: 1024, U: 16, Ku: 512, Kc: 256, M: 1024 });
  });

  it('runs the model of a finding once the sizes of its inputs are there, and takes what follows from them', () => {
    const inModel: Choice = { ...preset, id: 'model', kind: 'finding', model: { batch: null, T: 7 } };
    const state = run({ ...setup('model'), choices: [inModel, preset] } as Event, devices(cpu));
    assert.equal(requestOf(state)?.model, null, 'the operator can be measured without the model');
    const sized = reduce(state, { type: 'modelSize', name: 'batch', text: '2,048' });
    const follows = reduce(sized, { type: 'dims', choice: 'model', dims: { B: 2048 } });
    assert.deepEqual(requestOf(follows)?.model, { choice: 'model', sizes: { batch: 2048, T: 7 } });
    assert.equal(requestOf(follows)?.dims.B, 2048);
    assert.equal(
      reduce(follows, { type: 'dims', choice: 'another', dims: { B: 5 } }),
      follows,
      'an answer that is late',
    );
    assert.equal(requestOf(reduce(follows, { type: 'modelSize', name: 'T', text: '1.5' }))?.model, null);
    assert.equal(requestOf(reduce(follows, { type: 'choose', id: 'preset' }))?.model, null);
  });

  it('reads sizes as people write them', () => {
    const size = (text: string) => dimsOf(reduce(run(setup('finding')), { type: 'size', name: 'M', text })).M;
    assert.equal(size('2^10'), 1024);
    assert.equal(size(' 65_536 '), 65536);
    assert.equal(size(''), null);
    assert.ok(Number.isNaN(size('wide')));
  });

  it('refuses sizes that make no sense together', () => {
    const state = run(setup('preset'), devices(cpu), { type: 'size', name: 'U', text: '4096' });
    assert.equal(requestOf(state), null);
  });

  it('prefers the GPU, then the device of the settings, and a data type that the device has', () => {
    assert.equal(run(setup('preset'), devices(cpu, gpu)).device, 'cuda:0');
    assert.equal(run({ ...setup('preset'), device: 'cpu' } as Event, devices(cpu, gpu)).device, 'cpu');
    const state = run(setup('finding'), devices(cpu, gpu), { type: 'dtype', dtype: 'fp16' });
    assert.equal(reduce(state, { type: 'device', id: 'cpu' }).dtype, 'fp32');
  });

  it('keeps typed sizes when the list of findings is refreshed, and takes those of a selected finding', () => {
    const typed = run(setup('finding'), { type: 'size', name: 'B', text: '7' });
    assert.equal(reduce(typed, setup(null)).sizes.B, '7');
    assert.equal(reduce(typed, setup('finding')).sizes.B, '1024');
  });

  it('keeps what is chosen, with its sizes, when it is offered no longer', () => {
    const typed = run(setup('finding'), { type: 'size', name: 'B', text: '7' });
    const without = { ...setup(null), choices: [preset] } as Event;
    const kept = [without, without].reduce(reduce, typed);
    assert.equal(kept.choice, finding);
    assert.equal(kept.sizes.B, '7');
    assert.deepEqual(kept.choices, [finding, preset]);
    assert.deepEqual(reduce(reduce(kept, { type: 'choose', id: 'preset' }), without).choices, [preset]);
  });

  it('shows the newest run, keeps the older ones and tells them from recorded ones', () => {
    const result = (date: string) =>
      ({ environment: { date }, request: { regimes: ['burst', 'flush'] } }) as unknown as BenchResult;
    const [recorded, first, second] = [result('a'), result('b'), result('c')];
    const before = run({ type: 'recorded', results: [recorded] });
    assert.equal(before.shown, null, 'nothing is shown as if it had been measured');
    const after = [first, second].reduce((state, each) => reduce(state, { type: 'result', result: each }), before);
    assert.deepEqual(after.results, [first, second]);
    assert.equal(after.shown, second);
    assert.equal(after.regimeShown, 'burst');
    assert.equal(reduce(after, { type: 'show', result: recorded }).shown, recorded);
  });

  it('ends a run by a result, a failure or a cancel, and ignores progress after that', () => {
    const running = run(setup('preset'), devices(cpu), { type: 'started' });
    assert.ok(running.progress);
    const failure = { message: 'gone', command: null, details: null };
    for (const end of [{ type: 'cancelled' }, { type: 'failed', failure }] as const) {
      const ended = reduce(running, end);
      assert.equal(ended.progress, null);
      assert.equal(reduce(ended, { type: 'progress', stage: 'late', done: 1, total: 2 }).progress, null);
    }
  });
});
