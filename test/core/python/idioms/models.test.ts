import { idioms } from './idioms';

idioms('idioms: models as libraries build and serve them', {
  'waves of positions, copied over the other axis of an image': `
module Grid(d):
    self.fc = nn.Linear(4, d)
    def forward(self, x):
        b, c, h, w = x.shape
        rows = torch.arange(h) / float(h - 1)
        rows = torch.stack((torch.cos(rows * math.pi), torch.sin(rows * math.pi)), dim=1)
        rows = rows.reshape(h, 1, 2).repeat(1, w, 1).reshape(h * w, 2)  #! IKB101 -> fc
        columns = torch.arange(w) / float(w - 1)
        columns = torch.stack((torch.cos(columns * math.pi), torch.sin(columns * math.pi)), dim=1)
        columns = columns.reshape(1, w, 2).repeat(h, 1, 1).reshape(h * w, 2)  #! IKB101 -> fc
        return self.fc(torch.cat((rows, columns), dim=1))  #= fc
`,
  'positions that are copied as they are': `
module Grid(d):
    self.fc = nn.Linear(2, d)
    def forward(self, x):
        b, c, h, w = x.shape
        rows = torch.arange(h).reshape(h, 1, 1).repeat(1, w, 1)
        columns = torch.arange(w).reshape(1, w, 1).repeat(h, 1, 1)
        return self.fc(torch.cat((rows, columns), dim=-1).float())
`,
  'models of transformers in the file: copies by their keyword, others by what is done with them': `
from transformers import PreTrainedModel

class Pretrained(PreTrainedModel):
    base_model_prefix = 'former'

class Former(Pretrained):
    def __init__(self, config):
        super().__init__(config)
        self.norm = nn.LayerNorm(config.width)
        self.query = nn.Linear(config.width, config.width)
        self.key = nn.Linear(config.width, config.width)
    def forward(self, query_embeds=None, more=None):
        x = query_embeds if more is None else torch.cat([query_embeds, more], dim=1)
        return self.query(self.norm(x))  #= query

class Model(nn.Module):
    def __init__(self, config, n):
        super().__init__()
        self.former = Former(config)
        self.tokens = nn.Parameter(torch.zeros(1, n, config.width))
        self.frames = nn.Parameter(torch.zeros(1, n, config.width))
    def forward(self, images):
        tokens = self.tokens.expand(images.shape[0], -1, -1)  #! IKB102 -> call
        return self.former(query_embeds=tokens)  #= call
    def video(self, images):
        tokens = self.tokens.expand(images.shape[0], -1, -1)  #! IKB102 -> query
        frames = self.frames.expand(images.shape[0], -1, -1)  #! IKB102 -> query
        return self.former(query_embeds=tokens, more=frames)
`,
  'learned tokens that a constructor fills with random numbers': `
module Former(d):
    self.norm = nn.LayerNorm(d)
    self.query = nn.Linear(d, d)
    def forward(self, tokens):
        return self.query(self.norm(tokens))  #= query

module Encoder(n, d):
    self.former = Former(d)
    self.tokens = nn.Parameter(torch.zeros(1, n, d))
    self.tokens.data.normal_(mean=0.0, std=0.02)
    def forward(self, images):
        return self.former(self.tokens.expand(images.shape[0], -1, -1))  #! IKB102 -> query
`,
  'noise that is drawn anew for what is copied': `
module Scorer(d):
    self.fc = nn.Linear(d, d)
    def forward(self, x, n):
        copies = x.unsqueeze(1).repeat(1, n, 1)
        copies.data.normal_()
        return self.fc(copies)
`,
  'norms whose weights come from a file': `
class ServedRMSNorm(nn.Module):
    def __init__(self, prefix, weights, eps):
        super().__init__()
        self.weight = nn.Parameter(weights.get_tensor(f'{prefix}.weight'), requires_grad=False)
        self.eps = eps
    def forward(self, x):
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + self.eps))

class Perceiver(nn.Module):
    def __init__(self, prefix, config, weights, d):
        super().__init__()
        self.latents = weights.get_tensor(f'{prefix}.latents')
        self.norm = ServedRMSNorm(prefix, weights, config.text_config.rms_norm_eps)
        self.other = nn.LayerNorm.load(prefix=prefix, weights=weights, eps=1e-5)
        self.fc = nn.Linear(d, d)
    def forward(self, context):
        latents = self.latents.unsqueeze(0).expand((context.shape[0], *self.latents.size()))  #! IKB102 -> fc
        return self.fc(self.norm(latents))  #= fc
    def encode(self, context):
        latents = self.latents.repeat(context.shape[0], 1, 1)  #! IKB102 -> second
        return self.fc(self.other(latents))  #= second
`,
  'weights of no known shape that multiply copies elsewhere': `
class Gated(nn.Module):
    def __init__(self, prefix, weights, d):
        super().__init__()
        self.latents = weights.get_tensor(f'{prefix}.latents')
        self.gates = nn.Parameter(weights.get_tensor(f'{prefix}.gates'))
        self.fc = nn.Linear(d, d)
    def forward(self, context):
        latents = self.latents.unsqueeze(0).expand((context.shape[0], *self.latents.size()))
        return self.fc(self.gates * latents)
`,
  'networks that a pipeline registers by their names': `
from diffusers import DiffusionPipeline, ModelMixin

class Denoiser(ModelMixin):
    def __init__(self, d):
        super().__init__()
        self.embed = nn.Linear(d, d)
    def forward(self, x, text):
        return x, self.embed(text)  #= embed

class Pipeline(DiffusionPipeline):
    def __init__(self, text_encoder, transformer: Denoiser):
        super().__init__()
        self.register_modules(text_encoder=text_encoder, transformer=transformer)
    def __call__(self, latents, prompt, n):
        b, length, width = prompt.shape
        prompt = prompt.repeat(1, n, 1).view(b * n, length, width)  #! IKB102 -> embed
        return self.transformer(latents, prompt)
`,
  'what registers networks in a way of its own': `
class Denoiser(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.embed = nn.Linear(d, d)
    def forward(self, x, text):
        return self.embed(text)

class Pipeline:
    def __init__(self, transformer: Denoiser):
        self.register_modules(transformer=transformer)
    def register_modules(self, **modules):
        self.modules = modules
    def __call__(self, latents, prompt, n):
        b, length, width = prompt.shape
        return self.transformer(latents, prompt.repeat(1, n, 1).view(b * n, length, width))
`,
});
