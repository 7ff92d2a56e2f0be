"""A project: its configuration, its runs and its tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _native
from ._program import run
from ._scratch import Scratch
from .page import Page
from .table import Table

STAGES = ["ingest", "clean", "link", "structure", "rewrite", "extract", "factor", "backtest", "lint", "export", "report"]


def demo(folder: str | os.PathLike[str], scale: float | None = None, progress: bool = False) -> Project:
    """Makes a synthetic market in a new folder, runs the whole pipeline on it, and returns its project."""
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    size = [] if scale is None else ["--scale", scale]
    run("demo", "--dir", folder.name, *size, folder=folder.parent, progress=progress)
    return Project(folder / "workbench.toml")


def init(folder: str | os.PathLike[str]) -> Project:
    """Writes a complete, commented workbench.toml into a folder, and returns its project."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    run("init", folder=folder)
    return Project(folder / "workbench.toml")


class Project:
    """A project by its configuration. Each method runs the program, which holds the project's lock while it writes."""

    def __init__(self, config: str | os.PathLike[str] = "workbench.toml") -> None:
        self.config = Path(config).resolve()
        if not self.config.is_file():
            raise FileNotFoundError(f"there is no configuration {self.config}: inkstone.init(folder) writes one")
        self.folder = self.config.parent

    def __repr__(self):
        return f"Project({str(self.config)!r})"

    def _run(self, command, *arguments, progress=False):
        return run(command, "-c", self.config.name, *arguments, folder=self.folder, progress=progress)

    def run(self, until: str | None = None, progress: bool = False) -> dict[str, Any]:
        """Runs the stages up to and including `until` (see `STAGES`), all by default, and returns what each did (`stages`) and what was
        left out with the reason (`left_out`)."""
        if until is not None and until not in STAGES:
            raise ValueError(f"there is no stage {until!r}; the stages are: {', '.join(STAGES)}")
        return self._run("run", *([] if until is None else ["--stage", until]), progress=progress)

    def backtest(self, progress: bool = False) -> dict[str, Any]:
        """Runs the stages up to the backtests; returns the figures of each factor, by its name."""
        return {factor["name"]: factor for factor in self.run("backtest", progress)["factors"]}

    def lint(self, progress: bool = False) -> dict[str, Any]:
        """Runs the checks for look-ahead; returns the verdicts of each factor, by its name."""
        return {factor["name"]: factor["lint"] for factor in self.run("lint", progress)["factors"]}

    def trace(self, factor: str, date: Any = None, code: str | None = None, document: str | None = None) -> dict[str, Any]:
        """The values of a factor taken apart: the names of a date, the documents of a name, the words of a document."""
        flags = [("--date", date), ("--code", code), ("--document", document)]
        return self._run("trace", factor, *(part for flag, value in flags if value is not None for part in (flag, str(value))))

    def ledger(self) -> dict[str, Any]:
        """Every backtest that ran, with statistics corrected for the number of trials."""
        return self._run("ledger")

    def _artefacts(self):
        return self.folder / (_native.read_setting(self.config, "project", "dir") or ".inkstone")

    def _table(self, paths, what):
        paths = [path for path in paths if path.is_file()]
        if not paths:
            raise FileNotFoundError(f"{what}: run the project first (project.run())")
        return Table(paths)

    def factor(self, name: str) -> Table:
        """The values of a factor, as the last run made them: date, code, value, and known_at, the time from which on a value was known."""
        return self._table([self._artefacts() / "factors" / f"{name}.parquet"], f"there are no values of a factor {name!r}")

    def documents(self) -> Table:
        """The cleaned documents: doc_id, kind, codes, title, body, published_at and more."""
        return self._table(sorted((self._artefacts() / "clean").glob("part-*.parquet")), "there is no cleaned corpus")

    def features(self, name: str) -> Table:
        """The rows of a feature, as the last run made them: doc_id, published_at, known_at, and a float32 column each, or the lists `columns` and
        `values` of sparse rows. known_at is the time from which on the values are known: of the document, of the model of its fold, and of the
        models behind the features that it reads. Where a document has no value, all are null."""
        folder = Scratch()
        path = Path(folder.path) / "feature.parquet"
        self._run("store", "export", "--documents", name, "--out", path)
        return Table([path], folder)

    def report(self, factor: str) -> Page:
        """The page of a factor that the last run wrote, which Jupyter shows."""
        path = self.folder / (_native.read_setting(self.config, "report", "dir") or "reports") / factor / "index.html"
        if not path.is_file():
            raise FileNotFoundError(f"there is no report on a factor {factor!r}: run the project first (project.run())")
        return Page(path)

    def plan(
        self,
        feature: str,
        tasks: int,
        out: str | os.PathLike[str],
        rows: str | os.PathLike[str] | None = None,
        mixed: bool = False,
        threads: int = 1,
    ) -> dict[str, Any]:
        """Plans the rows of a feature for many processes (`inkstone plan`), and returns the object of the command with `tasks`, `rows` and, on
        Linux, `memory_mb`, which a worker of so many `threads` takes at most.

        A task is run by `inkstone.run("work", out, "--task", number)` on any machine that sees the project's folder under the same path.
        """
        flags = ["--rows", Path(rows).resolve()] if rows is not None else []
        flags += ["--threads", threads] + (["--mixed"] if mixed else [])
        return self._run("plan", "--feature", feature, "--tasks", tasks, "--out", Path(out).resolve(), *flags)
