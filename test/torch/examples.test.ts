import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fixText } from '../../src/core/fix';
import { theEngine } from '../core/rewrite/cases';
import { describeTorch, jsonLines, root } from './python';

/** Runs texts as programs; gives what each printed and, as numbers, what its outermost modules returned. */
const RUN = `
import contextlib, io, json, sys, torch

def flat(value):
    if isinstance(value, torch.Tensor):
        return value.double().flatten().tolist()
    return [x for v in value for x in flat(v)] if isinstance(value, (list, tuple)) else []

depth, results = 0, []

def before(module, args):
    global depth
    depth += 1

def after(module, args, output):
    global depth
    depth -= 1
    if depth == 0:
        results.append(flat(output))

torch.nn.modules.module.register_module_forward_pre_hook(before)
torch.nn.modules.module.register_module_forward_hook(after)
for line in sys.stdin:
    case = json.loads(line)
    out, problem = io.StringIO(), None
    depth, results = 0, []
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(case["text"], case["name"], "exec"), {"__name__": "__main__"})
    except Exception as error:
        problem = repr(error)
    print(json.dumps({"name": case["name"], "out": out.getvalue(), "problem": problem, "results": results}))
`;

interface Run {
  readonly name: string;
  readonly out: string;
  readonly problem: string | null;
  readonly results: readonly (readonly number[])[];
}

interface Program {
  readonly name: string;
  readonly text: string;
}

const run = (programs: readonly Program[]): readonly Run[] =>
  jsonLines<Run>(['-c', RUN], programs.map((program) => `${JSON.stringify(program)}\n`).join(''));

const examples: readonly Program[] = readdirSync(join(root, 'examples'))
  .filter((name) => name.endsWith('.py'))
  .map((name) => ({ name, text: readFileSync(join(root, 'examples', name), 'utf8') }));

describeTorch('examples', () => {
  const runs = run(examples);

  it('are at least six', () => assert.ok(runs.length >= 6));
  for (const { name, out, problem, results } of runs) {
    it(`${name} runs on the CPU and prints shapes`, () => {
      assert.equal(problem, null);
      assert.match(out, /\(\d+,.*\)/);
      assert.ok(results.some((result) => result.length > 0));
    });
  }

  for (const prefer of [null, 'ikbo']) {
    it(`give the same results with every fix applied${prefer ? ` as ${prefer}` : ''}`, async function () {
      this.timeout(120_000);
      const engine = await theEngine();
      const fixed = examples.map(({ name, text }) => {
        const { text: after, applied } = fixText(engine, name, text, { rules: null, unsafe: true, prefer });
        assert.ok(applied.length > 0, `${name} has nothing to fix`);
        return { name, text: after };
      });
      run(fixed).forEach((after, i) => {
        assert.equal(after.problem, null, after.name);
        const before = runs[i]?.results.flat() ?? [];
        const results = after.results.flat();
        assert.equal(results.length, before.length, after.name);
        const worst = Math.max(...results.map((x, j) => Math.abs(x - (before[j] ?? NaN))));
        assert.ok(worst < 1e-4, `${after.name} differs by ${worst}`);
      });
    });
  }
});
