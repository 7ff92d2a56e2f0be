"""Makes encoder.json of this folder (pip install torch==2.15.0 transformers==5.24.0 peft==0.21.2; python encoder.py).

Each case is a class of transformers with drawn weights on texts of several lengths: the scores, the loss, the gradient by each weight, and the losses of
50 steps of torch.optim.AdamW with transformers' linear schedule (a tenth of the steps rising), gradients clipped to 1. Matrices decay by 0.01,
vectors do not. The rate of a layer is 1.3 times lower than that of the layer above it in the second case. The last case is one step with peft's
matrices of low rank.
"""

import json
from pathlib import Path

import numpy as np
import peft
import torch
import transformers as hf

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(7)
SIZES = {"vocab_size": 14, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
SIZES |= {"max_position_embeddings": 9, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.0}
TEXTS = [[2, 5, 9, 7, 3], [2, 6, 3], [2, 8, 10, 11, 12, 13, 3], [2, 7, 7, 3]]
STEPS, RATE = 50, 0.003


def drawn(*shape):
    """Values with few binary digits, so that they are the same in f32."""
    return torch.tensor(rng.integers(-32, 33, shape) / 64)


def made(kind, config):
    model = kind(config).eval()
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
    """0 for the embeddings, then the layers, then the head."""
    if "encoder.layer." in name:
        return 1 + int(name.split("encoder.layer.")[1].split(".")[0])
    return 0 if "embeddings" in name else layers + 1


def steps(model, loss, discriminative):
    layers = model.config.num_hidden_layers
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


def case(model, labels, pad=0, discriminative=1.0):
    given = inputs(pad)
    loss = lambda: model(**given, labels=labels).loss
    begun = weights(model, lambda weight: weight.detach())
    out = model(**given, labels=labels)
    out.loss.backward()
    return {
        "class": type(model).__name__,
        "config": {**model.config.to_diff_dict(), "model_type": model.config.model_type, **SIZES},
        "shapes": {name: list(weight.shape) for name, weight in model.named_parameters()},
        "weights": begun,
        "labels": labels.tolist(),
        "scores": out.logits.flatten().tolist(),
        "loss": out.loss.item(),
        "gradients": weights(model, lambda weight: weight.grad),
        "discriminative": discriminative,
        "losses": steps(model, loss, discriminative),
    }


def config(kind, **more):
    return kind(**SIZES, **more)


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


made_here = {
    "texts": TEXTS,
    "rate": RATE,
    "cases": cases,
    "low_rank": low_rank(),
    "schedules": {
        "linear": factors(lambda optimizer: hf.get_linear_schedule_with_warmup(optimizer, 2, 20)),
        "cosine": factors(lambda optimizer: hf.get_cosine_schedule_with_warmup(optimizer, 2, 20)),
        "constant": factors(lambda optimizer: hf.get_constant_schedule_with_warmup(optimizer, 2)),
        "stlr": slanted(20, 0.1),
    },
}


def short(value):
    """Nine digits of each number."""
    if isinstance(value, dict):
        return {name: short(part) for name, part in value.items()}
    if isinstance(value, list):
        return [short(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


text = json.dumps(short(made_here), default=str)
(Path(__file__).parent / "encoder.json").write_text(text + "\n")
