"""Makes crf.json: a conditional random field of words on made text, by CRFsuite.

    pip install sklearn-crfsuite==0.5.0 python-crfsuite==0.9.12
    python make.py > crf.json

Features are those of the templates below as inkstone computes them; all pairs of a feature and a label, and all pairs of labels have a
weight. The training ends where the loss no longer falls, so that the numbers are those of the one minimum.
"""

import json
import random

import sklearn_crfsuite

TEMPLATES = "c-1,c0,c1,c-1c0,c0c1,t0,t-1t0t1"
LABELS = ["B", "M", "E", "S"]
C2 = 0.5

random.seed(7)
SUBJECTS = ["公司", "本行", "贵州茅台", "北向资金", "A股", "券商"]
VERBS = ["拟", "将", "大幅", "减持", "增持", "回购", "披露"]
OBJECTS = ["股份", "净利润", "3亿元", "2024年", "业绩预告", "债", "ETF"]
MARKS = ["，", "。"]


def sentence():
    words = [random.choice(SUBJECTS), random.choice(VERBS)]
    if random.random() < 0.5:
        words.append(random.choice(VERBS))
    words.append(random.choice(OBJECTS))
    words.append(random.choice(MARKS))
    return words


def kind(c):
    if c.isascii() and c.isdigit():
        return "1"
    if c.isascii() and c.isalpha():
        return "2"
    if c in "〇一二三四五六七八九十百千万亿":
        return "3"
    if c in "年月日时分秒":
        return "4"
    if "\u4e00" <= c <= "\u9fff":
        return "6"
    return "8"


def value(letter, text, at):
    if at < 0:
        return "before"
    if at >= len(text):
        return "behind"
    return text[at] if letter == "c" else kind(text[at])


def features(text):
    rows = []
    for at in range(len(text)):
        row = []
        for template in TEMPLATES.split(","):
            looks = template.replace("c", " c").replace("t", " t").split()
            row.append(template + "=" + "|".join(value(look[0], text, at + int(look[1:])) for look in looks))
        rows.append(row)
    return rows


def labels(words):
    return [c for w in words for c in ("S" if len(w) == 1 else "B" + "M" * (len(w) - 2) + "E")]


train = [sentence() for _ in range(40)]
test = ["".join(sentence()) for _ in range(5)] + ["贵公司减持，增持3亿。"]
crf = sklearn_crfsuite.CRF(
    algorithm="lbfgs", c1=0.0, c2=C2, max_iterations=10000, epsilon=1e-12, delta=1e-14, period=50,
    all_possible_states=True, all_possible_transitions=True,
)
crf.fit([features("".join(words)) for words in train], [labels(words) for words in train])
state = crf.state_features_
texts = []
for text in test:
    rows = features(text)
    marginals = crf.predict_marginals_single(rows)
    texts.append({
        "text": text,
        "scores": [[sum(state.get((name, label), 0.0) for name in row) for label in LABELS] for row in rows],
        "marginals": [[row[label] for label in LABELS] for row in marginals],
        "labels": crf.predict_single(rows),
    })
print(json.dumps({
    "templates": TEMPLATES, "labels": LABELS, "c2": C2, "train": train,
    "pairs": [[crf.transition_features_[a, b] for b in LABELS] for a in LABELS], "test": texts,
}, ensure_ascii=False))
