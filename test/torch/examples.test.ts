import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describeTorch, jsonLines, root } from './python';

const RUN = `
import contextlib, io, json, runpy, sys
for path in sys.argv[1:]:
    out, problem = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(path, run_name="__main__")
    except Exception as error:
        problem = repr(error)
    print(json.dumps({"path": path, "out": out.getvalue(), "problem": problem}))
`;

describeTorch('examples', () => {
  const files = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.py'));
  const paths = files.map((name) => join(root, 'examples', name));
  const runs = jsonLines<{ path: string; out: string; problem: string | null }>(['-c', RUN, ...paths]);

  it('are at least six', () => assert.ok(runs.length >= 6));
  for (const { path, out, problem } of runs) {
    it(`${path.slice(path.lastIndexOf('/') + 1)} runs on the CPU and prints shapes`, () => {
      assert.equal(problem, null);
      assert.match(out, /\(\d+,.*\)/);
    });
  }
});
