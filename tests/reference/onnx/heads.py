"""BERT with a head: labels of a text, labels of its tokens, and the token behind a mask."""

import math

import torch
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertForTokenClassification

from common import TEXTS, byte_offsets, cases, check_alone, folder_of, shaken, write_config
from cutting import word_pieces
from encoders import SIZES, padded, save_tokenizer, write_expected, write_graph

MASKED = "公司[MASK]利润同比下降。"
TONES = {0: "negative", 1: "neutral", 2: "positive"}
TOPICS = {0: "orders", 1: "buyback", 2: "earnings", 3: "costs"}
TAGS = {0: "O", 1: "B-ORG", 2: "I-ORG", 3: "B-PROD", 4: "I-PROD"}

# So that there are spans of more than one token.
LEAN = [0.5, -0.5, 0.6, 0.8, 0.6]


def logits(model, **inputs):
    """What the head says, before it is made a probability."""
    return {"logits": model(**inputs).logits}


def headed(name, kind, of_logits, lean=None, **config):
    """Writes a model with a head, and what `of_logits` makes of its logits, to which `lean` is added."""
    tokenizer, folder = word_pieces(), folder_of(name)
    model = shaken(kind(BertConfig(**SIZES, **config)))
    if lean:
        model.classifier.bias.data += torch.tensor(lean)
    rows = cases(tokenizer)
    outputs = write_graph(folder / "model.onnx", model, logits, rows)
    write_expected(folder, rows, **of_logits(rows, [one["logits"][0] for one in outputs]))
    labels = {"id2label": config["id2label"]} if "id2label" in config else {}
    write_config(folder, model.config, **labels)
    save_tokenizer(folder, tokenizer)
    return model, tokenizer, folder


def bert_classifier():
    def probabilities(_, said):
        return {"logits": said, "probabilities": [one.softmax(-1) for one in said]}

    kind = "single_label_classification"
    headed("bert-classifier", BertForSequenceClassification, probabilities, id2label=TONES, problem_type=kind)


def bert_multilabel():
    def probabilities(_, said):
        return {"logits": said, "probabilities": [one.sigmoid() for one in said]}

    kind = "multi_label_classification"
    headed("bert-multilabel", BertForSequenceClassification, probabilities, id2label=TOPICS, problem_type=kind)


def bert_tokens():
    def tagged(rows, said):
        labels = [one.argmax(-1).tolist() for one in said]
        tokens = [[cutter.id_to_token(token) for token in row["ids"]] for row in rows]
        return {"labels": labels, "entities": [entities(*one) for one in zip(rows, labels, tokens)]}

    cutter = word_pieces()

    headed("bert-tokens", BertForTokenClassification, tagged, LEAN, id2label=TAGS)


def entities(row, labels, tokens):
    """Spans of a text, in bytes: `I-` goes on with what is open and of its type, and opens one where nothing is. A word that was
    cut into pieces has the label of its first, as in the aggregation "first" of transformers."""
    text, open_type, found = TEXTS[row["text"]].encode(), None, []
    for label, special, (start, end), token in zip(labels, row["specials"], row["offsets"], tokens):
        if token.startswith("##"):
            if open_type:
                found[-1]["end"] = end
            continue
        begins, _, kind = ("O" if special else TAGS[label]).partition("-")
        if begins == "I" and kind == open_type:
            found[-1]["end"] = end
        elif kind:
            found.append({"type": kind, "start": start, "end": end})
        open_type = kind
    return [one | {"text": text[one["start"] : one["end"]].decode()} for one in found]


def masked_surprise(model, row, mask):
    """-log10 of the probability of each token of the text when it alone is hidden (Salazar et al. 2020)."""
    found = []
    for place in (place for place, special in enumerate(row["specials"]) if not special):
        hidden = row["ids"][:place] + [mask] + row["ids"][place + 1 :]
        with torch.no_grad():
            said = logits(model, **padded([{"ids": hidden, "mask": row["mask"], "types": row["types"]}]))["logits"]
        p = said[0, place].double().log_softmax(-1)[row["ids"][place]]
        found.append(-p.item() / math.log(10))
    return found


def bert_mlm():
    model, tokenizer, folder = headed("bert-mlm", BertForMaskedLM, lambda rows, said: {})
    cut = tokenizer.encode(MASKED)
    position = cut.tokens.index("[MASK]")
    inputs = padded([{"ids": cut.ids, "mask": cut.attention_mask, "types": cut.type_ids}])
    with torch.no_grad():
        said = logits(model, **inputs)
    check_alone(folder / "model.onnx", inputs, said)
    top = said["logits"][0, position].softmax(-1).topk(5)
    rows = cases(tokenizer)
    surprise = [masked_surprise(model, row, tokenizer.token_to_id("[MASK]")) for row in rows]
    write_expected(folder, rows, surprise=surprise, masked={
        "text": MASKED, "ids": cut.ids, "offsets": byte_offsets(MASKED, cut.offsets), "position": position,
        "top": [
            {"token": tokenizer.id_to_token(token), "id": token, "probability": probability}
            for token, probability in zip(top.indices.tolist(), top.values.tolist())
        ],
    })
