import { idioms } from './idioms';

idioms('idioms: numbers beside copies', {
  'positions on waves of pi': `
import math

def waves(position, d=256):
    scale = 2 * math.pi
    steps = torch.arange(d // 2, dtype=torch.float32, device=position.device)
    steps = 10000 ** (2 * (steps // 2) / (d // 2))
    x = (position[:, :, 0] * scale)[:, :, None] / steps
    y = (position[:, :, 1] * scale)[:, :, None] / steps
    return torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], dim=2)

module Decoder(d):
    self.head = nn.Linear(2 * d, d)
    def forward(self, anchors, batch, d):
        anchors = anchors.unsqueeze(1).repeat(1, batch, 1)  #! IKB102 -> head
        return self.head(waves(anchors.sigmoid()))  #= head
`,
  'constants of other modules, by their own names': `
import numpy as np
from math import pi

module Encoder(d):
    self.fc = nn.Linear(4 * d, d)
    def forward(self, views, samples):
        views = views[:, None].expand(-1, samples, -1)  #! IKB102 -> fc
        return self.fc(torch.cat([torch.sin(views * pi), torch.cos(views * np.pi), torch.sin(views * torch.pi), views / np.e], -1))  #= fc
`,
  'not what some other package calls pi': `
import policies

module Actor(d):
    self.fc = nn.Linear(d, d)
    def forward(self, state, n):
        state = state.unsqueeze(1).repeat(1, n, 1)
        return self.fc(state * policies.pi)
`,
  'a tensor of numbers': `
module Mirror(d):
    self.fc = nn.Linear(3, d)
    def forward(self, points, n):
        points = points.unsqueeze(1).repeat(1, n, 1)  #! IKB102 -> fc
        points = points * torch.tensor([1.0, 1.0, -1.0], device=points.device) / torch.tensor(2.0)
        return self.fc(points)  #= fc
`,
  'not a tensor of what is handed in': `
module Mirror(d):
    self.fc = nn.Linear(3, d)
    def forward(self, points, n, signs):
        points = points.unsqueeze(1).repeat(1, n, 1)
        return self.fc(points * torch.tensor(signs) + torch.tensor([signs[0], signs[1]]))
`,
  'a mean that is kept and spread again, of a tensor of unknown rank': `
module Views(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, views, weight):
        views = views.permute(1, 2, 0, 3)
        n = views.shape[2]
        mean = torch.sum(views * weight, dim=2, keepdim=True)
        return self.fc(torch.cat([mean.expand(-1, -1, n, -1), views], dim=-1))  #! IKB101 -> fc  #= fc
`,
  'not a sum that is kept along another axis': `
module Views(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, views, weight):
        views = views.permute(1, 2, 0, 3)
        n = views.shape[2]
        total = torch.sum(views * weight, dim=1, keepdim=True)
        return self.fc(total.expand(-1, -1, n, -1))
`,
});
