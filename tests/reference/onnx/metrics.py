"""Reference BLEU (sacrebleu) and ROUGE (rouge-score) of invented pairs: `python metrics.py`."""

import json
from pathlib import Path

from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU

PAIRS = [
    ("公司净利润同比增长", "公司上半年净利润同比增长三成"),
    ("订单下滑，毛利率承压。", "订单下滑，毛利率承压。"),
    ("", "公司拟回购股份"),
    ("新产品年底投产，业绩好于预期", "管理层称新产品将于年底投产，全年业绩好于市场预期"),
    ("股份回购股份回购股份回购", "公司拟回购股份"),
    ("AI芯片订单约12.5亿元", "AI芯片新订单12.5亿元，升8%"),
]
KINDS = ["rouge1", "rouge2", "rougeL"]


class Characters:
    """Words that a space parts, as they are."""

    @staticmethod
    def tokenize(text):
        return text.split()


def spaced(text):
    """The characters of a text with a space between them."""
    return " ".join(text)


def bleu(pairs, **options):
    """The score of a corpus, its precisions by length, and its brevity penalty."""
    made = BLEU(**options).corpus_score([pair[0] for pair in pairs], [[pair[1] for pair in pairs]])
    return {"score": made.score, "precisions": made.precisions, "brevity": made.bp}


def sentence_bleu(hypothesis, reference, **options):
    """The score of one pair, noughts smoothed, lengths beyond the text's left out."""
    made = BLEU(smooth_method="exp", effective_order=True, **options).sentence_score(hypothesis, [reference])
    return {"score": made.score, "precisions": made.precisions, "brevity": made.bp}


def rouge(hypothesis, reference):
    """Precision, recall, and F of each kind."""
    made = RougeScorer(KINDS, tokenizer=Characters()).score(spaced(reference), spaced(hypothesis))
    return {kind: {"precision": one.precision, "recall": one.recall, "f": one.fmeasure} for kind, one in made.items()}


def main():
    characters = [(spaced(hypothesis), spaced(reference)) for hypothesis, reference in PAIRS]
    reference = {
        "pairs": PAIRS,
        "bleu_zh": bleu(PAIRS, tokenize="zh"),
        "bleu_characters": bleu(characters, tokenize="none"),
        "sentence_bleu_zh": [sentence_bleu(*pair, tokenize="zh") for pair in PAIRS],
        "sentence_bleu_characters": [sentence_bleu(*pair, tokenize="none") for pair in characters],
        "rouge": [rouge(*pair) for pair in PAIRS],
    }
    rows = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in reference.items())
    (Path(__file__).parent / "metrics.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
