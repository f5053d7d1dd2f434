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
  'joined along the second of two axes that become rows': `
module Frames(d):
    self.to_k = nn.Linear(d, d)
    def forward(self, text, images):
        b, n, d = images.shape
        text = text.unsqueeze(1).expand(-1, n, -1)  #! IKB102 -> k
        rows = torch.cat([text, images], dim=1).flatten(0, 1)
        return self.to_k(rows)  #= k
`,
  'and by a pattern': `
module Frames(d):
    self.to_k = nn.Linear(d, d)
    def forward(self, text, images, n):
        text = repeat(text, 'b d -> b n d', n=n)  #! IKB102 -> k
        rows = torch.cat([text, images], dim=1)
        return self.to_k(rearrange(rows, 'b n d -> (b n) d'))  #= k
`,
  'whose halves are no longer what was joined': `
module Frames(d):
    self.to_k = nn.Linear(d, d)
    def forward(self, text, images):
        text = text.unsqueeze(1).expand(-1, images.shape[1], -1)
        one, other = torch.cat([text, images], dim=1).flatten(0, 1).chunk(2)
        return self.to_k(one)
`,
  'rows copied as a whole that a view sets apart, whatever their width is called': `
module Whole(d):
    self.fc = nn.Linear(d, d)
    self.d = d
    def rest(self, x, n):
        rows = x.repeat(n, 1).view(n, -1, self.d)  #! IKB102 -> rest
        return self.fc(rows)  #= rest
    def all(self, x, n):
        rows = x.repeat(n, 1).view(n, x.size(0), self.d)  #! IKB102 -> all
        return self.fc(rows)  #= all
    def counted(self, x, n):
        k, width = x.shape
        rows = x.repeat(n, 1).reshape(-1, k, self.d)  #! IKB102 -> counted
        return self.fc(rows)  #= counted
`,
  'not where the view mixes the rows': `
module Mixed(d):
    self.fc = nn.Linear(d, d)
    self.d = d
    def forward(self, x, n):
        k, width = x.shape
        return self.fc(x.repeat(n, 1).reshape(-1, n, self.d))
`,
});
