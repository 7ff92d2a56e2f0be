"""BERT with a head: labels of a text, labels of its tokens, and the token behind a mask; ELECTRA's head that tells replaced tokens."""

import math

import torch
from transformers import (
    BertConfig, BertForMaskedLM, BertForSequenceClassification, BertForTokenClassification, BertModel, ElectraConfig, ElectraForPreTraining,
)

from common import HIDDEN, TEXTS, Named, byte_offsets, cases, check_alone, folder_of, shaken, slim, write_config
from cutting import word_pieces
from encoders import SIZES, call, padded, save_tokenizer, write_expected, write_graph

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


def electra_discriminator():
    """Weights alone, and -log10 of the probability that each token of the text is the original one."""
    tokenizer, folder = word_pieces(), folder_of("electra-discriminator")
    model = shaken(ElectraForPreTraining(ElectraConfig(**SIZES, embedding_size=8)))
    rows = cases(tokenizer)

    def surprise(row):
        with torch.no_grad():
            replaced = model(**padded([row])).logits[0].double()
        original = torch.nn.functional.logsigmoid(-replaced)
        return [-p / math.log(10) for p, special in zip(original.tolist(), row["specials"]) if not special]

    write_expected(folder, rows, surprise=[surprise(row) if row["ids"] else None for row in rows])
    model.save_pretrained(folder)
    save_tokenizer(folder, tokenizer)


def bge_m3():
    """The three outputs of bge-m3 by the formulas of its paper (Chen et al. 2024): a vector, a weight of each token, a vector of each token."""
    class Three(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = BertModel(BertConfig(**SIZES), add_pooling_layer=False)
            self.weight, self.vectors = torch.nn.Linear(HIDDEN, 1), torch.nn.Linear(HIDDEN, HIDDEN)

        def forward(self, attention_mask, **inputs):
            states = self.body(attention_mask=attention_mask, **inputs).last_hidden_state
            vectors = self.vectors(states[:, 1:]) * attention_mask[:, 1:, None]
            return {
                "dense_vecs": torch.nn.functional.normalize(states[:, 0], dim=-1), "sparse_vecs": torch.relu(self.weight(states)),
                "colbert_vecs": torch.nn.functional.normalize(vectors, dim=-1),
            }

    tokenizer, folder, model = word_pieces(), folder_of("bge-m3"), shaken(Three())
    rows = [row for row in cases(tokenizer) if row["ids"]]
    singles = [padded([row]) for row in rows]
    with torch.no_grad():
        outputs = [model(**single) for single in singles]
    names = ["input_ids", "attention_mask", "token_type_ids"]
    tokens = {0: "batch", 1: "sequence"}
    axes = {name: tokens for name in [*names, "sparse_vecs", "colbert_vecs"]} | {"dense_vecs": {0: "batch"}}
    torch.onnx.export(
        Named(model, call, names), tuple(padded(rows)[name] for name in names), str(folder / "model.onnx"), dynamo=False, opset_version=17,
        input_names=names, output_names=["dense_vecs", "sparse_vecs", "colbert_vecs"], dynamic_axes=axes,
    )
    slim(folder / "model.onnx")
    for single, output in zip(singles, outputs):
        check_alone(folder / "model.onnx", single, output)
    unknown = tokenizer.token_to_id("[UNK]")

    def weights(row, output):
        largest = {}
        for token, special, weight in zip(row["ids"], row["specials"], output["sparse_vecs"][0, :, 0].tolist()):
            if not special and token != unknown and weight > 0:
                largest[token] = max(weight, largest.get(token, 0))
        return sorted(largest.items())

    def score(query, document):
        products = query["colbert_vecs"][0] @ document["colbert_vecs"][0].T
        return products.max(-1).values.mean().item()

    write_expected(
        folder, rows, dense=[output["dense_vecs"][0].tolist() for output in outputs],
        weights=[weights(row, output) for row, output in zip(rows, outputs)],
        late=[[score(query, document) for document in outputs] for query in outputs],
    )
    write_config(folder, model.body.config)
    save_tokenizer(folder, tokenizer)
