/** A model with one finding, IKB101 on line 11, that a safe rewrite removes. */
export const BAD = `import torch
import torch.nn as nn


class Ranker(nn.Module):
    def __init__(self, du, dc):
        super().__init__()
        self.fc = nn.Linear(du + dc, 8)

    def forward(self, user: torch.FloatTensor, cand: torch.FloatTensor, n):
        u = user.repeat_interleave(n, dim=0)
        return self.fc(torch.cat([u, cand], dim=-1))
`;
