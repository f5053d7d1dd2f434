/** Attention that is written out as two products over repeated heads, with masks, scales, nested calls and distractions. */
import { type Model, random } from './generate';
import { HEADS, HEAD_COPIES, HELPER, LARGE_HEADS, distract } from './generate-attention';

export function generateWritten(seed: number): Model {
  const r = random(seed + 4_000_000);
  const copy = r.pick(HEAD_COPIES);
  const other = r.chance(0.1) ? r.pick(HEAD_COPIES) : copy;
  const lines = ['B, H, L, D = q.shape', 'U = k.shape[0]'];
  const operand = (x: string, form: string): string => {
    const made = form.replaceAll('{x}', x);
    if (r.chance(0.2)) return made;
    const name = r.pick([x, `${x}_rows`]);
    lines.push(`${name} = ${made}`);
    return name;
  };
  const key = operand('k', copy);
  const value = operand('v', other);
  if (r.chance(0.6)) distract(r, lines, key);
  const turned =
    key + r.pick(['.transpose(2, 3)', '.transpose(-2, -1)', '.mT', '.permute(0, 1, 3, 2)', '.swapaxes(-1, -2)']);
  const query = r.pick(['q', 'q', 'q * 0.5', '(q + 0.0)']);
  const scores = r.pick([`torch.matmul(${query}, ${turned})`, `${query} @ ${turned}`, `(${query} @ ${turned})`]);
  const size = /^\w+$/.test(key) ? `${key}.shape[-1]` : 'D';
  const scaled = `(${scores}) ${r.pick(['* 0.5', `/ ${size} ** 0.5`, '+ 0.0'])}`;
  const masked = r.chance(0.5);
  const keys = /^\w+$/.test(key) ? r.pick([`${key}.shape[-2]`, `${key}.size(2)`]) : 'k.shape[-2]';
  const weights = (inner: string): string => r.pick([`torch.softmax(${inner}, dim=-1)`, `F.softmax(${inner}, -1)`]);
  const nested = r.chance(0.3) && !masked;
  if (!nested) {
    lines.push(`w = ${scaled}`);
    if (masked) lines.push('if mask is not None:', `    w = w.masked_fill(~mask[:, :, :, : ${keys}], -1e4)`);
    lines.push(`w = ${weights('w')}`);
  }
  const left = nested ? weights(scaled) : 'w';
  const product = r.pick([`torch.matmul(${left}, ${value})`, `${left} @ ${value}`]);
  const target = r.pick(['out', 'w']);
  if (r.chance(0.5)) lines.push(`${target} = ${product}`, `return ${target}.transpose(1, 2).contiguous()`);
  else lines.push(`return ${product}${r.chance(0.2) && /^\w+$/.test(key) ? `, ${key}` : ''}`);
  const text = [
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
  return { name: `written ${seed}: ${copy}`, text, proof: HEADS, large: LARGE_HEADS };
}
