import type { Rule } from './rule';
import { copies, costText, sinkText, sourceText, when } from './wording';

export const ikb501: Rule = {
  code: 'IKB501',
  name: 'baked-broadcast',
  summary: 'A constant copied to a fixed size inside an ONNX model (ONNX only)',
  level: 'information',
  docs: {
    what: 'Finds an `Expand` or `Tile` of a constant to constant sizes, in a model whose own inputs have free sizes, that reaches a matrix product. Found in ONNX models only.',
    why: 'The batch size of the export is baked into the copy: the model carries or computes a tensor that holds the same rows again and again, and runs with that one batch size only.',
    example: '# exported with a batch of 8\nqueries = self.queries.expand(8, -1, -1)\ny = self.proj(queries)',
    useInstead: 'y = self.proj(self.queries)\n# the copy is made after the product, or by what broadcasts there',
    fixSafety:
      'Safe: the rows that are multiplied are the same constant; the product is copied instead, or broadcasts.',
    limits:
      'Silent for models whose inputs all have fixed sizes: there every size is baked in. Copies to sizes that follow an input are reported by the rule of their kind.',
    references: ['https://onnx.ai/onnx/operators/onnx__Expand.html'],
  },
  match: (match) => match.code === 'IKB501',
  message(match) {
    return `${sourceText(match)} is copied ${copies(match)} to a fixed size before ${sinkText(match)}${when(match)}${costText(match)}`;
  },
  rewrites: [{ id: 'sink', title: 'Copy after the last row-wise operator instead of before the first' }],
};
