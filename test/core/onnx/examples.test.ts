/** The exported models of examples/onnx: what is found in each, and that its rewrite computes the same. */
import assert from 'node:assert';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkModel, memorySource, readModel, rewriteModel } from '../../../src/core/onnx';
import { analyse } from '../../../src/core/onnx/analyse';
import { assemble } from '../../../src/core/onnx/splice';
import { verifyRewrite } from '../../../src/project/onnx/run-pair';
import { bytesOfFile, CHILD } from './support';

const FOLDER = join(__dirname, '../../../examples/onnx');

/** Rule, and what the rewrite is called; null where it takes an operator of ai.ikbo. */
const EXPECTED: Readonly<Record<string, readonly [rule: string, rewrite: string | null]>> = {
  'din_unit.onnx': ['IKB104', 'algebra'],
  'dlrm_ranker.onnx': ['IKB101', 'decompose'],
  'learned_queries.onnx': ['IKB501', 'sink'],
  'llm_attention.onnx': ['IKB202', 'fold'],
  'mask_decoder.onnx': ['IKB102', 'sink'],
  'profile_mlp.onnx': ['IKB102', 'sink'],
  'target_attention.onnx': ['IKB201', null],
  'wukong_first_layer.onnx': ['IKB103', 'decompose'],
};

describe('onnx examples', function () {
  this.timeout(60_000);

  it('are all expected, small, and say nothing of the machine that made them', () => {
    const names = readdirSync(FOLDER).filter((name) => name.endsWith('.onnx'));
    assert.deepEqual(names.sort(), Object.keys(EXPECTED));
    for (const name of names) {
      const bytes = bytesOfFile(join(FOLDER, name));
      assert.ok(bytes.length < 100_000, name);
      assert.ok(!Buffer.from(bytes).toString('latin1').includes('.py'), name);
    }
  });

  for (const [name, [rule, kind]] of Object.entries(EXPECTED)) {
    it(`${name}: ${rule}, ${kind ?? 'no standard rewrite'}`, async () => {
      const before = bytesOfFile(join(FOLDER, name));
      const { findings } = checkModel(name, memorySource(before));
      assert.deepEqual(
        findings.map((finding) => [
          finding.rule,
          finding.rewrites[0]!.tier === 'none' ? null : finding.rewrites[0]!.id,
        ]),
        [[rule, kind]],
      );
      const source = memorySource(before);
      const after = assemble(source, rewriteModel(name, source, kind ? {} : { target: 'ikbo' }).pieces);
      const folder = mkdtempSync(join(tmpdir(), 'ikbo-onnx-'));
      try {
        const paths = [join(folder, 'before.onnx'), join(folder, 'after.onnx')] as const;
        writeFileSync(paths[0], before);
        writeFileSync(paths[1], after);
        const options = { child: CHILD, runtime: null, seconds: 60, repeats: 0 };
        const verdict = await verifyRewrite(analyse(readModel(source)), ...paths, options);
        assert.equal(verdict.problem, null);
        assert.ok(!Buffer.from(after).equals(before));
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
});
