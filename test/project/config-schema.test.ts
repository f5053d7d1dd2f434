import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import { parse } from 'smol-toml';
import { readConfig } from '../../src/project/config';

describe('configuration schema', () => {
  const schema = JSON.parse(readFileSync(join(__dirname, '../../media/ikbo.schema.json'), 'utf8')) as object;
  const valid = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema);
  const reads = (text: string): boolean => {
    try {
      readConfig('ikbo.toml', text, '/p');
      return true;
    } catch {
      return false;
    }
  };
  const texts: readonly [string, boolean][] = [
    ['', true],
    ['select = ["IKB1", "ikb202"]\nhints = false', true],
    ['select = ["F401"]', false],
    ['select = "IKB1"', false],
    ['unknown = 1', false],
    ['[severity]\nIKB101 = "error"', true],
    ['[severity]\nIKB1 = "error"', false],
    ['[severity]\nIKB101 = "fatal"', false],
    ['[per-file-ignores]\n"tests/**" = ["IKB1"]', true],
    ['[per-file-ignores]\n"tests/**" = "IKB1"', false],
    ['exclude = ["a/"]\nbaseline = "b.json"', true],
    ['exclude = [1]', false],
    ['[shapes]\nB = 1024', true],
    ['[shapes]\nB = -1', false],
    ['[shapes]\nB = 1.5', false],
    ['[shapes]\n"a b" = 1', false],
    ['hints = "yes"', false],
    ['torch = "2.4"', true],
    ['torch = "2.4.1"', true],
    ['torch = ">=2.4"', false],
    ['torch = 2.4', false],
  ];
  for (const [text, expected] of texts) {
    it(`agrees with the reader on ${JSON.stringify(text)}`, () => {
      assert.equal(reads(text), expected);
      assert.equal(valid(parse(text)), expected);
    });
  }
});
