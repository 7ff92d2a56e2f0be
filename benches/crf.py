"""CRFsuite on the features that `inkstone train crf` sees by default: python crf.py TRAIN.jsonl TEST.jsonl (pip install python-crfsuite).

Prints as JSON: characters, seconds of the features, of the training and of the tagging, steps, and F1 of the names.
"""

import json
import re
import sys
import tempfile
import time

import pycrfsuite

TEMPLATES = [
    [(look, int(distance)) for look, distance in re.findall(r"([ct])(-?\d+)", template)]
    for template in "c-2,c-1,c0,c1,c2,c-2c-1,c-1c0,c0c1,c1c2,c-1c1,t0,t-1t0t1".split(",")
]


def kind(c):
    if "0" <= c <= "9" or "０" <= c <= "９":
        return "1"
    if c.isascii() and c.isalpha():
        return "2"
    if c in "〇一二三四五六七八九十百千万亿":
        return "3"
    if c in "年月日时分秒":
        return "4"
    if c.isspace():
        return "5"
    if "\u4e00" <= c <= "\u9fff":
        return "6"
    return "7" if c.isalnum() else "8"


def features(text):
    def seen(look, at):
        if at < 0:
            return "<"
        if at >= len(text):
            return ">"
        return text[at] if look == "c" else kind(text[at])

    return [
        [f"{n}={'|'.join(seen(look, at + d) for look, d in template)}" for n, template in enumerate(TEMPLATES)]
        for at in range(len(text))
    ]


def read(path):
    texts, labels = [], []
    for line in open(path, encoding="utf-8"):
        line = json.loads(line)
        text = line["text"]
        row = ["O"] * len(text)
        for name in line["entities"]:
            first, end = (len(text.encode()[: name[place]].decode()) for place in ("start", "end"))
            places = ["S"] if end - first == 1 else ["B"] + ["I"] * (end - first - 2) + ["E"]
            row[first:end] = [f"{place}-{name['kind']}" for place in places]
        texts.append(text)
        labels.append(row)
    return texts, labels


def names(rows):
    found = set()
    for n, row in enumerate(rows):
        start = None
        for at, label in enumerate(row):
            place, _, name = label.partition("-")
            if place == "S":
                found.add((n, at, at, name))
            start = at if place == "B" else start if place in "IE" else None
            if place == "E" and start is not None:
                found.add((n, start, at, name))
    return found


def main():
    texts, labels = read(sys.argv[1])
    others, right = read(sys.argv[2])
    began = time.perf_counter()
    rows = [pycrfsuite.ItemSequence(features(text)) for text in texts]
    made = time.perf_counter() - began
    trainer = pycrfsuite.Trainer(verbose=False)
    for row, label in zip(rows, labels):
        trainer.append(row, label)
    trainer.set_params({
        "c1": 0.0, "c2": 1.0, "max_iterations": 200, "delta": 1e-5, "period": 10,
        "feature.possible_states": True, "feature.possible_transitions": True,
    })
    with tempfile.NamedTemporaryFile() as file:
        began = time.perf_counter()
        trainer.train(file.name)
        trained = time.perf_counter() - began
        tagger = pycrfsuite.Tagger()
        tagger.open(file.name)
        began = time.perf_counter()
        found = [tagger.tag(features(text)) for text in others]
        tagged = time.perf_counter() - began
    found, right = names(found), names(right)
    hits = len(found & right)
    print(json.dumps({
        "features": made, "train": trained, "steps": len(trainer.logparser.iterations), "tag": tagged,
        "f1": 2 * hits / max(len(found) + len(right), 1),
        "characters": sum(map(len, texts)), "test_characters": sum(map(len, others)),
    }))


main()
