"""Makes encoder.json of this folder (pip install torch==2.15.0 transformers==5.24.0 peft==0.21.2; python encoder.py).

Each case is a class of transformers with drawn weights on texts of several lengths: the scores, the loss, the gradient by each weight, and the losses of
50 steps of torch.optim.AdamW with transformers' linear schedule (a tenth of the steps rising), gradients clipped to 1. Matrices decay by 0.01,
vectors do not. The rate of a layer is 1.3 times lower than that of the layer above it in the cases that say so. A case with `words` adds so many times
the mean loss of the next tokens of a text to the loss of its class (Radford and others 2018), or that of its masked words, and one with `teacher` learns its logits at a temperature
of 3 (Hinton, Vinyals and Dean 2015). The last case is one step with peft's matrices of low rank.
"""

import json
from pathlib import Path

import numpy as np
import peft
import torch
import transformers as hf
from transformers.models.bert.modeling_bert import BertOnlyMLMHead

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(7)
SIZES = {"vocab_size": 14, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
SIZES |= {"max_position_embeddings": 9, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.0}
TEXTS = [[2, 5, 9, 7, 3], [2, 6, 3], [2, 8, 10, 11, 12, 13, 3], [2, 7, 7, 3]]
STEPS, RATE, TEMPERATURE = 50, 0.003, 3.0


def drawn(*shape):
    """Values with few binary digits, so that they are the same in f32."""
    return torch.tensor(rng.integers(-32, 33, shape) / 64)


def made(kind, config):
    return redrawn(kind(config))


def redrawn(model):
    model.eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(drawn(*weight.shape))
    return model


def inputs(pad):
    longest = max(len(text) for text in TEXTS)
    ids = torch.tensor([text + [pad] * (longest - len(text)) for text in TEXTS])
    return {"input_ids": ids, "attention_mask": torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in TEXTS])}


def weights(model, of):
    names = {id(weight): name for name, weight in model.named_parameters()}
    return {names[id(weight)]: of(weight).flatten().tolist() for weight in model.parameters() if of(weight) is not None}


def group(name, layers):
    """0 for the embeddings, then the layers that have weights of their own, then the head."""
    for before in ("encoder.layer.", "albert_layer_groups.", "transformer.h."):
        if before in name:
            return 1 + int(name.split(before)[1].split(".")[0])
    return 0 if any(part in name for part in ("embedding", "wte", "wpe")) else layers + 1


def steps(model, loss, discriminative):
    layers = getattr(model.config, "num_hidden_groups", model.config.num_hidden_layers)
    groups = [
        {
            "params": [weight],
            "lr": RATE * discriminative ** (group(name, layers) - layers - 1),
            "weight_decay": 0.01 if weight.ndim == 2 and weight.shape[0] > 1 else 0.0,
        }
        for name, weight in model.named_parameters()
    ]
    adam = torch.optim.AdamW(groups)
    schedule = hf.get_linear_schedule_with_warmup(adam, STEPS // 10, STEPS)
    losses = []
    for _ in range(STEPS):
        adam.zero_grad()
        found = loss()
        found.backward()
        losses.append(found.item())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        schedule.step()
    return losses


def next_words_loss(model, given):
    """The mean over the texts of the mean loss of their next tokens."""
    states = model.transformer(**given).last_hidden_state
    logits = states @ model.transformer.wte.weight.T
    losses = torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), given["input_ids"][:, 1:], reduction="none")
    seen = given["attention_mask"][:, 1:]
    return ((losses * seen).sum(1) / seen.sum(1)).mean()


def masked_words_loss(model, given):
    """The mean over the texts of the mean loss of their masked words; 0 for a text without any."""
    logits, labels = model.cls(model.bert(**given).last_hidden_state), words()
    losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return (losses.sum(1) / (labels >= 0).sum(1).clamp(min=1)).mean()


def spans_loss(out, given, spans):
    """The mean of both losses as BertForQuestionAnswering has it, over the tokens of each text alone."""
    hidden = given["attention_mask"] == 0
    both = [logits.masked_fill(hidden, -torch.inf) for logits in (out.start_logits, out.end_logits)]
    return sum(torch.nn.functional.cross_entropy(logits, spans[:, end]) for end, logits in enumerate(both)) / 2


def case(model, labels, pad=0, discriminative=1.0, words=0.0, teacher=None):
    given = inputs(pad)
    model.config.pad_token_id = pad

    def loss():
        if teacher is not None:
            shares = [scores / TEMPERATURE for scores in (teacher, model(**given).logits)]
            return -TEMPERATURE**2 * (shares[0].softmax(1) * shares[1].log_softmax(1)).sum(1).mean()
        if isinstance(model, hf.BertForQuestionAnswering):
            return spans_loss(model(**given), given, labels)
        found = model(**given, labels=labels).loss
        words_loss = masked_words_loss if hasattr(model, "cls") else next_words_loss
        return found + words * words_loss(model, given) if words else found

    begun = weights(model, lambda weight: weight.detach())
    out = model(**given)
    scores = out.logits if "logits" in out else torch.stack([out.start_logits, out.end_logits], -1)
    first = loss()
    first.backward()
    return {
        "class": type(model).__name__,
        "config": {
            **model.config.to_diff_dict(),
            "model_type": model.config.model_type,
            "architectures": [type(model).__name__],
            **settings(model),
        },
        "shapes": {name: list(weight.shape) for name, weight in model.named_parameters()},
        "weights": begun,
        "labels": labels.tolist(),
        "scores": scores.flatten().tolist(),
        "loss": first.item(),
        "gradients": weights(model, lambda weight: weight.grad),
        "discriminative": discriminative,
        "words": words,
        "teacher": None if teacher is None else teacher.flatten().tolist(),
        "losses": steps(model, loss, discriminative),
    }


def settings(model):
    """The sizes by the names of the model's family."""
    if model.config.model_type != "gpt2":
        names = [*SIZES, "embedding_size", "num_hidden_groups"]
        return {name: getattr(model.config, name) for name in names if hasattr(model.config, name)}
    names = ["vocab_size", "n_embd", "n_layer", "n_head", "n_inner", "n_positions"]
    return {name: getattr(model.config, name) for name in names}


MORE = {"embedding_size": 4, "num_hidden_groups": 2}


def config(kind, **more):
    return kind(**SIZES, **more)


def albert(**more):
    """Four layers of two blocks, and tables of 4 columns."""
    return hf.AlbertConfig(**{**SIZES, "num_hidden_layers": 4}, **MORE, classifier_dropout_prob=0.0, **more)


def gpt2(**more):
    sizes = {"vocab_size": 14, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_inner": 12, "n_positions": 9}
    return hf.GPT2Config(**sizes, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0, pad_token_id=0, **more)


def next_tokens():
    given = inputs(0)
    return torch.where(given["attention_mask"] == 1, given["input_ids"], -100)


def words():
    """Masked words: places of the first and the third text."""
    labels = torch.full(inputs(0)["input_ids"].shape, -100)
    labels[0, 2], labels[2, 1], labels[2, 5] = 4, 8, 12
    return labels


classes = torch.tensor([0, 2, 1, 2])
cases = [
    case(made(hf.BertForSequenceClassification, config(hf.BertConfig, num_labels=3, problem_type="single_label_classification")), classes),
    case(
        made(hf.BertForSequenceClassification, config(hf.BertConfig, num_labels=3, problem_type="single_label_classification")),
        classes,
        discriminative=1.3,
    ),
    case(
        made(
            hf.RobertaForSequenceClassification,
            config(hf.RobertaConfig, num_labels=2, pad_token_id=1, type_vocab_size=1, problem_type="multi_label_classification"),
        ),
        torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]),
        pad=1,
    ),
    case(
        made(hf.ElectraForSequenceClassification, config(hf.ElectraConfig, embedding_size=8, num_labels=1, problem_type="regression")),
        torch.tensor([0.5, -1.0, 0.25, 2.0]),
    ),
    case(made(hf.BertForMaskedLM, config(hf.BertConfig, hidden_act="gelu_new")), words()),
    case(
        made(hf.ElectraForSequenceClassification, config(hf.ElectraConfig, embedding_size=4, num_labels=1, problem_type="regression")),
        torch.tensor([0.5, -1.0, 0.25, 2.0]),
    ),
    case(
        made(hf.AlbertForSequenceClassification, albert(num_labels=3, problem_type="single_label_classification")),
        classes,
        discriminative=1.3,
    ),
    case(made(hf.AlbertForMaskedLM, albert()), words()),
    case(made(hf.GPT2LMHeadModel, gpt2()), next_tokens()),
    case(
        made(hf.GPT2ForSequenceClassification, gpt2(num_labels=3, problem_type="single_label_classification")),
        classes,
        discriminative=1.3,
    ),
    case(
        made(hf.GPT2ForSequenceClassification, gpt2(num_labels=3, problem_type="single_label_classification")),
        classes,
        words=0.5,
    ),
]


def low_rank():
    model = made(hf.BertForSequenceClassification, config(hf.BertConfig, num_labels=3, problem_type="single_label_classification"))
    begun = weights(model, lambda weight: weight.detach().clone())
    shapes = {name: list(weight.shape) for name, weight in model.named_parameters()}
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=2, lora_alpha=4, lora_dropout=0.0, target_modules=["query", "value"]))
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_" in name:
                weight.copy_(drawn(*weight.shape))
    adapted.eval()
    out = adapted(**inputs(0), labels=classes)
    out.loss.backward()
    matrices = [(name, weight) for name, weight in adapted.named_parameters() if "lora_" in name]
    order = lambda pair: [int(pair[0].split("layer.")[1].split(".")[0]), pair[0].find(".query.") < 0, "lora_B" in pair[0]]
    matrices.sort(key=order)
    return {
        "config": cases[0]["config"],
        "shapes": shapes,
        "weights": begun,
        "labels": classes.tolist(),
        "loss": out.loss.item(),
        "matrices": [weight.detach().flatten().tolist() for _, weight in matrices],
        "gradients": [weight.grad.flatten().tolist() for _, weight in matrices],
    }


def factors(make):
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    schedule, found = make(optimizer), []
    for _ in range(20):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


def slanted(steps, share, ratio=32):
    """The formula of Howard and Ruder 2018, section 3.2, with t counted from 0."""
    cut = steps * share
    p = [t / cut if t < cut else 1 - (t - cut) / (steps - cut) for t in range(steps)]
    return [(1 + share * (ratio - 1)) / ratio for share in p]


matrices = low_rank()
cases.append(
    case(
        made(hf.BertForSequenceClassification, config(hf.BertConfig, num_labels=3, problem_type="single_label_classification")),
        classes,
        teacher=drawn(4, 3) * 4,
    )
)
cases.append(case(made(hf.ElectraForMaskedLM, config(hf.ElectraConfig, embedding_size=4)), words()))
tags = torch.where(inputs(0)["input_ids"] > 4, torch.tensor(rng.integers(0, 3, (4, 7))), -100)
cases.append(case(made(hf.BertForTokenClassification, config(hf.BertConfig, num_labels=3)), tags))


def ordered(model):
    """Masked words, and whether the second half of each text follows the first."""
    given = inputs(0)
    lengths = given["attention_mask"].sum(1, keepdim=True)
    given["token_type_ids"] = (torch.arange(7)[None] >= lengths // 2).long() * given["attention_mask"]
    orders = torch.tensor([0, 1, 1, 0])
    named = "sentence_order_label" if model.config.model_type == "albert" else "next_sentence_label"
    begun = weights(model, lambda weight: weight.detach().clone())
    loss = model(**given, labels=words(), **{named: orders}).loss
    loss.backward()
    return {
        "config": {**model.config.to_diff_dict(), "model_type": model.config.model_type, **settings(model)},
        "shapes": {name: list(weight.shape) for name, weight in model.named_parameters()},
        "weights": begun,
        "orders": orders.tolist(),
        "loss": loss.item(),
        "gradients": weights(model, lambda weight: weight.grad),
    }


# Whether tokens were replaced, of all tokens of texts.
replaced = torch.tensor(rng.integers(0, 2, (4, 7)))
discriminator = case(made(hf.ElectraForPreTraining, config(hf.ElectraConfig)), replaced)
made_here = {
    "texts": TEXTS,
    "rate": RATE,
    "cases": cases,
    "low_rank": matrices,
    "discriminator": discriminator,
    "ordered": [ordered(made(hf.BertForPreTraining, config(hf.BertConfig))), ordered(made(hf.AlbertForPreTraining, albert()))],
    "schedules": {
        "linear": factors(lambda optimizer: hf.get_linear_schedule_with_warmup(optimizer, 2, 20)),
        "cosine": factors(lambda optimizer: hf.get_cosine_schedule_with_warmup(optimizer, 2, 20)),
        "constant": factors(lambda optimizer: hf.get_constant_schedule_with_warmup(optimizer, 2)),
        "stlr": slanted(20, 0.1),
    },
}

both = config(hf.BertConfig, num_labels=3, problem_type="single_label_classification")
both = hf.BertForSequenceClassification(both)
both.cls = BertOnlyMLMHead(both.config)
both.cls.predictions.decoder.weight = both.bert.embeddings.word_embeddings.weight
both.cls.predictions.decoder.bias = both.cls.predictions.bias
cases.append(case(redrawn(both), classes, words=0.5))
# First and last tokens of answers; the second text has none.
spans = torch.tensor([[1, 3], [0, 0], [2, 5], [2, 2]])
asked = made(hf.BertForQuestionAnswering, config(hf.BertConfig))
with torch.no_grad():
    # Tokens are far apart, so that gradients are large beside the rounding of single precision.
    asked.qa_outputs.weight *= 8
cases.append(case(asked, spans))


def short(value):
    """Nine digits of each number."""
    if isinstance(value, dict):
        return {name: short(part) for name, part in value.items()}
    if isinstance(value, list):
        return [short(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


text = json.dumps(short(made_here), default=str)
(Path(__file__).parent / "encoder.json").write_text(text + "\n")
