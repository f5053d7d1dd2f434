/** What a text imports is told without a parse. */
import assert from 'node:assert/strict';
import { importsOf } from '../../../src/core/python/imports';

describe('imports of a text', () => {
  it('are those of a parse, however they are spaced', () => {
    const text =
      'from . import a\nfrom .b import c as d  # one\nfrom .. e import m\nimport f.g, h as i\nfrom j import (k,\n    l)\n';
    const found = [...importsOf(text)].map(([name, { module }]) => `${name}:${module}`);
    assert.deepEqual(found, ['a:.', 'd:.b', 'm:..e', 'f:f', 'i:h', 'k:j', 'l:j']);
  });
});
