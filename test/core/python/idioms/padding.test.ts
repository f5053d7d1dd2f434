import { idioms } from './idioms';

idioms('idioms: copies that are padded', {
  'along the width': `
module Rows(d):
    self.fc = nn.Linear(d + 3, d)
    def forward(self, user, n):
        rows = user.repeat_interleave(n, dim=0)  #! IKB102 -> fc
        return self.fc(F.pad(rows, (0, 3)))  #= fc
`,
  'along the sequence, of heads': `
module Attention(d):
    def forward(self, q, k, v, groups):
        k = k.repeat_interleave(groups, dim=1)  #! IKB202 -> attention
        k = F.pad(k, (0, 0, 1, 0), value=0.0)
        return F.scaled_dot_product_attention(q, k, v)  #= attention
`,
  'by nothing along their own axis': `
module Rows(d):
    self.fc = nn.Linear(d, d)
    def forward(self, user, n):
        rows = user.unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> fc
        return self.fc(F.pad(rows, [0, 2, 0, 0]))  #= fc
`,
  'by a row of zeros beside them, and not by what is not known': `
module Rows(d):
    self.fc = nn.Linear(d, d)
    def forward(self, user, n, amounts):
        rows = user.unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> padded
        return self.fc(F.pad(rows, (0, 0, 0, 1))), self.fc(F.pad(rows, amounts))  #= padded
`,
});
