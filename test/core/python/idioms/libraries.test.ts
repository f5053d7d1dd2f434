import { idioms } from './idioms';

idioms('idioms: what other libraries do with copies', {
  'a layer that runs again in backward': `
from fairscale.nn.checkpoint.checkpoint_activations import checkpoint_wrapper

module Block(d):
    self.fc = checkpoint_wrapper(nn.Linear(d, d))
    def forward(self, user, n):
        return self.fc(user.repeat_interleave(n, dim=0))  #! IKB102 -> fc  #= fc
`,
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
  'a norm that is taken instead where it is installed': `
class Norm(nn.Module):
    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True))
try:
    from apex.normalization import FusedRMSNorm
    Norm = FusedRMSNorm
except ImportError:
    pass
NORMS = {'rms': Norm, 'layer': nn.LayerNorm}
module Tokens(d, kind):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.norm = NORMS[kind](d)
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        token = self.token.expand(x.shape[0], -1, -1)  #! IKB102 -> fc
        return self.fc(self.norm(torch.cat([token, x], dim=1)))  #= fc
`,
  'heads repeated by the helper of transformers, packed with the queries': `
from flash_attn.flash_attn_interface import flash_attn_unpadded_qkvpacked_func
from transformers.models.llama.modeling_llama import repeat_kv
def forward(self, q, k, v, lengths, most):
    b, g, s, d = k.shape
    q, v = q.view(b, -1, s, d), v.view(b, g, s, d)
    k = repeat_kv(k, self.groups)  #! IKB202 -> flash
    v = repeat_kv(v, self.groups)  #! IKB202 -> flash
    qkv = torch.stack([q, k, v], dim=2).transpose(1, 3)
    qkv = rearrange(qkv, 'b s ... -> (b s) ...')
    return flash_attn_unpadded_qkvpacked_func(qkv, lengths, most, 0.0, causal=True)  #= flash
`,
  'heads repeated by a helper of that name of which nothing is known': `
from models.llama import repeat_kv
def attend(q, k, v, groups):
    return F.scaled_dot_product_attention(q, repeat_kv(k, groups), repeat_kv(v, groups))
`,
  'heads among the batch, for xformers': `
import xformers.ops
module Attend(d, heads=8, width=64):
    self.heads, self.width = heads, width
    self.to_q = nn.Linear(d, heads * width)
    self.to_k = nn.Linear(d, heads * width)
    def forward(self, x, context, times):
        q = self.to_q(x)
        k = self.to_k(context)
        k = repeat(k[::times], 'b ... -> (b n) ...', n=times)  #! IKB201 -> attention
        b, _, _ = q.shape
        q, k = map(
            lambda t: t.unsqueeze(3)
            .reshape(b, t.shape[1], self.heads, self.width)
            .permute(0, 2, 1, 3)
            .reshape(b * self.heads, t.shape[1], self.width)
            .contiguous(),
            (q, k),
        )
        return xformers.ops.memory_efficient_attention(q, k, x)  #= attention
`,
  'keys of their own in front of the others': `
module Attend(heads, count, width):
    self.memory = nn.Parameter(torch.randn(2, heads, count, width))
    def forward(self, q, k, v):
        mk, mv = map(lambda t: repeat(t, 'h n d -> b h n d', b=q.shape[0]), self.memory)  #! IKB201 -> attention
        k = torch.cat((mk, k), dim=-2)
        v = torch.cat((mv, v), dim=-2)
        return F.scaled_dot_product_attention(q, k, v)  #= attention
`,
  'names that a star brings from another library': `
from transformers.models.llama.modeling_llama import *
def attend(q, k, v, groups):
    scores = torch.matmul(q, repeat_kv(k, groups).transpose(2, 3))  #! IKB202 -> product  #= product
    return scores
`,
  'blocks that a base class of timm makes': `
from timm.models.vision_transformer import VisionTransformer
class Distilled(VisionTransformer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.token = nn.Parameter(torch.zeros(1, 1, self.embed_dim))
    def forward_features(self, x):
        x = self.patch_embed(x)
        token = self.token.expand(x.shape[0], -1, -1)  #! IKB102 -> block
        x = self.pos_drop(torch.cat((token, x), dim=1) + self.pos_embed)
        for block in self.blocks:
            x = block(x)  #= block
        return x
`,
});
