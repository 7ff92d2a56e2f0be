"""Makes rnn.json of this folder (pip install torch==2.15.0 numpy==2.4.6; python rnn.py).

Recurrent encoders with their decoders, each cell with each score of attention: the logits and the mean loss of some texts, the gradient by each weight, and the losses of 5 steps of torch.optim.AdamW (matrices decay by 0.01, vectors do not) at a rate that falls evenly to 0, gradients clipped to 1. The cells are PyTorch's own
(LSTM, GRU, LSTMCell, GRUCell); weights are turned from the layout of Inkstone's folders into PyTorch's.
"""

import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
rng = np.random.default_rng(7)
VOCABULARY, WIDTH, STEPS, RATE = 14, 6, 5, 0.01
SOURCES = [[2, 5, 9, 7, 3], [2, 6, 3], [2, 8, 10, 11, 12, 13, 3]]
TARGETS = [[2, 7, 3], [2, 6, 8, 9, 10, 3], [2, 12, 12, 3]]


def shapes(cell, score):
    gates, half = (4 if cell == "lstm" else 3), WIDTH // 2
    all = {"shared.weight": (VOCABULARY, WIDTH)}
    for direction in ["forward", "backward"]:
        all[f"encoder.{direction}.weight_ih"] = (gates * half, WIDTH)
        all[f"encoder.{direction}.weight_hh"] = (gates * half, half)
        all[f"encoder.{direction}.bias"] = (4 * half,)
    all |= {"decoder.begin.weight": (WIDTH, WIDTH), "decoder.begin.bias": (WIDTH,)}
    all |= {"decoder.cell.weight_ih": (gates * WIDTH, 2 * WIDTH), "decoder.cell.weight_hh": (gates * WIDTH, WIDTH), "decoder.cell.bias": (4 * WIDTH,)}
    all |= {"decoder.read.weight": (WIDTH, 3 * WIDTH), "decoder.read.bias": (WIDTH,), "decoder.words.bias": (VOCABULARY,)}
    if score in ["additive", "general"]:
        all["decoder.attention.keys.weight"] = (WIDTH, WIDTH)
    if score == "additive":
        all |= {"decoder.attention.queries.weight": (WIDTH, WIDTH), "decoder.attention.score.weight": (1, WIDTH)}
    return all


def parameters(cell, w, name, suffix):
    """Weights of a cell as PyTorch has them. Inkstone's GRU: W n, r, z; U r, z, n; b n, r, z and that of n within the reset gate."""
    words, state, bias = (w[f"{name}.{part}"] for part in ("weight_ih", "weight_hh", "bias"))
    h = len(bias) // 4
    if cell == "lstm":
        parts = words, state, bias, torch.zeros(4 * h)
    else:
        parts = (
            torch.cat([words[h:], words[:h]]), state,
            torch.cat([bias[h : 3 * h], bias[:h]]), torch.cat([torch.zeros(2 * h), bias[3 * h :]]),
        )
    return dict(zip([f"{part}{suffix}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")], parts))


def scores_of(cell, score, w, source, target):
    """The logits behind each token of the target but the last."""
    layer = (nn.LSTM if cell == "lstm" else nn.GRU)(WIDTH, WIDTH // 2)
    step = (nn.LSTMCell if cell == "lstm" else nn.GRUCell)(2 * WIDTH, WIDTH)
    x = w["shared.weight"][source][:, None]
    ahead = functional_call(layer, parameters(cell, w, "encoder.forward", "_l0"), x)[0][:, 0]
    back = functional_call(layer, parameters(cell, w, "encoder.backward", "_l0"), x.flip(0))[0][:, 0].flip(0)
    memory, last = torch.cat([ahead, back], 1), torch.cat([ahead[-1], back[0]])
    state = memory_cell = torch.tanh(F.linear(last, w["decoder.begin.weight"], w["decoder.begin.bias"]))
    rows = []
    for before in target[:-1]:
        if score == "none":
            context = last
        else:
            keys = F.linear(memory, w["decoder.attention.keys.weight"]) if score != "dot" else memory
            if score == "additive":
                hidden = torch.tanh(keys + F.linear(state, w["decoder.attention.queries.weight"]))
                scores = F.linear(hidden, w["decoder.attention.score.weight"])[:, 0]
            else:
                scores = keys @ state
            context = torch.softmax(scores, 0) @ memory
        y = w["shared.weight"][before]
        given = state[None] if cell == "gru" else (state[None], memory_cell[None])
        out = functional_call(step, parameters(cell, w, "decoder.cell", ""), (torch.cat([y, context])[None], given))
        state, memory_cell = (out[0], None) if cell == "gru" else (out[0][0], out[1][0])
        read = torch.tanh(F.linear(torch.cat([state, context, y]), w["decoder.read.weight"], w["decoder.read.bias"]))
        rows.append(F.linear(read, w["shared.weight"], w["decoder.words.bias"]))
    return torch.stack(rows)


def case(cell, score):
    # Values with few binary digits, so that they are the same in f32.
    w = {name: torch.tensor(rng.integers(-64, 65, shape) / 64).requires_grad_() for name, shape in shapes(cell, score).items()}
    flat = lambda of: {name: of(weight).flatten().tolist() for name, weight in w.items()}
    begun = flat(lambda weight: weight.detach())
    count = sum(len(target) - 1 for target in TARGETS)
    scores = lambda: [scores_of(cell, score, w, source, target) for source, target in zip(SOURCES, TARGETS)]
    loss_of = lambda rows, target: F.cross_entropy(rows, torch.tensor(target[1:]), reduction="sum")
    mean = lambda: sum(loss_of(rows, target) for rows, target in zip(scores(), TARGETS)) / count
    logits = [np.round(rows.detach().numpy(), 9).tolist() for rows in scores()]
    first = mean()
    first.backward()
    gradients = flat(lambda weight: weight.grad.clone())
    is_matrix = lambda weight: weight.ndim == 2 and weight.shape[0] > 1
    adam = torch.optim.AdamW([{"params": [weight], "weight_decay": 0.01 if is_matrix(weight) else 0.0} for weight in w.values()], lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda done: 1.0 - done / STEPS)
    losses = []
    for _ in range(STEPS):
        adam.zero_grad()
        loss = mean()
        loss.backward()
        losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(list(w.values()), 1.0)
        adam.step()
        schedule.step()
    config = {
        "model_type": "rnn-seq2seq", "cell": cell, "attention": score, "vocab_size": VOCABULARY, "hidden_size": WIDTH,
        "max_position_embeddings": 9, "pad_token_id": 0, "decoder_start_token_id": 2, "eos_token_id": 3,
    }
    return {
        "config": config, "shapes": {name: list(weight.shape) for name, weight in w.items()}, "weights": begun,
        "loss": first.item(), "gradients": {name: np.round(values, 9).tolist() for name, values in gradients.items()}, "losses": losses, "logits": logits,
    }


cases = [case(cell, score) for cell in ["gru", "lstm"] for score in ["additive", "general", "dot", "none"]]
made = {"sources": SOURCES, "targets": TARGETS, "rate": RATE, "cases": cases}
Path(__file__).with_suffix(".json").write_text(json.dumps(made) + "\n")
