"""Makes sentences.json of this folder with PyTorch (pip install torch==2.15.0 numpy==2.4.6; python sentences.py).

Each case is an encoder of sentences of Inkstone with drawn weights: the rows of the sentences, the mean loss, its gradients, and the weights
after one step of Adam. The layers are PyTorch's own (GRU, LSTM, cross_entropy, Adam); weights are turned from the layout of Inkstone's model
files into PyTorch's.
"""

import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

torch.set_default_dtype(torch.float64)
HERE = Path(__file__).parent
WORDS, DIM, HIDDEN, CLASSES, RATE = 6, 3, 2, 3, 0.05
# The number WORDS stands for all other words.
SENTENCES = [[0, 1, 2, 3, 4], [6, 1, 5], [3], [2, 2, 0, 6], [5, 4, 3, 2, 1, 0, 1], [1, 5], [3], [4, 4, 0]]
# Neighbours; the sentences 2 and 6 are the same, and one is no wrong neighbour in place of the other.
PAIRS = [[0, 1], [1, 2], [3, 4], [5, 6], [6, 7]]
LABELS = [0, 1, 2, 1, 0]
FEATURES = 2 * HIDDEN
ENCODER = ["forward", "backward"]
rng = np.random.default_rng(11)


def drawn(*shape):
    """Values with few binary digits, so that they are the same in f32."""
    return torch.tensor(rng.integers(-64, 65, shape) / 64).requires_grad_()


def shapes(method):
    gates = 4 if method == "infersent" else 3
    layer = lambda name, inputs: [
        (f"{name}_words", (gates * HIDDEN, inputs)),
        (f"{name}_state", (gates * HIDDEN, HIDDEN)),
        (f"{name}_bias", (1, 4 * HIDDEN)),
    ]
    names = ENCODER + (["other_forward", "other_backward"] if method == "quick-thoughts" else [])
    all = [("vectors", (WORDS + 1, DIM))] + [shape for name in names for shape in layer(name, DIM)]
    if method == "skip-thoughts":
        all += layer("before", DIM + FEATURES) + layer("behind", DIM + FEATURES) + [("output", (WORDS + 2, HIDDEN + 1))]
    if method == "infersent":
        all += [("classes", (CLASSES, 4 * FEATURES + 1))]
    return all


def states(method, w, name, x):
    """The states of one direction over x, [tokens, inputs]."""
    words, state, bias = (w[f"{name}_{part}"] for part in ("words", "state", "bias"))
    bias, h = bias[0], HIDDEN
    if method == "infersent":
        module = nn.LSTM(x.shape[1], h)
        given = {"weight_ih_l0": words, "weight_hh_l0": state, "bias_ih_l0": bias, "bias_hh_l0": torch.zeros(4 * h)}
    else:
        # Inkstone: W n, r, z; U r, z, n; b n, r, z and that of n within the reset gate. PyTorch: r, z, n.
        module = nn.GRU(x.shape[1], h)
        given = {
            "weight_ih_l0": torch.cat([words[h:], words[:h]]),
            "weight_hh_l0": state,
            "bias_ih_l0": torch.cat([bias[h : 3 * h], bias[:h]]),
            "bias_hh_l0": torch.cat([torch.zeros(2 * h), bias[3 * h :]]),
        }
    return functional_call(module, given, (x[:, None],))[0][:, 0]


def encode(method, w, sentence, names=ENCODER):
    x = w["vectors"][torch.tensor(sentence)]
    both = [states(method, w, names[0], x), states(method, w, names[1], x.flip(0))]
    if method == "infersent":
        return torch.cat([s.amax(0) for s in both])
    return torch.cat([s[-1] for s in both])


def write(w, name, row, sentence):
    """Minus the logarithm of the probability of a sentence and its end, beside a row."""
    read = torch.cat([torch.zeros(1, DIM), w["vectors"][torch.tensor(sentence)]])
    x = torch.cat([read, row.expand(len(read), -1)], 1)
    scores = F.linear(states("skip-thoughts", w, name, x), w["output"][:, :-1], w["output"][:, -1])
    return F.cross_entropy(scores, torch.tensor(sentence + [WORDS + 1]), reduction="sum")


def loss(method, w):
    """The mean loss of a prediction, and the rows of the sentences."""
    rows = torch.stack([encode(method, w, s) for s in SENTENCES])
    if method == "quick-thoughts":
        other = torch.stack([encode(method, w, s, ["other_forward", "other_backward"]) for s in SENTENCES])
        total = 0.0
        for asked, answers in ((0, 1), (1, 0)):
            f = rows[[pair[asked] for pair in PAIRS]]
            named = [SENTENCES[pair[answers]] for pair in PAIRS]
            scores = f @ other[[pair[answers] for pair in PAIRS]].T
            same = torch.tensor([[i != j and a == b for j, b in enumerate(named)] for i, a in enumerate(named)])
            total = total + F.cross_entropy(
                scores.masked_fill(same, -torch.inf), torch.arange(len(PAIRS)), reduction="sum"
            )
        return total / (2 * len(PAIRS)), torch.cat([rows, other], 1)
    if method == "skip-thoughts":
        total, words = 0.0, 0
        for before, behind in PAIRS:
            total = total + write(w, "behind", rows[before], SENTENCES[behind])
            total = total + write(w, "before", rows[behind], SENTENCES[before])
            words += len(SENTENCES[before]) + len(SENTENCES[behind]) + 2
        return total / words, rows
    u, v = (rows[[pair[side] for pair in PAIRS]] for side in (0, 1))
    joint = torch.cat([u, v, (u - v).abs(), u * v], 1)
    scores = F.linear(joint, w["classes"][:, :-1], w["classes"][:, -1])
    return F.cross_entropy(scores, torch.tensor(LABELS)), rows


def flat(tensors):
    return {name: tensor.detach().reshape(-1).tolist() for name, tensor in tensors.items()}


cases = []
for method in ("quick-thoughts", "skip-thoughts", "infersent"):
    w = {name: drawn(*shape) for name, shape in shapes(method)}
    before = flat(w)
    mean, rows = loss(method, w)
    mean.backward()
    gradients = flat({name: value.grad for name, value in w.items()})
    torch.optim.Adam(w.values(), lr=RATE).step()
    cases.append({
        "method": method, "weights": before, "rows": rows.detach().reshape(-1).tolist(), "loss": mean.item(),
        "gradients": gradients, "stepped": flat(w),
    })
reference = {
    "words": WORDS, "dim": DIM, "hidden": HIDDEN, "classes": CLASSES, "rate": RATE, "sentences": SENTENCES, "pairs": PAIRS,
    "labels": LABELS, "cases": cases,
}
(HERE / "sentences.json").write_text(json.dumps(reference) + "\n")
