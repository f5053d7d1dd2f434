/** Attention over copied keys and values, over the batch and over heads, with masks, helpers and distractions. */
import { type Model, type Random, random } from './generate';

const BATCH_COPIES: readonly [string, ...string[]] = [
  '{x}[cand_to_user]',
  '{x}.index_select(0, cand_to_user)',
  'torch.index_select({x}, 0, cand_to_user)',
  '{x}.repeat_interleave(n, dim=0)',
  'torch.repeat_interleave({x}, n, dim=0)',
  '{x}.repeat_interleave(B // U, 0)',
  '{x}.repeat(n, 1, 1, 1)',
];

export const HEAD_COPIES: readonly [string, ...string[]] = [
  '{x}.repeat_interleave(2, dim=1)',
  'torch.repeat_interleave({x}, repeats=2, dim=1)',
  '{x}.unsqueeze(2).expand(-1, -1, 2, -1, -1).flatten(1, 2)',
  '{x}[:, :, None].expand(-1, -1, 2, -1, -1).reshape({x}.shape[0], 4, {x}.shape[2], {x}.shape[3])',
  'repeat_kv({x}, 2)',
  '{x}.repeat(1, 2, 1, 1)',
];

export const HELPER = [
  'def peek(t):',
  '    return t.mean()',
  '',
  '',
  'def poke(t):',
  '    t += 1.0',
  '    return t.mean()',
  '',
  '',
  'def repeat_kv(x, n_rep):',
  '    b, h, s, d = x.shape',
  '    if n_rep == 1:',
  '        return x',
  '    return x[:, :, None, :, :].expand(b, h, n_rep, s, d).reshape(b, h * n_rep, s, d)',
];

const OPTIONS: readonly [string, ...string[]] = [
  '',
  '',
  ', scale=0.3',
  ', attn_mask=mask',
  ', mask',
  ', is_causal=True',
  ', enable_gqa=True',
];

export function generateAttention(seed: number): Model {
  const r = random(seed + 1_000_000);
  const heads = r.chance(0.4);
  const copy = r.pick(heads ? HEAD_COPIES : BATCH_COPIES);
  const other = r.chance(0.1) ? r.pick(heads ? HEAD_COPIES : BATCH_COPIES) : copy;
  const lines = ['B, H, L, D = q.shape', 'U = k.shape[0]', 'n = B // U'];
  const operand = (x: string, form: string): string => {
    const made = form.replaceAll('{x}', x) + r.pick(['', '', '', '.contiguous()', '.transpose(2, 3).transpose(2, 3)']);
    if (r.chance(0.3)) return made;
    const name = r.pick([x, `${x}_rows`]);
    lines.push(`${name} = ${made}`);
    return name;
  };
  const key = operand('k', copy);
  const value = operand('v', other);
  distract(r, lines, key);
  const option = r.pick(OPTIONS);
  const call = r.chance(0.2)
    ? `F.scaled_dot_product_attention(q, key=${key}, value=${value}${option === ', mask' ? '' : option})`
    : `F.scaled_dot_product_attention(q, ${key}, ${value}${option})`;
  if (r.chance(0.5)) lines.push(`out = ${call}`, 'return out.transpose(1, 2).flatten(2)');
  else lines.push(`return ${call}${r.chance(0.2) && /^\w+$/.test(key) ? `, ${key}` : ''}`);
  const text = [
    '# ikbo: index cand_to_user many-to-one',
    'import torch',
    'import torch.nn as nn',
    'import torch.nn.functional as F',
    '',
    '',
    ...HELPER,
    '',
    '',
    'class Model(nn.Module):',
    '    def forward(self, q, k, v, mask, cand_to_user):',
    ...lines.map((line) => `        ${line}`),
    '',
  ].join('\n');
  return {
    name: `attention ${seed}: ${copy}`,
    text,
    proof: heads ? HEADS : BATCH,
    large: heads ? LARGE_HEADS : LARGE_BATCH,
  };
}

export function distract(r: Random, lines: string[], key: string): void {
  if (!r.chance(0.3)) return;
  const named = /^\w+$/.test(key);
  const line = r.pick([
    'k = k * 1.5',
    'q = q * 0.5',
    'scale = q.mean()',
    `total = ${named ? key : 'k'}.sum()`,
    'U = U + 0',
    'seen = peek(k)',
    'seen = peek(q)',
    'k = k.clone()\n        seen = poke(k)',
    'v = v.clone()\n        seen = list(map(poke, [v]))',
    'seen = (u := U + 1)',
  ]);
  lines.push(line);
}

const SAMPLES = (body: string): string =>
  `import torch\n\n\ndef build(m):\n    return m.Model()\n\n\ndef samples():\n${body}\n`;

const BATCH = SAMPLES(`    for users, n in ((1, 1), (1, 4), (3, 2)):
        rows = users * n
        mask = torch.rand(rows, 1, 3, 3) > 0.3
        mask[..., 0] = True
        index = (torch.arange(rows) * 2) % users
        q, k, v = torch.randn(rows, 4, 3, 4), torch.randn(users, 4, 3, 4), torch.randn(users, 4, 3, 4)
        yield f"U={users} n={n}", (q, k, v, mask, index)`);

export const HEADS = SAMPLES(`    for batch, length in ((1, 1), (3, 3)):
        mask = torch.rand(batch, 1, length, length) > 0.3
        mask[..., 0] = True
        q, k, v = torch.randn(batch, 4, length, 4), torch.randn(batch, 2, length, 4), torch.randn(batch, 2, length, 4)
        yield f"B={batch} L={length}", (q, k, v, mask, torch.arange(batch))`);

const LARGE = (list: string): string =>
  `import torch\n\n\ndef build(m):\n    return m.Model()\n\n\ndef large():\n    return (${list})\n`;

const KV = (rows: number, heads: number): string => Array(2).fill(`torch.randn(${rows}, ${heads}, 64, 32)`).join(', ');
const MASK = (rows: number): string => `torch.ones(${rows}, 1, 2, 64, dtype=torch.bool)`;
const LARGE_BATCH = LARGE(`torch.randn(64, 4, 2, 32), ${KV(4, 4)}, ${MASK(64)}, torch.arange(64) // 16`);
export const LARGE_HEADS = LARGE(`torch.randn(16, 4, 2, 32), ${KV(16, 2)}, ${MASK(16)}, torch.arange(16)`);
