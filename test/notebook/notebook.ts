/** Notebooks for tests, as Jupyter writes them and as others do. */

export const code = (source: string | readonly string[], more: object = {}) => ({
  cell_type: 'code',
  execution_count: null,
  metadata: {},
  outputs: [{ output_type: 'stream', name: 'stdout', text: ['"torch" \\ é\n', '{}'] }],
  source,
  ...more,
});

export const lines = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

export function notebook(cells: readonly object[], indent: number | string = 1, metadata: object = {}): string {
  return `${JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }, null, indent)}\n`;
}

export const IMPORTS = '%matplotlib inline\nimport torch\nfrom torch import nn\n!nvidia-smi';
export const RANKER = `class Ranker(nn.Module):
    def __init__(self, du, dc):
        super().__init__()
        self.fc = nn.Linear(du + dc, 8)

    def forward(self, user: torch.FloatTensor, cand: torch.FloatTensor, n):
        u = user.repeat_interleave(n, dim=0)
        return self.fc(torch.cat([u, cand], dim=-1))`;

export const CELLS = [
  { cell_type: 'markdown', metadata: {}, source: ['# torch\n', 'text'] },
  code(lines(IMPORTS)),
  code(lines('%%bash\necho torch')),
  code(lines(RANKER)),
  code(lines('Ranker(1, 2)')),
];
