"""Models trained on texts in memory, by `inkstone train`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _native
from ._program import run
from ._scratch import Scratch
from ._settings import as_flags
from .model import Model

_PLAIN = {"device": "auto", "library": None, "truncation": "none", "encoder": None, "threads": 0}


def train(
    kind: str,
    texts: Any,
    *,
    titles: Any = None,
    times: Any = None,
    labels: Any = None,
    values: Any = None,
    output: str | os.PathLike[str] | None = None,
    until: Any = None,
    threads: int | None = None,
    seed: int | None = None,
    progress: bool = False,
    **flags: Any,
) -> Model:
    """Trains a model as `inkstone train KIND` does, to the same bytes, and returns it opened, with the summary of its training as `.training`.

    kind             tfidf, bm25, lsa, word2vec, fasttext, ngram, logistic, ridge, sestm and so on: see `inkstone train --help`
    texts, titles    columns or lists of text, one each a document
    times            times of publication; with them the model says until when its data reach
    labels, values   classes, or numbers such as returns, for models that learn them
    output           the file of the model; None: one that goes with the object
    until            documents after this time are left out, as if they were not known
    flags            flags of the command: min_df=5 is --min-df 5, ngram_range=(1, 2) is --ngram-range 1,2, sg=True is --sg

    Raises `Failed` with the words of the program where it refuses something.
    """
    folder = Scratch()
    lines = Path(folder.path) / "lines.jsonl"
    _native.write_lines(lines, texts, titles, times, _names(labels), None if values is None else [float(value) for value in values])
    path = Path(folder.path) / f"{kind}.model" if output is None else Path(output).absolute()
    flags = as_flags({"until": until, "threads": threads, "seed": seed, **flags})
    training = run("train", kind, "--input", lines, "--output", path, *flags, progress=progress)
    lines.unlink()
    model = Model(path, folder=folder if output is None else None, **_PLAIN)
    model.training = training
    return model


def _names(labels):
    """Classes as text: the program writes 1 and "1" alike."""
    if labels is None or hasattr(labels, "__arrow_c_stream__") or hasattr(labels, "__arrow_c_array__"):
        return labels
    return [None if label is None else str(label) for label in labels]
