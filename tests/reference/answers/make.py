"""Exact match and F1 of answers, and F1 of entities: expected.json.

python3 -m venv venv && venv/bin/pip install nltk==3.10.4 seqeval==1.2.2
venv/bin/python tests/reference/answers/make.py

`squad` follows the official script of SQuAD 2.0 (evaluate-v2.0.py: normalize_answer, compute_exact, compute_f1, the best over the answers),
`cmrc` that of CMRC 2018 (cmrc2018_evaluate.py: mixed_segmentation, longest common part, remove_punctuation), whose Latin words are cut
by nltk's tokenizer of words. Entities are seqeval's, by kind and in all, from tags B-, I-, O."""

import collections
import json
import random
import re
import string
from pathlib import Path

from nltk.tokenize import NLTKWordTokenizer
from seqeval.metrics import classification_report
from seqeval.metrics.sequence_labeling import get_entities

WORDS = NLTKWordTokenizer()
MARKS = list("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』") + ["……"]


def normalised(text):
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def squad(gold, answer):
    def f1(one):
        wanted, found = normalised(one).split(), normalised(answer).split()
        same = sum((collections.Counter(wanted) & collections.Counter(found)).values())
        if not wanted or not found:
            return float(wanted == found)
        return 2 * same / (len(wanted) + len(found)) if same else 0.0

    gold = [one for one in gold if normalised(one)] or [""]
    return max(float(normalised(one) == normalised(answer)) for one in gold), max(map(f1, gold))


def segments(text):
    found, open_word = [], ""
    for c in text.lower().strip():
        if re.search(r"[\u4e00-\u9fa5]", c) or c in MARKS:
            found += WORDS.tokenize(open_word) if open_word else []
            open_word = ""
            found += [] if c in MARKS else [c]
        else:
            open_word += c
    return found + (WORDS.tokenize(open_word) if open_word else [])


def cmrc(gold, answer):
    def f1(one):
        wanted, found = segments(one), segments(answer)
        longest, table = 0, [[0] * (len(found) + 1) for _ in range(len(wanted) + 1)]
        for i, a in enumerate(wanted):
            for j, b in enumerate(found):
                if a == b:
                    table[i + 1][j + 1] = table[i][j] + 1
                    longest = max(longest, table[i + 1][j + 1])
        return 2 * longest / (len(wanted) + len(found)) if longest else 0.0

    plain = lambda text: "".join(c for c in text.lower().strip() if c not in MARKS)
    return max(float(plain(one) == plain(answer)) for one in gold), max(map(f1, gold))


def entities():
    random.seed(3)
    kinds = ["ORG", "PER", "LOC", "TIME"]
    wanted, found = [], []
    for _ in range(30):
        tags = []
        while len(tags) < 20:
            kind = random.choice(kinds[:3] + [None, None])
            length = random.randint(1, 4)
            tags += ["O"] * length if kind is None else [f"B-{kind}"] + [f"I-{kind}"] * (length - 1)
        wanted.append(tags)
        other = list(tags)
        for place in range(len(other)):
            if random.random() < 0.12:
                other[place] = random.choice(["O", "B-ORG", "B-TIME", "B-LOC"])
        # An I- behind another kind would begin an entity of its own there: it is made one.
        for place, tag in enumerate(other):
            if tag[0] == "I" and (place == 0 or other[place - 1][2:] != tag[2:]):
                other[place] = "B" + tag[1:]
        found.append(other)
    spans = lambda rows: [[[kind, start, end + 1] for kind, start, end in get_entities(row)] for row in rows]
    report = classification_report(wanted, found, output_dict=True, digits=8, zero_division=0)
    plain = {name: {key: round(float(value), 8) for key, value in row.items()} for name, row in report.items()}
    return {"wanted": spans(wanted), "found": spans(found), "report": plain}


ANSWERS = [
    (["3.5亿元"], "约3.5亿元"), (["12%", "增长12%"], "增长12%。"), (["公司拟回购股份"], "回购股份，金额"), (["净利润"], "营业收入"),
    (["The Bank of China", "BOC"], "bank of china"), (["a 5% rise", "5%"], "Rise of 5%"), (["“利好”公司"], "利好 公司"),
    ([""], ""), (["订单"], ""), (["2024年第3季度"], "2024年3季度"), (["iPhone 15 Pro（256GB）"], "iphone 15 pro 256gb"), (["1,200万元, 同比"], "1,200万元"),
]


def main():
    rows = []
    for gold, answer in ANSWERS:
        row = {"gold": gold, "answer": answer, "squad": squad(gold, answer), "cmrc": cmrc(gold, answer)}
        rows.append(row)
    made = {"answers": rows, "entities": entities()}
    path = Path(__file__).with_name("expected.json")
    path.write_text(json.dumps(made, ensure_ascii=False) + "\n", encoding="utf-8")


main()
