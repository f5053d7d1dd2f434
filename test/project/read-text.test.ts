import assert from 'node:assert/strict';
import { decodeText } from '../../src/project/read-text';

describe('decodeText', () => {
  const check = (bytes: readonly number[], expected: string | RegExp) => {
    const read = decodeText(Uint8Array.from(bytes));
    if (typeof expected === 'string') assert.deepEqual(read, { text: expected });
    else assert.match('problem' in read ? read.problem : '', expected);
  };
  it('reads UTF-8', () => check([0x61, 0xc3, 0xa9], 'aé'));
  it('keeps a byte order mark, so that offsets agree with the file', () => check([0xef, 0xbb, 0xbf, 0x61], '\uFEFFa'));
  it('keeps CRLF', () => check([0x61, 13, 10], 'a\r\n'));
  it('reads nothing as the empty text', () => check([], ''));
  it('refuses NUL bytes', () => check([0x61, 0, 0x62], /binary/));
  it('refuses other encodings and says what to do', () => check([0x61, 0xe9], /not UTF-8.*iconv/));
});
