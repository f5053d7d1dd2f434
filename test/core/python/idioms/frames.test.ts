import { idioms } from './idioms';

idioms('idioms: frames that attend to the first one', {
  'the first frame, by a list of its number': `
module Frames(d):
    self.to_k = nn.Linear(d, d)
    def forward(self, video, n):
        first = [0] * n
        index = first
        return self.to_k(video[:, index]), self.to_k(video[:, [0] * n])  #! IKB102 -> k  #! IKB102 -> k  #= k
`,
  'a processor of attention': `
from einops import rearrange

class Processor:
    def __call__(self, attn, hidden, frames):
        query = attn.head_to_batch_dim(attn.to_q(hidden))
        key = rearrange(attn.to_k(hidden), '(b f) d c -> b f d c', f=frames)
        value = rearrange(attn.to_v(hidden), '(b f) d c -> b f d c', f=frames)
        key = key[:, [0] * frames]  #! IKB301 -> scores
        value = value[:, [0] * frames]  #! IKB301 -> mixed
        key = attn.head_to_batch_dim(rearrange(key, 'b f d c -> (b f) d c'))
        value = attn.head_to_batch_dim(rearrange(value, 'b f d c -> (b f) d c'))
        scores = attn.get_attention_scores(query, key, None)  #= scores
        return torch.bmm(scores, value)  #= mixed
`,
  'an attention of diffusers with a forward of its own': `
from diffusers.models.attention import CrossAttention
from einops import rearrange

class Sparse(CrossAttention):
    def forward(self, hidden, frames):
        query = self.reshape_heads_to_batch_dim(self.to_q(hidden))
        key = rearrange(self.to_k(hidden), '(b f) d c -> b f d c', f=frames)
        key = torch.cat([key[:, [0] * frames], key], dim=2)  #! IKB201 -> attention
        key = self.reshape_heads_to_batch_dim(rearrange(key, 'b f d c -> (b f) d c'))
        return self._attention(query, key, key, None)  #= attention
`,
  'an attention of transformers, called by another one': `
from transformers.models.llama.modeling_llama import repeat_kv
from transformers.modeling_flash_attention_utils import _flash_attention_forward

def forward(self, query_states, key_states, value_states, mask, steps):
    key_states = repeat_kv(key_states, self.groups)  #! IKB202 -> method
    return self._flash_attention_forward(  #= method
        query_states.transpose(1, 2), key_states.transpose(1, 2), value_states.transpose(1, 2), mask, steps
    )

def other(self, query_states, key_states, value_states, mask, steps):
    value_states = repeat_kv(value_states, self.groups)  #! IKB202 -> function
    return _flash_attention_forward(  #= function
        query_states.transpose(1, 2), key_states.transpose(1, 2), value_states.transpose(1, 2), mask, steps
    )
`,
  'not several rows, nor one': `
module Frames(d):
    self.to_k = nn.Linear(d, d)
    def forward(self, video, n):
        index = [0, 1, 2] * n
        last = video.view(n, 4, 8)[:, [-1]]
        return self.to_k(video[:, index]), self.to_k(video[:, [2, 1, 0]]), self.to_k(last), self.to_k(video[:, [0] * 1])
`,
  'not the method of another class': `
from layers import Attention

class Sparse(Attention):
    def forward(self, query, key, n):
        key = key.repeat_interleave(n, dim=0)
        return self._attention(query, key, key, None)
`,
  'one row that is kept as an axis, for all heads': `
module Heads(d):
    self.proj = nn.Linear(d, 18 * d)
    def forward(self, x, batch, steps):
        joined = self.proj(x).view(batch, steps, 2, 9, 8)
        queries = joined[:, :, :, :-1]
        keys = torch.broadcast_to(joined[:, :, :, [-1]], queries.shape)  #! IKB202 -> scores
        queries, keys = [t.flatten(2, 3).transpose(1, 2) for t in (queries, keys)]
        return torch.matmul(queries, keys.transpose(-1, -2))  #= scores
`,
});
