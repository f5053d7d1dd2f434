"""Deep Interest Network: the candidate decides which items of the user's history matter.

The attention unit is a small MLP over the candidate, the history item, their difference and their product; its output,
one score per history item, weighs a sum over the history.
"""

# ikbo: B=1024, T=100, D=64

import torch
import torch.nn as nn


class Dice(nn.Module):
    """Data-adaptive activation of the DIN paper: a soft switch between x and alpha * x."""

    def __init__(self, width, eps=1e-8):
        super().__init__()
        self.norm = nn.BatchNorm1d(width, eps=eps, affine=False)
        self.alpha = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        gate = torch.sigmoid(self.norm(x))
        return gate * x + (1 - gate) * self.alpha * x


class AttentionUnit(nn.Module):
    def __init__(self, dim, hidden=(80, 40)):
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(4 * dim, hidden[0]),
            nn.PReLU(),
            nn.Linear(hidden[0], hidden[1]),
            nn.PReLU(),
            nn.Linear(hidden[1], 1),
        )

    def forward(self, query, keys):
        """query [B, D], keys [B, T, D] -> scores [B, T]."""
        B, T, D = keys.shape
        q = query.unsqueeze(1).expand(-1, T, -1)
        x = torch.cat([q, keys, q - keys, q * keys], dim=-1)
        return self.mlp(x).squeeze(-1)


class InterestPooling(nn.Module):
    """Sum of the history, weighed by the attention unit. Not a softmax: the strength of the interest is kept."""

    def __init__(self, dim):
        super().__init__()
        self.unit = AttentionUnit(dim)

    def forward(self, target, history, lengths):
        scores = self.unit(target, history)
        positions = torch.arange(history.shape[1], device=history.device)
        scores = scores.masked_fill(positions >= lengths.unsqueeze(1), 0.0)
        return (scores.unsqueeze(1) @ history).squeeze(1)


class DIN(nn.Module):
    def __init__(self, items=10000, categories=500, profile=32, dim=64):
        super().__init__()
        self.item = nn.Embedding(items, dim)
        self.category = nn.Embedding(categories, dim)
        self.interest = InterestPooling(dim)
        self.context = nn.Linear(2 * dim, dim)
        self.mlp = nn.Sequential(
            nn.Linear(profile + 3 * dim, 200),
            Dice(200),
            nn.Linear(200, 80),
            Dice(80),
            nn.Linear(80, 1),
        )

    def embed(self, items, categories):
        return self.item(items) + self.category(categories)

    def forward(self, profile, target_item, target_category, items, categories, lengths):
        target = self.embed(target_item, target_category)
        history = self.embed(items, categories)

        # Each step of the history sees the target before pooling.
        B, D = target.shape
        T = history.shape[1]
        paired = torch.cat([history, target.unsqueeze(1).expand(-1, T, -1)], dim=-1)
        context = self.context(paired)

        interest = self.interest(target, history, lengths)
        x = torch.cat([profile, interest, context.mean(dim=1), target], dim=-1)
        return self.mlp(x).squeeze(-1)


def main():
    torch.manual_seed(0)
    batch, steps = 6, 9
    model = DIN().eval()
    with torch.no_grad():
        logits = model(
            torch.randn(batch, 32),
            torch.randint(0, 10000, (batch,)),
            torch.randint(0, 500, (batch,)),
            torch.randint(0, 10000, (batch, steps)),
            torch.randint(0, 500, (batch, steps)),
            torch.randint(1, steps + 1, (batch,)),
        )
    print("logits", tuple(logits.shape))


if __name__ == "__main__":
    main()
