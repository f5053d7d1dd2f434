import assert from 'node:assert/strict';
import { bindingsOf } from '../../../src/core/python/bindings';
import { tensorType, type TensorType } from '../../../src/core/python/shape-facts';
import { engineForTests } from '../check';

const TYPES: Readonly<Record<string, TensorType | null>> = {
  Tensor: { type: '', dims: null },
  'torch.LongTensor': { type: 'Long', dims: null },
  'Optional[Tensor]': { type: '', dims: null },
  'torch.Tensor | None': { type: '', dims: null },
  'Float[Tensor, "b k n"]': { type: 'Float', dims: ['b', 'k', 'n'] },
  'Optional[Float[torch.Tensor, "b 4"]]': { type: 'Float', dims: ['b', '4'] },
  "jaxtyping.Int64[Tensor, 'b']": { type: 'Long', dims: ['b'] },
  'Bool[Tensor, "b t"]': { type: 'Bool', dims: ['b', 't'] },
  'Float[Tensor, "b _ k+1 #n d=3"]': { type: 'Float', dims: ['b', null, null, null, '3'] },
  'Float[Tensor, "*batch d"]': { type: 'Float', dims: null },
  'Float[Tensor, "... d"]': { type: 'Float', dims: null },
  'Float[Tensor, ""]': { type: 'Float', dims: [] },
  '"Float[Tensor, \'b d\']"': { type: 'Float', dims: ['b', 'd'] },
  'Float[np.ndarray, "b d"]': null,
  'list[Tensor]': null,
  'dict[str, Tensor]': null,
};

describe('shapes in annotations', () => {
  for (const [text, type] of Object.entries(TYPES)) it(text, () => assert.deepEqual(tensorType(text), type));

  it('name the sizes of a finding', async () => {
    const { findings } = (await engineForTests()).check(
      'm.py',
      `import torch
from jaxtyping import Float
from torch import Tensor, nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(48, 8)

    def forward(self, user: Float[Tensor, "users width"], item: Float[Tensor, "rows other"], n: int):
        return self.fc(torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1))
`,
    );
    assert.equal(findings[0]?.cost.bytes, 'n*users*width*2');
  });

  const score = (comment: string, w = 'w'): string => `import torch

${comment}
def score(user, item, ${w}, n):
    x = torch.cat([user.repeat_interleave(n, dim=0), item], -1)
    return x @ ${w}
`;
  const first = async (text: string) => (await engineForTests()).check('m.py', text).findings[0];

  it('are read from comments, and decide what can be rewritten', async () => {
    const finding = await first(score('# ikbo: user=[U, Ku], item=[B, Ki], w=[K, N]'));
    assert.equal(finding?.rule, 'IKB101');
    assert.equal(finding?.cost.bytes, 'Ku*U*n*2');
    assert.deepEqual(
      finding.rewrites.map(({ id, tier }) => `${id}: ${tier}`),
      ['decompose: safe', 'ikbo: safe'],
    );
  });

  it('are asked for where they are missing, and what is asked for helps', async () => {
    const [rewrite] = (await first(score('')))?.rewrites ?? [];
    const comment = /`(# ikbo: [^`]*)`/.exec(rewrite?.reason ?? '')?.[1];
    assert.equal(comment, '# ikbo: user=[B1, K1], item=[B2, K2], w=[K, N]');
    assert.equal((await first(score(comment)))?.rewrites[0]?.tier, 'safe');
  });

  const gather = (comment: string): string =>
    ['import torch', '', 'def f(x, edge_index, w):', `    ${comment}`, '    row, col = edge_index', '    return x[row] @ w', ''].join('\n'); // prettier-ignore
  const axesOfWeights: Readonly<Record<string, readonly [comment: string, tier: string, reason: RegExp]>> = {
    'not known': ['', 'none', /^`w` may have a batch axis of its own; .*: `# ikbo: w=\[K, N\]`\.$/],
    two: ['# ikbo: w=[K, N]', 'suggestion', /edges as nodes/],
    three: ['# ikbo: x=[R, K], w=[B, K, N]', 'none', /^`w` has 3 axes, a matrix two\.$/],
    one: ['# ikbo: x=[R, K], w=[K]', 'none', /^`w` has one axis, a matrix two\.$/],
  };
  for (const [count, [comment, tier, reason]] of Object.entries(axesOfWeights)) {
    it(`of the weight of a plain product: ${count}`, async () => {
      const [rewrite] = (await first(gather(comment)))?.rewrites ?? [];
      assert.equal(rewrite?.tier, tier);
      assert.match(rewrite.reason ?? '', reason);
    });
  }

  it('count only where all comments agree', async () => {
    const text = score('# ikbo: user=[U, Ku], item=[B, Ki], w=[K, N]\n# ikbo: w=[G, K, N]');
    assert.match((await first(text))?.rewrites[0]?.reason ?? '', /`w` may have a batch axis/);
  });

  it('are read whatever letters and marks names have', () => {
    const name = 'us\u0065\u0301r';
    const { stated, shapes, manyToOne } = bindingsOf([
      { text: `# ikbo: ${name}=[${name}, 4], w=[4, N]` },
      { text: `# ikbo: config.${name}[0]=7` },
      { text: `# ikbo: index ${name}.map many-to-one` },
    ]);
    assert.deepEqual([...stated], [[name, [name, '4']], ['w', ['4', 'N']]]); // prettier-ignore
    assert.deepEqual([shapes, [...manyToOne]], [{ [`config.${name}[0]`]: 7 }, [`${name}.map`]]);
  });

  it('are read for variables that nothing else is known of', async () => {
    const text = `import torch


def score(batch, w: "Float[Tensor, 'k n']", n: int):
    user, item = batch['user'], batch['item']  # ikbo: user=[U, Ku], item=[B, Ki]
    x = torch.cat([user.repeat_interleave(n, dim=0), item], -1)
    return x @ w
`;
    assert.equal((await first(text))?.rewrites[0]?.tier, 'safe');
  });

  const HEAD = 'import torch\nfrom jaxtyping import Float\nfrom torch import Tensor, nn\n';
  const SCORE = 'torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1) @ w';
  const STUB = `${HEAD}
def score(user: Float[Tensor, "users width"], item: Float[Tensor, "rows other"], w: Float[Tensor, "all out"], n: int) -> Tensor: ...
class Scorer(nn.Module):
    def forward(self, user: Float[Tensor, "users width"], item: Tensor, n: int) -> Tensor: ...
`;
  /** What the finding of `m.py` says of bytes, beside and above which other files lie. */
  const WHERE: Readonly<
    Record<string, readonly [text: string, bytes: string, files: Readonly<Record<string, string>>]>
  > = {
    'an assigned name': [
      `${HEAD}\ndef f(model, item, w, n):\n    user: Float[Tensor, "users width"] = model.tower(item)\n    return ${SCORE}\n`,
      'n*users*width*2',
      {},
    ],
    'a stub of a function': [
      `import torch\n\ndef score(user, item, w, n):\n    return ${SCORE}\n`,
      'n*users*width*2',
      { 'm.pyi': STUB },
    ],
    'a stub of a method': [
      `import torch\nfrom torch import nn\n\nclass Scorer(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(9, 8)\n    def forward(self, user, item, n):\n        return self.fc(torch.cat([user.repeat_interleave(n, dim=0), item], dim=-1))\n`,
      'n*users*width*2',
      { 'm.pyi': STUB },
    ],
    'a result of what is compiled': [
      `import torch\nfrom ._ops import encode\n\ndef f(ids, item, w, n):\n    # ikbo: ids=[U, T]\n    user = encode(ids)\n    return ${SCORE}\n`,
      'U*n*14',
      { '_ops.pyi': `${HEAD}\ndef encode(ids: Float[Tensor, "rows tokens"]) -> Float[Tensor, "rows 7"]: ...\n` },
    ],
  };
  for (const [name, [text, bytes, files]] of Object.entries(WHERE))
    it(`are those of ${name}`, async () => {
      const engine = await engineForTests();
      const { findings } = engine.check('m.py', text, { files: { read: (path) => files[path] } });
      assert.deepEqual(
        findings.map(({ cost }) => cost.bytes),
        [bytes],
      );
    });

  it('of a stub do not hide what the file itself says', async () => {
    const text = `import torch\nfrom jaxtyping import Float\nfrom torch import Tensor\n\ndef score(user: Float[Tensor, "u k"], item, w, n):\n    return ${SCORE}\n`;
    const { findings } = (await engineForTests()).check('m.py', text, {
      files: { read: (path) => (path === 'm.pyi' ? STUB : undefined) },
    });
    assert.deepEqual(
      findings.map(({ cost }) => cost.bytes),
      ['k*n*u*2'],
    );
  });
});
