import { idioms } from './idioms';

idioms('idioms: sizes', {
  'of what a layer returned, named where they are unpacked': `
module Relations(d, m):
    self.conv = nn.Sequential(nn.Conv2d(3, d, [3, 3], 2, 1), nn.BatchNorm2d(d), nn.ReLU())
    self.g = nn.Sequential(nn.Linear(2 * d + 4, m), nn.ReLU())
    self.register_buffer('coords', torch.randn(1, 2, 8, 8))
    def forward(self, image):
        x = self.conv(image)
        b, c, h, w = x.size()
        n = h * w
        x = torch.cat([x, self.coords.expand(b, 2, h, w)], 1)
        c += 2
        x = x.view(b, c, -1).permute(0, 2, 1)
        one = x.unsqueeze(1).expand(b, n, n, c)  #! IKB101 -> g
        two = x.unsqueeze(2).expand(b, n, n, c)  #! IKB101 -> g
        one = one.contiguous().view(-1, n * n, c)
        two = two.contiguous().view(-1, n * n, c)
        return self.g(torch.cat([one, two], 2))  #= g
`,
  'of the last state of a recurrent layer': `
module Reader(d, h):
    self.lstm = nn.LSTM(d, h, batch_first=True)
    self.g = nn.Linear(h + d, h)
    def forward(self, words, things):
        _, (state, _) = self.lstm(words)
        asked = state.permute(1, 0, 2).expand(things.size(0), things.size(1), -1)  #! IKB101 -> g
        return self.g(torch.cat([things, asked], 2))  #= g
`,
  'that another tensor names, beside one that is known': `
module Denoiser(d):
    self.project = nn.Conv1d(2 * d, d, 1)
    self.d = d
    def forward(self, x, step, features):
        b, c, k, t = x.shape
        n, length = step.shape[:2]
        step = step.unsqueeze(2).expand(-1, -1, features.shape[0], -1)  #! IKB101 -> project
        names = features.unsqueeze(0).unsqueeze(0).expand(n, length, -1, -1)  #! IKB101 -> project
        side = torch.cat([step, names], dim=-1).permute(0, 3, 2, 1)
        _, width, _, _ = side.shape
        return self.project(side.reshape(b, width, k * t))  #= project
`,
});
