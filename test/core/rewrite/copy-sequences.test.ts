import { type Expected, expectRewrite, modelText } from './wrong';

/** Modules that treat the sequences of a batch one by one, given copies of sequences. */
describe('rewrites: copies of whole sequences', () => {
  const ROWS = 'u = x.repeat_interleave(n, dim=0)';
  const check = (title: string, made: string, lines: readonly string[], expected: Expected, copy = ROWS): void => {
    const text = modelText({ init: [`self.m = nn.${made}`], signature: 'x, n', forward: [copy, ...lines] });
    it(title, () => expectRewrite(text, 'sink-broadcast', expected));
  };
  const axes = /^`x` has three axes\.$/;
  const moved = (text: RegExp): Expected => ({ tier: 'suggestion', reason: axes, text });
  const none: Expected = { tier: 'none', reason: /multiplies its input by all gates|projects its input inside/ };
  const first = 'GRU(4, 8, batch_first=True)';
  const copied = /u = x\n {8}h, _ = self\.m\(u\)\n {8}h = h\.repeat_interleave\(n, dim=0\)\n/;
  check('of a recurrent layer', first, ['h, _ = self.m(u)', 'return h'], moved(copied));
  check('its first result', first, ['return self.m(u)[0]'], moved(/self\.m\(u\)\[0\]\.repeat_interleave\(n, dim=0\)/));
  check('attention of a tensor with itself', 'MultiheadAttention(4, 2, batch_first=True)', ['return self.m(u, u, u)[0]'], moved(/u = x\n/)); // prettier-ignore
  check('an encoder layer without dropout', 'TransformerEncoderLayer(4, 2, dropout=0, batch_first=True)', ['return self.m(u)'], moved(/self\.m\(u\)\.repeat_interleave/)); // prettier-ignore
  check('an encoder layer', 'TransformerEncoderLayer(4, 2, batch_first=True)', ['return self.m(u)'], { tier: 'suggestion', reason: /one draw of dropout/ }); // prettier-ignore
  check('along the second axis', 'LSTM(4, 8)', ['return self.m(u)[0]'], moved(/repeat_interleave\(n, dim=1\)/), 'u = x.repeat_interleave(n, dim=1)'); // prettier-ignore
  // What is copied as a view must not come out as one: a write into one copy would be one into all.
  check('that are views', first, ['h, _ = self.m(u)', 'h[0] = 1', 'return h'], { tier: 'safe', text: /h = h\.expand\(n, -1, -1\)\.contiguous\(\)\n/ }, 'u = x.unsqueeze(0).expand(n, -1, -1)'); // prettier-ignore
  check('along time', 'GRU(4, 8)', ['return self.m(u)[0]'], none);
  check('where the constructor does not say which', 'GRU(4, 8, batch_first=FIRST)', ['return self.m(u)[0]'], none);
  check('with a state', first, ['return self.m(u, u[:1])[0]'], none);
  check('whose last state is read', first, ['h, s = self.m(u)', 'return h.sum() + s.sum()'], none);
  check('with a mask', 'MultiheadAttention(4, 2, batch_first=True)', ['return self.m(u, u, u, attn_mask=n)[0]'], none);
  check('of a tensor with another', 'MultiheadAttention(4, 2, batch_first=True)', ['return self.m(u, x, x)[0]'], none);
  check('read by others', first, ['return self.m(u)[0] + u.sum()'], { tier: 'none', reason: /reads the copy too/ });
  check('written into', first, ['h, _ = self.m(u)', 'u[0] = 1', 'return h'], { tier: 'none', reason: /reads the copy|written/ }); // prettier-ignore
});
