"""Promptable segmentation: a light two-way decoder in the manner of SAM.

One image, many prompts. The image embedding is repeated for every prompt, the prompt's dense mask is added to it, and
tokens and image attend to each other.
"""

# ikbo: P=64, I=1, C=256, H=64, W=64

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class LayerNorm2d(nn.Module):
    def __init__(self, channels: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(variance + self.eps)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class Attention(nn.Module):
    """Multi-head attention whose inner width may be smaller than the model's."""

    def __init__(self, dim: int, num_heads: int, downsample: int = 1):
        super().__init__()
        inner = dim // downsample
        self.num_heads = num_heads
        self.q_proj = nn.Linear(dim, inner)
        self.k_proj = nn.Linear(dim, inner)
        self.v_proj = nn.Linear(dim, inner)
        self.out_proj = nn.Linear(inner, dim)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = self.split(self.q_proj(q)), self.split(self.k_proj(k)), self.split(self.v_proj(v))
        out = F.scaled_dot_product_attention(q, k, v)
        return self.out_proj(out.transpose(1, 2).flatten(2))


class TwoWayBlock(nn.Module):
    def __init__(self, dim: int, num_heads: int, mlp_dim: int):
        super().__init__()
        self.self_attn = Attention(dim, num_heads)
        self.token_to_image = Attention(dim, num_heads, downsample=2)
        self.image_to_token = Attention(dim, num_heads, downsample=2)
        self.mlp = nn.Sequential(nn.Linear(dim, mlp_dim), nn.ReLU(), nn.Linear(mlp_dim, dim))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(4))

    def forward(self, tokens: Tensor, image: Tensor, image_pe: Tensor) -> "tuple[Tensor, Tensor]":
        tokens = self.norms[0](tokens + self.self_attn(tokens, tokens, tokens))
        tokens = self.norms[1](tokens + self.token_to_image(tokens, image + image_pe, image))
        tokens = self.norms[2](tokens + self.mlp(tokens))
        image = self.norms[3](image + self.image_to_token(image + image_pe, tokens, tokens))
        return tokens, image


class MaskDecoder(nn.Module):
    def __init__(self, dim: int = 256, num_heads: int = 8, depth: int = 2, num_masks: int = 3):
        super().__init__()
        self.mask_tokens = nn.Embedding(num_masks, dim)
        self.image_proj = nn.Linear(dim, dim)
        self.blocks = nn.ModuleList(TwoWayBlock(dim, num_heads, 4 * dim) for _ in range(depth))
        self.upscale = nn.Sequential(
            nn.ConvTranspose2d(dim, dim // 4, kernel_size=2, stride=2), LayerNorm2d(dim // 4), nn.GELU()
        )
        self.hyper = nn.Linear(dim, dim // 4)

    def forward(self, image: Tensor, image_pe: Tensor, sparse: Tensor, dense: Tensor) -> Tensor:
        """image and image_pe [1, C, H, W], sparse [P, T, C], dense [P, C, H, W] -> masks [P, num_masks, 2H, 2W]."""
        P = dense.shape[0]
        I, C, H, W = image.shape
        tokens = torch.cat([self.mask_tokens.weight.unsqueeze(0).expand(P, -1, -1), sparse], dim=1)

        # One copy of the image per prompt, as rows of pixels.
        pixels = image.flatten(2).transpose(1, 2)
        pixels = torch.repeat_interleave(pixels, P, dim=0)
        src = self.image_proj(pixels) + dense.flatten(2).transpose(1, 2)
        pe = image_pe.flatten(2).transpose(1, 2)

        for block in self.blocks:
            tokens, src = block(tokens, src, pe)

        up = self.upscale(src.transpose(1, 2).unflatten(2, (H, W)))
        weights = self.hyper(tokens[:, : self.mask_tokens.num_embeddings])
        return (weights @ up.flatten(2)).unflatten(2, (2 * H, 2 * W))


def main() -> None:
    torch.manual_seed(0)
    prompts, dim, side = 5, 64, 8
    decoder = MaskDecoder(dim=dim, num_heads=4).eval()
    with torch.no_grad():
        masks = decoder(
            torch.randn(1, dim, side, side),
            torch.randn(1, dim, side, side),
            torch.randn(prompts, 2, dim),
            torch.randn(prompts, dim, side, side),
        )
    print("masks", tuple(masks.shape))


if __name__ == "__main__":
    main()
