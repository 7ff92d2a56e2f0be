"""Chinese text without a model: tokens, truncation, sentences, normal form, keywords, and the text of papers.

Texts are a column of pandas (3 or later), polars or pyarrow, or any iterable of str and None; None stays None. Results are a `Column`: a list of
Arrow with `to_list`, `to_arrow`, `to_polars` and `to_pandas`. Settings have the names and defaults of `workbench.toml`.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from . import _native
from ._native import Column
from ._program import run
from ._settings import as_json


@functools.lru_cache(maxsize=8)
def _tokenizer(settings):
    return _native.Tokenizer(settings)


def tokenize(texts: Any, *, terms: bool = False, threads: int = 0, **settings: Any) -> Column:
    """The tokens of each text: a list of str a text.

    `terms`: only the words that models of words count, in lower case, without stopwords, punctuation and numbers. `settings` are those of
    `[tokenizer]`: mode ("jieba", "char", "wordpiece", "crf"), cut ("precise", "full", "search"), hmm, dictionaries, stopwords, pieces, labeller and so on.
    `threads`: 0 for all. Raises TypeError where something is no text or a setting is unknown.
    """
    return _tokenizer(as_json(settings)).tokens(texts, terms, threads)


def truncate(texts: Any, truncation: str, *, specials: int | None = None, threads: int = 0, **settings: Any) -> Column:
    """The part of each text that a model would read: `truncation` is "head:512", "tail:512", "head+tail:128+382" or "head+tail:512@0.25".

    `specials`: special tokens that count towards a single limit (default 2; for word pieces those of the tokenizer). `settings` as for
    `tokenize`.
    """
    return _tokenizer(as_json(settings)).truncate(texts, truncation, specials, threads)


def normalise(texts: Any, *, threads: int = 0, **settings: Any) -> Column:
    """The normal form of each text, as the stage clean writes it. `settings` are those of `[clean]`: markup, unify_numbers."""
    return _native.normalise(texts, as_json(settings), threads)


def sentences(texts: Any, *, threads: int = 0) -> Column:
    """The sentences of each text: a list of str a text."""
    return _native.sentences(texts, threads)


def keywords(texts: Any, k: int = 20, *, threads: int = 0, **settings: Any) -> Column:
    """The keywords of each text, the best first: a list of {"word", "score"} a text.

    `settings`: method ("textrank", or "tfidf" with the rarity of words among these texts), pos (parts of speech), min_chars.
    """
    return _native.keywords(texts, as_json({"top": k, **settings}), threads)


def read_papers(paths: Any, **flags: Any) -> list[dict[str, Any]]:
    """The text of PDF, HTML, DOCX and text files, or of folders of them: a dict a file with file, title, text, published_at and quality, or with
    reason and detail where it cannot be read. `flags`: max_pages, max_garbled."""
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    named = [part for name, value in flags.items() for part in (f"--{name.replace('_', '-')}", value)]
    return run("read", *named, "--text", "--", *paths)["files"]
