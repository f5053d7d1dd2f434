import assert from 'node:assert/strict';
import { createScheduler } from '../../src/server/scheduler';

const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));

describe('scheduler', () => {
  it('runs once for a burst, and once per key', async () => {
    const ran: string[] = [];
    const scheduler = createScheduler((key) => ran.push(key));
    for (let i = 0; i < 5; i++) scheduler.schedule('a', 5);
    scheduler.schedule('b', 1);
    await pause(60);
    assert.deepEqual(ran, ['b', 'a']);
  });

  it('lets what has arrived restart the wait before a due job runs', async () => {
    const ran: string[] = [];
    const scheduler = createScheduler((key) => ran.push(key));
    scheduler.schedule('a', 0);
    const behind = new Promise<void>((done) => setTimeout(done, 0));
    for (const start = performance.now(); performance.now() - start < 5;); // both timers are due, and fire one behind the other
    await behind; // the timer has fired, the job has not run
    scheduler.schedule('a', 30);
    await new Promise((done) => setImmediate(done));
    assert.deepEqual(ran, []);
    await pause(80);
    assert.deepEqual(ran, ['a']);
  });

  it('runs nothing that was cancelled', async () => {
    const ran: string[] = [];
    const scheduler = createScheduler((key) => ran.push(key));
    scheduler.schedule('a', 1);
    scheduler.cancel('a');
    await pause(20);
    assert.deepEqual(ran, []);
  });
});
