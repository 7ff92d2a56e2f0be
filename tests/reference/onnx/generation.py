"""Families that write: GPT-2, GPT, BART, and T5, with what greedy search and beam search give."""

import math

import torch
from transformers import (
    BartConfig, BartForConditionalGeneration, BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, GenerationConfig, OpenAIGPTConfig,
    OpenAIGPTLMHeadModel, T5Config, T5ForConditionalGeneration,
)

from common import (
    HEADS, HIDDEN, INNER, LAYERS, LIMIT, cases, check_alone, export, folder_of, shaken, write_config,
)
from cutting import WORDS, byte_pairs, sentence_pieces, word_pieces
from encoders import SIZES, Layer, call, layers, poolings, save_tokenizer, write_expected, write_graph

PROMPTS, PROMPT_LIMIT, NEW, BEAMS = (0, 1, 5), 24, 12, 4


def made_by(model, inputs, **how):
    """Sequences that the model writes, without the prompt and without padding behind their end, and their scores."""
    marks = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
    config = GenerationConfig(
        max_new_tokens=NEW, do_sample=False, early_stopping=False, return_dict_in_generate=True, output_scores=True,
        **{mark: getattr(model.config, mark, None) for mark in marks}, **how,
    )
    made = model.generate(**inputs, generation_config=config)
    prompt = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    ids = [ended(row[prompt:], model.config.eos_token_id) for row in made.sequences.tolist()]
    return ids, made.sequences_scores.tolist() if how else None


def ended(ids, end):
    """The ids up to the first that is the end."""
    return ids[: ids.index(end) + 1] if end in ids else ids


def generated(model, rows):
    """What greedy search and beam search write behind, or from, each prompt; beams from the best to the worst."""
    prompts = [rows[number] | {"ids": rows[number]["ids"][:PROMPT_LIMIT]} for number in PROMPTS]
    inputs = [{"input_ids": torch.tensor([row["ids"]])} for row in prompts]
    penalties = {str(penalty): {"length_penalty": penalty} for penalty in (1.0, 2.0)}
    searches = {
        penalty: [made_by(model, one, num_beams=BEAMS, num_return_sequences=BEAMS, **how) for one in inputs]
        for penalty, how in penalties.items()
    }
    return {
        "prompts": [row["ids"] for row in prompts],
        "greedy": [made_by(model, one)[0][0] for one in inputs],
        "beams": {
            penalty: [{"ids": ids, "scores": scores} for ids, scores in found] for penalty, found in searches.items()
        },
    }


def surprise(outputs, row):
    """-log10 of the probability of each token but the first, given those before it."""
    if outputs is None:
        return None
    logs = outputs["logits"][0].log_softmax(-1) / -math.log(10)
    return [logs[place, token] for place, token in enumerate(row["ids"][1:])]


# GPT-2 and GPT: what was written is read again.


def read(model, **inputs):
    """The logits and the hidden states."""
    made = model(**inputs, output_hidden_states=True, use_cache=False)
    states = made.hidden_states
    return {"logits": made.logits, "last_hidden_state": states[-1]} | layers(states)


def gpt2():
    tokenizer = byte_pairs(["<|endoftext|>"], trim=False)
    model = shaken(GPT2LMHeadModel(GPT2Config(
        vocab_size=tokenizer.get_vocab_size(), n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_inner=INNER,
        n_positions=LIMIT, bos_token_id=0, eos_token_id=0, pad_token_id=0, attn_implementation="eager",
    )), 0.5)
    # The end is made likelier, here and below, so that some sequences end before the limit.
    model.transformer.wte.weight.data[0] *= -2
    folder, rows = folder_of("gpt2"), cases(tokenizer)
    outputs = write_graph(folder / "model.onnx", model, read, rows, types=False)
    write_expected(
        folder, rows, pooled=poolings(rows, outputs, sep=None), generation=generated(model, rows),
        surprise=[surprise(one, row) for one, row in zip(outputs, rows)],
    )
    write_config(folder, model.config)
    save_tokenizer(folder, tokenizer)


def read_unmasked(model, input_ids):
    """The logits and the hidden states of a family whose graph has no mask."""
    made = model(input_ids, output_hidden_states=True)
    return {"logits": made.logits, "last_hidden_state": made.hidden_states[-1]} | layers(made.hidden_states)


def openai_gpt():
    tokenizer = word_pieces()
    model = shaken(OpenAIGPTLMHeadModel(OpenAIGPTConfig(
        vocab_size=len(WORDS), n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_positions=LIMIT, pad_token_id=0,
        bos_token_id=2, eos_token_id=3,
    )))
    folder, rows = folder_of("openai-gpt"), cases(tokenizer)
    outputs = write_graph(folder / "model.onnx", model, read_unmasked, rows, mask=False, types=False)
    write_expected(
        folder, rows, pooled=poolings(rows, outputs), surprise=[surprise(one, row) for one, row in zip(outputs, rows)],
    )
    write_config(folder, model.config)
    save_tokenizer(folder, tokenizer)


# BART and T5: an encoder, and a decoder that reads what it gives.


def encode(model, **inputs):
    """The encoder's last hidden state."""
    return {"last_hidden_state": model.get_encoder()(**inputs).last_hidden_state}


def decode(model, input_ids, encoder_hidden_states, encoder_attention_mask):
    """The logits of what comes next."""
    made = model(
        encoder_outputs=(encoder_hidden_states,), attention_mask=encoder_attention_mask, decoder_input_ids=input_ids,
        use_cache=False,
    )
    return {"logits": made.logits}


def write_decoder(path, model, rows, states):
    """Writes a decoder's graph, and sees that it gives the model's logits for each text."""
    def inputs(row, state, written):
        return {
            "input_ids": torch.tensor([written]), "encoder_hidden_states": state,
            "encoder_attention_mask": torch.tensor([row["mask"]]),
        }

    start = model.config.decoder_start_token_id
    export(model, decode, inputs(rows[3], states[3], [start, 7, 8]), path)
    for row, state in zip(rows, states):
        for written in ([start], [start, 9, 10, 11, 12]):
            one = inputs(row, state, written)
            with torch.no_grad():
                check_alone(path, one, decode(model, **one))


def encoder_decoder(name, model, tokenizer, limit):
    """Writes both graphs, and what is expected of them."""
    folder, rows = folder_of(name), cases(tokenizer, limit=limit)
    outputs = write_graph(folder / "encoder_model.onnx", model, encode, rows, types=False)
    write_decoder(folder / "decoder_model.onnx", model, rows, [one["last_hidden_state"] for one in outputs])
    write_expected(folder, rows, pooled=poolings(rows, outputs), generation=generated(model, rows))
    write_config(folder, model.config)
    save_tokenizer(folder, tokenizer)


def bart():
    model = shaken(BartForConditionalGeneration(BartConfig(
        vocab_size=len(WORDS), d_model=HIDDEN, encoder_layers=LAYERS, decoder_layers=LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=INNER, decoder_ffn_dim=INNER,
        max_position_embeddings=LIMIT, pad_token_id=0, bos_token_id=2, eos_token_id=3,
        decoder_start_token_id=3, forced_eos_token_id=None, tie_word_embeddings=False, attn_implementation="eager",
    )), 0.15)
    # So that what is written next hangs on what was written before.
    model.model.decoder.layers[-1].final_layer_norm.bias.data.zero_()
    model.model.shared.weight.data *= 4
    model.lm_head.weight.data *= 4
    model.lm_head.weight.data[3] *= 2
    encoder_decoder("bart", model, word_pieces(), LIMIT)


def t5():
    folder = folder_of("t5")
    tokenizer = sentence_pieces(folder, "spiece.model", "$A </s>", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    model = shaken(T5ForConditionalGeneration(T5Config(
        vocab_size=tokenizer.get_vocab_size(), d_model=HIDDEN, d_kv=HIDDEN // HEADS, d_ff=INNER, num_layers=LAYERS,
        num_heads=HEADS, relative_attention_num_buckets=8, relative_attention_max_distance=20,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0, pad_token_id=0,
        eos_token_id=1, attn_implementation="eager",
    )), 0.5)
    model.lm_head.weight.data[1] *= 5
    encoder_decoder("t5", model, tokenizer, None)


# MASS and UniLM: no classes of transformers, so greedy search is written out.


def greedy(begin, step, end):
    """At most NEW tokens behind those given, and the mean of their logarithms; `step` gives the logits of the next one."""
    ids, logs = [], 0.0
    for _ in range(NEW):
        logits = step(begin + ids)
        ids.append(int(logits.argmax()))
        logs += logits.log_softmax(-1)[ids[-1]].item()
        if ids[-1] == end:
            break
    return ids, logs / len(ids)


def written(prompts, searches):
    return {"prompts": prompts, "greedy": [ids for ids, _ in searches], "scores": [score for _, score in searches]}


class MassDecoder(torch.nn.Module):
    """A decoder with learnt positions and the norms first; each layer reads the vectors of an encoder behind its own tokens."""

    def __init__(self, words):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, HIDDEN), torch.nn.Embedding(LIMIT, HIDDEN)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(2 * LAYERS))
        self.logits = torch.nn.Linear(HIDDEN, words)

    def forward(self, input_ids, encoder_hidden_states, encoder_attention_mask):
        length, lowest = input_ids.shape[1], torch.finfo(torch.float32).min
        states = self.words(input_ids) + self.places(torch.arange(length))
        before = torch.ones(length, length).tril()
        own = (1.0 - before)[None, None] * lowest
        # Tokens of the source stand before those that are written, for every second layer.
        source = encoder_attention_mask.shape[1]
        sees = torch.cat([encoder_attention_mask[:, None, :].float().expand(-1, length, -1), before[None].expand(input_ids.shape[0], -1, -1)], -1)
        all_see = torch.cat([encoder_attention_mask[:, None, :].float().expand(-1, source, -1), torch.zeros(input_ids.shape[0], source, length)], -1)
        both = (1.0 - torch.cat([all_see, sees], 1))[:, None] * lowest
        for number, layer in enumerate(self.layers):
            if number % 2 == 0:
                states = layer(states, own)
            else:
                states = layer(torch.cat([encoder_hidden_states, states], 1), both)[:, source:]
        return {"logits": self.logits(states)}


def mass_decoder(folder, words, rows, outputs, start):
    """Writes the decoder of MASS, and gives what greedy search writes from each prompt."""
    model = shaken(MassDecoder(words), 0.5)
    model.logits.bias.data.zero_()
    for layer in model.layers:
        layer.inner_norm.bias.data.zero_()
        layer.norm.bias.data.zero_()
    states = [one and one["last_hidden_state"] for one in outputs]

    def step(number):
        def logits(ids):
            with torch.no_grad():
                mask = torch.tensor([rows[number]["mask"]])
                return model(torch.tensor([ids]), states[number], mask)["logits"][0, -1]
        return logits

    def inputs(number, ids):
        mask = torch.tensor([rows[number]["mask"]])
        return {"input_ids": torch.tensor([ids]), "encoder_hidden_states": states[number], "encoder_attention_mask": mask}

    export(model, call, inputs(3, [start, 7, 8]), folder / "decoder_model.onnx")
    for number in PROMPTS:
        one = inputs(number, [start, 9, 10, 11])
        with torch.no_grad():
            check_alone(folder / "decoder_model.onnx", one, model(**one))
    return written([rows[number]["ids"] for number in PROMPTS], [greedy([start], step(number), start) for number in PROMPTS])


def unilm_writer():
    """The sequence-to-sequence form of UniLM: the next token stands behind a mask at the end."""
    tokenizer, folder = word_pieces(), folder_of("unilm-writer")
    model = shaken(BertForMaskedLM(BertConfig(**SIZES)), 0.9)
    # So that what is written next hangs on what was written before.
    model.bert.embeddings.word_embeddings.weight.data *= 4
    for name, weights in model.named_parameters():
        if name.endswith("bias"):
            weights.data.zero_()
    mask, end = tokenizer.token_to_id("[MASK]"), tokenizer.token_to_id("[SEP]")
    rows = cases(tokenizer)

    def run(model, attention_mask, **inputs):
        hides = (1.0 - attention_mask[:, None].float()) * torch.finfo(torch.float32).min
        return {"logits": model(attention_mask=hides, **inputs).logits}

    def inputs(prompt, ids):
        source, width = len(prompt), len(ids) + 1
        sees = torch.ones(width, width, dtype=torch.int64).tril()
        sees[:, :source] = 1
        types = [0] * source + [1] * (width - source)
        return {"input_ids": torch.tensor([ids + [mask]]), "attention_mask": sees[None], "token_type_ids": torch.tensor([types])}

    def step(prompt):
        def logits(ids):
            with torch.no_grad():
                return run(model, **inputs(prompt, ids))["logits"][0, -1]
        return logits

    prompts = [rows[number]["ids"] for number in PROMPTS]
    export(model, run, inputs(prompts[0], prompts[0] + [7, 8]), folder / "model.onnx")
    one = inputs(prompts[1], prompts[1] + [9])
    with torch.no_grad():
        check_alone(folder / "model.onnx", one, run(model, **one))
    write_expected(folder, rows, generation=written(prompts, [greedy(prompt, step(prompt), end) for prompt in prompts]))
    write_config(folder, model.config)
    save_tokenizer(folder, tokenizer)
