"""Encoders: BERT and its kin, XLNet, and MASS."""

import torch
from transformers import (
    AlbertConfig, AlbertModel, BertConfig, BertModel, DebertaV2Config, DebertaV2Model, ElectraConfig, ElectraModel,
    RobertaConfig, RobertaModel, XLNetConfig, XLNetModel,
)
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import processors

from common import (
    HEADS, HIDDEN, INNER, LAYERS, LIMIT, TEXTS, batch, by_pooling, cases, check, check_alone, check_batch, export,
    folder_of, outputs_of, pooled, shaken, slim, write_config, write_json,
)
from cutting import BERT_SPECIALS, WORDS, byte_pairs, sentence_pieces, word_pieces, write_words

SIZES = {
    "vocab_size": len(WORDS), "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "intermediate_size": INNER, "max_position_embeddings": LIMIT, "pad_token_id": 0, "attn_implementation": "eager",
}


def hidden(model, **inputs):
    """The last hidden state, the pooler's output where there is one, and every layer."""
    made = model(**inputs, output_hidden_states=True)
    outputs = {"last_hidden_state": made.last_hidden_state}
    if getattr(made, "pooler_output", None) is not None:
        outputs["pooler_output"] = made.pooler_output
    return outputs | layers(made.hidden_states)


def call(model, **inputs):
    """What a model of ours gives."""
    return model(**inputs)


def layers(states):
    """The hidden states by their names in a graph; the embeddings are the first."""
    return {f"hidden_states.{number}": state for number, state in enumerate(states)}


def padded(rows, mask=True, types=True, pad=0, pad_type=0, left=False):
    """The inputs of a batch, under the names they have in a graph."""
    inputs = {"input_ids": batch([row["ids"] for row in rows], pad, left)}
    if mask:
        inputs["attention_mask"] = batch([row["mask"] for row in rows], 0, left)
    if types:
        inputs["token_type_ids"] = batch([row["types"] for row in rows], pad_type, left)
    return inputs


def write_graph(path, model, run, rows, inputs=padded, left=False, **given):
    """Writes a graph, sees that a padded batch gives what each text gives alone, and gives the latter."""
    filled = [row for row in rows if row["ids"]]
    whole = inputs(filled, **given, **({"left": True} if left else {}))
    export(model, run, whole, path)
    singles = [inputs([row], **given) for row in filled]
    with torch.no_grad():
        alone = [run(model, **single) for single in singles]
    for single, expected in zip(singles, alone):
        check_alone(path, single, expected)
    check_batch(path, whole, alone, [len(row["ids"]) for row in filled], left)
    outputs = iter(alone)
    return [next(outputs) if row["ids"] else None for row in rows]


def poolings(rows, outputs, cls=0, sep=-1):
    """Every pooling of every text."""
    return by_pooling([one and of_text(row, one, cls, sep) for row, one in zip(rows, outputs)])


def of_text(row, outputs, cls, sep):
    """Every pooling of one text."""
    states = [state[0] for name, state in outputs.items() if name.startswith("hidden_states")]
    pooler = outputs["pooler_output"][0] if "pooler_output" in outputs else None
    return pooled(states or [outputs["last_hidden_state"][0]], row["specials"], cls, sep, pooler)


def write_expected(folder, rows, **more):
    """What is expected, with the texts and their tokens."""
    write_json(folder / "expected.json", {"texts": TEXTS, "cases": rows, **more})


def encoder(name, model, tokenizer, limit=LIMIT, run=hidden, cls=0, sep=-1, **given):
    """Writes the graph of a family, its configuration, and what is expected of it."""
    folder = folder_of(name)
    rows = cases(tokenizer, limit=limit)
    outputs = write_graph(folder / "model.onnx", model, run, rows, **given)
    write_expected(folder, rows, pooled=poolings(rows, outputs, cls, sep))
    if hasattr(model, "config"):
        write_config(folder, model.config)
    return folder


def save_tokenizer(folder, tokenizer):
    """Writes `tokenizer.json`."""
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)


def bert():
    tokenizer = word_pieces()
    model = shaken(BertModel(BertConfig(**SIZES)))
    folder = encoder("bert", model, tokenizer)
    write_words(folder)
    save_tokenizer(folder, tokenizer)
    rows = cases(tokenizer)
    quantize_dynamic(folder / "model.onnx", folder / "model_int8.onnx", weight_type=QuantType.QInt8)
    slim(folder / "model_int8.onnx")
    export(model.half(), hidden, padded(rows), folder / "model_fp16.onnx")
    for precision in ("int8", "fp16"):
        outputs_of(folder / f"model_{precision}.onnx", padded(rows))


def roberta():
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = byte_pairs(specials, trim=True)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    # Positions begin behind the padding's.
    config = RobertaConfig(**SIZES | {
        "vocab_size": tokenizer.get_vocab_size(), "max_position_embeddings": LIMIT + 2, "pad_token_id": 1,
    }, bos_token_id=0, eos_token_id=2, type_vocab_size=1)
    folder = encoder("roberta", shaken(RobertaModel(config)), tokenizer, types=False, pad=1)
    save_tokenizer(folder, tokenizer)
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer", "model_max_length": LIMIT})


def albert():
    tokenizer = word_pieces()
    config = AlbertConfig(**SIZES, embedding_size=8)
    save_tokenizer(encoder("albert", shaken(AlbertModel(config)), tokenizer), tokenizer)


def electra():
    config = ElectraConfig(**SIZES, embedding_size=8)
    write_words(encoder("electra", shaken(ElectraModel(config)), word_pieces()))


def deberta():
    tokenizer = word_pieces()
    config = DebertaV2Config(
        **SIZES, relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"], share_att_key=True,
        norm_rel_ebd="layer_norm", position_biased_input=False, type_vocab_size=0,
    )
    save_tokenizer(encoder("deberta", shaken(DebertaV2Model(config)), tokenizer, types=False), tokenizer)


# UniLM: who sees whom is given token by token.


def squares(rows, **given):
    """The inputs of a batch whose mask is that of each pair of tokens."""
    inputs = padded(rows, **given)
    mask = inputs["attention_mask"]
    return inputs | {"attention_mask": mask[:, :, None] * mask[:, None, :]}


def hidden_by_squares(model, attention_mask, **inputs):
    """As `hidden`, with a mask of three axes."""
    hides = (1.0 - attention_mask[:, None].float()) * torch.finfo(torch.float32).min
    return hidden(model, attention_mask=hides, **inputs)


def unilm():
    tokenizer = word_pieces()
    model = shaken(BertModel(BertConfig(**SIZES), add_pooling_layer=False))
    folder = encoder("unilm", model, tokenizer, run=hidden_by_squares, inputs=squares)
    save_tokenizer(folder, tokenizer)


# XLNet: padded on the left, the summary last; and with a memory of what was read before.

XLNET = {"control_symbols": ["<cls>", "<sep>", "<pad>", "<mask>"], "unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}
SEGMENT = 16


def xlnet_model(tokenizer, **more):
    """A model of the size of the tokenizer's vocabulary."""
    return shaken(XLNetModel(XLNetConfig(
        vocab_size=tokenizer.get_vocab_size(), d_model=HIDDEN, n_layer=LAYERS, n_head=HEADS, d_inner=INNER,
        pad_token_id=5, bos_token_id=1, eos_token_id=2, **more,
    )))


def xlnet():
    folder = folder_of("xlnet")
    tokenizer = sentence_pieces(folder, "spiece.model", "$A:0 <sep>:0 <cls>:2", **XLNET)
    model = xlnet_model(tokenizer, use_mems_eval=False)
    encoder("xlnet", model, tokenizer, None, cls=-1, sep=-2, pad=5, pad_type=3, left=True)
    save_tokenizer(folder, tokenizer)


def with_memory(model, input_ids, attention_mask, **mems):
    """The last hidden state, and the memory for the next segment."""
    made = model(input_ids, attention_mask=attention_mask, mems=list(mems.values()) or None, use_mems=True)
    new = {f"new_mems.{number}": memory for number, memory in enumerate(made.mems)}
    return {"last_hidden_state": made.last_hidden_state, **new}


def segment_inputs(ids, memory=None):
    """The inputs of one segment; without a memory, one of no tokens."""
    if memory is None:
        memory = [torch.zeros(0, 1, HIDDEN)] * LAYERS
    mems = {f"mems.{number}": torch.as_tensor(layer) for number, layer in enumerate(memory)}
    return {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.int64), **mems}


def xlnet_mems():
    folder = folder_of("xlnet-mems")
    tokenizer = sentence_pieces(folder, "spiece.model", "$A:0 <sep>:0 <cls>:2", **XLNET)
    save_tokenizer(folder, tokenizer)
    model = xlnet_model(tokenizer, mem_len=SEGMENT, use_mems_eval=True)
    ids = tokenizer.encode(TEXTS[3], add_special_tokens=False).ids
    segments = [ids[start : start + SEGMENT] for start in (0, SEGMENT)]
    memory = [torch.zeros(SEGMENT, 1, HIDDEN)] * LAYERS
    export(model, with_memory, segment_inputs(segments[0], memory), folder / "model.onnx")
    states = read_segments(model, folder / "model.onnx", segments)
    write_json(folder / "expected.json", {
        "texts": [TEXTS[3]], "segments": segments,
        "last": [state[-1] for state in states], "mean": [state.mean(0) for state in states],
    })
    write_config(folder, model.config)


def read_segments(model, path, segments):
    """The last hidden states of each segment, the graph's checked against the model's."""
    states, memory, graph_memory = [], None, None
    for ids in segments:
        with torch.no_grad():
            mask = torch.ones(1, len(ids), dtype=torch.int64)
            made = model(torch.tensor([ids]), attention_mask=mask, mems=memory, use_mems=True)
        got = outputs_of(path, segment_inputs(ids, graph_memory))
        check("xlnet-mems", got["last_hidden_state"], made.last_hidden_state)
        memory, graph_memory = made.mems, [got[f"new_mems.{layer}"] for layer in range(LAYERS)]
        states.append(made.last_hidden_state[0])
    return states


# MASS: nothing in front of a text, `</s>` behind it.


class Layer(torch.nn.Module):
    """Attention and an inner layer, each with its norm before it."""

    def __init__(self):
        super().__init__()
        self.norm, self.inner_norm = torch.nn.LayerNorm(HIDDEN), torch.nn.LayerNorm(HIDDEN)
        self.asks_offers_says, self.out = torch.nn.Linear(HIDDEN, 3 * HIDDEN), torch.nn.Linear(HIDDEN, HIDDEN)
        wide, narrow = torch.nn.Linear(HIDDEN, INNER), torch.nn.Linear(INNER, HIDDEN)
        self.inner = torch.nn.Sequential(wide, torch.nn.GELU(), narrow)

    def forward(self, states, hides):
        by_head = (part.unflatten(-1, (HEADS, -1)) for part in self.asks_offers_says(self.norm(states)).chunk(3, -1))
        asks, offers, says = (part.transpose(1, 2) for part in by_head)
        weights = (asks @ offers.transpose(-1, -2) / (HIDDEN / HEADS) ** 0.5 + hides).softmax(-1)
        states = states + self.out((weights @ says).transpose(1, 2).flatten(2))
        return states + self.inner(self.inner_norm(states))


class Mass(torch.nn.Module):
    """An encoder with learnt positions."""

    def __init__(self, words):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, HIDDEN), torch.nn.Embedding(LIMIT, HIDDEN)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, input_ids, attention_mask):
        states = self.words(input_ids) + self.places(torch.arange(input_ids.shape[1]))
        hides = (1.0 - attention_mask[:, None, None].float()) * torch.finfo(torch.float32).min
        for layer in self.layers:
            states = layer(states, hides)
        return {"last_hidden_state": states}


def mass():
    specials = ["[PAD]", "[UNK]", "</s>"]
    words = specials + WORDS[len(BERT_SPECIALS):]
    tokenizer = word_pieces("$A </s>", words, specials)
    folder = folder_of("mass")
    rows = cases(tokenizer)
    outputs = write_graph(folder / "encoder_model.onnx", shaken(Mass(len(words))), call, rows, types=False)
    from generation import mass_decoder

    end = specials.index("</s>")
    written = mass_decoder(folder, len(words), rows, outputs, end)
    write_expected(folder, rows, pooled=poolings(rows, outputs), generation=written)
    save_tokenizer(folder, tokenizer)
    write_json(folder / "config.json", {
        "model_type": "mass", "vocab_size": len(words), "hidden_size": HIDDEN, "max_position_embeddings": LIMIT,
        "pad_token_id": 0, "eos_token_id": end, "decoder_start_token_id": end, "is_encoder_decoder": True,
    })
