import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { checkModel, memorySource, readModel, rewriteModel, showModel } from '../../../src/core/onnx';
import { bytesOf, concatBytes, textOf, varintOf } from '../../../src/core/onnx/encode';
import { applyEdits } from '../../../src/core/edits';
import { assemble, splice } from '../../../src/core/onnx/splice';
import type { Finding } from '../../../src/core/finding';
import { bytesOfFile, FIXTURES, modelsUnder, needTestdata, patterns, shortName, TESTDATA } from './support';

interface Expectation {
  readonly rules: readonly string[];
}

const moreModels = (): string[] => modelsUnder(FIXTURES).filter((path) => /more_op/.test(path));
const more = JSON.parse(readFileSync(join(FIXTURES, 'more.json'), 'utf8')) as Record<string, Expectation>;
const expected = JSON.parse(readFileSync(join(FIXTURES, 'expected.json'), 'utf8')) as Record<string, Expectation>;

function check(path: string, shapes: Record<string, number> = {}): readonly Finding[] {
  const { findings, notes, parsed } = checkModel(basename(path), memorySource(bytesOfFile(path)), { shapes });
  assert.ok(parsed);
  assert.deepEqual(notes, []);
  return findings;
}

const pattern = (name: string): string => join(FIXTURES, `${name}.onnx`);

describe('onnx verdicts', () => {
  for (const path of patterns()) {
    it(`judges ${shortName(path)}`, () => {
      const rules = check(path).map(({ rule }) => rule);
      assert.deepEqual(rules, expected[basename(path, '.onnx')]?.rules);
    });
  }

  for (const path of moreModels()) {
    it(`judges ${shortName(path)}`, () => {
      const rules = check(path).map(({ rule }) => rule);
      assert.deepEqual(rules, more[basename(path, '.onnx')]?.rules);
    });
  }

  it('raises no alarm on libonnx-testdata', function () {
    this.timeout(120_000);
    needTestdata(this);
    const alarms = modelsUnder(TESTDATA).flatMap((path) => checkModel(path, memorySource(bytesOfFile(path))).findings);
    assert.deepEqual(
      alarms.map(({ path, rule }) => `${path} ${rule}`),
      [],
    );
  });

  it('says what is copied, how often, and where it goes', () => {
    const [finding] = check(pattern('op17_dyn/index'));
    assert.equal(
      finding?.message,
      "Gather copies 'user' [U, 32] to [B, 32], from U to B rows, concatenates it and multiplies in Gemm: the copied columns give the same product for every copy",
    );
    assert.equal(finding?.line, 16);
    assert.equal(finding?.consumer.line, 18);
    assert.deepEqual(
      finding?.chain.map(({ what }) => what),
      ['Gather writes the copy [B, 32]', 'Concat [B, 48]', 'Gemm reads it as input 0'],
    );
  });

  it('counts bytes and operations, with numbers where sizes are given', () => {
    const [finding] = check(pattern('op17_dyn/index'), { B: 1000, U: 10 });
    assert.equal(finding?.cost.bytes, '128*B');
    assert.equal(finding?.cost.bytesValue, 128_000);
    assert.equal(finding?.cost.flops, '1536*B - 1536*U');
    assert.equal(finding?.cost.flopsValue, 2 * 32 * 24 * 990);
  });

  it('knows the sizes to measure', () => {
    assert.deepEqual(check(pattern('op17_static/index'))[0]?.bench, {
      op: 'concat-linear',
      dims: { B: 8, U: 2, Ku: 32, Kc: 16, M: 24 },
    });
    assert.deepEqual(check(pattern('op17_static/lce_cat'))[0]?.bench, {
      op: 'linear-compression',
      dims: { B: 8, U: 2, Ku: 10, Kc: 4, M: 6, N: 16 },
    });
    assert.deepEqual(check(pattern('op17_static/gqa_repeat_kv'))[0]?.bench, {
      op: 'attention',
      dims: { Q: 3, S: 9, H: 8, Hkv: 2, D: 8, B: 2, U: 2 },
    });
  });

  it('offers each rewrite as edits of the text, or says why there is none', () => {
    for (const path of patterns()) {
      const source = memorySource(bytesOfFile(path));
      const before = showModel(readModel(source)).text;
      for (const { rewrites } of check(path)) {
        // An operator of ai.ikbo is offered only where standard ones cannot help.
        assert.deepEqual(
          rewrites.slice(1).map(({ id }) => id),
          rewrites[0]!.tier === 'none' && rewrites[0]!.id === 'fold' ? ['ikbo'] : [],
        );
        for (const { id, tier, reason, edits } of rewrites) {
          assert.equal(tier === 'none', edits.length === 0);
          assert.equal(tier === 'safe', reason === null);
          if (tier === 'none') continue;
          const rewritten = rewriteModel('m', source, { target: id === 'ikbo' ? 'ikbo' : 'standard' });
          const after = showModel(readModel(memorySource(assemble(source, rewritten.pieces)))).text;
          assert.equal(applyEdits(before, edits), after);
        }
      }
    }
  });

  it('prints the condition of a rewrite that an empty axis would break', () => {
    const offered = (name: string): unknown =>
      check(pattern(name)).map(({ rewrites }) => [rewrites[0]?.tier, rewrites[0]?.reason]);
    assert.deepEqual(offered('op17_dyn/gqa_repeat_kv'), [['suggestion', 'correct where no size of the product is 0']]);
    assert.deepEqual(offered('op17_static/gqa_repeat_kv'), [['safe', null]]);
    assert.deepEqual(offered('op17_dyn/index'), [['safe', null]]);
  });

  it('calls a constant copied to a fixed size baked in, where the model itself is not fixed', () => {
    const bytes = bytesOfFile(pattern('op17_static/dec_layer'));
    const source = memorySource(bytes);
    // The same model with a free batch size declared for its input.
    const input = readModel(source).graph.inputs[0]!;
    const dims = [textOf(2, 'B'), varintOf(1, 9), varintOf(1, 32)].map((dim) => bytesOf(1, dim));
    const type = bytesOf(2, bytesOf(1, concatBytes([varintOf(1, 1), bytesOf(2, concatBytes(dims))])));
    const declared = bytesOf(11, concatBytes([textOf(1, input.name), type]));
    const frame = readModel(source).graph.frames[0]!;
    const edited = assemble(source, splice(bytes.length, [{ ...input.span, within: frame, bytes: declared }]));
    const { findings } = checkModel('m.onnx', memorySource(edited));
    assert.deepEqual(
      findings.map(({ rule, level }) => [rule, level]),
      [['IKB501', 'information']],
    );
  });

  it('answers an unreadable file with a note', () => {
    const { findings, notes, parsed } = checkModel('x.onnx', memorySource(Buffer.from('not a model')));
    assert.deepEqual([findings.length, parsed, notes.length], [0, false, 1]);
    assert.match(notes[0]?.message ?? '', /\(byte \d+\)/);
  });
});
