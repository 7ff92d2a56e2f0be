"""Tiny folders of sentence-transformers with random weights, and the vectors that sentence-transformers gives with them.

    pip install torch transformers sentence-transformers onnx onnxruntime tokenizers sentencepiece
    python make.py

Made with torch 2.15.0, transformers 5.23.0, sentence-transformers 6.2.0, onnx 1.23.2, tokenizers 0.23.3.

`bert` is the graph of ../onnx/bert, whose weights are made again here, checked and written to `weights`, a folder without a graph. `qwen3` (padded on the left, last token,
position_ids) and `ernie` (task_type_ids) have graphs of their own; `within` gives `sentence_embedding` and `token_embeddings`, and an
input that has a default; `within-last` gives `sentence_embedding` alone, from the last place of each row. A case is a folder with what sentence-transformers saves beside the graph: modules.json, the modules and their
weights, config_sentence_transformers.json. `expected.json` has for each case its graph, and for each use (prompt, dim) the vectors of the
texts, one text at a time. Texts: see TEXTS; the empty one has no vector here.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import onnx
import torch
from onnx import TensorProto, helper
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Dense, LayerNorm, Normalize, Pooling, Transformer
from tokenizers import pre_tokenizers, processors
from transformers import (
    BertConfig, BertModel, ErnieConfig, ErnieModel, PreTrainedTokenizerFast, Qwen3Config, Qwen3Model,
)

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "onnx"))

import common  # noqa: E402
from common import HEADS, HIDDEN, INNER, LAYERS, LIMIT, TEXTS, check, export, outputs_of, shaken, write_json  # noqa: E402
from cutting import WORDS, byte_pairs, word_pieces  # noqa: E402
from encoders import SIZES, padded  # noqa: E402

READ = [text for text in TEXTS if text]
PROMPTS = {"query": "公司公告：", "passage": "研报全年"}


# Models: a folder that transformers reads, and a graph.


def saved(folder, model, tokenizer, **marks):
    """A folder with the weights and the tokenizer."""
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks).save_pretrained(folder)


BERT_MARKS = {
    "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]",
    "model_max_length": LIMIT,
}


def bert(folder):
    """The model of ../onnx/bert."""
    model, tokenizer = shaken(BertModel(BertConfig(**SIZES))), word_pieces()
    rows = common.cases(tokenizer)
    inputs = padded([rows[1]])
    with torch.no_grad():
        expected = model(**inputs).last_hidden_state
    check("bert", outputs_of(HERE.parent / "onnx" / "bert" / "model.onnx", inputs)["last_hidden_state"], expected)
    saved(folder, model, tokenizer, **BERT_MARKS)
    made = HERE / "weights"
    made.mkdir(exist_ok=True)
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        shutil.copy(folder / file, made / file)


def cased(folder):
    """The same behind a tokenizer that tells capitals apart."""
    from tokenizers import normalizers

    tokenizer = word_pieces()
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    saved(folder, shaken(BertModel(BertConfig(**SIZES))), tokenizer, **BERT_MARKS)


def from_left(folder):
    """The same behind a tokenizer that cuts long texts at their beginning."""
    saved(folder, shaken(BertModel(BertConfig(**SIZES))), word_pieces(), truncation_side="left", **BERT_MARKS)


def last_hidden(model, **inputs):
    return {"last_hidden_state": model(**inputs).last_hidden_state}


def qwen3(folder):
    """A Qwen3 of two layers; the end stands behind every text, and rows are padded on the left."""
    tokenizer = byte_pairs(["<|endoftext|>"], trim=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", 0)]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model = shaken(Qwen3Model(Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=1, head_dim=8, intermediate_size=INNER, max_position_embeddings=128, pad_token_id=0,
        eos_token_id=0, bos_token_id=0, attn_implementation="eager", use_cache=False,
    )))
    saved(
        folder, model, tokenizer, pad_token="<|endoftext|>", eos_token="<|endoftext|>", padding_side="left",
        model_max_length=128,
    )
    ids = torch.tensor([tokenizer.encode(READ[0]).ids])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "position_ids": torch.arange(ids.shape[1])[None]}
    made = graph_folder("qwen3", folder)
    export(model, last_hidden, inputs, made / "onnx" / "model.onnx")


def ernie(folder):
    """An ERNIE that is told its task."""
    tokenizer = word_pieces()
    model = shaken(ErnieModel(ErnieConfig(**SIZES, use_task_id=True, task_type_vocab_size=3)))
    saved(folder, model, tokenizer, **BERT_MARKS)
    inputs = padded([common.cases(tokenizer)[1]])
    inputs["task_type_ids"] = torch.zeros_like(inputs["input_ids"])
    made = graph_folder("ernie", folder)
    export(model, last_hidden, inputs, made / "onnx" / "model.onnx")


def within(folder):
    """The graph of ../onnx/bert with the modules of a case in it: the vector of [CLS] at length 1. It takes a scale that has a default."""
    bert(folder)
    graph = onnx.load(HERE.parent / "onnx" / "bert" / "model.onnx")
    for node in graph.graph.node:
        node.output[:] = ["token_embeddings" if name == "last_hidden_state" else name for name in node.output]
        node.input[:] = ["token_embeddings" if name == "last_hidden_state" else name for name in node.input]
    constants = [("zero", TensorProto.INT64, [], [0]), ("temperature", TensorProto.FLOAT, [1], [1.0])]
    for name, kind, shape, values in constants:
        graph.graph.initializer.append(helper.make_tensor(name, kind, shape, values))
    graph.graph.input.append(helper.make_tensor_value_info("temperature", TensorProto.FLOAT, [1]))
    graph.graph.node.extend([
        helper.make_node("Gather", ["token_embeddings", "zero"], ["first"], axis=1),
        helper.make_node("LpNormalization", ["first"], ["unit"], axis=-1, p=2),
        helper.make_node("Mul", ["unit", "temperature"], ["sentence_embedding"]),
    ])
    kept = {output.name: output for output in graph.graph.output}
    del graph.graph.output[:]
    kept["last_hidden_state"].name = "token_embeddings"
    sentence = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", HIDDEN])
    graph.graph.output.extend([kept["last_hidden_state"], sentence])
    made = graph_folder("within", folder)
    onnx.save(pruned(graph), made / "onnx" / "model.onnx")


def within_last(folder):
    """The graph of qwen3 that gives nothing but the vector of the last place of each row: right where rows are padded on the left alone."""
    qwen3(folder)
    graph = onnx.load(HERE / "qwen3" / "onnx" / "model.onnx")
    graph.graph.initializer.append(helper.make_tensor("last", TensorProto.INT64, [], [-1]))
    graph.graph.node.extend([
        helper.make_node("Gather", ["last_hidden_state", "last"], ["at_end"], axis=1),
        helper.make_node("LpNormalization", ["at_end"], ["sentence_embedding"], axis=-1, p=2),
    ])
    del graph.graph.output[:]
    graph.graph.output.append(helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", HIDDEN]))
    made = graph_folder("within-last", folder)
    onnx.save(graph, made / "onnx" / "model.onnx")


def pruned(model):
    """The graph without nodes and weights that no output needs."""
    needed = {output.name for output in model.graph.output}
    for node in reversed(model.graph.node):
        if needed & set(node.output):
            needed |= set(node.input)
    for part in (model.graph.node, model.graph.initializer):
        keep = [one for one in part if needed & set(one.output if part is model.graph.node else [one.name])]
        del part[:]
        part.extend(keep)
    return model


def graph_folder(name, source):
    """The folder of a graph with its configuration and its tokenizer."""
    made = HERE / name
    shutil.rmtree(made, ignore_errors=True)
    (made / "onnx").mkdir(parents=True)
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(source / file, made / file)
    return made


# Cases.


def numbers(module):
    """Random weights for a module of one's own."""
    return shaken(module)


def dense(inputs, outputs, activation, **more):
    return numbers(Dense(inputs, outputs, activation_function=activation, **more))


nn = torch.nn
ALL = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
ACTIVATIONS = [nn.ReLU(), nn.GELU(), nn.SiLU(), nn.Sigmoid(), nn.Tanh(), nn.Identity()]
PLAIN = [{}]

# name: graph, max_seq_length, modules behind the encoder, settings of the whole, uses
CASES = {
    "cls-l2": ("bert", 12, [Pooling(HIDDEN, "cls"), Normalize()], {}, PLAIN),
    "max": ("bert", LIMIT, [Pooling(HIDDEN, "max")], {}, PLAIN),
    "mean": ("bert", LIMIT, [Pooling(HIDDEN, "mean")], {}, PLAIN),
    "mean-sqrt": ("bert", LIMIT, [Pooling(HIDDEN, "mean_sqrt_len_tokens")], {}, PLAIN),
    "weighted-mean": ("bert", LIMIT, [Pooling(HIDDEN, "weightedmean")], {}, PLAIN),
    "last": ("bert", LIMIT, [Pooling(HIDDEN, "lasttoken")], {}, PLAIN),
    "side-by-side": ("bert", LIMIT, [Pooling(HIDDEN, list(ALL)), Normalize()], {}, PLAIN),
    "in-other-order": ("bert", LIMIT, [Pooling(HIDDEN, ["lasttoken", "cls"])], {}, PLAIN),
    "dense": ("bert", LIMIT, [
        Pooling(HIDDEN, "mean"), dense(HIDDEN, 8, nn.Tanh()), dense(8, 12, nn.Identity(), bias=False), Normalize(),
    ], {}, [{}, {"dim": 5}]),
    "activations": ("bert", LIMIT, [
        Pooling(HIDDEN, "mean"), *(dense(HIDDEN, HIDDEN, one) for one in ACTIVATIONS), Normalize(), dense(HIDDEN, 4, None),
    ], {}, PLAIN),
    "residual": ("bert", LIMIT, [
        Pooling(HIDDEN, "mean"), dense(HIDDEN, HIDDEN, nn.ReLU(), use_residual=True),
        dense(HIDDEN, 6, nn.Tanh(), use_residual=True), numbers(LayerNorm(6)),
    ], {}, PLAIN),
    "prompts": ("bert", LIMIT, [Pooling(HIDDEN, "mean"), Normalize()], {"prompts": PROMPTS}, [
        {}, {"prompt": "query"}, {"prompt": "passage"}, {"prompt": "公司拟："},
    ]),
    "prompt-by-default": (
        "bert", LIMIT, [Pooling(HIDDEN, "cls")], {"prompts": PROMPTS, "default_prompt_name": "query"}, PLAIN,
    ),
    "prompt-not-pooled": ("bert", LIMIT, [Pooling(HIDDEN, list(ALL), include_prompt=False)], {"prompts": PROMPTS}, [
        {}, {"prompt": "query"}, {"prompt": "passage"},
    ]),
    "matryoshka": ("bert", LIMIT, [Pooling(HIDDEN, "mean"), Normalize()], {}, [{}, {"dim": 8}, {"dim": 3}]),
    "lower-case": ("cased", LIMIT, [Pooling(HIDDEN, "mean")], {}, PLAIN),
    "cut-from-left": ("left", 12, [Pooling(HIDDEN, "mean")], {}, PLAIN),
    "qwen3-last": ("qwen3", 32, [Pooling(HIDDEN, "lasttoken"), Normalize()], {
        "prompts": {"query": "Instruct: 公司公告\nQuery:", "document": ""},
    }, [{}, {"prompt": "query"}, {"prompt": "query", "dim": 4}]),
    "qwen3-weighted": ("qwen3", 32, [Pooling(HIDDEN, ["weightedmean", "cls"], include_prompt=False)], {
        "prompts": {"query": "Instruct: 公司公告\nQuery:", "document": ""},
    }, [{}, {"prompt": "query"}]),
    "ernie-cls": ("ernie", LIMIT, [Pooling(HIDDEN, "cls"), Normalize()], {}, PLAIN),
    "within-cls": ("within", LIMIT, [Pooling(HIDDEN, "cls"), Normalize()], {}, PLAIN),
    "within-last": ("within-last", 32, [Pooling(HIDDEN, "lasttoken"), Normalize()], {}, [{}, {"dim": 4}]),
}
GRAPHS = {
    "bert": bert, "cased": cased, "left": from_left, "qwen3": qwen3, "ernie": ernie, "within": within,
    "within-last": within_last,
}


def vectors(model, prompt=None, dim=None):
    """The vector of each text, each read alone; what is cut has length 1 again where the model normalises."""
    named = {"prompt_name": prompt} if prompt in (model.prompts or {}) else {"prompt": prompt}
    unit = any(isinstance(module, Normalize) for module in model)
    made = [
        model.encode([text], truncate_dim=dim, normalize_embeddings=bool(dim) and unit, **named)[0].tolist()
        for text in READ
    ]
    return made


def case(name, source, graph, length, modules, settings, uses):
    """Writes the files of a case, and gives what is expected."""
    lower = {"do_lower_case": True} if graph == "cased" else {}
    encoder = Transformer(str(source), max_seq_length=length, **lower)
    model = SentenceTransformer(modules=[encoder, *modules], device="cpu", **settings)
    model.eval()
    made = HERE / "cases" / name
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder, create_model_card=False)
        for file in sorted(Path(folder).rglob("*")):
            below = file.relative_to(folder)
            is_module = len(below.parts) > 1
            if file.is_file() and (is_module or below.name in ("modules.json", "config_sentence_transformers.json")):
                (made / below).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, made / below)
    # The form in which the folders of models say it that are published.
    write_json(made / "sentence_bert_config.json", {"max_seq_length": length, "do_lower_case": bool(lower)})
    if graph in ("cased", "left"):
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(source / file, made / file)
    return {"graph": graph, "uses": [use | {"vectors": vectors(model, **use)} for use in uses]}


def main():
    common.quiet()
    shutil.rmtree(HERE / "cases", ignore_errors=True)
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for graph, make in GRAPHS.items():
            (Path(folder) / graph).mkdir()
            make(Path(folder) / graph)
        for name, (graph, *rest) in CASES.items():
            made[name] = case(name, Path(folder) / graph, graph, *rest)
            print(name)
    write_json(HERE / "expected.json", {"texts": READ, **made})


if __name__ == "__main__":
    main()
