"""The ways to cut a text into tokens: word pieces, pairs of bytes, SentencePiece."""

import contextlib
import io

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from common import CHARACTERS, LIMIT, TEXTS, WORDPIECES, write_json

BERT_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = BERT_SPECIALS + CHARACTERS + WORDPIECES
# Full-width marks are read as those of ASCII.
RULES = ["FF0C\t2C", "FF01\t21", "FF1B\t3B", "3000\t20"]


def word_pieces(single="[CLS] $A [SEP]", words=WORDS, specials=BERT_SPECIALS):
    """The cutting of BERT; `single` is what stands around a text."""
    ids = {word: number for number, word in enumerate(words)}
    made = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(specials)
    around = [word for word in single.split() if word in ids]
    made.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=[(word, ids[word]) for word in around]
    )
    return made


def write_words(folder):
    """The vocabulary of word pieces, one a line."""
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": LIMIT,
        **{f"{word[1:-1].lower()}_token": word for word in BERT_SPECIALS},
    })


def byte_pairs(specials, trim):
    """Pairs of bytes, learnt from the texts; `trim` leaves the space before a word out of its offsets."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=trim)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    size = len(specials) + len(alphabet) + 60
    trainer = trainers.BpeTrainer(
        vocab_size=size, min_frequency=1, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(TEXTS, trainer)
    return made


def sentence_pieces(folder, file, single, types=(), **options):
    """A SentencePiece model in `folder`, and the same as a tokenizer; `single` is what stands around a text."""
    rules = folder / "rules.tsv"
    rules.write_text("\n".join(RULES) + "\n")
    trained, known = io.BytesIO(), [text.replace("鑫", "") for text in TEXTS if text]
    # A model keeps the path of its rules, so it is the same wherever it is made.
    with contextlib.chdir(folder):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(known * 3), model_writer=trained, model_type="unigram", vocab_size=104,
            hard_vocab_limit=False, character_coverage=1.0, normalization_rule_tsv=rules.name, num_threads=1,
            minloglevel=2, **options,
        )
    rules.unlink()
    (folder / file).write_bytes(trained.getvalue())
    made = from_sentence_pieces(trained.getvalue())
    ids = made.get_vocab()
    around = [word.split(":")[0] for word in single.split() if not word.startswith("$")]
    made.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=[(word, ids[word]) for word in around]
    )
    return made


def from_sentence_pieces(trained):
    """The tokenizer that cuts as a SentencePiece model does."""
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(trained)
    pieces = [(piece.piece, piece.score) for piece in proto.pieces]
    made = Tokenizer(models.Unigram(pieces, proto.trainer_spec.unk_id, byte_fallback=False))
    made.normalizer = normalizers.Sequence([
        normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap), normalizers.Replace(Regex(" {2,}"), " "),
    ])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    made.decoder = decoders.Metaspace(prepend_scheme="always")
    made.add_special_tokens([piece.piece for piece in proto.pieces if piece.type in (2, 3)])
    check_pieces(made, trained)
    return made


def check_pieces(tokenizer, trained):
    """Fails where the tokenizer does not cut as SentencePiece itself does."""
    pieces = sentencepiece.SentencePieceProcessor(model_proto=trained)
    for text in TEXTS:
        got, expected = tokenizer.encode(text, add_special_tokens=False).ids, pieces.encode(text)
        if got != expected:
            raise SystemExit(f"SentencePiece cuts {text!r} into {expected}, not {got}")
