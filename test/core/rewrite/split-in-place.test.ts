import assert from 'node:assert/strict';
import type { Tier } from '../../../src/core/finding';
import { allCases, rewritesOf } from './cases';

/** A product in one module, views that only broadcast in its own branch and in its caller. */
describe('rewrites: a product that is split where it stands', () => {
  const text = allCases().find(({ name }) => name === 'views-handed-over')?.bad ?? '';
  const [branch, atStart, atStates] = [17, 35, 36];

  /** What `decompose` says of the finding on a line after `from` became `to`. */
  const check = (title: string, line: number, tier: Tier, reason: RegExp, ...changes: [from: string, to: string][]) => {
    it(title, async () => {
      let changed = text;
      for (const [from, to] of changes) {
        assert.ok(changed.includes(from), from);
        changed = changed.replace(from, to);
      }
      const moved = changed.split('\n').length - text.split('\n').length;
      const found = (await rewritesOf(changed)).find(
        ({ finding, rewrite }) => rewrite.id === 'decompose' && [line, line + moved].includes(finding.line),
      );
      assert.ok(found, 'no finding');
      assert.equal(found.rewrite.tier, tier, found.rewrite.reason ?? '');
      assert.match(found.rewrite.reason ?? '', reason);
    });
  };
  const offered =
    /^`start` holds floating-point numbers of the weight's precision; `states\.unsqueeze\(2\)` is as wide/;
  for (const line of [branch, atStart, atStates]) check(`from line ${line}`, line, 'suggestion', offered);

  const apart = /in no form that is rewritten|is made on a branch/;
  const product = '        x = self.dense(';
  check('read by more than the product', atStart, 'none', /reads `start` too/, [product, `        self.last = start\n${product}`]); // prettier-ignore
  check('written in place', atStart, 'none', /`start` too/, [product, `        start.mul_(2)\n${product}`]);
  check('a shape that is read', atStates, 'none', /reads `states` too/, [product, `        print(states.shape[1])\n${product}`]); // prettier-ignore
  check('a branch that the call may take', atStart, 'none', /reads `states` too|copies another block/, ['start=start)', 'start=start, positions=positions)']); // prettier-ignore
  check('a copy that the caller reads', atStates, 'none', apart, ['spread, start=start)', 'spread, start=start) + spread.sum()']); // prettier-ignore
  check('a size of another tensor', atStart, 'none', /not known to be copied to the size/, ['batch, length, width = states.size()', 'batch, length, width = positions.size()']); // prettier-ignore
  check('a decorated forward', atStart, 'none', apart, ['    def forward(self, states, start=None', '    @torch.no_grad()\n    def forward(self, states, start=None']); // prettier-ignore
  check('a decorated class', atStart, 'none', apart, ['class EndScores', '@torch.jit.script\nclass EndScores']);
  const after = (line: string): [string, string] => ['return self.end(spread, start=start)\n', `return self.end(spread, start=start)\n\n\n${line}\n`]; // prettier-ignore
  check('a hook', atStart, 'none', /hooks/, after('Spans().end.register_forward_pre_hook(print)'));
  check('another module', atStart, 'none', /puts another module/, after('m = Spans()\nm.end = nn.Identity()'));
  check('another forward', atStart, 'none', apart, after('EndScores.forward = print'));
  check('an unknown call', branch, 'suggestion', /^`states` and `start` hold floating-point numbers of the weight's precision\.$/, ['self.end(spread, start=start)', 'self.end(*(spread, start))']); // prettier-ignore
});
