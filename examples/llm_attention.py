"""A decoder block with grouped-query attention, rotary positions and a key/value cache."""

# ikbo: B=8, S=4096, Hkv=8, n_rep=4, D=128

from typing import Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F


def repeat_kv(x: torch.Tensor, n_rep: int) -> torch.Tensor:
    """[B, Hkv, S, D] -> [B, Hkv * n_rep, S, D], each head n_rep times in a row."""
    B, Hkv, S, D = x.shape
    if n_rep == 1:
        return x
    x = x[:, :, None, :, :].expand(B, Hkv, n_rep, S, D)
    return x.reshape(B, Hkv * n_rep, S, D)


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


class Rotary(nn.Module):
    def __init__(self, dim: int, base: float = 10000.0):
        super().__init__()
        inverse = 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)
        self.register_buffer("inverse", inverse, persistent=False)

    def forward(self, x: torch.Tensor, start: int) -> torch.Tensor:
        positions = torch.arange(start, start + x.shape[2], device=x.device)
        angles = positions[:, None] * self.inverse[None, :]
        angles = torch.cat([angles, angles], dim=-1)
        return (x * angles.cos() + rotate_half(x) * angles.sin()).to(x.dtype)


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (x.float() * scale).to(x.dtype) * self.weight


class Attention(nn.Module):
    def __init__(self, dim: int, num_heads: int, num_kv_heads: int):
        super().__init__()
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = dim // num_heads
        self.n_rep = num_heads // num_kv_heads
        self.q_proj = nn.Linear(dim, num_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(dim, num_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(dim, num_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * self.head_dim, dim, bias=False)
        self.rotary = Rotary(self.head_dim)

    def forward(
        self, x: torch.Tensor, cache: Optional[Tuple[torch.Tensor, torch.Tensor]] = None
    ) -> Tuple[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]:
        batch, length, _ = x.shape
        q = self.q_proj(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.num_kv_heads, self.head_dim).transpose(1, 2)

        start = 0 if cache is None else cache[0].shape[2]
        q, k = self.rotary(q, start), self.rotary(k, start)
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)

        keys = repeat_kv(k, self.n_rep)
        values = repeat_kv(v, self.n_rep)
        out = F.scaled_dot_product_attention(q, keys, values, is_causal=length > 1)
        out = out.transpose(1, 2).reshape(batch, length, -1)
        return self.o_proj(out), (k, v)


class Block(nn.Module):
    def __init__(self, dim: int, num_heads: int, num_kv_heads: int, hidden: int):
        super().__init__()
        self.attention = Attention(dim, num_heads, num_kv_heads)
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)
        self.norm1, self.norm2 = RMSNorm(dim), RMSNorm(dim)

    def forward(self, x: torch.Tensor, cache=None):
        attended, cache = self.attention(self.norm1(x), cache)
        x = x + attended
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)), cache


def main() -> None:
    torch.manual_seed(0)
    block = Block(dim=128, num_heads=8, num_kv_heads=2, hidden=256).eval()
    with torch.no_grad():
        out, cache = block(torch.randn(2, 10, 128))
        step, cache = block(torch.randn(2, 1, 128), cache)
    print("prompt", tuple(out.shape), "step", tuple(step.shape), "keys", tuple(cache[0].shape))


if __name__ == "__main__":
    main()
