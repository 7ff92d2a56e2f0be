"""What every family shares: texts, words, cutting into tokens, pooling, export, and the check of an export."""

import json
import logging
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from tokenizers import Tokenizer

HERE = Path(__file__).parent
SEED = 20
HIDDEN, LAYERS, HEADS, INNER, LIMIT = 16, 2, 2, 32, 40

TEXTS = [
    "净利润同比增长",
    "公司拟回购股份，金额不超过3亿元。",
    "AI芯片Q3订单约12.5亿元，ROE升至8%！",
    "受上游材料涨价和订单下滑影响，公司上半年营业收入同比下降，毛利率降至近年低位；管理层称，新产品将于年底投产，全年业绩预计好于市场预期。",
    "",
    "鑫分红",
]
# A character of the last text is in no vocabulary, and some of the words below in no text.
CHARACTERS = sorted({c for c in "".join(TEXTS) if c != "鑫" and not c.isupper()} | set("0123456789亏损券股价、？,!"))
WORDPIECES = ["ai", "roe", "q", "eps"] + [f"##{digit}" for digit in range(10)]

# What a `config.json` keeps.
KEPT = """
    model_type vocab_size hidden_size n_embd d_model embedding_size num_hidden_layers n_layer num_layers
    num_decoder_layers encoder_layers decoder_layers num_attention_heads n_head num_heads
    encoder_attention_heads decoder_attention_heads intermediate_size n_inner d_inner d_ff d_kv encoder_ffn_dim
    decoder_ffn_dim max_position_embeddings n_positions mem_len type_vocab_size position_buckets
    relative_attention relative_attention_num_buckets relative_attention_max_distance pad_token_id bos_token_id
    eos_token_id decoder_start_token_id is_encoder_decoder problem_type
""".split()


def rounded(value):
    """Numbers to seven significant digits, lists and dictionaries likewise."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return rounded(value.tolist())
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def write_config(folder, config, **more):
    """What matters of a configuration."""
    given = config.to_dict()
    kept = {name: given[name] for name in KEPT if given.get(name) is not None}
    write_json(folder / "config.json", kept | more)


def write_json(path, value):
    """One line for each key of the outermost dictionary."""
    rows = (f"{json.dumps(key)}: {json.dumps(rounded(one), ensure_ascii=False)}" for key, one in value.items())
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def folder_of(name):
    """The folder of a family, made where it is not there."""
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    return folder


# Weights.


def shaken(model, scale=0.3):
    """The model with random weights, biases, and norms, so that no part of it is idle."""
    draw = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=draw) * scale
            is_scale = weight.dim() == 1 and name.endswith("weight")
            weight.copy_(1 + noise if is_scale else noise)
    return model.eval()


# Cutting.


def byte_offsets(text, offsets):
    """Offsets in characters as offsets in bytes of UTF-8."""
    at = [0]
    for character in text:
        at.append(at[-1] + len(character.encode()))
    return [[at[start], at[end]] for start, end in offsets]


def cases(tokenizer: Tokenizer, texts=TEXTS, limit=LIMIT):
    """Each text alone, cut into tokens; what is beyond the limit is left out."""
    if limit:
        tokenizer.enable_truncation(limit)
    made = []
    for number, text in enumerate(texts):
        cut = tokenizer.encode(text)
        made.append({
            "text": number,
            "ids": cut.ids,
            "mask": cut.attention_mask,
            "types": cut.type_ids,
            "offsets": byte_offsets(text, cut.offsets),
            "specials": cut.special_tokens_mask,
        })
    tokenizer.no_truncation()
    return made


def batch(rows, pad=0, left=False):
    """Rows of numbers as one tensor, padded on the right or on the left."""
    width = max(map(len, rows))
    padded = ([pad] * (width - len(row)) + row if left else row + [pad] * (width - len(row)) for row in rows)
    return torch.tensor(list(padded), dtype=torch.int64)


# Pooling.


def pooled(states, specials, cls=0, sep=-1, pooler=None):
    """Each pooling of one text; `states` are its hidden states, [tokens, hidden] each, `cls` and `sep` positions."""
    last = states[-1]
    text = [position for position, special in enumerate(specials) if not special]
    made = {
        "cls": last[cls],
        "mean": last.mean(0),
        "mean-text": last[text].mean(0) if text else None,
        "max": last.max(0).values,
        "last": last[-1],
        "sep": None if sep is None else last[sep],
        "pooler": pooler,
    }
    if len(states) == 1:
        return made
    first, before = states[1], states[-2]
    return made | {
        "first+last": ((first + last) / 2).mean(0),
        "last-2-mean": ((before + last) / 2).mean(0),
        "last-2-concat": torch.cat([before, last], -1).mean(0),
    }


def by_pooling(per_text):
    """Poolings of each text as a list over texts for each pooling; those that the family has not are left out."""
    names = next(filter(None, per_text))
    columns = {name: [one and one[name] for one in per_text] for name in names}
    return {name: rows for name, rows in columns.items() if any(row is not None for row in rows)}


# Export and its check.


class Named(torch.nn.Module):
    """A function over a model as a module that takes and gives tensors in order."""

    def __init__(self, model, run, names):
        super().__init__()
        self.model, self.run, self.names = model, run, names
        self.eval()

    def forward(self, *inputs):
        return tuple(self.run(self.model, **dict(zip(self.names, inputs))).values())


def axes_of(name, tensor):
    """The axes that vary: the row of the batch, and the token where there is one."""
    if name == "layers":
        return {0: "batch", 2: "sequence"}
    if "mems" in name:
        return {0: "memory", 1: "batch"}
    if name == "pooler_output" or (name == "logits" and tensor.dim() == 2):
        return {0: "batch"}
    if name == "attention_mask" and tensor.dim() == 3:
        return {0: "batch", 1: "sequence", 2: "sequence"}
    return {0: "batch", 1: "encoder_sequence" if name.startswith("encoder") else "sequence"}


def export(model, run, inputs, path):
    """Writes `run(model, **inputs)`, a dictionary of outputs, as a graph."""
    with torch.no_grad():
        outputs = run(model, **inputs)
        torch.onnx.export(
            Named(model, run, list(inputs)), tuple(inputs.values()), str(path), dynamo=False, opset_version=17,
            input_names=list(inputs), output_names=list(outputs),
            dynamic_axes={name: axes_of(name, tensor) for name, tensor in [*inputs.items(), *outputs.items()]},
        )
    slim(path)


def slim(path):
    """Leaves out of a graph what only a reader of it would see, and gives short names to what is within it."""
    model = onnx.load(path)
    graph = model.graph
    short = {value.name: value.name for value in [*graph.input, *graph.output]} | {"": ""}
    del graph.value_info[:]
    for weight in graph.initializer:
        weight.name = short.setdefault(weight.name, str(len(short)))
    for node in graph.node:
        node.name, node.doc_string = "", ""
        for names in (node.input, node.output):
            names[:] = [short.setdefault(name, str(len(short))) for name in names]
    onnx.save(model, path)


def outputs_of(path, inputs):
    """What the graph gives, by name."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in graph.get_outputs()]
    return dict(zip(names, graph.run(names, {name: np.asarray(value) for name, value in inputs.items()})))


def check(what, got, expected, tolerance=1e-5):
    """Fails where two arrays differ by more than the tolerance, relative to the largest value."""
    got, expected = np.asarray(got), np.asarray(expected)
    scale = max(1.0, np.abs(expected).max(initial=0))
    if got.shape != expected.shape or not np.allclose(got, expected, rtol=0, atol=tolerance * scale):
        raise SystemExit(f"{what}: {got.shape} {got.ravel()[:4]} is not {expected.shape} {expected.ravel()[:4]}")


def check_alone(path, inputs, expected):
    """Fails where the graph does not give the model's outputs."""
    got = outputs_of(path, inputs)
    for name, value in expected.items():
        check(f"{path.parent.name} {name}, alone", got[name], value)


def check_batch(path, inputs, alone, lengths, left=False):
    """Fails where a padded batch does not give what each text gives alone."""
    got = outputs_of(path, inputs)
    width = inputs["input_ids"].shape[1]
    for row, (one, length) in enumerate(zip(alone, lengths)):
        tokens = range(width - length, width) if left else range(length)
        for name, expected in one.items():
            axes = {label: axis for axis, label in axes_of(name, expected).items()}
            of_row = got[name][row]
            if "sequence" in axes:
                of_row = of_row.take(tokens, axes["sequence"] - 1)
            check(f"{path.parent.name} {name}, text {row}", of_row, expected[0])


def quiet():
    """One thread, and no talk of the exporter."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
