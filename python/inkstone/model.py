"""Models of any kind, in the process of Python."""

from __future__ import annotations

import datetime
import glob
import importlib.util
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import _native
from ._native import Column, Frame
from ._scratch import Scratch
from ._settings import as_json


def _library():
    """The ONNX Runtime of the package onnxruntime, which is not imported; None where it is not installed or another one is named."""
    if os.environ.get("ORT_DYLIB_PATH"):
        return None
    found = importlib.util.find_spec("onnxruntime")
    if not found or not found.origin:
        return None
    folder = os.path.join(os.path.dirname(found.origin), "capi")
    libraries = [*glob.glob(os.path.join(folder, "libonnxruntime.so*")), *glob.glob(os.path.join(folder, "libonnxruntime.*dylib"))]
    return max(libraries, default=None)


def open_model(
    path: str | os.PathLike[str],
    *,
    device: str = "auto",
    library: str | os.PathLike[str] | None = None,
    truncation: str = "none",
    encoder: str | os.PathLike[str] | None = None,
    threads: int = 0,
    **settings: Any,
) -> Model:
    """Opens a model: a file of `inkstone train`, a file of KenLM, word2vec or fastText, or the folder of a contextual model (ONNX, safetensors).

    device      where a contextual model runs: auto, cpu or cuda:0
    library     the library of ONNX Runtime; None: the one of the package onnxruntime, else as `inkstone doctor` finds it
    truncation  what a contextual model reads of a text, in its tokens: head:512, head+tail:128+382
    encoder     the encoder of a head, where it is not where the head's file says
    threads     threads of the model; 0 takes all
    settings    for contextual models, by the names of `[feature.onnx]`: output ("embedding", "scores", ...), pooling, layers, max_tokens, stride,
                normalise, prompt and so on; for all models fitted_until, the last day of the text that it was trained on, where it does not say it

    Raises FileNotFoundError where there is no such file, ValueError where it cannot be read, TypeError for an unknown setting.
    """
    return Model(path, device=device, library=library, truncation=truncation, encoder=encoder, threads=threads, **settings)


class Model:
    """A model that is ready for texts. Threads may share it; a forked child opens it again by itself, and it can be pickled: by its path and the
    digest of its files, or by its bytes where it was trained without a file.

    kind          its kind, as in `inkstone train`
    key           the digest of its files
    columns       the names of the columns of its rows
    fitted_until  the last time of the data that it was fitted on; None where neither the model nor the user says it
    """

    def __init__(self, path: str | os.PathLike[str], *, folder: Scratch | None = None, **how: Any) -> None:
        # A model that was trained without a file has a folder, which goes with it.
        self._folder = folder
        # The summary of its training, where it was trained here.
        self.training: dict[str, Any] | None = None
        self.path = Path(path).absolute()
        if isinstance(how.get("fitted_until"), datetime.date):
            how["fitted_until"] = how["fitted_until"].strftime("%Y-%m-%d")
        self._how = how
        self._native = self._open()
        self.key = self._native.key

    def _open(self):
        how = dict(self._how)
        device, library, truncation, encoder, self._threads = map(how.pop, ("device", "library", "truncation", "encoder", "threads"))
        onnx = {name: value for name, value in how.items() if value is not None}
        runtime = {"device": device, "library": _library() if library is None else library}
        settings = as_json({"onnx": onnx, "runtime": runtime, "truncation": truncation, "encoder": encoder})
        return _native.NativeModel(self.path, settings, self._threads)

    def _here(self):
        if self._native.process != os.getpid():
            self._native = self._open()
        return self._native

    def __repr__(self):
        return f"Model({str(self.path)!r}, kind={self.kind!r}, fitted_until={self.fitted_until})"

    def __reduce__(self):
        if self._folder is not None:
            return _from_bytes, (self.path.name, self.path.read_bytes(), self._how)
        return _reopened, (str(self.path), self._how, self.key)

    @property
    def kind(self) -> str:
        return self._here().kind

    @property
    def columns(self) -> list[str]:
        return self._here().columns

    @property
    def fitted_until(self) -> datetime.datetime | None:
        return self._here().fitted_until

    @property
    def map_columns(self) -> list[tuple[str, str]]:
        """The columns that `map` gives before `known_at`: pairs of a name and "text", "number", "vector" or "indices"."""
        return self._here().map_columns

    def score(self, texts: Any, titles: Any = None) -> Any:
        """The rows of texts, one each, of the kind that the model gives.

        Vectors (word vectors, lsa, doc2vec, embeddings) are a numpy.ndarray [texts, columns] of float32, with NaN for None. Weights of terms
        (tfidf, bm25, counts) are a scipy.sparse.csr_matrix. Scores and probabilities are a `Frame` with a column each.
        """
        rows = self._here().rows(texts, titles, self._threads)
        if isinstance(rows, _native.Frame):
            return rows
        import numpy

        if len(rows) == 2:
            values, width = rows
            return numpy.frombuffer(values, dtype="<f4").reshape(-1, width)
        import scipy.sparse

        values, columns, ends, width = rows
        ends = numpy.frombuffer(ends, dtype="<i8")
        # SciPy keeps both arrays of places in one type.
        ends = ends.astype("<i4") if ends[-1] < 2**31 else ends
        parts = numpy.frombuffer(values, dtype="<f4"), numpy.frombuffer(columns, dtype="<i4"), ends
        return scipy.sparse.csr_matrix(parts, shape=(len(ends) - 1, width))

    def known_at(self, times: Any) -> Column:
        """The time from which on the row of a document of each time is known: its publication, or the end of the model's data if that is
        later. Times with a zone are converted to Shanghai's, others are Shanghai's. Raises ValueError where the end is not known."""
        return self._here().known_at(times)

    def map(self, texts: Any, times: Any, titles: Any = None, allow_night: float = 0.15) -> Frame:
        """The columns of documents with `known_at`, as a `Frame`: vectors are one column `vector`, sparse rows are `indices` and `values`.

        Stops where more than `allow_night` of 500 or more documents seem to be published between 01:00 and 05:00 in Shanghai: their times may be
        eight hours off.
        """
        return self._here().mapper(allow_night).map(texts, times, titles, self._threads)

    def explain(self, text: str, of: str | None = None, top: int = 20) -> dict[str, Any]:
        """The score of a text taken apart into its words: a dict of formula, score, intercept and terms. `of` names the class or component
        where there are several."""
        return json.loads(self._here().explain(text, of, top))

    def nearest(self, words: Iterable[str], k: int = 10) -> dict[str, list[tuple[str, float]]]:
        """The `k` words nearest to each word by a model of word vectors: for each word a list of (word, cosine). Raises ValueError for a word
        without a vector."""
        near = json.loads(self._here().nearest(list(words), k))
        return {found["of"]: [(word["name"], word["similarity"]) for word in found["neighbours"]] for found in near}

    def save(self, path: str | os.PathLike[str]) -> Model:
        """Copies the file of the model to `path`, whole or not at all, and returns the model there."""
        path = Path(path).absolute()
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with open(part, "xb") as out:
                out.write(self.path.read_bytes())
                out.flush()
                os.fsync(out.fileno())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
        return Model(path, **self._how)


def _reopened(path, how, key):
    model = Model(path, **how)
    if model.key != key:
        raise ValueError(f"{path} is another model than the one that was pickled: {model.key}, not {key}")
    return model


def _from_bytes(name, content, how):
    folder = Scratch()
    path = Path(folder.path) / name
    path.write_bytes(content)
    return Model(path, folder=folder, **how)
