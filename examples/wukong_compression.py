"""A Wukong-style ranker: stacked interaction layers over a list of feature embeddings.

Each layer has a linear compression block (LCB), which mixes the list of embeddings down to a few, and a factorization
machine block (FMB). The first layer sees the embeddings of the user, one set per request, beside those of each
candidate.
"""

# ikbo: B=1024, U=16, Fu=48, Fc=16, M=24, D=128
# ikbo: index cand_to_user many-to-one

import torch
import torch.nn as nn


class LinearCompression(nn.Module):
    """[B, F, D] -> [B, M, D]: a weight over the feature axis, shared by all embedding dimensions."""

    def __init__(self, num_in: int, num_out: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_out, num_in))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x):
        return self.weight @ x


class FactorizationMachine(nn.Module):
    """Pairwise dot products against a low-rank projection of the features, then an MLP back to embeddings."""

    def __init__(self, num_in: int, num_out: int, dim: int, rank: int, hidden: int):
        super().__init__()
        self.project = nn.Parameter(torch.empty(num_in, rank))
        nn.init.xavier_uniform_(self.project)
        self.norm = nn.LayerNorm(num_in * rank)
        self.mlp = nn.Sequential(nn.Linear(num_in * rank, hidden), nn.ReLU(), nn.Linear(hidden, num_out * dim))
        self.num_out, self.dim = num_out, dim

    def forward(self, x):
        products = x @ (x.transpose(1, 2) @ self.project)
        out = self.mlp(self.norm(products.flatten(1)))
        return out.view(-1, self.num_out, self.dim)


class FirstLayer(nn.Module):
    """The layer that reads raw features: user embeddings are looked up per candidate."""

    def __init__(self, num_user: int, num_cand: int, num_out: int, dim: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_out, num_user + num_cand))
        nn.init.xavier_uniform_(self.weight)
        self.fm = FactorizationMachine(num_cand, num_out, dim, rank=8, hidden=256)
        self.norm = nn.LayerNorm(dim)

    def forward(self, user: torch.FloatTensor, cand: torch.FloatTensor, cand_to_user: torch.LongTensor):
        """user [U, Fu, D], cand [B, Fc, D], cand_to_user [B] -> [B, 2 * num_out, D]."""
        U, Fu, D = user.shape
        B = cand_to_user.shape[0]
        features = torch.cat([user[cand_to_user], cand], dim=1)
        compressed = self.weight @ features
        return self.norm(torch.cat([compressed, self.fm(cand)], dim=1))


class WukongLayer(nn.Module):
    def __init__(self, num_in: int, num_out: int, dim: int):
        super().__init__()
        self.lcb = LinearCompression(num_in, num_out)
        self.fmb = FactorizationMachine(num_in, num_out, dim, rank=8, hidden=256)
        self.residual = LinearCompression(num_in, 2 * num_out)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        y = torch.cat([self.fmb(x), self.lcb(x)], dim=1)
        return self.norm(y + self.residual(x))


class Wukong(nn.Module):
    def __init__(self, num_user=48, num_cand=16, dim=128, width=24, layers=2):
        super().__init__()
        self.first = FirstLayer(num_user, num_cand, width, dim)
        self.layers = nn.ModuleList(WukongLayer(2 * width, width, dim) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(2 * width * dim, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, user, cand, cand_to_user):
        x = self.first(user, cand, cand_to_user)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.flatten(1)).squeeze(-1)


def main():
    torch.manual_seed(0)
    users, rows = 3, 10
    model = Wukong(num_user=12, num_cand=4, dim=16, width=6).eval()
    # Requests are batched as they come: groups are uneven and in any order.
    cand_to_user = torch.tensor([2, 0, 0, 1, 2, 2, 2, 0, 1, 2])
    with torch.no_grad():
        logits = model(torch.randn(users, 12, 16), torch.randn(rows, 4, 16), cand_to_user)
    print("click probabilities", tuple(torch.sigmoid(logits).shape))


if __name__ == "__main__":
    main()
