"""Makes answers.json of this folder (pip install numpy; python make.py).

The word embedding association test of Caliskan, Bryson and Narayanan (2017, Science 356:183), written down from the paper: vectors of drawn words, two
targets of unequal size, two poles; the association of each word, the effect size (standard deviation of a sample) and the share of all partitions of the
targets' words that give at least the observed difference.
"""

import itertools
import json
from pathlib import Path

import numpy as np

rng = np.random.default_rng(11)
SETS = {"银行": ["甲行", "乙行", "丙行", "丁行"], "地产": ["甲地", "乙地", "丙地", "丁地", "戊地"], "好": ["好", "优", "升"], "坏": ["坏", "劣"]}
words = [word for members in SETS.values() for word in members]
# Values with few binary digits, so that they are the same in f32.
vectors = {word: (rng.integers(-32, 33, 6) / 16).tolist() for word in words}
unit = {word: np.array(v) / np.linalg.norm(v) for word, v in vectors.items()}


def towards(word, pole):
    return np.mean([unit[word] @ unit[other] for other in SETS[pole]])


association = {word: towards(word, "好") - towards(word, "坏") for name in ("银行", "地产") for word in SETS[name]}
first, second = ([association[word] for word in SETS[name]] for name in ("银行", "地产"))
observed = np.mean(first) - np.mean(second)
everything = np.array(first + second)
differences = []
for chosen in itertools.combinations(range(len(everything)), len(first)):
    taken = np.zeros(len(everything), bool)
    taken[list(chosen)] = True
    differences.append(everything[taken].mean() - everything[~taken].mean())
answers = {
    "sets": SETS,
    "vectors": vectors,
    "associations": association,
    "means": [np.mean(first), np.mean(second)],
    "size": observed / everything.std(ddof=1),
    "p": float(np.mean(np.array(differences) >= observed - 1e-12)),
    "partitions": len(differences),
}
Path(__file__).with_name("answers.json").write_text(json.dumps(answers, ensure_ascii=False, indent=1) + "\n")
