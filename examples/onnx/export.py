"""Exports small versions of the examples to the ONNX models beside this script.

    python examples/onnx/export.py [OUT]      needs torch, onnx and onnxscript; the files were made by torch 2.13

Sizes are free (U users, B candidates, ...), weights are random, and every file is smaller than 100 kB.
"""

# The copies in here are what the models are about.
# ikbo: ignore-file

import sys
import warnings
from pathlib import Path

import torch
from torch import nn
from torch.export import Dim

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import din  # noqa: E402
import dlrm_ranker  # noqa: E402
import llm_attention  # noqa: E402
import mask_decoder  # noqa: E402
import target_attention  # noqa: E402
import wukong_compression  # noqa: E402


class Ranker(nn.Module):
    """The deep part of dlrm_ranker.py with the candidates' users as an index."""

    def __init__(self):
        super().__init__()
        config = dlrm_ranker.RankerConfig(deep=(32, 16, 8), cross_rank=4)
        self.ranker = dlrm_ranker.Ranker(96, 32, config)

    def forward(self, user, cand, cand_to_user):
        deep = self.ranker.deep(torch.cat([user[cand_to_user], cand], dim=-1))
        crossed = self.ranker.cross(cand)
        return self.ranker.head(torch.cat([deep, crossed], dim=-1)).squeeze(-1)


class Profile(nn.Module):
    """One user's profile, expanded to its candidates before a whole perceptron."""

    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 16))

    def forward(self, user, cand):
        return self.mlp(user.expand(cand.shape[0], -1)) * cand


class Decode(nn.Module):
    """One step of the attention of llm_attention.py, with the cache as two inputs."""

    def __init__(self):
        super().__init__()
        self.attention = llm_attention.Attention(64, num_heads=8, num_kv_heads=2)

    def forward(self, x, keys, values):
        out, (keys, values) = self.attention(x, (keys, values))
        return out, keys, values


class LearnedQueries(nn.Module):
    """Learned queries, copied to a fixed number of frames: a size that was baked in at the export."""

    def __init__(self):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(1, 4, 16))
        self.proj = nn.Linear(16, 16)

    def forward(self, frames):
        queries = self.proj(self.queries.expand(8, -1, -1))
        return queries.unsqueeze(0) @ frames.unsqueeze(1).transpose(-1, -2)


B, U, P, S, T = (Dim(name, min=2, max=1 << 20) for name in "BUPST")
index = torch.tensor([1, 0, 2, 1, 1, 0, 2])

# File name -> module, inputs, and the free sizes of each input.
MODELS = {
    "dlrm_ranker": (
        Ranker(),
        dict(user=torch.randn(3, 96), cand=torch.randn(7, 32), cand_to_user=index),
        dict(user={0: U}, cand={0: B}, cand_to_user={0: B}),
    ),
    "din_unit": (
        din.AttentionUnit(16, hidden=(32, 16)),
        dict(query=torch.randn(5, 16), keys=torch.randn(5, 7, 16)),
        dict(query={0: B}, keys={0: B, 1: T}),
    ),
    "wukong_first_layer": (
        wukong_compression.FirstLayer(num_user=12, num_cand=4, num_out=3, dim=8),
        dict(user=torch.randn(3, 12, 8), cand=torch.randn(7, 4, 8), cand_to_user=index),
        dict(user={0: U}, cand={0: B}, cand_to_user={0: B}),
    ),
    "target_attention": (
        target_attention.TargetAttention(32, num_heads=4),
        dict(target=torch.randn(7, 32), history=torch.randn(3, 9, 32), cand_to_user=index),
        dict(target={0: B}, history={0: U, 1: S}, cand_to_user={0: B}),
    ),
    "llm_attention": (
        Decode(),
        dict(x=torch.randn(2, 1, 64), keys=torch.randn(2, 2, 6, 8), values=torch.randn(2, 2, 6, 8)),
        dict(x={0: B}, keys={0: B, 2: S}, values={0: B, 2: S}),
    ),
    "mask_decoder": (
        mask_decoder.MaskDecoder(dim=16, num_heads=2, depth=1, num_masks=3),
        dict(
            image=torch.randn(1, 16, 4, 4),
            image_pe=torch.randn(1, 16, 4, 4),
            sparse=torch.randn(3, 2, 16),
            dense=torch.randn(3, 16, 4, 4),
        ),
        dict(image=None, image_pe=None, sparse={0: P}, dense={0: P}),
    ),
    "profile_mlp": (
        Profile(),
        dict(user=torch.randn(1, 64), cand=torch.randn(7, 16)),
        dict(user=None, cand={0: B}),
    ),
    "learned_queries": (LearnedQueries(), dict(frames=torch.randn(5, 6, 16)), dict(frames={0: B})),
}


def forget_sources(model):
    """Stack traces of the exporting machine are no part of a model."""
    model.metadata_props.clear()
    model.graph.metadata_props.clear()
    for node in model.graph.all_nodes():
        node.metadata_props.clear()
        for value in node.outputs:
            value.metadata_props.clear()
    for value in [*model.graph.inputs, *model.graph.initializers.values()]:
        value.metadata_props.clear()


def main():
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    torch.manual_seed(0)
    for name, (module, inputs, sizes) in MODELS.items():
        program = torch.onnx.export(
            module.eval(),
            kwargs=inputs,
            dynamic_shapes=sizes,
            opset_version=18,
            dynamo=True,
            verbose=False,
            # Constant folding would compute the copies of a constant at the export already.
            optimize=name != "learned_queries",
        )
        forget_sources(program.model)
        path = out / f"{name}.onnx"
        program.save(path, external_data=False)
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
