"""Makes mlp.json of this folder with PyTorch (pip install torch==2.15.0 numpy==2.4.6; python mlp.py).

Each case is a perceptron of Inkstone with drawn weights on rows of sparse and dense columns: the scores, the mean loss, its gradients, and
the weights after one step of Adam with weight_decay. Dense columns are standardised by these rows (ddof 0). Every sparse column is stored by
some row, so that Inkstone's lazy steps are those of PyTorch.
"""

import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
HERE = Path(__file__).parent
ROWS, SPARSE, DENSE, RATE = 6, 5, 3, 0.05
rng = np.random.default_rng(11)


def drawn(*shape):
    """Values with few binary digits, so that they are the same in f32."""
    return rng.integers(-64, 65, shape) / 64


CELLS = [[[0, 1.0], [2, 0.5]], [[1, 2.0]], [], [[0, 0.25], [3, 1.5], [4, 1.0]], [[2, 1.0], [4, 0.5]], [[1, 0.75], [3, 0.5]]]
RAW = drawn(ROWS, DENSE) * 4
VALUES = [0.5, -1.0, 2.0, 0.25, -0.75, 1.0]
TWO, THREE = [0, 1, 1, 0, 1, 0], [0, 1, 2, 1, 0, 2]
LABELS = [[0, 2], [1], [], [0, 1, 2], [1], [2]]
WEIGHTS = [1.0, 2.0, 0.5, 1.0, 0.5, 1.0]


def run(goal, hidden, outputs, l2, weighted):
    sizes = list(zip([DENSE] + hidden, hidden + [outputs]))
    shapes = [(SPARSE, hidden[0])] + [shape for inputs, out in sizes for shape in [(inputs, out), (1, out)]]
    w = [torch.tensor(drawn(*shape)).requires_grad_() for shape in shapes]
    before = [x.detach().flatten().tolist() for x in w]
    sparse = np.zeros((ROWS, SPARSE))
    for row, cells in zip(sparse, CELLS):
        for column, value in cells:
            row[column] = value
    dense = (RAW - RAW.mean(0)) / RAW.std(0)
    x = torch.tensor(sparse) @ w[0] + torch.tensor(dense) @ w[1] + w[2]
    for weights, bias in zip(w[3::2], w[4::2]):
        x = F.relu(x) @ weights + bias
    if goal == "values":
        y = (np.array(VALUES) - np.mean(VALUES)) / np.std(VALUES)
        losses = 0.5 * F.mse_loss(x[:, 0], torch.tensor(y), reduction="none")
    elif goal == "two":
        losses = F.binary_cross_entropy_with_logits(x[:, 0], torch.tensor(TWO, dtype=torch.float64), reduction="none")
    elif goal == "three":
        losses = F.cross_entropy(x, torch.tensor(THREE), reduction="none")
    else:
        right = torch.tensor([[float(label in row) for label in range(outputs)] for row in LABELS])
        losses = F.binary_cross_entropy_with_logits(x, right, reduction="none").sum(1)
    row_weights = np.array(WEIGHTS) / np.mean(WEIGHTS) if weighted else np.ones(ROWS)
    loss = (losses * torch.tensor(row_weights)).mean()
    loss.backward()
    gradients = [np.round(x.grad.flatten().numpy(), 9).tolist() for x in w]
    groups = [{"params": w[0:2] + w[3::2], "weight_decay": l2}, {"params": w[2::2], "weight_decay": 0.0}]
    # Inkstone adds epsilon, 1e-8, before the correction of the squares (the second form of the paper), PyTorch after it.
    torch.optim.Adam(groups, lr=RATE, eps=1e-8 / (1 - 0.999) ** 0.5).step()
    return {
        "goal": goal, "hidden": hidden, "l2": l2, "weighted": weighted, "weights": before,
        "scores": np.round(x.detach().flatten().numpy(), 9).tolist(), "loss": round(loss.item(), 9), "gradients": gradients,
        "after": [np.round(x.detach().flatten().numpy(), 9).tolist() for x in w],
    }


out = {
    "rate": RATE, "cells": CELLS, "dense": RAW.tolist(), "values": VALUES, "two": TWO, "three": THREE, "labels": LABELS,
    "row_weights": WEIGHTS,
    "cases": [
        run("values", [4], 1, 0.0, False),
        run("two", [3], 1, 0.1, True),
        run("three", [4, 3], 3, 0.01, False),
        run("labels", [3, 2, 3], 3, 0.0, True),
    ],
}
(HERE / "mlp.json").write_text(json.dumps(out, separators=(",", ":")) + "\n", encoding="utf-8")
