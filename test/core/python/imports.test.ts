/** What a text imports is told without a parse. */
import assert from 'node:assert/strict';
import { check } from '../check';
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
});
