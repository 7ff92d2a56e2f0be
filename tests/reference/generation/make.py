"""Tiny random models that write, with keys and values of earlier tokens, and what transformers writes with them.

    pip install torch transformers onnx onnxruntime tokenizers sentencepiece
    python make.py

Made with torch 2.15.0, transformers 5.24.0, onnx 1.23.2, onnxruntime 1.32.0. Tokenizers are those of ../onnx (gpt2, bart, t5). Folders:
`gpt2`, `qwen3` and `bart` hold weights alone; `gpt2-past` is one graph with `past_key_values.N.key|value` and `present.N.key|value`; `bart-merged`
has `decoder_model_merged.onnx` with `use_cache_branch`; `t5-past` has `decoder_model.onnx` and `decoder_with_past_model.onnx`.

expected.json has for each model: `texts`; `greedy` ids for each text; `beams`, ids and scores of a beam search of 4; for gpt2 also `drawn`,
ids drawn by given uniform numbers from the logits that RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper and
TopPLogitsWarper leave, at the place of the number in the cumulated probabilities; `labels`, the sums of natural logarithms of two labels
behind each text; `choices`, what greedy search and beam search write under `prefix_allowed_tokens_fn`.
"""

import json
import shutil
import sys
from pathlib import Path

import onnx
import torch
import transformers as t
from onnx import TensorProto, helper
from tokenizers import Tokenizer
from transformers import generation as g
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

HERE = Path(__file__).parent
GRAPHS = HERE.parent / "onnx"
sys.path.insert(0, str(GRAPHS))
from common import HEADS, HIDDEN, INNER, LAYERS, check, outputs_of, quiet, shaken, slim  # noqa: E402

TEXTS = ["净利润同比增长", "公司拟回购股份，金额不超过3亿元。", "订单下滑"]
LABELS = ["利好", "利空公告"]
CHOICES = ["利好", "利空", "利好公司"]
NEW, BEAMS, LIMIT = 12, 4, 64


def tokenizer_of(name, folder):
    """The tokenizer of a graph of ../onnx, copied."""
    for file in ("tokenizer.json", "spiece.model", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json"):
        if (GRAPHS / name / file).exists():
            shutil.copy(GRAPHS / name / file, folder / file)
    if (folder / "tokenizer.json").exists():
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    return None


def folder_of(name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def settings(model, **how):
    marks = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
    return t.GenerationConfig(
        max_new_tokens=NEW, do_sample=False, early_stopping=False, return_dict_in_generate=True, output_scores=True,
        **{mark: getattr(model.config, mark, None) for mark in marks}, **how,
    )


def ended(ids, end):
    return ids[: ids.index(end) + 1] if end in ids else ids


def made_by(model, ids, allowed=None, **how):
    """What the model writes, up to the end, and the scores of beams."""
    ids = torch.tensor([ids])
    made = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), generation_config=settings(model, **how),
                          prefix_allowed_tokens_fn=allowed)
    begin = 1 if model.config.is_encoder_decoder else ids.shape[1]
    rows = [ended(row[begin:], model.config.eos_token_id) for row in made.sequences.tolist()]
    return rows, made.sequences_scores.tolist() if how else None


def searched(model, prompts):
    beams = [made_by(model, ids, num_beams=BEAMS, num_return_sequences=BEAMS) for ids in prompts]
    return {
        "texts": TEXTS,
        "prompts": prompts,
        "greedy": [made_by(model, ids)[0][0] for ids in prompts],
        "beams": [{"ids": ids, "scores": [float(f"{s:.7g}") for s in scores]} for ids, scores in beams],
    }


def drawn(model, prompt, uniforms, temperature, top_k, top_p, penalty):
    """Ids drawn by uniform numbers, at their place in the cumulated probabilities."""
    processors = g.LogitsProcessorList()
    if penalty != 1.0:
        processors.append(g.RepetitionPenaltyLogitsProcessor(penalty))
    if temperature != 1.0:
        processors.append(g.TemperatureLogitsWarper(temperature))
    if top_k:
        processors.append(g.TopKLogitsWarper(top_k))
    if top_p < 1.0:
        processors.append(g.TopPLogitsWarper(top_p))
    ids = torch.tensor([prompt])
    for uniform in uniforms:
        with torch.no_grad():
            logits = model(ids).logits[:, -1]
        sums = processors(ids, logits)[0].softmax(-1).double().cumsum(0)
        token = int(torch.searchsorted(sums, torch.tensor(uniform * sums[-1].item()).double(), right=True))
        ids = torch.cat([ids, torch.tensor([[token]])], 1)
        if token == model.config.eos_token_id:
            break
    return ids[0, len(prompt):].tolist()


def draws(model, prompts):
    random = torch.Generator().manual_seed(7)
    cases = []
    for temperature, top_k, top_p, penalty in [
        (1.0, 0, 1.0, 1.0), (0.7, 0, 1.0, 1.0), (1.5, 5, 1.0, 1.0), (1.0, 0, 0.8, 1.0), (0.9, 20, 0.9, 1.3), (2.0, 3, 0.5, 1.0)
    ]:
        for text, prompt in enumerate(prompts):
            uniforms = torch.rand(NEW, generator=random, dtype=torch.float64).tolist()
            cases.append({
                "text": text, "temperature": temperature, "top_k": top_k, "top_p": top_p, "repetition_penalty": penalty,
                "uniforms": uniforms, "ids": drawn(model, prompt, uniforms, temperature, top_k, top_p, penalty),
            })
    return cases


def likelihoods(model, prompts, labels):
    """Sums of the logarithms of the labels' tokens behind each prompt."""
    def one(prompt, label):
        with torch.no_grad():
            logs = model(torch.tensor([prompt + label])).logits[0].log_softmax(-1)
        return sum(logs[len(prompt) - 1 + place, token].item() for place, token in enumerate(label))
    return [[round(one(prompt, label), 6) for label in labels] for prompt in prompts]


def chosen(model, prompts, choices):
    """What is written where only these may be."""
    end = model.config.eos_token_id
    def rule(prompt):
        def allowed(_, ids):
            written = ids.tolist()[len(prompt):]
            kept = [c[len(written)] for c in choices if c[: len(written)] == written and len(c) > len(written)]
            return sorted(set(kept)) + ([end] if written in choices else []) or [end]
        return allowed
    return {
        "greedy": [made_by(model, ids, rule(ids))[0][0] for ids in prompts],
        "beams": [made_by(model, ids, rule(ids), num_beams=2, num_return_sequences=2)[0] for ids in prompts],
    }


class Step(torch.nn.Module):
    """A step as a graph: named inputs in order, logits and keys and values out."""

    def __init__(self, model, run, names):
        super().__init__()
        self.model, self.run, self.names = model, run, names

    def forward(self, *inputs):
        return tuple(self.run(dict(zip(self.names, inputs))).values())


def export(model, run, inputs, path):
    with torch.no_grad():
        outputs = run(inputs)
    def axes(name):
        if name.startswith(("past", "present")):
            return {0: "batch", 2: name.replace(".", "_") + "_sequence"}
        return {0: "batch", 1: name + "_sequence"}
    with torch.no_grad():
        torch.onnx.export(
            Step(model, run, list(inputs)).eval(), tuple(inputs.values()), str(path), dynamo=False, opset_version=17,
            input_names=list(inputs), output_names=list(outputs),
            dynamic_axes={name: axes(name) for name in [*inputs, *outputs]},
        )
    slim(path)


def verify(path, run, cases):
    for inputs in cases:
        with torch.no_grad():
            expected = run(inputs)
        taken = {port.name for port in onnx.load(path).graph.input}
        got = outputs_of(path, {name: value for name, value in inputs.items() if name in taken})
        for name, value in expected.items():
            check(f"{path.parent.name}/{path.name} {name}", got[name], value)


def pairs(cache, stem):
    layers = cache.layers
    return {f"{stem.format(n)}.{kind}": value for n, layer in enumerate(layers)
            for kind, value in (("key", layer.keys), ("value", layer.values))}


def cache_of(inputs, stem):
    cache = DynamicCache()
    for n in range(LAYERS):
        key = inputs.get(f"{stem.format(n)}.key")
        if key is not None:
            cache.update(key, inputs[f"{stem.format(n)}.value"], n)
    return cache


def gpt2():
    folder = folder_of("gpt2")
    tokenizer = tokenizer_of("gpt2", folder)
    model = shaken(t.GPT2LMHeadModel(t.GPT2Config(
        vocab_size=tokenizer.get_vocab_size(), n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_inner=INNER,
        n_positions=LIMIT, bos_token_id=0, eos_token_id=0, pad_token_id=0, attn_implementation="eager",
    )), 0.5)
    model.transformer.wte.weight.data[0] *= -2
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    prompts, labels = [encode(text) for text in TEXTS], [encode(label) for label in LABELS]
    expected = searched(model, prompts)
    expected |= {"drawn": draws(model, prompts), "labels": likelihoods(model, prompts, labels),
                 "choices": chosen(model, prompts, [encode(choice) for choice in CHOICES])}
    save(model, folder)
    past = folder_of("gpt2-past")
    tokenizer_of("gpt2", past)
    shutil.copy(folder / "config.json", past)

    def run(inputs):
        made = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"],
                     position_ids=inputs["position_ids"], past_key_values=cache_of(inputs, "past_key_values.{}"))
        return {"logits": made.logits} | pairs(made.past_key_values, "present.{}")

    def inputs(batch, seen, new):
        draw = torch.Generator().manual_seed(seen + new)
        size = (batch, HEADS, seen, HIDDEN // HEADS)
        keys = {f"past_key_values.{n}.{kind}": torch.randn(size, generator=draw) for n in range(LAYERS) for kind in ("key", "value")}
        return {"input_ids": torch.randint(1, 50, (batch, new), generator=draw),
                "attention_mask": torch.ones(batch, seen + new, dtype=torch.int64),
                "position_ids": torch.arange(seen, seen + new).expand(batch, new)} | keys

    export(model, run, inputs(2, 3, 2), past / "model.onnx")
    verify(past / "model.onnx", run, [inputs(1, 5, 1), inputs(3, 2, 4), inputs(2, 0, 6)])
    return expected


def save(model, folder):
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)


def qwen3():
    folder = folder_of("qwen3")
    tokenizer = tokenizer_of("gpt2", folder)
    model = shaken(t.Qwen3ForCausalLM(t.Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=4,
        num_key_value_heads=2, head_dim=6, intermediate_size=INNER, max_position_embeddings=LIMIT, bos_token_id=0,
        eos_token_id=0, pad_token_id=0, attn_implementation="eager",
    )), 0.5)
    expected = searched(model, [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS])
    save(model, folder)
    return expected


def encoder_decoder(model, folder, prompts, merged):
    """Both decoders of a model, and its encoder."""
    def encode(inputs):
        return {"last_hidden_state": model.get_encoder()(**inputs).last_hidden_state}

    def first(inputs):
        made = model(encoder_outputs=(inputs["encoder_hidden_states"],), attention_mask=inputs["encoder_attention_mask"],
                     decoder_input_ids=inputs["input_ids"], use_cache=True)
        cache = made.past_key_values
        return {"logits": made.logits} | pairs(cache.self_attention_cache, "present.{}.decoder") | pairs(
            cache.cross_attention_cache, "present.{}.encoder")

    def later(inputs):
        cache = EncoderDecoderCache(cache_of(inputs, "past_key_values.{}.decoder"),
                                    cache_of(inputs, "past_key_values.{}.encoder"))
        cache.is_updated = {n: True for n in range(LAYERS)}
        states = torch.zeros(inputs["input_ids"].shape[0], 1, HIDDEN)
        made = model(encoder_outputs=(states,), attention_mask=inputs["encoder_attention_mask"],
                     decoder_input_ids=inputs["input_ids"], past_key_values=cache, use_cache=True)
        return {"logits": made.logits} | pairs(made.past_key_values.self_attention_cache, "present.{}.decoder")

    def sources(batch, places):
        draw = torch.Generator().manual_seed(places)
        ids = {"input_ids": torch.randint(5, 40, (batch, places), generator=draw),
               "attention_mask": torch.ones(batch, places, dtype=torch.int64)}
        return ids

    def firsts(batch, places, new):
        states = encode(sources(batch, places))["last_hidden_state"]
        return {"input_ids": torch.arange(5, 5 + new).expand(batch, new), "encoder_hidden_states": states,
                "encoder_attention_mask": torch.ones(batch, places, dtype=torch.int64)}

    def laters(batch, places, seen):
        made = first(firsts(batch, places, seen))
        past = {name.replace("present", "past_key_values"): value for name, value in made.items() if name != "logits"}
        return {"input_ids": torch.full((batch, 1), 9), "encoder_attention_mask": torch.ones(batch, places, dtype=torch.int64)} | past

    with torch.no_grad():
        export(model, encode, sources(2, 7), folder / "encoder_model.onnx")
        one, two = folder / "decoder_model.onnx", folder / "decoder_with_past_model.onnx"
        export(model, first, firsts(2, 7, 3), one)
        export(model, later, laters(2, 7, 3), two)
        verify(one, first, [firsts(1, 4, 1), firsts(3, 9, 2)])
        verify(two, later, [laters(1, 4, 1), laters(3, 9, 5)])
    if merged:
        merge(one, two, folder / "decoder_model_merged.onnx")
        one.unlink()
        two.unlink()
    return searched(model, prompts)


def merge(first, later, path):
    """Both decoders as the branches of one graph, as optimum merges them."""
    graphs = [onnx.load(file).graph for file in (first, later)]
    outputs = [output.name for output in graphs[0].output]
    branches = []
    for number, graph in enumerate(graphs):
        branch = onnx.GraphProto()
        branch.CopyFrom(graph)
        inputs = {port.name for port in branch.input}
        del branch.input[:]
        short = {}
        name = lambda value: value if value in inputs or not value else short.setdefault(value, f"{'fl'[number]}{value}")
        for weight in branch.initializer:
            weight.name = name(weight.name)
        for node in branch.node:
            node.input[:] = [name(value) for value in node.input]
            node.output[:] = [name(value) for value in node.output]
        given = {port.name: port for port in graph.output}
        del branch.output[:]
        for output, port in zip(outputs, graphs[0].output):
            if output in given:
                branch.output.append(helper.make_tensor_value_info(name(output), TensorProto.FLOAT, [None] * len(port.type.tensor_type.shape.dim)))
            else:
                # Keys and values of the source are not made again.
                value = helper.make_tensor(f"{output}_none", TensorProto.FLOAT, [0, HEADS, 1, HIDDEN // HEADS], [])
                branch.node.append(helper.make_node("Constant", [], [name(output)], value=value))
                branch.output.append(helper.make_tensor_value_info(name(output), TensorProto.FLOAT, [None] * 4))
        branch.name = f"branch{number}"
        branches.append(branch)
    ports = {port.name: port for graph in graphs for port in graph.input}
    ports["use_cache_branch"] = helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1])
    node = helper.make_node("If", ["use_cache_branch"], outputs, then_branch=branches[1], else_branch=branches[0])
    given = [helper.make_tensor_value_info(p.name, TensorProto.FLOAT, [None] * len(p.type.tensor_type.shape.dim)) for p in graphs[0].output]
    graph = helper.make_graph([node], "merged", list(ports.values()), given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def bart():
    folder = folder_of("bart-merged")
    tokenizer = tokenizer_of("bart", folder)
    if tokenizer is None:
        from cutting import word_pieces
        tokenizer = word_pieces()
    model = shaken(t.BartForConditionalGeneration(t.BartConfig(
        vocab_size=tokenizer.get_vocab_size(), d_model=HIDDEN, encoder_layers=LAYERS, decoder_layers=LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=INNER, decoder_ffn_dim=INNER,
        max_position_embeddings=LIMIT, pad_token_id=0, bos_token_id=2, eos_token_id=3,
        decoder_start_token_id=3, forced_eos_token_id=None, tie_word_embeddings=False, attn_implementation="eager",
    )), 0.15)
    model.model.decoder.layers[-1].final_layer_norm.bias.data.zero_()
    model.model.shared.weight.data *= 4
    model.lm_head.weight.data *= 4
    model.lm_head.weight.data[3] *= 2
    shutil.copy(GRAPHS / "bart/config.json", folder)
    # The same weights without graphs.
    weights = folder_of("bart")
    tokenizer_of("bart", weights)
    save(model, weights)
    return encoder_decoder(model, folder, [tokenizer.encode(text).ids for text in TEXTS], merged=True)


def t5():
    folder = folder_of("t5-past")
    tokenizer_of("t5", folder)
    import tempfile
    from cutting import sentence_pieces
    tokenizer = sentence_pieces(Path(tempfile.mkdtemp()), "spiece.model", "$A </s>", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    model = shaken(t.T5ForConditionalGeneration(t.T5Config(
        vocab_size=tokenizer.get_vocab_size(), d_model=HIDDEN, d_kv=HIDDEN // HEADS, d_ff=INNER, num_layers=LAYERS,
        num_heads=HEADS, relative_attention_num_buckets=8, relative_attention_max_distance=20,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0, pad_token_id=0,
        eos_token_id=1, attn_implementation="eager",
    )), 0.5)
    model.lm_head.weight.data[1] *= 5
    shutil.copy(GRAPHS / "t5/config.json", folder)
    return encoder_decoder(model, folder, [tokenizer.encode(text).ids for text in TEXTS], merged=False)


def main():
    quiet()
    gpt, merged = gpt2(), bart()
    expected = {"gpt2": gpt, "gpt2-past": {k: gpt[k] for k in ("texts", "greedy", "beams")}, "qwen3": qwen3(),
                "bart-merged": merged, "bart": merged, "t5-past": t5(), "label_texts": LABELS, "choice_texts": CHOICES}
    rows = (f"{json.dumps(key)}: {json.dumps(one, ensure_ascii=False)}" for key, one in expected.items())
    (HERE / "expected.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


main()
