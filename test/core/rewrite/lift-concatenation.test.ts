import { type Expected, expectRewrite, modelText } from './wrong';

/** A copy in `Model.forward`, the concatenation and the product in the module that gets it. */
describe('rewrites: a module that concatenates what it is given', () => {
  interface Critic {
    readonly init?: readonly string[];
    readonly signature?: string;
    readonly forward?: readonly string[];
    readonly call?: string;
    readonly tail?: readonly string[];
  }
  const check = (title: string, critic: Critic, expected: Expected, id = 'decompose'): void => {
    const text = modelText({
      head: [
        'class Critic(nn.Module):',
        '    def __init__(self):',
        '        super().__init__()',
        ...(critic.init ?? ['self.fc = nn.Linear(10, 8)', 'self.out = nn.Linear(8, 1)']).map(
          (line) => `        ${line}`,
        ),
        `    def forward(self, ${critic.signature ?? 'a, b'}):`,
        ...(critic.forward ?? ['x = torch.cat([a, b], dim=-1)', 'h = self.fc(x).relu()', 'return self.out(h)']).map(
          (line) => `        ${line}`,
        ),
      ],
      init: ['self.critic = Critic()'],
      forward: ['rows = user.repeat_interleave(n, dim=0)', critic.call ?? 'return self.critic(rows, item)'],
      ...(critic.tail && { tail: critic.tail }),
    });
    it(title, () => expectRewrite(text, id, expected));
  };
  const safe = (text: RegExp): Expected => ({ tier: 'safe', text });
  const after = /return self\.critic\.after_fc\(item_part \+ user_part\.repeat_interleave\(n, dim=0\)\)/;
  check('that goes on', {}, safe(after));
  check('in its own method', {}, safe(/return self\.after_fc\(self\.fc\(x\)\)\n\n {4}def after_fc\(self, fc_out\):\n {8}h = fc_out\.relu\(\)/)); // prettier-ignore
  check('for ikbo_lens', {}, safe(/self\.critic\.after_fc\(ikbo_lens\.cat_linear\(/), 'ikbo');
  check('by keyword', { call: 'return self.critic(b=item, a=rows)' }, safe(after));
  check('in one expression', { forward: ['return self.fc(torch.cat([b, a], dim=-1))'] }, safe(/weight\[:, item\.shape\[-1\]:\]/)); // prettier-ignore
  check('with another argument', { signature: 'a, b, scale=1.0', forward: ['x = torch.cat([a, b], -1)', 'h = self.fc(x) * scale', 'return self.out(h)'], call: 'return self.critic(rows, item, 0.5)' }, safe(/after_fc\(self, fc_out, scale=1\.0\):[^]*dim=0\), scale=0\.5\)/)); // prettier-ignore
  const refused: Expected = { tier: 'none', reason: /in no form that is rewritten/ };
  const forward = (...lines: readonly string[]): Critic => ({ forward: lines });
  check(
    'that reads a block again',
    forward('x = torch.cat([a, b], -1)', 'h = self.fc(x)', 'return h + a.sum()'),
    refused,
  );
  check('that reads the concatenation again', forward('x = torch.cat([a, b], -1)', 'h = self.fc(x)', 'return h + x.sum()'), refused); // prettier-ignore
  check('that looks first', forward('print(a)', 'return self.fc(torch.cat([a, b], -1))'), refused);
  check('that concatenates something else', forward('return self.fc(torch.cat([a * 2, b], -1))'), refused);
  check('called twice', { call: 'return self.critic(rows, item) + self.critic(rows, item)' }, refused);
  check('called again and again', { call: 'return [self.critic(rows, item) for _ in range(n)]' }, refused);
  check('given what is drawn', { signature: 'a, b, scale=1.0', call: 'return self.critic(rows, item, torch.rand(()))' }, refused); // prettier-ignore
  check('that is hooked', { tail: ['Model().critic.register_forward_hook(print)'] }, { tier: 'none', reason: /hooks/ });
  check('that may be another', { tail: ['m = Model()', 'm.critic = nn.Identity()'] }, { tier: 'none', reason: /another module/ }); // prettier-ignore
  check('whose forward is replaced', { tail: ['Critic.forward = print'] }, refused);

  describe('in a method', () => {
    const method = (title: string, call: string, expected: Expected, ...more: readonly string[]): void => {
      const own = call.startsWith('self.q');
      const q = ['    def q(self, a, b=None):', '        return self.fc(torch.cat([a, b], dim=-1)).relu()'];
      const layer = 'self.fc = nn.Linear(10, 8)';
      const text = modelText({
        head: own ? [] : ['class Net(nn.Module):', '    def __init__(self):', '        super().__init__()', `        ${layer}`, ...q], // prettier-ignore
        init: own ? [layer] : ['self.net = Net()'],
        forward: ['rows = user.repeat_interleave(n, dim=0)', `return ${call}`],
        tail: own ? [...q, ...more] : more,
      });
      it(title, () => expectRewrite(text, 'decompose', expected));
    };
    const sum = String.raw`\(item_part \+ user_part\.repeat_interleave\(n, dim=0\)\)`;
    method('of its own', 'self.q(rows, item)', safe(new RegExp(`return self\\.after_fc${sum}`)));
    method('of a module', 'self.net.q(rows, item)', safe(new RegExp(`return self\\.net\\.after_fc${sum}`)));
    method('that a subclass overrides', 'self.q(rows, item)', { tier: 'none', reason: /another meaning in a subclass/ }, 'class Sub(Model):', '    def q(self, a, b): return a'); // prettier-ignore
    method('of a module that a subclass overrides', 'self.net.q(rows, item)', { tier: 'none', reason: /another meaning in a subclass/ }, 'class Sub(Net):', '    def q(self, a, b): return a'); // prettier-ignore
  });
});
