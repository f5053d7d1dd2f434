import assert from 'node:assert/strict';
import fc from 'fast-check';
import { lines, parseRequest, parseResponse } from '../../src/bench/wire';

describe('bench wire', () => {
  it('gives whole lines, however they are cut', () => {
    const line = fc.string({ minLength: 1 }).filter((text) => !text.includes('\n') && text.trim() !== '');
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(200)), (texts, cuts) => {
        const stream = texts.map((text) => `${text}\n`).join('');
        const ends = [...new Set([...cuts.map((cut) => cut % (stream.length + 1)), stream.length])].sort(
          (a, b) => a - b,
        );
        const got: string[] = [];
        const feed = lines((text) => got.push(text));
        let at = 0;
        for (const end of ends) {
          feed(stream.slice(at, end));
          at = end;
        }
        assert.deepEqual(got, texts);
      }),
    );
  });

  it('ignores what is no message of the protocol', () => {
    for (const line of [
      '',
      'warning: something',
      '[]',
      'null',
      '{}',
      '{"id":"1","type":"hello"}',
      '{"id":1,"type":"format"}',
    ])
      assert.equal(parseRequest(line), null, line);
    assert.equal(parseResponse('{"id":1,"type":"run"}'), null);
  });

  it('keeps unknown fields of known messages', () => {
    assert.deepEqual(parseRequest('{"id":1,"type":"devices","later":2}'), { id: 1, type: 'devices', later: 2 });
  });
});
