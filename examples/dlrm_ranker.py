"""Second-stage ranker: DLRM features, a DCN-v2 cross network and a deep tower over one request.

A request carries one or more users; each is scored against `n_cand` candidates. The user's embeddings and dense
features are the same for all of them.
"""

# ikbo: U=2, n_cand=512, Ku=640, Kc=192, config.deep[0]=512

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class RankerConfig:
    user_vocab: tuple[int, ...] = (5000, 200, 40, 1000, 300, 24, 7, 50)
    item_vocab: tuple[int, ...] = (20000, 800)
    embedding_dim: int = 64
    user_dense: int = 32
    item_dense: int = 16
    cross_layers: int = 2
    cross_rank: int = 64
    deep: tuple[int, ...] = (512, 256, 128)


class Embeddings(nn.Module):
    """All categorical features in one table, each behind its offset; ids arrive as [rows, features]."""

    def __init__(self, vocab: tuple[int, ...], dim: int):
        super().__init__()
        self.table = nn.Embedding(sum(vocab), dim)
        self.register_buffer("offsets", torch.tensor([0, *vocab[:-1]]).cumsum(0), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids + self.offsets).flatten(1)


class DenseArch(nn.Module):
    """Bottom MLP over numeric features."""

    def __init__(self, in_dim: int, out_dim: int):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_dim, 2 * out_dim), nn.ReLU(), nn.Linear(2 * out_dim, out_dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


class CrossNet(nn.Module):
    """Low-rank cross layers of DCN-v2: x0 * (U V x) + x."""

    def __init__(self, dim: int, layers: int, rank: int):
        super().__init__()
        self.down = nn.ModuleList(nn.Linear(dim, rank, bias=False) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(rank, dim) for _ in range(layers))

    def forward(self, x0: Tensor) -> Tensor:
        x = x0
        for down, up in zip(self.down, self.up):
            x = x0 * up(down(x)) + x
        return x


class RequestEncoder(nn.Module):
    """Embeddings and bottom MLPs: runs once per user and once per candidate."""

    def __init__(self, config: RankerConfig):
        super().__init__()
        dim = config.embedding_dim
        self.user_embeddings = Embeddings(config.user_vocab, dim)
        self.item_embeddings = Embeddings(config.item_vocab, dim)
        self.user_dense = DenseArch(config.user_dense, 2 * dim)
        self.item_dense = DenseArch(config.item_dense, dim)
        self.user_width = (len(config.user_vocab) + 2) * dim
        self.item_width = (len(config.item_vocab) + 1) * dim

    def users(self, ids: Tensor, dense: Tensor) -> Tensor:
        return torch.cat([self.user_embeddings(ids), self.user_dense(dense)], dim=-1)

    def items(self, ids: Tensor, dense: Tensor) -> Tensor:
        return torch.cat([self.item_embeddings(ids), self.item_dense(dense)], dim=-1)


class Ranker(nn.Module):
    """Scores encoded users against encoded candidates."""

    def __init__(self, user_width: int, item_width: int, config: RankerConfig):
        super().__init__()
        self.cross = CrossNet(item_width, config.cross_layers, config.cross_rank)
        self.deep = nn.Sequential(
            nn.Linear(user_width + item_width, config.deep[0]),
            nn.ReLU(),
            nn.Linear(config.deep[0], config.deep[1]),
            nn.ReLU(),
            nn.Linear(config.deep[1], config.deep[2]),
            nn.ReLU(),
        )
        self.head = nn.Linear(config.deep[2] + item_width, 1)

    def forward(self, user: torch.FloatTensor, cand: torch.FloatTensor) -> Tensor:
        """user [U, Ku], cand [U * n_cand, Kc] -> [U, n_cand]. The candidates of a user stand together."""
        U, Ku = user.shape
        B, Kc = cand.shape
        n_cand = B // U

        # Every candidate meets the features of its user.
        user_rows = user.repeat_interleave(n_cand, dim=0)
        deep = self.deep(torch.cat([user_rows, cand], dim=-1))

        crossed = self.cross(cand)
        logits = self.head(torch.cat([deep, crossed], dim=-1))
        return logits.view(U, n_cand)


def main() -> None:
    torch.manual_seed(0)
    config = RankerConfig()
    encoder = RequestEncoder(config).eval()
    ranker = Ranker(encoder.user_width, encoder.item_width, config).eval()
    users, n_cand = 2, 8

    user_ids = torch.stack([torch.randint(0, size, (users,)) for size in config.user_vocab], dim=1)
    item_ids = torch.stack([torch.randint(0, size, (users * n_cand,)) for size in config.item_vocab], dim=1)
    with torch.no_grad():
        user = encoder.users(user_ids, torch.randn(users, config.user_dense))
        cand = encoder.items(item_ids, torch.randn(users * n_cand, config.item_dense))
        scores = ranker(user, cand)
    print("scores", tuple(scores.shape))


if __name__ == "__main__":
    main()
