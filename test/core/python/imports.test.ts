/** What a text imports is told without a parse. */
import assert from 'node:assert/strict';
import { check, engineForTests } from '../check';
import { importsOf } from '../../../src/core/python/imports';

describe('imports of a text', () => {
  it('are those of a parse, however they are spaced', () => {
    const text =
      'from . import a\nfrom .b import c as d  # one\nfrom .. e import m\nimport f.g, h as i\nfrom j import (k,\n    l)\n';
    const found = [...importsOf(text)].map(([name, { module }]) => `${name}:${module}`);
    assert.deepEqual(found, ['a:.', 'd:.b', 'm:..e', 'f:f', 'i:h', 'k:j', 'l:j']);
  });
  it('are never without a name, whatever follows on the line', () => {
    const texts = [
      'import os, sys; run(f, args=(60,)).start()',
      'from a import b, .c, ',
      'import , .',
      'import a.b, ..c',
    ];
    for (const text of texts)
      for (const name of importsOf(text).keys()) assert.match(name, /^\w+$/, JSON.stringify([text, name]));
  });
  it('of which one is followed by more than a name keep no check waiting', async () => {
    const text = 'import torch; import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()\n';
    await check(`${text}def f(x, fc, n):\n    return fc(x.repeat_interleave(n, dim=0))\n`);
  });
  it('of a library of attention, in its own repository, are functions like any other, but for its products', async () => {
    const reference = `import torch

def attention_ref(q, k, v):
    scores = torch.einsum('bthd,bshd->bhts', q, k)
    return torch.einsum('bhts,bshd->bthd', scores, v)
`;
    const files: Readonly<Record<string, string>> = {
      'flash_attn/__init__.py': 'from flash_attn.interface import flash_attn_func\n',
      'flash_attn/interface.py': 'def flash_attn_func(q, k, v):\n    return kernel(q, k, v)\n',
      'flash_attn/cute/testing.py': reference,
    };
    const source = `import torch
from flash_attn import flash_attn_func
from flash_attn.cute.testing import attention_ref

def test_reference(q, k, v, n):
    return attention_ref(q, k.repeat_interleave(n, dim=2), v)

def test_kernel(q, k, v, n):
    return flash_attn_func(q, k.repeat_interleave(n, dim=2), v)
`;
    const { findings } = (await engineForTests()).check('tests/test_attention.py', source, {
      files: { read: (path) => files[path] },
    });
    const found = findings.map(({ broadcast, consumer }) => [broadcast.line, consumer.path, consumer.line]);
    assert.deepEqual(found, [
      [6, 'flash_attn/cute/testing.py', 4],
      [9, 'tests/test_attention.py', 9],
    ]);
  });
});
