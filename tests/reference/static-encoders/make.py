"""Writes small static encoders and the vectors that model2vec gives texts with them.

Made with model2vec 0.10.0, tokenizers 0.23.3 and numpy 2.4.6 under Python 3.11:

    pip install model2vec==0.10.0
    python tests/reference/static-encoders/make.py

The values are drawn at random from a seed; the texts are invented. `mapped` has a smaller table of vectors with a mapping and weights, as
model2vec's vocabulary quantisation gives, `halves` keeps half precision, `whole` reads a text without a limit. `distilled` was written by
Inkstone from 300 invented lines of finance words, and model2vec reads it as it is:

    inkstone train static --model tests/reference/onnx/bert --input lines.jsonl --fitted-until 2023-12-31 --components 8 --words 30 \
        --min-count 2 --output tests/reference/static-encoders/distilled
"""

import json
import shutil
from pathlib import Path

import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

HERE = Path(__file__).parent
CHARACTERS = "公司拟回购股份净利润同比增长下滑订单充足减持的一二三"
TOKENS = ["[PAD]", "[UNK]", *CHARACTERS, "profit", "##s", "up", "q", "##3", "，", "。"]
TEXTS = [
    "公司拟回购股份，净利润同比增长。",
    "订单充足 profits up Q3",
    "龘龘净利润龘下滑",
    "龘",
    "",
    "减持" * 40,
]
DIM = 5


def tokenizer():
    made = Tokenizer(WordPiece({token: i for i, token in enumerate(TOKENS)}, unk_token="[UNK]"))
    made.normalizer = BertNormalizer()
    made.pre_tokenizer = BertPreTokenizer()
    return made


def main():
    random = np.random.default_rng(7)
    table = random.normal(size=(len(TOKENS), DIM)).astype(np.float32)
    small = random.normal(size=(6, DIM)).astype(np.float32)
    mapping = random.integers(0, 6, size=len(TOKENS))
    weights = random.uniform(0.1, 2.0, size=len(TOKENS)).astype(np.float32)
    models = {
        "plain": StaticModel(table, tokenizer(), normalize=False, max_length=24),
        "unit": StaticModel(table, tokenizer(), normalize=True),
        "halves": StaticModel(table.astype(np.float16), tokenizer(), normalize=True),
        "mapped": StaticModel(small, tokenizer(), normalize=True, weights=weights, token_mapping=mapping),
        "whole": StaticModel(table, tokenizer(), normalize=False, max_length=None),
    }
    expected = {"texts": TEXTS}
    for name, model in models.items():
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        model.config["model_type"] = "model2vec"
        model.config["architectures"] = ["StaticModel"]
        model.save_pretrained(folder)
        for extra in ("README.md", "modules.json"):
            (folder / extra).unlink(missing_ok=True)
        # The vectors of a model of half precision are compared in single precision, of the same rounded table.
        if name == "halves":
            model = StaticModel(table.astype(np.float16).astype(np.float32), tokenizer(), normalize=True)
        expected[name] = [[float(value) for value in row] for row in model.encode(TEXTS)]
    distilled = StaticModel.from_pretrained(HERE / "distilled")
    expected["distilled"] = [[float(value) for value in row] for row in distilled.encode(TEXTS)]
    (HERE / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
