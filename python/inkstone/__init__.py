"""砚 Inkstone in Python: text, models, projects, backtests and clusters.

    import inkstone as ink

    ink.tokenize(frame["text"])                          # a list of words a text
    model = ink.train("tfidf", texts, times=times)       # or ink.open_model("tone.model")
    model.score(texts); model.known_at(times)

    project = ink.demo("market")                         # or ink.Project("workbench.toml")
    project.run()                                        # as `inkstone run`
    project.features("tone"), project.factor("tone")     # to_polars(), to_pandas(), to_arrow()
    ink.backtest(project.factor("tone"), prices)

`inkstone.spark` and `inkstone.ray` compute features on a cluster, `inkstone.arrow` gives batches of engines the columns of a model. Text and models
are in this process; training, projects and backtests are done by the program, which comes with this package.
"""

import os

# From 1.29 on ONNX Runtime tells its maker of every process and model, unless this is set before it is loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

from . import arrow
from ._native import Column, Frame
from ._program import Failed, Killed, program, run, version
from ._tasks import work
from .estimators import (
    Bm25Vectorizer,
    CountVectorizer,
    LogisticRegression,
    Lsa,
    PurgedTimeSplit,
    Ridge,
    Sestm,
    Surprise,
    TfidfVectorizer,
    Word2Vec,
)
from .market import Backtest, backtest
from .model import Model, open_model
from .project import Project, demo, init
from .table import Table
from .text import keywords, normalise, read_papers, sentences, tokenize, truncate
from .training import train

__all__ = [
    "Backtest",
    "Bm25Vectorizer",
    "Column",
    "CountVectorizer",
    "Failed",
    "Frame",
    "Killed",
    "LogisticRegression",
    "Lsa",
    "Model",
    "Project",
    "PurgedTimeSplit",
    "Ridge",
    "Sestm",
    "Surprise",
    "Table",
    "TfidfVectorizer",
    "Word2Vec",
    "arrow",
    "backtest",
    "demo",
    "init",
    "keywords",
    "normalise",
    "open_model",
    "program",
    "read_papers",
    "run",
    "sentences",
    "tokenize",
    "train",
    "truncate",
    "version",
    "work",
]
