import { idioms } from './idioms';

idioms('idioms: which rule they are of', {
  'nodes of messages that are summed at them': `
module Messages(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x: Tensor, edge_attr: Tensor, i: Tensor):
        m = self.fc(torch.cat([x[i], edge_attr], dim=-1))  #! IKB304 -> fc #= fc
        return scatter(m, i, dim=0)
`,
  'edges of triplets that are summed at them': `
module Triplets(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, edge_emb: Tensor, angles: Tensor, i: Tensor):
        m = self.fc(torch.cat([edge_emb[i], angles], dim=-1))  #! IKB101 -> fc #= fc
        return scatter(m, i, dim=0)
`,
  'rows of segments that are summed again': `
module Segments(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, query: Tensor, x: Tensor, index: Tensor):
        m = self.fc(torch.cat([query[index], x], dim=-1))  #! IKB101 -> fc #= fc
        return scatter(m, index, dim=0)
`,
  'a concatenation that fails, since its keyword is misspelt': `
module Positions(d):
    self.table = nn.Parameter(torch.zeros(9, d))
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x):
        b, n, d = x.shape
        x = torch.cat([self.table.unsqueeze(0).expand(b, -1, -1), x], dimi=-1)
        return self.fc(x.reshape(-1, d))
`,
});
