import assert from 'node:assert';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  checkModel,
  checkModelText,
  memorySource,
  printModel,
  readModel,
  type ModelText,
} from '../../../src/core/onnx';
import { parseModelText } from '../../../src/core/onnx/parse/parse-text';
import { readModelText, OnnxTextError } from '../../../src/core/onnx/read-text';
import { applyEdits } from '../../../src/core/edits';
import { bytesOfFile, FIXTURES, modelsUnder, needTestdata, TESTDATA } from './support';

/** Printing what was parsed gives the text again, and every node has the line that the printer gave it. */
function roundTrip(path: string, bytes: Uint8Array): void {
  const printed = printModel(readModel(memorySource(bytes)));
  const { model, printed: own } = readModelText(printed.text);
  const again = printModel(model);
  assert.equal(again.text, printed.text, path);
  assert.deepEqual([...own.nodes.values()], [...printed.nodes.values()], path);
  const lines = ({ declarations }: ModelText) => [...declarations].map(([name, { first }]) => [name, first]);
  assert.deepEqual(lines(own), lines(printed), path);
}

const fixture = (name: string): Uint8Array => bytesOfFile(join(FIXTURES, `${name}.onnx`));
const textOf = (name: string): string => printModel(readModel(memorySource(fixture(name)))).text;

describe('onnx text, parsed', function () {
  this.timeout(60_000);

  it('gives the text of every fixture again', () => {
    for (const path of modelsUnder(FIXTURES)) roundTrip(path, bytesOfFile(path));
  });

  it('gives the text of every model of libonnx-testdata again', function () {
    needTestdata(this);
    for (const path of modelsUnder(TESTDATA)) roundTrip(path, bytesOfFile(path));
  });

  it('has the findings of the model, with edits of the same text', () => {
    for (const path of modelsUnder(FIXTURES)) {
      const source = memorySource(bytesOfFile(path));
      const { text } = printModel(readModel(source));
      assert.deepEqual(checkModelText('m', text), checkModel('m', source), path);
    }
  });

  it('prints any values so that they are read back', () => {
    const number = fc.oneof(fc.float({ noNaN: true }), fc.constantFrom(Infinity, -Infinity, -0, 1e30, 1e-40));
    const name = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 12 })
      .filter((text) => !/[\ud800-\udfff]/.test(text));
    fc.assert(
      fc.property(
        name,
        name,
        fc.array(number, { maxLength: 8 }),
        fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
        (a, b, floats, i) => {
          const quote = (text: string): string =>
            JSON.stringify(text).replace(/\\([bf])/g, (_, c) => (c === 'b' ? '\\u0008' : '\\u000c'));
          const values = floats.map((value) =>
            Number.isFinite(value)
              ? `${Object.is(value, -0) ? '-0.0' : value.toExponential()}`
              : value > 0
                ? 'inf'
                : '-inf',
          );
          const text = `<ir_version: 8, opset_import: ["" : 17]>
          g (float[${quote(a)}, 3] ${quote(a)}) => (? y) <float[${floats.length}] w = {${values.join(', ')}}>
          { [${quote(b)}] y = Op <i = ${i}, f: floats = [${values.join(', ')}], s = ${quote(b)}> (${quote(a)}, "", w) }`;
          const first = printModel(readModelText(text).model).text;
          assert.equal(printModel(readModelText(first).model).text, first);
          const node = readModelText(first).model.graph.nodes[0]!;
          assert.deepEqual([node.name, node.inputs[0], node.attributes[2]!.s, node.attributes[0]!.i], [b, a, b, i]);
          assert.deepEqual(node.attributes[1]!.floats, floats.map(Math.fround));
        },
      ),
    );
  });

  it('answers any change of a text with a model or an error, soon', () => {
    const text = textOf('op17_static/repeat_interleave_int');
    const dynamic = textOf('op17_dyn/repeat_interleave_dyn');
    const junk = fc.constantFrom(
      '<',
      '>',
      '{',
      '}',
      '(',
      ')',
      '[',
      ']',
      ',',
      '=',
      '"',
      '\\',
      '...',
      '#',
      '?',
      ' ',
      '1',
      'x',
      '\n',
      '@',
      ':',
      '-',
      '\u0000',
    );
    fc.assert(
      fc.property(
        fc.constantFrom(text, dynamic),
        fc.nat(),
        fc.nat(40),
        fc.array(junk, { maxLength: 5 }),
        (base, at, cut, parts) => {
          const start = at % base.length;
          const changed = base.slice(0, start) + parts.join('') + base.slice(start + cut);
          const { parsed, notes } = checkModelText('m', changed);
          if (!parsed) assert.ok(notes[0]!.line >= 1 && notes[0]!.line <= changed.split('\n').length);
        },
      ),
      { numRuns: 300 },
    );
  });

  const head = '<ir_version: 8, opset_import: ["" : 17]>\n';
  const errors: readonly [text: string, line: number, message: RegExp][] = [
    ['', 1, /'<' expected at the beginning of a model, found the end/],
    [`${head}g (float x) => (float y) { y = Relu (x }`, 2, /'\)' expected after the inputs of a node, found '}'/],
    [`${head}g (float x) => (float y) {\n  y = Relu (x)\n`, 4, /the name of a result expected, found the end/],
    [`${head}g (flout x) => (float y) {}`, 2, /a type expected, found 'flout'/],
    [`${head}g () => () <float[2] w = {1.0}> {}`, 2, /1 values for 2 elements/],
    [`${head}g () => () {\n y = Op <a = [1, "x"]> () }`, 3, /the items of a list are of one kind, found '"x"'/],
    [`${head}g () => () {\n y = Op <a = "x> () }`, 3, /a text without its closing quote/],
    [`${head}g () => () {\n y = Op ~ () }`, 3, /'~' means nothing here/],
    ['<ir_version: 8, opset: 3>', 1, /no such property of a model, found 'opset'/],
    [
      head + 'g () => () { y = A <b = '.replaceAll('b', 'b').concat('g () => () { y = A <b = '.repeat(60)),
      2,
      /graphs nest deeper than 32/,
    ],
    [`${head}g (${'seq('.repeat(100)}) => () {}`, 2, /types nest deeper than 32/],
  ];
  for (const [text, line, message] of errors) {
    it(`says ${message.source.slice(0, 50)}`, () => {
      assert.throws(
        () => parseModelText(text),
        (error: unknown) => error instanceof OnnxTextError && error.line === line && message.test(error.message),
      );
    });
  }

  it('keeps the layout and the comments of a text that people have written', () => {
    const text = `${head}ranker (
   float[U, 32] user,   # one row per user
   float[B, 16] item,
   int64[B] index
) => (float[B, 8] y)
<
   float[48,8] w = {...}
>
{
   # every candidate gets the row of its user
   rows = Gather <axis = 0> (user, index)
   both = Concat <axis = 1> (rows, item)
   [product]
     y = MatMul (both, w)  # one product
   # the end
}
`;
    const { findings } = checkModelText('m.onnxtxt', text);
    assert.deepEqual(
      findings.map(({ rule, line, endColumn }) => [rule, line, endColumn]),
      [['IKB101', 12, 42]],
    );
    const [rewrite] = findings[0]!.rewrites;
    assert.equal(rewrite!.tier, 'safe');
    const after = applyEdits(text, rewrite!.edits);
    for (const kept of ['# one row per user', '# every candidate', '# the end']) assert.ok(after.includes(kept), kept);
    assert.deepEqual(checkModelText('m.onnxtxt', after), { findings: [], notes: [], parsed: true, suppressed: [] });
    assert.ok(!after.includes('Concat'));
  });

  it('obeys comments that silence a finding', () => {
    const text = textOf('op17_dyn/index').replace(/(= Gather .*)/, '$1 # ikbo: ignore[IKB101]');
    const { findings, suppressed } = checkModelText('m.onnxtxt', text);
    assert.deepEqual([findings.length, suppressed.length], [0, 1]);
  });
});
