import { idioms } from './idioms';

idioms('idioms: axes that are merged and taken apart again', {
  'heads among the batch and back': `
module Attention(d):
    self.to_k = nn.Linear(d, d)
    def forward(self, q, k, groups):
        b, h, s, d = k.shape
        k = k.repeat_interleave(groups, dim=1)  #! IKB202 -> attention
        k = k.reshape(b * h * groups, s, d)
        k = k.relu().view(b, -1, s, d)
        return F.scaled_dot_product_attention(q, k, k)  #= attention
`,
  'rows of copies beside their width, under another name': `
module Rows(d, heads):
    self.fc = nn.Linear(d, d)
    self.heads = heads
    def forward(self, x, n):
        b, h, s, d = x.shape
        x = x.repeat_interleave(n, dim=1).transpose(1, 2)  #! IKB102 -> fc
        x = x.reshape(b, s, -1)
        return self.fc(x.view(b, s, self.heads, d))  #= fc
`,
  'not where the axes are others': `
module Rows(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        b, h, s, d = x.shape
        x = x.repeat_interleave(n, dim=1).transpose(1, 2)
        x = x.reshape(b, s, h * n * d)
        return self.fc(x.view(b, s, 3, -1))
`,
});
