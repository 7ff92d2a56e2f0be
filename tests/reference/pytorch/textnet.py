"""Makes textnet.json of this folder with PyTorch (pip install torch==2.15.0 numpy==2.4.6; python textnet.py).

Each case is a network of Inkstone with drawn weights: the scores of some texts, the mean loss, its gradients, and
the weights after one step of Adam. The layers are
PyTorch's own (conv1d, LSTM, GRU, Adam with weight_decay); weights are turned from the layout of Inkstone's model files into PyTorch's.
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
WORDS, DIM, MAPS, HIDDEN, OUTPUTS, RATE = 6, 3, 2, 2, 3, 0.05
# The number WORDS stands for all other words. One text is shorter than every window.
DOCUMENTS = [[0, 1, 2, 3, 4], [6, 1, 5], [3], [2, 2, 0, 6], [5, 4, 3, 2, 1, 0, 1]]
CLASSES = [[0], [1], [2], [1], [0]]
LABELS = [[0, 2], [1], [], [0, 1, 2], [1]]
rng = np.random.default_rng(7)


def drawn(*shape):
    """Values with few binary digits, so that they are the same in f32."""
    return torch.tensor(rng.integers(-64, 65, shape) / 64).requires_grad_()


def shapes(case):
    inputs = DIM * (2 if case["channels"] == "both" else 1)
    if case["kind"] == "textcnn":
        features = len(case["widths"]) * MAPS
        inner = [(f"filters{i + 1}", (MAPS, width * inputs)) for i, width in enumerate(case["widths"])]
        inner.append(("filter_bias", (len(case["widths"]), MAPS)))
    else:
        inner, gates = [], 4 if case["cell"] == "lstm" else 3
        for i, reads in enumerate(case["layers"]):
            directions = ["forward", "backward"] if reads == "both" else ["forward"]
            for direction in directions:
                name = direction + (str(i + 1) if i else "")
                inner.append((f"{name}_words", (gates * HIDDEN, inputs)))
                inner.append((f"{name}_state", (gates * HIDDEN, HIDDEN)))
                inner.append((f"{name}_bias", (1, 4 * HIDDEN)))
            inputs = features = len(directions) * HIDDEN
    all = [("vectors", (WORDS + 1, DIM)), ("classes", (OUTPUTS, features + 1))] + inner
    return all + ([("static_vectors", (WORDS + 1, DIM))] if case["channels"] == "both" else [])


def direction(case, w, name, x):
    """The states of one direction over x, [tokens, inputs]."""
    words, state, bias = (w[f"{name}_{part}"] for part in ("words", "state", "bias"))
    bias, h = bias[0], HIDDEN
    if case["cell"] == "lstm":
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
    backward = name.startswith("backward")
    states = functional_call(module, given, (x.flip(0) if backward else x)[:, None])[0][:, 0]
    return states.flip(0) if backward else states


def features(case, w, x):
    if case["kind"] == "textcnn":
        out = []
        for i, width in enumerate(case["widths"]):
            padded = F.pad(x, (0, 0, 0, max(0, width - len(x))))
            filters = w[f"filters{i + 1}"].view(MAPS, width, -1).permute(0, 2, 1)
            maps = F.relu(F.conv1d(padded.T[None], filters, w["filter_bias"][i]))[0]
            out.append(maps.amax(1) if case["pool"] == "max" else maps.mean(1))
        return torch.cat(out)
    for i, reads in enumerate(case["layers"]):
        names = ["forward", "backward"] if reads == "both" else ["forward"]
        states = [direction(case, w, name + (str(i + 1) if i else ""), x) for name in names]
        x = torch.cat(states, 1)
    if case["pool"] == "max":
        return x.amax(0)
    if case["pool"] == "mean":
        return x.mean(0)
    return torch.cat([states[-1] if j == 0 else states[0] for j, states in enumerate(states)])


def run(case):
    w = {name: drawn(*shape) for name, shape in shapes(case)}
    before = {name: value.detach().flatten().tolist() for name, value in w.items()}
    rows = []
    for document in DOCUMENTS:
        x = w["vectors"][document]
        if case["channels"] == "both":
            x = torch.cat([x, w["static_vectors"][document]], 1)
        rows.append(w["classes"] @ torch.cat([features(case, w, x), torch.ones(1)]))
    scores = torch.stack(rows)
    if case["labels"]:
        right = torch.tensor([[float(label in row) for label in range(OUTPUTS)] for row in LABELS])
        loss = F.binary_cross_entropy_with_logits(scores, right, reduction="sum") / len(DOCUMENTS)
    else:
        loss = F.cross_entropy(scores, torch.tensor([row[0] for row in CLASSES]))
    fixed = {"static_vectors"} | ({"vectors"} if case["channels"] == "static" else set())
    inner = [value for name, value in w.items() if name != "vectors" and name not in fixed]
    groups = [{"params": inner, "weight_decay": case["l2"]}]
    if "vectors" not in fixed:
        groups.append({"params": [w["vectors"]]})
    # Inkstone adds epsilon, 1e-8, before the correction of the squares (the second form of the paper), PyTorch after it.
    optimiser = torch.optim.Adam(groups, lr=RATE, eps=1e-8 / (1 - 0.999) ** 0.5)
    loss.backward()
    gradients = {name: np.round(value.grad.flatten().numpy(), 9).tolist() for name, value in w.items() if name not in fixed}
    optimiser.step()
    after = {name: np.round(value.detach().flatten().numpy(), 9).tolist() for name, value in w.items()}
    return {
        "network": {
            "kind": case["kind"], "dim": DIM, "widths": case["widths"], "maps": MAPS, "cell": case["cell"],
            "layers": case["layers"], "hidden": HIDDEN, "pool": case["pool"], "dropout": 0.0, "l2": case["l2"],
            "channels": case["channels"],
            "fit": {"epochs": 1, "batch": len(DOCUMENTS), "lr": RATE, "clip": 0.0, "held_out_share": 0.0},
        },
        "labels": case["labels"],
        "weights": before,
        "scores": np.round(scores.detach().numpy(), 9).tolist(),
        "loss": round(loss.item(), 9),
        "gradients": gradients,
        "after": after,
    }


BASE = {
    "kind": "textcnn", "widths": [2, 3], "cell": "lstm", "layers": ["both"], "pool": "max", "labels": False, "l2": 0.0,
    "channels": "tuned",
}
CASES = [
    {},
    {"pool": "mean", "labels": True},
    {"channels": "both", "l2": 0.01},
    {"kind": "textrnn", "l2": 0.01},
    {"kind": "textrnn", "layers": ["both", "forward"], "pool": "last"},
    {"kind": "textrnn", "cell": "gru", "pool": "mean", "labels": True},
    {"kind": "textrnn", "cell": "gru", "layers": ["forward"], "pool": "last", "channels": "static"},
    {"kind": "textrnn", "cell": "gru", "layers": ["both", "both"], "channels": "both"},
]
made = {
    "torch": torch.__version__.split("+")[0],
    "words": WORDS,
    "outputs": OUTPUTS,
    "documents": DOCUMENTS,
    "classes": [row[0] for row in CLASSES],
    "labels": LABELS,
    "cases": [run(BASE | case) for case in CASES],
}
(HERE / "textnet.json").write_text(json.dumps(made) + "\n")
