/** What is put in front of a product and taken away again, cut, replaced or made different before it gets there. */
import { idioms } from './idioms';

idioms('idioms: copies that are undone', {
  'a token that is cut off again where it was put': `
module Encoder(d, cls):
    self.cls = cls
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.places = nn.Parameter(torch.zeros(1, 9, d))
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        if self.cls:
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)
        x = x + self.places
        if self.cls:
            x = x[:, 1:]
        return self.fc(x)
`,
  'a token that is cut off behind the product': `
module Encoder(d, cls):
    self.cls = cls
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        if self.cls:
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)  #! IKB102 -> fc
        x = self.fc(x)  #= fc
        if self.cls:
            x = x[:, 1:]
        return x
`,
  'boxes that get noise, in a way that is not seen': `
from boxes import to_corners, to_centers
module Queries(d):
    self.fc = nn.Linear(4, d)
    def forward(self, boxes, n, box_noise_scale=1.0):
        boxes = boxes.tile([1, 2 * n, 1])
        if box_noise_scale > 0:
            known = to_corners(boxes)
            known += torch.rand_like(boxes) * box_noise_scale
            boxes = to_centers(known)
        return self.fc(boxes)
`,
  'a level of noise that is joined': `
module Denoiser(d):
    self.fc = nn.Linear(2 * d, d)
    self.plain = nn.Linear(d, d)
    def forward(self, x, noise_level, use_noise_level):
        if use_noise_level:
            level = noise_level.unsqueeze(1).expand(-1, x.shape[1], -1)  #! IKB101 -> fc
            x = self.fc(torch.cat([x, level], dim=-1))  #= fc
        return self.plain(x)
`,
  'rows that a view cuts in halves': `
module Halves(d):
    self.half = d // 2
    self.fc = nn.Linear(d // 2, d)
    def forward(self, x, n, d):
        x = x.unsqueeze(1).repeat(1, n, 1)
        return self.fc(x.view(-1, d // 2)), self.fc(x.view(-1, self.half))
`,
  'a registry whose entry is replaced': `
LAYERS = {'plain': nn.Linear, 'none': nn.Identity}
LAYERS['plain'] = nn.Identity
module Scorer(d):
    self.fc = LAYERS['plain'](d, d)
    def forward(self, x, n):
        return self.fc(x.unsqueeze(1).repeat(1, n, 1))
`,
  'a registry whose entry is replaced by what is made': `
LAYERS = {'plain': nn.Linear}
LAYERS['plain'] = make_layer(8)
module Scorer(d):
    self.fc = LAYERS['plain'](d, d)
    def forward(self, x, n):
        return self.fc(x.unsqueeze(1).repeat(1, n, 1))
`,
  'what a gate leaves': `
module Gate(d):
    self.fc = nn.Linear(d, d)
    def forward(self, u, y, n):
        u = u.unsqueeze(1).repeat(1, n, 1)
        return self.fc(u - u * y)
`,
  'what is called a mask, repeated and multiplied': `
module Decoder(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, nodes, edges, order, n):
        forward_mask = (1 - order.unsqueeze(-1)).repeat(n, 1, 1, 1)
        return self.fc(forward_mask * torch.cat([nodes, edges], -1))
`,
  'what is named after a mask and is none': `
module Decoder(d):
    self.token = nn.Parameter(torch.zeros(1, 1, d))
    self.fc = nn.Linear(d, d)
    def forward(self, x):
        mask_token = torch.tanh(self.token).expand(x.shape[0], 4, -1)  #! IKB102 -> fc
        return self.fc(mask_token)  #= fc
`,
  'a centre that is taken away': `
module Group(d):
    self.conv = nn.Conv2d(2 * d, d, 1)
    def forward(self, grouped_xyz, features, new_xyz, n):
        grouped_xyz -= new_xyz.unsqueeze(3).repeat(1, 1, 1, n)
        return self.conv(torch.cat([grouped_xyz, features], 1))
`,
  'the same features twice': `
module Graphs(d):
    self.fc = nn.Linear(2 * d, d)
    def forward(self, x, graph):
        pooled = self.pool(x, graph)
        return self.fc(torch.cat([pooled, pooled], dim=1))
`,
});
