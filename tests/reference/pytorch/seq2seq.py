"""Makes seq2seq.json of this folder (pip install torch==2.15.0 transformers==5.24.0; python seq2seq.py).

A BartForConditionalGeneration with drawn weights reads texts of several lengths and writes others: the loss, the gradient by each weight, and the losses
of 50 steps of torch.optim.AdamW with transformers' linear schedule (a tenth of the steps rising), gradients clipped to 1. Matrices decay by 0.01,
vectors do not.
"""

import json
from pathlib import Path

import numpy as np
import torch
import transformers as hf

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
rng = np.random.default_rng(7)
SOURCES = [[2, 5, 9, 7, 3], [2, 6, 3], [2, 8, 10, 11, 12, 13, 3]]
TARGETS = [[2, 7, 3], [2, 6, 8, 9, 10, 3], [2, 12, 12, 3]]
STEPS, RATE = 50, 0.003
CONFIG = {
    "vocab_size": 14, "d_model": 8, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 12, "decoder_ffn_dim": 10, "max_position_embeddings": 9, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3,
    "decoder_start_token_id": 3, "activation_function": "gelu", "scale_embedding": False,
}


def filled(texts, pad):
    longest = max(len(text) for text in texts)
    return torch.tensor([text + [pad] * (longest - len(text)) for text in texts])


model = hf.BartForConditionalGeneration(
    hf.BartConfig(**CONFIG, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, classifier_dropout=0.0)
)
model.eval()
with torch.no_grad():
    for weight in model.parameters():
        # Values with few binary digits, so that they are the same in f32.
        weight.copy_(torch.tensor(rng.integers(-32, 33, tuple(weight.shape)) / 64))
given = {
    "input_ids": filled(SOURCES, 0),
    "attention_mask": filled([[1] * len(text) for text in SOURCES], 0),
    "decoder_input_ids": filled([[3, *text[:-1]] for text in TARGETS], 0),
    "decoder_attention_mask": filled([[1] * len(text) for text in TARGETS], 0),
    "labels": filled(TARGETS, -100),
}
named = dict(model.named_parameters())
flat = lambda of: {name: of(weight).flatten().tolist() for name, weight in named.items()}
begun = flat(lambda weight: weight.detach())
first = model(**given).loss
first.backward()
gradients = flat(lambda weight: weight.grad)
groups = [{"params": [weight], "weight_decay": 0.01 if weight.ndim == 2 else 0.0} for weight in named.values()]
adam = torch.optim.AdamW(groups, lr=RATE)
schedule = hf.get_linear_schedule_with_warmup(adam, STEPS // 10, STEPS)
losses = []
for _ in range(STEPS):
    adam.zero_grad()
    loss = model(**given).loss
    loss.backward()
    losses.append(loss.item())
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()
    schedule.step()
made = {
    "config": {**CONFIG, "model_type": "bart"},
    "shapes": {name: list(weight.shape) for name, weight in named.items()},
    "weights": begun, "sources": SOURCES, "targets": TARGETS, "rate": RATE, "loss": first.item(), "gradients": gradients, "losses": losses,
}
Path(__file__).with_suffix(".json").write_text(json.dumps(made) + "\n")
