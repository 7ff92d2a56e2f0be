"""Makes lstm.json of this folder (pip install torch==2.15.0 transformers==5.24.0; python lstm.py).

Each case has LSTM layers (torch.nn.LSTM) with drawn weights on texts of several lengths: the loss, the gradient by each weight, and the losses of 50 steps of
torch.optim.AdamW with transformers' linear schedule (a tenth of the steps rising), gradients clipped to 1. Matrices decay by 0.01, vectors do not. The rate
of a layer is 1.3 times lower than that of the layer above it in the cases that say so. The inputs of each layer but the first are added to its outputs. A
language model learns the next words; one of both directions (ELMo) the words before, too, by a second LSTM for each layer. A class is predicted from the last
state, the greatest numbers and the means (ULMFiT).
"""

import json
from pathlib import Path

import numpy as np
import torch
import transformers as hf

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
rng = np.random.default_rng(7)
VOCABULARY, WIDTH, LAYERS, CLASSES = 14, 6, 2, 3
TEXTS = [[2, 5, 9, 7, 3], [2, 6, 3], [2, 8, 10, 11, 12, 13, 3], [2, 7, 7, 3]]
LABELS = [0, 2, 1, 2]
STEPS, RATE = 50, 0.003


class Model(torch.nn.Module):
    def __init__(self, both, classes):
        super().__init__()
        self.directions = 2 if both else 1
        units = WIDTH // self.directions
        self.table = torch.nn.Embedding(VOCABULARY, units)
        self.layers = torch.nn.ModuleList(
            torch.nn.ModuleList(torch.nn.LSTM(units, units, batch_first=True) for _ in range(self.directions)) for _ in range(LAYERS)
        )
        if classes:
            self.dense, self.classifier = torch.nn.Linear(3 * WIDTH, WIDTH), torch.nn.Linear(WIDTH, CLASSES)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                # Values with few binary digits, so that they are the same in f32. There is one bias.
                weight.copy_(torch.tensor(rng.integers(-32, 33, tuple(weight.shape)) / 64) * (0 if "bias_hh" in name else 1))

    def named(self):
        """The weights by their names in a folder."""
        names = {"lstm.embeddings.weight": self.table.weight}
        for number, layer in enumerate(self.layers):
            for name, lstm in zip(["forward", "backward"], layer):
                at = f"lstm.layers.{number}.{name}."
                names |= {at + "weight_ih": lstm.weight_ih_l0, at + "weight_hh": lstm.weight_hh_l0, at + "bias": lstm.bias_ih_l0}
        if hasattr(self, "dense"):
            names |= {"pooler.dense.weight": self.dense.weight, "pooler.dense.bias": self.dense.bias}
            names |= {"classifier.weight": self.classifier.weight, "classifier.bias": self.classifier.bias}
        return names

    def states(self, text):
        """The outputs of each direction, `[tokens, units]`, of a text alone."""
        found = []
        for direction in range(self.directions):
            x = self.table(torch.tensor(text))
            x = x.flip(0) if direction else x
            for number, layer in enumerate(self.layers):
                out = layer[direction](x[None])[0][0]
                x = out + x if number else out
            found.append(x.flip(0) if direction else x)
        return found

    def words_loss(self):
        """The mean over all tokens of the loss of the next token, and of the one before."""
        cross = lambda rows, right: torch.nn.functional.cross_entropy(rows @ self.table.weight.T, torch.tensor(right), reduction="sum")
        count = sum(len(text) - 1 for text in TEXTS)
        losses = 0
        for text in TEXTS:
            states = self.states(text)
            losses = losses + cross(states[0][:-1], text[1:])
            if self.directions == 2:
                losses = losses + cross(states[1][1:], text[:-1])
        return losses / count

    def scores(self):
        pooled = []
        for text in TEXTS:
            states = self.states(text)
            all_states = torch.cat(states, 1)
            last = torch.cat([states[0][-1], *(state[0] for state in states[1:])])
            pooled.append(torch.cat([last, all_states.max(0).values, all_states.mean(0)]))
        return self.classifier(self.dense(torch.stack(pooled)).relu())

    def loss(self):
        if hasattr(self, "dense"):
            return torch.nn.functional.cross_entropy(self.scores(), torch.tensor(LABELS))
        return self.words_loss()


def case(name, both, classes=False, discriminative=1.0):
    model = Model(both, classes)
    named = model.named()
    flat = lambda of: {key: of(weight).flatten().tolist() for key, weight in named.items()}
    begun, scores = flat(lambda weight: weight.detach()), model.scores().flatten().tolist() if classes else []
    first = model.loss()
    first.backward()
    gradients = flat(lambda weight: weight.grad)
    group = lambda key: 0 if "embeddings" in key else 1 + int(key.split(".")[2]) if "layers" in key else LAYERS + 1
    groups = [
        {"params": [weight], "lr": RATE * discriminative ** (group(key) - LAYERS - 1), "weight_decay": 0.01 if weight.ndim == 2 else 0.0}
        for key, weight in named.items()
    ]
    adam = torch.optim.AdamW(groups)
    schedule = hf.get_linear_schedule_with_warmup(adam, STEPS // 10, STEPS)
    losses = []
    for _ in range(STEPS):
        adam.zero_grad()
        loss = model.loss()
        loss.backward()
        losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(list(named.values()), 1.0)
        adam.step()
        schedule.step()
    config = {"model_type": "lstm", "vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "bidirectional": both,
              "max_position_embeddings": 9}
    return {"class": name, "config": config, "shapes": {key: list(weight.shape) for key, weight in named.items()}, "weights": begun,
            "labels": LABELS, "scores": scores, "loss": first.item(), "gradients": gradients, "discriminative": discriminative,
            "losses": losses}


cases = [
    case("LstmLMHeadModel", False),
    case("LstmForPreTraining", True),
    case("LstmForSequenceClassification", False, classes=True, discriminative=1.3),
    case("LstmForSequenceClassification", True, classes=True),
]
Path(__file__).with_suffix(".json").write_text(json.dumps({"texts": TEXTS, "rate": RATE, "cases": cases}) + "\n")
