"""The demonstration model, trained on the text of a generated world: `python train.py world held-out-world`.

Both are folders that `inkstone demo --seed N --dir FOLDER --headless` has filled. Of them, only the text, the places
of names in it, and the tone that it was written with are read: no price, no return.
"""

import json
import random
import sys
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import polars as pl
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch.nn import functional
from transformers import BertConfig, BertModel

HERE = Path(__file__).parent
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, CLS, SEP, MASK = (SPECIALS.index(word) for word in ("[PAD]", "[CLS]", "[SEP]", "[MASK]"))
# What stands where a name was, as in the program.
NAME = "\u25cc"
LABELS = ["negative", "neutral", "positive"]
HIDDEN, LAYERS, HEADS, INNER, LIMIT = 128, 2, 4, 256, 512
# Tokens of a window.
SHORTEST, LONGEST = 32, 256
STEPS, TOKENS, RATE, SEED = 5500, 2048, 2e-3, 20
# The share of tokens that is hidden.
HIDDEN_SHARE = 0.15


# Text.


@dataclass
class Document:
    """A document with its names and without, and its tone: 0 is bad, 1 neither, 2 good."""

    plain: str
    masked: str
    is_news: bool
    tone: int


def documents(world):
    """The documents of a world."""
    inner, tones = Path(world) / ".inkstone", tones_of(world)
    read = []
    for part in sorted((inner / "clean").glob("part-*.parquet")):
        clean = pl.read_parquet(part, columns=["doc_id", "kind", "title", "body"])
        names = names_of(inner / "links" / part.name)
        for row, (doc_id, kind, title, body) in enumerate(clean.iter_rows()):
            fields = {"title": title, "body": body}
            masked = (mask(text, names.get((row, field), [])) for field, text in fields.items())
            read.append(Document("\n".join(fields.values()), "\n".join(masked), kind == "news", tones[doc_id]))
    return read


def tones_of(world):
    """The tone of each document, in three classes."""
    truth = pl.read_parquet(Path(world) / "data" / "truth_tone.parquet", columns=["doc_id", "tone"])
    return {doc_id: 0 if tone < -1 / 3 else 2 if tone > 1 / 3 else 1 for doc_id, tone in truth.iter_rows()}


def names_of(part):
    """Where names stand, in bytes, by row and field."""
    found = {}
    links = pl.read_parquet(part, columns=["row", "field", "start", "end"]).filter(pl.col("end") > pl.col("start"))
    for row, field, start, end in links.iter_rows():
        found.setdefault((row, field), []).append((start, end))
    return found


def mask(text, spans):
    """The text with a mark in the place of each name."""
    source, made, done = text.encode(), [], 0
    for start, end in sorted(set(spans)):
        if start >= done:
            made += [source[done:start].decode(), NAME]
            done = end
    return "".join(made) + source[done:].decode()


# Cutting.


def tokenizer_of(texts):
    """One token a character: those that occur at least five times, and all digits and Latin letters."""
    normalizer = normalizers.BertNormalizer(lowercase=True)
    counts = Counter()
    for text in texts:
        counts.update(normalizer.normalize_str(text))
    within = set("0123456789abcdefghijklmnopqrstuvwxyz") | {NAME}
    alone = {character for character, count in counts.items() if count >= 5 and not character.isspace()} | within
    inner = within | {character for character in alone if joins(character)}
    words = SPECIALS + sorted(alone) + [f"##{character}" for character in sorted(inner)]
    ids = {word: number for number, word in enumerate(words)}
    made = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(SPECIALS)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    return made


def joins(character):
    """Whether BERT's cutting may leave the character within a longer word."""
    is_mark = unicodedata.category(character).startswith("P") or (character.isascii() and not character.isalnum())
    return not is_mark and not 0x3400 <= ord(character) <= 0x9FFF


def cut(tokenizer, texts):
    """The ids of each text, without special tokens."""
    return [np.array(one.ids, dtype=np.int64) for one in tokenizer.encode_batch(texts, add_special_tokens=False)]


# The model.


# Of the waves by which places are told at first, per token: the quickest turns half a circle.
FREQUENCIES = torch.pi / 500 ** (torch.arange(HIDDEN // 2) / (HIDDEN // 2))


def turned(step, count):
    """What takes the first waves from a token's place, moved by `step` places."""
    taken, angles = torch.zeros(2 * count, HIDDEN), step * FREQUENCIES[:count]
    sines, wave = HIDDEN // 2, torch.arange(count)
    taken[wave, wave], taken[wave, sines + wave] = angles.cos(), angles.sin()
    taken[count + wave, wave], taken[count + wave, sines + wave] = -angles.sin(), angles.cos()
    return taken


class Demonstration(torch.nn.Module):
    """BERT, a head for the tone of a text, and one for the token behind a mask."""

    def __init__(self, words):
        super().__init__()
        self.bert = BertModel(BertConfig(
            vocab_size=words, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
            intermediate_size=INNER, max_position_embeddings=LIMIT, attn_implementation="eager",
            hidden_dropout_prob=0.05, attention_probs_dropout_prob=0.05,
        ))
        self.tone = torch.nn.Linear(HIDDEN, len(LABELS))
        self.transform = torch.nn.Sequential(
            torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.GELU(), torch.nn.LayerNorm(HIDDEN)
        )
        self.bias = torch.nn.Parameter(torch.zeros(words))
        self.look_around()

    @torch.no_grad()
    def look_around(self):
        """Has each head of the first layer begin with a neighbour of the token, which it would take long to find."""
        places = torch.arange(LIMIT)[:, None] * FREQUENCIES
        self.bert.embeddings.position_embeddings.weight.copy_(0.05 * torch.cat([places.sin(), places.cos()], -1))
        attention, size = self.bert.encoder.layer[0].attention.self, HIDDEN // HEADS
        for head, step in enumerate((-1, 1, -2, 2)):
            rows = slice(head * size, (head + 1) * size)
            attention.query.weight[rows] += 1.3 * turned(step, size // 2)
            attention.key.weight[rows] += 1.3 * turned(0, size // 2)

    def words(self, states):
        """The logits of the word at each of `states`, [places, hidden]; the words' own vectors are the weights."""
        return functional.linear(self.transform(states), self.bert.embeddings.word_embeddings.weight, self.bias)

    def forward(self, input_ids, attention_mask, token_type_ids):
        made = self.bert(input_ids, attention_mask, token_type_ids, output_hidden_states=True)
        states = made.last_hidden_state
        words = self.words(states.flatten(0, 1)).reshape(states.shape[0], states.shape[1], self.bias.numel())
        return states, made.pooler_output, self.tone(made.pooler_output), words, *made.hidden_states


OUTPUTS = ["last_hidden_state", "pooler_output", "logits", "mlm_logits"]
OUTPUTS += [f"hidden_states.{layer}" for layer in range(LAYERS + 1)]
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


# Training.


def window(ids, length, draw):
    """A stretch of a document between the special tokens, and the share of the document that it is."""
    room = max(len(ids) - (length - 2), 0)
    start = 0 if draw.random() < 0.5 else draw.randint(0, room)
    part = ids[start : start + length - 2]
    return [CLS, *part, SEP], len(part) / max(len(ids), 1)


def padded(rows):
    """Rows of ids as one tensor, and the mask of what is not padding."""
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
    return ids, (ids != PAD).long()


def hide(ids, words, generator):
    """The ids with some tokens hidden, and which: eight of ten by the mask, one by another token, one left as it is."""
    chance = torch.rand(ids.shape, generator=generator)
    hidden = (chance < HIDDEN_SHARE) & (ids >= len(SPECIALS))
    other = torch.randint(len(SPECIALS), words, ids.shape, generator=generator)
    shown = torch.where(hidden & (chance < 0.8 * HIDDEN_SHARE), MASK, ids)
    return torch.where(hidden & (chance >= 0.9 * HIDDEN_SHARE), other, shown), hidden


def positions(ids, draw):
    """Positions that begin at nought or, half the time, anywhere, so that all of them are learnt."""
    width = ids.shape[1]
    start = 0 if draw.random() < 0.5 else draw.randint(0, LIMIT - width)
    return torch.arange(start, start + width)[None]


def loss_of(model, ids, seen, tones, shares, draw, generator):
    """The loss of hidden tokens and that of the tone, a window counting for the share of its document that it is."""
    shown, hidden = hide(ids, model.bias.numel(), generator)
    made = model.bert(shown, seen, position_ids=positions(ids, draw))
    of_words = functional.cross_entropy(model.words(made.last_hidden_state[hidden]), ids[hidden])
    of_tones = functional.cross_entropy(model.tone(made.pooler_output), tones, reduction="none")
    return of_words, (of_tones * shares).sum() / shares.sum()


def train(model, plain, masked, tones):
    """Steps over windows of documents, their names shown or hidden at random."""
    draw, generator = random.Random(SEED), torch.Generator().manual_seed(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    warm = STEPS // 20
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (STEPS - step) / (STEPS - warm))
    )
    model.train()
    for step in range(STEPS):
        length = draw.randint(SHORTEST, LONGEST)
        chosen = draw.sample(range(len(plain)), TOKENS // length)
        rows = [window((plain if draw.random() < 0.5 else masked)[i], length, draw) for i in chosen]
        ids, seen = padded([row for row, _ in rows])
        shares, of_chosen = torch.tensor([share for _, share in rows]), torch.tensor([tones[i] for i in chosen])
        of_words, of_tones = loss_of(model, ids, seen, of_chosen, shares, draw, generator)
        optimizer.zero_grad()
        (of_words + of_tones).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 200 == 0:
            print(f"step {step}: tokens {of_words.item():.3f}, tone {of_tones.item():.3f}", flush=True)
    model.eval()


# What it learnt.


def windows(ids):
    """A document as windows, one behind the other."""
    return [[CLS, *ids[start : start + LONGEST - 2], SEP] for start in range(0, max(len(ids), 1), LONGEST - 2)]


@torch.no_grad()
def tone_accuracy(model, cuts, tones):
    """The share of documents whose tone is found, from the mean of the probabilities of their windows."""
    right = 0
    for ids, tone in zip(cuts, tones):
        made = model.bert(*padded(windows(ids)))
        right += model.tone(made.pooler_output).softmax(-1).mean(0).argmax().item() == tone
    return right / len(cuts)


@torch.no_grad()
def word_accuracy(model, cuts):
    """The share of hidden tokens that are found, in the first window of each document."""
    generator, right, count = torch.Generator().manual_seed(SEED), 0, 0
    for start in range(0, len(cuts), 16):
        ids, seen = padded([windows(one)[0] for one in cuts[start : start + 16]])
        shown, hidden = hide(ids, model.bias.numel(), generator)
        found = model.words(model.bert(shown, seen).last_hidden_state[hidden]).argmax(-1)
        right, count = right + (found == ids[hidden]).sum().item(), count + hidden.sum().item()
    return right / count


def report(model, tokenizer, held_out):
    """Prints how well it does on a world that it has not seen."""
    tones = [document.tone for document in held_out]
    news = [i for i, document in enumerate(held_out) if document.is_news]
    print(f"documents {len(held_out)}, of which news {len(news)}; tones {sorted(Counter(tones).items())}")
    for name in ("plain", "masked"):
        cuts = cut(tokenizer, [getattr(document, name) for document in held_out])
        of_all, of_words = tone_accuracy(model, cuts, tones), word_accuracy(model, cuts)
        of_news = tone_accuracy(model, [cuts[i] for i in news], [tones[i] for i in news])
        print(f"{name}: tone {of_all:.4f}, of news {of_news:.4f}, hidden tokens {of_words:.4f}")


# Files.


def export(model, path):
    """Writes the graph."""
    ids = torch.full((2, 9), MASK)
    names = INPUTS + OUTPUTS
    axes = {name: {0: "batch"} | ({} if name in ("pooler_output", "logits") else {1: "sequence"}) for name in names}
    torch.onnx.export(
        model, (ids, torch.ones_like(ids), torch.zeros_like(ids)), str(path), dynamo=False, opset_version=17,
        input_names=INPUTS, output_names=OUTPUTS, dynamic_axes=axes,
    )
    graph = onnx.load(path)
    for node in graph.graph.node:
        node.name, node.doc_string = "", ""
    onnx.save(graph, path)


def write_config(path, words):
    """What a reader of the graph has to know."""
    path.write_text(json.dumps({
        "model_type": "bert", "architectures": ["BertForSequenceClassification"], "vocab_size": words,
        "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
        "max_position_embeddings": LIMIT, "type_vocab_size": 2, "pad_token_id": PAD,
        "problem_type": "single_label_classification", "id2label": dict(enumerate(LABELS)),
        "label2id": {label: number for number, label in enumerate(LABELS)},
        "inkstone": {"notice": "demonstration model trained on synthetic text", "fitted_until": None},
    }, indent=2) + "\n")


@torch.no_grad()
def check(model, path, cuts):
    """Fails where the graph does not give what the model gives, on batches of several shapes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for rows in ([cuts[0][:5]], [ids[:100 * (n + 1)] for n, ids in enumerate(cuts[:4])], [cuts[0][:0]]):
        ids, seen = padded([[CLS, *row, SEP] for row in rows])
        inputs = (ids, seen, torch.zeros_like(ids))
        given = graph.run(OUTPUTS, {name: value.numpy() for name, value in zip(INPUTS, inputs)})
        for name, got, expected in zip(OUTPUTS, given, model(*inputs)):
            gap = np.abs(got - expected.numpy()).max()
            if got.shape != expected.shape or not gap < 1e-4:
                raise SystemExit(f"{name} differs by {gap}")


def main():
    world, held_out = map(documents, sys.argv[1:3])
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    tokenizer = tokenizer_of([document.plain for document in world])
    plain, masked = (cut(tokenizer, [getattr(one, name) for one in world]) for name in ("plain", "masked"))
    model = Demonstration(tokenizer.get_vocab_size())
    weights = sum(weight.numel() for weight in model.parameters())
    print(f"{len(world)} documents, {tokenizer.get_vocab_size()} words, {weights} weights")
    train(model, plain, masked, [document.tone for document in world])
    tokenizer.save(str(HERE / "tokenizer.json"))
    write_config(HERE / "config.json", tokenizer.get_vocab_size())
    export(model, HERE / "model.onnx")
    check(model, HERE / "model.onnx", plain)
    report(model, tokenizer, held_out)


if __name__ == "__main__":
    main()
