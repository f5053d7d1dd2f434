import assert from 'node:assert';
import fc from 'fast-check';
import { bytesOf, concatBytes, encodeVarint, varintOf } from '../../../src/core/onnx/encode';
import { memorySource, openWindow, OnnxError } from '../../../src/core/onnx/source';
import { eachInt, fields, int64, type Field } from '../../../src/core/onnx/wire';

const scan = (bytes: Uint8Array): Field[] => [
  ...fields(openWindow(memorySource(bytes)), { start: 0, end: bytes.length }),
];

describe('onnx wire format', () => {
  it('reads back every int64', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
        fc.integer({ min: 1, max: 0x1fffffff }),
        (value, number) => {
          const bytes = varintOf(number, value);
          const [field] = scan(bytes);
          assert.equal(field?.number, number);
          assert.equal(int64(openWindow(memorySource(bytes)), field!), value);
        },
      ),
    );
  });

  it('reads packed and unpacked integers alike', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n })), (values) => {
        const packed = bytesOf(8, concatBytes(values.map((value) => encodeVarint(value))));
        const unpacked = concatBytes(values.map((value) => varintOf(8, value)));
        for (const bytes of [packed, unpacked]) {
          const window = openWindow(memorySource(bytes));
          const read: bigint[] = [];
          for (const field of scan(bytes)) eachInt(window, field, (value) => read.push(value));
          assert.deepEqual(read, values);
        }
      }),
    );
  });

  it('tiles a message with its fields, whatever their types', () => {
    const one = fc.record({ number: fc.integer({ min: 1, max: 4000 }), data: fc.uint8Array({ maxLength: 300 }) });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 20 }), (parts) => {
        const bytes = concatBytes(parts.map(({ number, data }) => bytesOf(number, data)));
        let at = 0;
        for (const [i, field] of scan(bytes).entries()) {
          assert.equal(field.tag, at);
          assert.deepEqual(bytes.subarray(field.start, field.end), parts[i]?.data);
          at = field.end;
        }
        assert.equal(at, bytes.length);
      }),
    );
  });

  it('skips groups, nested ones too', () => {
    const group = concatBytes([Uint8Array.of(0x0b, 0x13), varintOf(3, 7), Uint8Array.of(0x14, 0x0c), varintOf(2, 5)]);
    assert.deepEqual(
      scan(group).map(({ number, wire }) => [number, wire]),
      [[1, 3], [2, 0]], // prettier-ignore
    );
  });

  const bad: [string, number[], RegExp][] = [
    ['a length beyond the message', [0x0a, 0x7f, 0x00], /claims 127 bytes, 126 more/],
    ['a length beyond 2^53', [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], /claims/],
    ['an endless number', [0x08, ...Array<number>(11).fill(0x80)], /more than ten bytes/],
    ['a cut number', [0x08, 0x80], /ends inside a number/],
    ['field zero', [0x00, 0x00], /no field 0/],
    ['a group without end', [0x0b, 0x08, 0x01], /ends inside a number/],
    ['a stray end of group', [0x0c], /wire type 4/],
    ['crossed groups', [0x0b, 0x14], /closed by another/],
    ['a bomb of groups', Array<number>(100).fill(0x0b), /groups nest deeper/],
    ['cut floats', [0x0d, 0, 0], /claims 4 bytes/],
  ];
  for (const [what, bytes, message] of bad) {
    it(`refuses ${what}, with the offset`, () => {
      assert.throws(() => scan(Uint8Array.from(bytes)), (error) => {
        assert.ok(error instanceof OnnxError);
        assert.match(error.message, message);
        assert.match(error.message, /\(byte \d+\)/);
        return true;
      }); // prettier-ignore
    });
  }
});
