/** Which texts are worth evaluating: all that can make a copy, few that cannot, and none that takes long to be asked. */
import assert from 'node:assert/strict';
import { produces } from '../../../src/core/python/producer-texts';

const PRODUCING: readonly (readonly [name: string, text: string, around?: string])[] = [
  ['rows picked by an edge index', 'x[edge_index[0]]'],
  ['both ends under names', 'row, col = data.edge_index\nreturn x[row]'],
  ['one end under a name', 'row = edge_index[0]\nreturn self.lin(x.index_select(0, row))'],
  ['one end handed on', 'return self.pick(x, edge_index[1])'],
  ['whole slices of what was made empty', 'out = x.new_empty(b, n, d)\nout[:, :, :8] = user'],
  ['matrices of relations', 'weight[edge_type]'],
  ['rows picked by what is summed by', 'x = x[idx_kj]\nreturn scatter(x * y, idx_kj, dim=0)'],
  [
    'rows selected by what another method makes',
    'x.index_select(0, self.of)',
    'self.of = torch.arange(n).repeat_interleave(k)',
  ],
  ['a parameter in a product', 'torch.matmul(x, self.w)', 'self.w = nn.Parameter(torch.zeros(4, 4))'],
  ['a parameter that is set elsewise', 'torch.matmul(x, w)', "self.register('w', nn.Parameter(torch.zeros(4, 4)))"],
  ['an operand with a new axis', 'q @ k[:, None].mT'],
  ['an operand that got an axis before', 'k = k.view(b, 1, 4, 4)\nreturn q @ k'],
  ['widths in half precision', 'x = x.half()\nreturn self.fc(torch.cat([x, y], -1))', 'self.fc = nn.Linear(4, 4)'],
  ['copies that ones ask for', 'x * torch.ones(n, 1)'],
  ['an index by its name', 'user[cand_to_user]'],
];

const QUIET: readonly (readonly [name: string, text: string, around?: string])[] = [
  ['ends of edges that pick nothing', 'row, col = edge_index\nreturn degree(row) + scatter(w, col)'],
  ['an edge index that a call gives back', 'edge_index, edge_attr = self.pool(x, edge_index)'],
  ['a relation that is a key', 'for edge_type in types:\n    out[edge_type] = data[edge_type]'],
  ['numbers written into a buffer', 'out = torch.zeros(b, n)\nout[:, :4] = 1'],
  ['a buffer of NumPy', 'out = np.zeros((b, n))\nout[:, :4] = x'],
  ['ones of NumPy', 'x = a * np.ones(4)'],
  ['rows selected where nothing makes an index', 'x.index_select(0, idx)', 'idx = torch.tensor(ids)'],
  ['the size of a tile', 'tile = tl.load(p)\nx = tile_size * 2'],
  ['a parameter of another layer', 'torch.matmul(q, k)', 'self.w = nn.Parameter(torch.zeros(4, 4))'],
  ['concatenation without a product', 'x = x.half()\nreturn torch.cat([x, y])'],
  ['sums by what picks nothing', 'outs: List[Tensor] = []\nreturn scatter(x, index)'],
  ['names of infinitives', 'data[idx_to_select]'],
];

/** About as long as a line that is still read, and as a text of such lines. */
const repeated = (part: string): string => `${part.repeat(Math.floor(1900 / part.length))}\n`.repeat(100);

const HOSTILE: readonly string[] = [
  repeated('edge_index '),
  repeated('edge_index, '),
  `row, col = edge_index\n${repeated('f(row, ')}`,
  `[edge_type]${repeated('for edge_type ')}`,
  `empty(\n${repeated('x[:,')}`,
  `scatter(x[a]\n${repeated('scatter(c(d),')}`,
  Array.from({ length: 9000 }, (_, i) => `r${i} = edge_index[0]`).join('\n'),
  `zeros(\n${Array.from({ length: 9000 }, (_, i) => `b${i}[:, :] = x`).join('\n')}`,
  `edge_index ${'w'.repeat(190_000)}`,
  `index_select(${'arange('.repeat(25_000)}`,
  'edge_index '.repeat(15_000),
];

describe('texts that can make a copy', () => {
  for (const [name, text, around = ''] of PRODUCING)
    it(name, () => assert.equal(produces(text, `${around}\n${text}`), true));
  for (const [name, text, around = ''] of QUIET)
    it(`not: ${name}`, () => assert.equal(produces(text, `${around}\n${text}`), false));
  it('are told apart without delay, however long the text', function () {
    this.timeout(5_000);
    for (const text of HOSTILE) produces(text, text);
  });
});
