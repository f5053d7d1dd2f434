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
  'zeros that are repeated': `
module Decoder(d):
    self.fc = nn.Linear(d, d)
    self.d = d
    def forward(self, x):
        frame = torch.zeros(1, device=x.device).repeat(x.size(0), self.d)
        return self.fc(frame)
`,
  'copies of which one branch overwrites some, made on another branch': `
module Sparse(d, causal):
    self.fc = nn.Linear(d, d)
    self.causal = causal
    def forward(self, v, top, out):
        b, n, d = v.shape
        if self.causal:
            context = v.cumsum(dim=1)
        else:
            context = v.mean(dim=1, keepdim=True).expand(b, n, d).clone()
        if top is not None:
            context[torch.arange(b)[:, None], top] = out
            out = context
        return self.fc(out)
`,
  'values without positions, whose keys have some': `
module Decoder(d):
    self.attn = nn.MultiheadAttention(d, 4, batch_first=True)
    self.query = nn.Parameter(torch.zeros(1, 9, d))
    def forward(self, positions):
        value = self.query.expand(positions.size(0), -1, -1)  #! IKB102 -> attn
        key = value + positions
        return self.attn(key, key, value)  #= attn
`,
  'keys and values of one memory': `
module Decoder(d):
    self.attn = nn.MultiheadAttention(d, 4, batch_first=True)
    def forward(self, x, memory, n):
        memory = memory.repeat_interleave(n, dim=0)  #! IKB201 -> attn
        return self.attn(x, memory, memory)  #= attn
`,
  'a product of one branch before one of every path': `
module Denoiser(d):
    self.control = nn.Linear(d, d)
    self.unet = nn.Linear(d, d)
    def step(self, text):
        if hasattr(self, 'control'):
            more = self.control(text)
        return self.unet(text)  #= unet
    def forward(self, text, n):
        text = text.repeat_interleave(n, dim=0)  #! IKB102 -> unet
        return self.step(text)
`,
  'zeros of a size that is not told': `
module Critic(d, n):
    self.fc = nn.Linear(2 * d, d)
    self.n = n
    def forward(self, obs):
        b, t, d = obs.shape
        action = torch.zeros_like(obs[:, 0:1]).view(b, 1, 1, -1).repeat(1, 1, self.n, 1)
        return self.fc(torch.cat([obs.unsqueeze(2), action], dim=-1))
`,
  'some rows of a permutation, put back by it': `
module Depth(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, k):
        b, n, d = x.shape
        some = (torch.randperm(b, device=x.device))[:k]
        return torch.index_add(x, 0, some, self.fc(x[some]))
`,
  'one time step for each row': `
module Denoiser(d):
    self.fc = nn.Linear(d, d)
    self.frequencies = nn.Parameter(torch.zeros(1, d))
    def forward(self, sample, timesteps):
        if len(timesteps.shape) == 0:
            timesteps = timesteps[None]
        timesteps = timesteps.expand(sample.shape[0])
        return self.fc(timesteps[:, None].float() * self.frequencies)
`,
  'the mask of what is copied': `
class Pipeline:
    def __call__(self, prompt, n):
        embeds = self.encoder(prompt)
        mask = prompt.attention_mask if prompt.padded else torch.ones_like(embeds)
        embeds_mask = mask
        embeds = embeds.repeat_interleave(n, dim=0)  #! IKB201 -> unet
        embeds_mask = embeds_mask.repeat_interleave(n, dim=0)
        embeds = embeds * embeds_mask[:, :, None]
        return self.unet(encoder_hidden_states=embeds)  #= unet
`,
  'embeddings that positions are added to': `
class Reader:
    def forward(self, cls, hidden):
        b, n, d = hidden.shape
        return self.decoder_embeddings(inputs_embeds=cls.expand(b, n, d))
`,
  'both ends of an edge, multiplied': `
module Links(d):
    self.fc = nn.Linear(d, d)
    def forward(self, h, edge_index):
        src, dst = edge_index
        return self.fc(h[src] * h[dst])
`,
  'one size more than a shape of unknown rank has': `
def turn(poses, others):
    return others[..., :3, :3].matmul(poses[..., :3, :3])
def place(cameras, poses, others):
    grid = cameras.grid()
    grid = grid.reshape(grid.shape[:2] + (1,) * len(others.shape[:-1]) + (2,))
    grid = grid.expand(grid.shape[:2] + others.shape[:-1] + (2,))
    return turn(poses.broadcast_to(grid.shape[:-1] + (3, 4)), others)
`,
});
