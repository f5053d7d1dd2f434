/** Reads a recorded result: checks that it is an `ikbo-bench/1`, and says where it is not. Unknown fields are ignored. */
import type { BenchResult } from '../protocol/bench';

/** Throws with the place of what is wrong; returns nothing. */
type Checker = (value: unknown, at: string) => void;

function wrong(at: string, expected: string): never {
  throw new Error(`not an ikbo-bench/1 result: ${at} must be ${expected}`);
}

const text: Checker = (value, at) => void (typeof value === 'string' || wrong(at, 'text'));
const number: Checker = (value, at) =>
  void ((typeof value === 'number' && Number.isFinite(value)) || wrong(at, 'a number'));
const flag: Checker = (value, at) => void (typeof value === 'boolean' || wrong(at, 'true or false'));
/** JSON has no infinity: an error that is not finite is written as null. */
const error: Checker = (value, at) => void (value === null || number(value, at));

const oneOf =
  (...values: readonly string[]): Checker =>
  (value, at) =>
    void (values.includes(value as string) || wrong(at, `one of ${values.join(', ')}`));

const nullable =
  (inner: Checker): Checker =>
  (value, at) =>
    void (value === null || inner(value, at));

const list =
  (inner: Checker): Checker =>
  (value, at) => {
    if (!Array.isArray(value)) wrong(at, 'a list');
    value.forEach((item, i) => inner(item, `${at}[${i}]`));
  };

const record =
  (inner: Checker): Checker =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) wrong(at, 'an object');
    for (const [key, item] of Object.entries(value)) inner(item, `${at}.${key}`);
  };

const object =
  (fields: Readonly<Record<string, Checker>>): Checker =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) wrong(at, 'an object');
    for (const [key, inner] of Object.entries(fields)) inner((value as Record<string, unknown>)[key], `${at}.${key}`);
  };

const regime = oneOf('burst', 'flush', 'sustained');

const timing = object({ median: number, p10: number, p90: number, low: number, high: number, samples: list(number) });

const result = object({
  schema: oneOf('ikbo-bench/1'),
  request: object({
    op: oneOf('concat-linear', 'linear-compression', 'attention'),
    dims: record(number),
    dtype: oneOf('fp32', 'fp16', 'bf16'),
    grouping: oneOf('uniform', 'uneven', 'unsorted'),
    device: text,
    regimes: list(regime),
    arms: nullable(list(text)),
    seconds: number,
    seed: number,
    python: nullable(text),
  }),
  environment: object({
    device: object({ id: text, name: text, kind: oneOf('cpu', 'cuda'), detail: text, memoryBytes: number }),
    date: text,
    version: text,
    clocksBefore: nullable(record(number)),
    clocksAfter: nullable(record(number)),
    ceilings: nullable(object({ gflops: number, gbytes: number })),
  }),
  arms: list(
    object({
      id: text,
      title: text,
      regime,
      timing: nullable(timing),
      check: nullable(object({ ok: flag, error, limit: error, unwritten: number })),
      problem: nullable(text),
      gflops: nullable(number),
      gbytes: nullable(number),
      peakBytes: nullable(number),
    }),
  ),
  comparisons: list(
    object({
      regime,
      base: text,
      arm: text,
      ratio: number,
      low: number,
      high: number,
      p: number,
      verdict: oneOf('faster', 'slower', 'no difference'),
    }),
  ),
  warnings: list(text),
});

/** Throws an Error that names the first field that is missing or of the wrong kind. */
export function parseResult(json: string): BenchResult {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new Error(`not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  result(value, 'result');
  return value as BenchResult;
}
