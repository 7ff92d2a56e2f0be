"""Tiny random models that read two texts, and what transformers and sentence-transformers give for them.

python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==5.24.0 sentence-transformers==6.2.0
venv/bin/python tests/reference/pairs/make.py

Writes a folder a tokenizer (tokenizers/NAME), a folder a model, and expected.json: ids and segments of pairs, cut by `longest_first` and
`only_first`; the zero-shot-classification pipeline with multi_label off and on; CrossEncoder.predict; logits of next-sentence prediction
and multiple choice; logits of answers. answers.py makes of the last what transformers' pipeline and its script for SQuAD do.
"""

import json
import shutil
from pathlib import Path

import sentence_transformers
import torch
import transformers as t

HERE = Path(__file__).parent
TEXTS = [
    "净利润同比增长",
    "公司拟回购股份，金额不超过3亿元。",
    "受上游材料涨价和订单下滑影响，公司上半年营业收入同比下降，毛利率降至近年低位；管理层称，新产品将于年底投产，全年业绩预计好于市场预期。",
]
OTHERS = ["该消息利好公司股价。", "该消息利空公司股价，投资者应当注意风险，谨慎判断，避免追高。", "订单"]
LABELS = {"good": OTHERS[0], "bad": "该消息利空公司股价。", "none": "该消息与公司股价无关。"}
CHARACTERS = sorted({c for text in [*TEXTS, *OTHERS, *LABELS.values(), "多少？"] for c in text} | set("0123456789.%亿万"))
LIMIT = 40


def rounded(value):
    if isinstance(value, torch.Tensor):
        return rounded(value.tolist())
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def numbered(tokens):
    return {token: number for number, token in enumerate(tokens)}


def tokenizers():
    """Tokenizers of each family with small vocabularies of its own."""
    bert = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *CHARACTERS]
    scored = lambda specials: [(piece, 0.0) for piece in specials] + [("▁", -2.0)] + [(c, -3.0) for c in CHARACTERS]
    letters = byte_letters()
    return {
        "bert": t.BertTokenizer(vocab=numbered(bert), model_max_length=LIMIT),
        "roberta": t.RobertaTokenizer(vocab=numbered(["<s>", "<pad>", "</s>", "<unk>", "<mask>", *letters]), merges=[]),
        "xlnet": t.XLNetTokenizer(vocab=scored(["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"])),
        "albert": t.AlbertTokenizer(vocab=scored(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"])),
        "xlm-roberta": t.XLMRobertaTokenizer(vocab=scored(["<s>", "<pad>", "</s>", "<unk>"]) + [("<mask>", 0.0)]),
        "t5": t.T5Tokenizer(vocab=scored(["<pad>", "</s>", "<unk>"]), extra_ids=0),
    }


def byte_letters():
    from tokenizers import pre_tokenizers

    return sorted(pre_tokenizers.ByteLevel.alphabet())


def pairs(made):
    found = []
    for text in TEXTS:
        for other in OTHERS:
            for limit in (11, 24, LIMIT):
                one = {"text": text, "other": other, "limit": limit}
                for strategy in ("longest_first", "only_first"):
                    try:
                        cut = made(text, other, truncation=strategy, max_length=limit, return_token_type_ids=True)
                        one[strategy] = [cut["input_ids"], cut["token_type_ids"]]
                    except Exception:
                        one[strategy] = None
                if one["only_first"] and len(one["only_first"][0]) > limit:
                    one["only_first"] = None
                found.append(one)
    return found


def models(vocabulary):
    bert = dict(
        vocab_size=vocabulary, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
        max_position_embeddings=LIMIT, pad_token_id=0,
    )
    inference = ["contradiction", "neutral", "entailment"]
    labels = dict(id2label=dict(enumerate(inference)), label2id=numbered(inference))
    return {
        "inference": t.BertForSequenceClassification(t.BertConfig(**bert, **labels)),
        "reranker": t.BertForSequenceClassification(t.BertConfig(**bert, num_labels=1)),
        "next-sentence": t.BertForNextSentencePrediction(t.BertConfig(**bert)),
        "pretraining": t.BertForPreTraining(t.BertConfig(**bert)),
        "order": t.AlbertForPreTraining(t.AlbertConfig(**bert, embedding_size=4)),
        "answers": t.BertForQuestionAnswering(t.BertConfig(**bert)),
        "choice": t.BertForMultipleChoice(t.BertConfig(**bert)),
    }


def main():
    made = tokenizers()
    expected = {"pairs": {}, "labels": LABELS}
    for name, tokenizer in made.items():
        folder = HERE / "tokenizers" / name
        shutil.rmtree(folder, ignore_errors=True)
        tokenizer.save_pretrained(folder)
        expected["pairs"][name] = pairs(tokenizer)
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer = made["bert"]
    both = [[text, other] for text in TEXTS for other in OTHERS]
    for number, (name, model) in enumerate(models(len(tokenizer)).items()):
        torch.manual_seed(number)
        for place, weights in model.named_parameters():
            # Larger than as they are made, so that other tokens give other values.
            if not place.endswith("LayerNorm.weight"):
                torch.nn.init.normal_(weights, 0.0, 1.0 if weights.dim() > 1 else 0.3)
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        model.tie_weights()
        model.save_pretrained(folder)
        shutil.copy(HERE / "tokenizers" / "bert" / "tokenizer.json", folder / "tokenizer.json")
        tokenizer.save_pretrained(folder)
        model = type(model).from_pretrained(folder, attn_implementation="eager").eval()
        read = lambda pairs, how: tokenizer(
            *map(list, zip(*pairs)), truncation=how, max_length=LIMIT, padding=True, return_tensors="pt"
        )
        with torch.no_grad():
            if name == "inference":
                # The pipeline cuts the document alone.
                pipe = t.pipeline("zero-shot-classification", model=model, tokenizer=tokenizer)
                one = {}
                for multi in (False, True):
                    rows = [
                        pipe(text, list(LABELS.values()), hypothesis_template="{}", multi_label=multi)
                        for text in TEXTS
                    ]
                    order = list(LABELS.values())
                    one["each" if multi else "one"] = [
                        [dict(zip(row["labels"], row["scores"]))[text] for text in order] for row in rows
                    ]
                one["logits"] = model(**read(both, "longest_first")).logits
            elif name == "reranker":
                encoder = sentence_transformers.CrossEncoder(str(folder), max_length=LIMIT, device="cpu")
                one = {"scores": [float(score) for score in encoder.predict(both)]}
            elif name == "answers":
                inputs = read([[OTHERS[0], text] for text in TEXTS], "only_second")
                given = model(**inputs)
                one = {"start": given.start_logits, "end": given.end_logits}
            elif name == "choice":
                inputs = {key: value.unsqueeze(0) for key, value in read([[TEXTS[0], o] for o in OTHERS], "longest_first").items()}
                one = {"logits": model(**inputs).logits}
            else:
                given = model(**read(both, "longest_first"))
                logits = next(given[key] for key in ("seq_relationship_logits", "sop_logits", "logits") if key in given)
                one = {"probabilities": logits.softmax(-1)}
        expected[name] = one
        for file in folder.iterdir():
            if file.name not in ("config.json", "model.safetensors", "tokenizer.json"):
                file.unlink()
    expected["texts"], expected["others"], expected["limit"] = TEXTS, OTHERS, LIMIT
    for folder in (HERE / "tokenizers").iterdir():
        for file in folder.iterdir():
            if file.name != "tokenizer.json":
                file.unlink()
    (HERE / "expected.json").write_text(json.dumps(rounded(expected), ensure_ascii=False) + "\n", encoding="utf-8")


main()
