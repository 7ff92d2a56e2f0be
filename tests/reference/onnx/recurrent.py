"""Families of LSTMs: ELMo over words, ELMo over the characters of words, and ULMFiT."""

import torch

from common import (
    HIDDEN, INNER, LAYERS, TEXTS, by_pooling, cases, folder_of, shaken, write_json,
)
from cutting import sentence_pieces
from encoders import call, write_expected, write_graph

# ELMo. Texts are words with a space between them.

SENTENCES = ["净利润 同比 增长", "公司 拟 回购 AI 芯片 订单 ， 金额 不 超过 3 亿元 。", "", "某 未知 词 公司", "毛利率 下降"]
WORDS = ["<pad>", "<S>", "</S>", "<UNK>"] + sorted(
    {word for sentence in SENTENCES for word in sentence.split()} - {"某", "未知", "词"} | {"股东", "营业收入"}
)
WIDTH = 50
BEGIN, END, BEGIN_WORD, END_WORD, PAD = 256, 257, 258, 259, 260
MIXES = [{"s": [0.0, 0.0, 0.0], "gamma": 1.0}, {"s": [0.5, -1.0, 2.0], "gamma": 0.7}]


def reversed_rows(states, mask):
    """The tokens of each row from last to first; what is behind them stays."""
    lengths, places = mask.sum(1, keepdim=True), torch.arange(mask.shape[1])[None]
    order = torch.where(places < lengths, lengths - 1 - places, places)
    return states.gather(1, order[:, :, None].expand(-1, -1, states.shape[2]))


class Elmo(torch.nn.Module):
    """Two LSTMs of each direction over what `read` makes of the ids, the directions' outputs side by side."""

    def __init__(self, read):
        super().__init__()
        half = HIDDEN // 2
        self.read = read
        self.forwards, self.backwards = (
            torch.nn.ModuleList(torch.nn.LSTM(half, half, batch_first=True) for _ in range(LAYERS)) for _ in range(2)
        )

    def forward(self, input_ids, attention_mask):
        ahead = self.read(input_ids)
        back = reversed_rows(ahead, attention_mask)
        layers = [torch.cat([ahead, ahead], -1)]
        for number, (forwards, backwards) in enumerate(zip(self.forwards, self.backwards)):
            # The second layer is added to the first.
            ahead = forwards(ahead)[0] + (ahead if number else 0)
            back = backwards(back)[0] + (back if number else 0)
            layers.append(torch.cat([ahead, reversed_rows(back, attention_mask)], -1))
        return {"layers": torch.stack(layers, 1)}


class Characters(torch.nn.Module):
    """A word as the largest of each filter over its characters."""

    def __init__(self):
        super().__init__()
        half = HIDDEN // 2
        self.characters = torch.nn.Embedding(262, 4)
        self.filters = torch.nn.ModuleList(torch.nn.Conv1d(4, half, width) for width in (1, 2, 3))
        self.out = torch.nn.Linear(3 * half, half)

    def forward(self, ids):
        characters = self.characters(ids.flatten(0, 1)).transpose(1, 2)
        widest = [one(characters).max(-1).values.relu() for one in self.filters]
        return self.out(torch.cat(widest, -1)).reshape(ids.shape[0], ids.shape[1], -1)


def word_id(word):
    """The number of a word's line."""
    return WORDS.index(word if word in WORDS else "<UNK>")


def character_ids(word):
    """The bytes of a word between its marks, padded; each one more, so that nought is the padding of the row."""
    marks = {"<S>": [BEGIN], "</S>": [END]}
    inner = marks.get(word) or list(word.encode())[: WIDTH - 2]
    ids = [BEGIN_WORD, *inner, END_WORD]
    return [one + 1 for one in ids + [PAD] * (WIDTH - len(ids))]


def sentence_cases(id_of):
    """Each sentence alone, between the marks of its begin and end."""
    made = []
    for number, sentence in enumerate(SENTENCES):
        words, offsets, at = sentence.split(), [], 0
        for word in words:
            offsets.append([at, at + len(word.encode())])
            at = offsets[-1][1] + 1
        made.append({
            "text": number, "ids": [id_of(word) for word in ["<S>", *words, "</S>"]], "mask": [1] * (len(words) + 2),
            "offsets": [[0, 0], *offsets, [0, 0]], "specials": [1, *[0] * len(words), 1],
        })
    return made


def sentences(rows):
    """The inputs of a batch of sentences."""
    pad_rows = torch.nn.utils.rnn.pad_sequence
    return {
        "input_ids": pad_rows([torch.tensor(row["ids"]) for row in rows], batch_first=True),
        "attention_mask": pad_rows([torch.tensor(row["mask"]) for row in rows], batch_first=True),
    }


def mixed(layers, s, gamma):
    """The weighted sum of the layers."""
    return gamma * torch.einsum("j,jth->th", torch.tensor(s).softmax(0), layers)


def elmo(name, read, id_of, **config):
    """Writes a model, and the mixes of its layers pooled over each sentence."""
    folder, rows = folder_of(name), sentence_cases(id_of)
    outputs = write_graph(folder / "model.onnx", shaken(Elmo(read)), call, rows, sentences)
    layers = [one["layers"][0] for one in outputs]
    write_json(folder / "expected.json", {
        "texts": SENTENCES, "cases": rows,
        "layers": [one.mean(1) for one in layers],
        "average": [one.mean(0).mean(0) for one in layers],
        "mixes": [mix | {"mean": [mixed(one, **mix).mean(0) for one in layers]} for mix in MIXES],
    })
    sizes = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS}
    write_json(folder / "config.json", {"model_type": "elmo", **sizes, **config})
    return folder


def elmo_words():
    read = torch.nn.Embedding(len(WORDS), HIDDEN // 2)
    folder = elmo("elmo-words", read, word_id, vocab_size=len(WORDS), pad_token_id=0, bos_token_id=1, eos_token_id=2)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")


def elmo_chars():
    elmo("elmo-chars", Characters(), character_ids, max_characters_per_token=WIDTH)


# ULMFiT.


class Ulmfit(torch.nn.Module):
    """Three LSTMs, the inner ones wider than what goes in and comes out."""

    def __init__(self, words):
        super().__init__()
        self.words = torch.nn.Embedding(words, HIDDEN)
        sizes = [HIDDEN, INNER, INNER, HIDDEN]
        self.layers = torch.nn.ModuleList(
            torch.nn.LSTM(size, out, batch_first=True) for size, out in zip(sizes, sizes[1:])
        )

    def forward(self, input_ids):
        states = self.words(input_ids)
        for layer in self.layers:
            states = layer(states)[0]
        return {"last_hidden_state": states}


def last_max_mean(outputs):
    """The last state, the largest, and the mean, one behind the other."""
    if outputs is None:
        return None
    states = outputs["last_hidden_state"][0]
    return {"last+max+mean": torch.cat([states[-1], states.max(0).values, states.mean(0)])}


def ulmfit():
    folder = folder_of("ulmfit")
    tokenizer = sentence_pieces(folder, "spiece.model", "$A", unk_id=0, bos_id=1, eos_id=2, pad_id=3)
    rows = cases(tokenizer, TEXTS, limit=None)
    model = shaken(Ulmfit(tokenizer.get_vocab_size()))
    outputs = write_graph(folder / "model.onnx", model, call, rows, mask=False, types=False, pad=3)
    write_expected(folder, rows, pooled=by_pooling([last_max_mean(one) for one in outputs]))
    write_json(folder / "config.json", {
        "model_type": "ulmfit", "vocab_size": tokenizer.get_vocab_size(), "hidden_size": HIDDEN, "pad_token_id": 3,
    })
