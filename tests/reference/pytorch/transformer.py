"""Makes transformer.json of this folder with PyTorch (pip install torch==2.15.0 numpy==2.4.6; python transformer.py).

Each case is PyTorch's own TransformerEncoderLayer with drawn weights on texts of several lengths: the outputs, and the gradients of a weighted sum of
them by the inputs and by each weight, in the order of Inkstone's block.
"""

import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.set_default_dtype(torch.float64)
WIDTH, HEADS, BETWEEN, LENGTHS = 8, 2, 12, [3, 1, 5]
rng = np.random.default_rng(5)


def drawn(*shape):
    """Values with few binary digits, so that they are the same in f32."""
    return torch.tensor(rng.integers(-48, 49, shape) / 64)


def case(place, activation):
    function = {"gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "relu": F.relu}[activation]
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, BETWEEN, 0.0, function, 1e-12, batch_first=True, norm_first=place == "before")
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(drawn(*weight.shape))
    attention = layer.self_attn
    x = drawn(sum(LENGTHS), WIDTH).requires_grad_()
    wanted = drawn(sum(LENGTHS), WIDTH)
    out = torch.cat([layer(text[None])[0] for text in x.split(LENGTHS)])
    (out * wanted).sum().backward()

    def weights(of):
        query, key, value = of(attention.in_proj_weight).split(WIDTH)
        biases = of(attention.in_proj_bias).split(WIDTH)
        heads = [part for pair in zip((query, key, value), biases) for part in pair]
        rest = [attention.out_proj.weight, attention.out_proj.bias, layer.norm1.weight, layer.norm1.bias, layer.linear1.weight, layer.linear1.bias]
        rest += [layer.linear2.weight, layer.linear2.bias, layer.norm2.weight, layer.norm2.bias]
        return [part.flatten().tolist() for part in heads + [of(weight) for weight in rest]]

    return {
        "place": place,
        "activation": activation,
        "weights": weights(lambda weight: weight.detach()),
        "x": x.flatten().tolist(),
        "wanted": wanted.flatten().tolist(),
        "out": out.flatten().tolist(),
        "by_x": x.grad.flatten().tolist(),
        "by_weights": weights(lambda weight: weight.grad),
    }


cases = [case(*kind) for kind in (("after", "gelu"), ("before", "gelu_tanh"), ("after", "relu"))]
made = {"width": WIDTH, "heads": HEADS, "between": BETWEEN, "lengths": LENGTHS, "cases": cases}
(Path(__file__).parent / "transformer.json").write_text(json.dumps(made) + "\n")
