import { idioms } from './idioms';

idioms('idioms: what other libraries do with copies', {
  'an import that may fail': `
try:
    from flash_attn import flash_attn_func
except ImportError:
    flash_attn_func = None

def attend(q, k, v, n):
    k = k.repeat_interleave(n, dim=2)  #! IKB202 -> flash
    v = v.repeat_interleave(n, dim=2)  #! IKB202 -> flash
    return flash_attn_func(q, k, v)  #= flash
`,
  'sequences of several lengths, a part of the keys for all heads': `
from vllm.vllm_flash_attn import flash_attn_varlen_func

def attend(q, nope, rope, v, heads, lengths):
    t, g, d = rope.shape
    k = torch.cat([nope, torch.repeat_interleave(rope, heads, dim=-2)], dim=-1)  #! IKB202 -> flash
    return flash_attn_varlen_func(q, k.view(-1, heads, 192), v, cu_seqlens_q=lengths)  #= flash
`,
  'blocks of another library that get the text by its place': `
from diffusers.models.attention import BasicTransformerBlock

module Video(d):
    self.blocks = nn.ModuleList([BasicTransformerBlock(d, 8, 64) for _ in range(12)])
    def forward(self, x, encoder_hidden_states, frames):
        encoder_hidden_states_spatial = repeat(encoder_hidden_states, 'b t d -> (b f) t d', f=frames)  #! IKB201 -> call
        for block in self.blocks:
            x = block(x, None, encoder_hidden_states_spatial)  #= call
        return x
`,
  'projections of an attention of another library': `
from diffusers.models.attention_processor import Attention

class Motion(Attention):
    def forward(self, x, context, pixels):
        context = repeat(context, 'b n c -> (b d) n c', d=pixels)  #! IKB102 -> key
        key = self.to_k(context)  #= key
        return key
`,
  'attention with quantized keys, heads behind the sequence': `
from sageattention import sageattn

def attend(q, k, v, n):
    k = k.repeat_interleave(n, dim=2)  #! IKB202 -> sage
    v = v.repeat_interleave(n, dim=2)  #! IKB202 -> sage
    return sageattn(q, k, v, tensor_layout='NHD')  #= sage
`,
  'rows repeated along their sequence and made rows by a view': `
module Pipeline(denoiser):
    self.denoiser = denoiser
    def forward(self, x, prompt, n):
        b, length, _ = prompt.shape
        prompt = prompt.repeat(1, n, 1)  #! IKB201 -> call
        prompt = prompt.view(b * n, length, -1)
        return self.denoiser(x, encoder_hidden_states=prompt)  #= call
`,
  'blocks of a zoo of image models': `
from timm.models.vision_transformer import Block
module Resampler(d, count, depth):
    self.queries = nn.Embedding(count, d)
    self.blocks = nn.ModuleList([Block(d, 8) for _ in range(depth)])
    def forward(self, images):
        queries = self.queries.weight.unsqueeze(0).repeat(len(images), 1, 1)  #! IKB102 -> block
        x = torch.cat([queries, images], dim=1)
        for block in self.blocks:
            x = block(x)  #= block
        return x
`,
});
