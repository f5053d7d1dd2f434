"""Target attention over long user histories: candidates of many users in one batch.

The histories are stored once per user. `cand_to_user` says whose history a candidate attends to; candidates of one
user need not stand together, and users have different numbers of them.
"""

# ikbo: B=2048, U=16, S=512, E=256, num_heads=8, head_dim=32
# ikbo: index cand_to_user many-to-one

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class HistoryEncoder(nn.Module):
    """Item embedding plus time decay and position, one row per event."""

    def __init__(self, items, dim, max_length):
        super().__init__()
        self.item = nn.Embedding(items, dim, padding_idx=0)
        self.position = nn.Parameter(torch.randn(max_length, dim) * 0.02)
        self.age = nn.Linear(1, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, items, ages):
        x = self.item(items) + self.age(torch.log1p(ages).unsqueeze(-1))
        return self.norm(x + self.position[: items.shape[1]])


class TargetAttention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.k_proj = nn.Linear(dim, dim, bias=False)
        self.v_proj = nn.Linear(dim, dim, bias=False)
        self.out_proj = nn.Linear(dim, dim)

    def split_heads(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(self, target, history, cand_to_user):
        """target [B, E], history [U, S, E], cand_to_user [B] -> [B, E]."""
        U, S, E = history.shape
        B = cand_to_user.shape[0]
        q = self.split_heads(self.q_proj(target).unsqueeze(1))
        k = self.split_heads(self.k_proj(history))
        v = self.split_heads(self.v_proj(history))
        out = F.scaled_dot_product_attention(q, k[cand_to_user], v[cand_to_user])
        out = out.transpose(1, 2).reshape(B, E)
        return self.out_proj(out).view(B, E)


class TargetAttentionRanker(nn.Module):
    def __init__(self, items=50000, dim=256, num_heads=8, profile=64, max_length=512):
        super().__init__()
        self.history = HistoryEncoder(items, dim, max_length)
        self.target = nn.Embedding(items, dim)
        self.attention = TargetAttention(dim, num_heads)
        self.profile = nn.Sequential(nn.Linear(profile, dim), nn.GELU())
        self.score = nn.Linear(3 * dim, 128)
        self.head = nn.Linear(128, 1)
        nn.init.normal_(self.head.weight, std=1 / math.sqrt(128))

    def forward(self, profile, items, ages, candidates, cand_to_user):
        """profile [U, P], items and ages [U, S], candidates and cand_to_user [B] -> logits [B]."""
        history = self.history(items, ages)
        target = self.target(candidates)
        interest = self.attention(target, history, cand_to_user)

        B = cand_to_user.shape[0]
        user = self.profile(profile)
        hidden = self.score(torch.cat([user[cand_to_user], interest, target], dim=-1))
        return self.head(F.gelu(hidden)).view(B)


def main():
    torch.manual_seed(0)
    users, length, rows = 3, 12, 10
    model = TargetAttentionRanker(items=1000, dim=32, num_heads=4, profile=8).eval()
    cand_to_user = torch.tensor([1, 0, 2, 1, 1, 1, 0, 2, 1, 0])
    with torch.no_grad():
        logits = model(
            torch.randn(users, 8),
            torch.randint(1, 1000, (users, length)),
            torch.rand(users, length) * 1e5,
            torch.randint(1, 1000, (rows,)),
            cand_to_user,
        )
    print("logits", tuple(logits.shape))


if __name__ == "__main__":
    main()
