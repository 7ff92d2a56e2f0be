"""A random GPT-2 of a realistic size, to measure `inkstone generate` with; nothing of it is kept in the repository.

    pip install torch transformers
    python speed.py FOLDER [layers hidden heads vocabulary]

Made with torch 2.15.0, transformers 5.24.0. The tokenizer is that of ../onnx/gpt2; the vocabulary is larger than it, as published ones are.
"""

import shutil
import sys
from pathlib import Path

import torch
import transformers as t

folder = Path(sys.argv[1])
layers, hidden, heads, vocabulary = map(int, sys.argv[2:] or (6, 384, 6, 21128))
torch.manual_seed(1)
model = t.GPT2LMHeadModel(t.GPT2Config(
    vocab_size=vocabulary, n_embd=hidden, n_layer=layers, n_head=heads, n_positions=1024, bos_token_id=0, eos_token_id=0, pad_token_id=0,
))
# No text ends before its limit.
model.transformer.wte.weight.data[0] = 0
model.save_pretrained(folder)
shutil.copy(Path(__file__).parent.parent / "onnx/gpt2/tokenizer.json", folder)
