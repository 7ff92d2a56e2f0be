"""The nearest words of official fastText (0.9.3) in words.bin, of words that it met and others: python nearest.py > nearest.json."""

import json
from pathlib import Path

import fasttext

model = fasttext.load_model(str(Path(__file__).parent / "words.bin"))
asked = ["大盘", "国债", "国债券", "净利", "央行逆回购", "从未"]
print(json.dumps({word: model.get_nearest_neighbors(word, k=5) for word in asked}, ensure_ascii=False))
