"""Factors and prices in memory, tested by `inkstone backtest`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import _native
from ._program import run
from ._scratch import Scratch
from ._settings import as_flags
from .page import Page
from .table import Table


def backtest(factor: Any, prices: Any, *, name: str = "factor", ledger: str | Path | None = None, progress: bool = False, **flags: Any) -> Backtest:
    """Tests a factor on prices as `inkstone backtest --factor` does: returns, layers, events, look-ahead. Returns a `Backtest`.

    factor  date, code, value and, where it is known, known_at: a frame of polars, pyarrow or pandas, an `inkstone.Table`, a pandas.Series over
            (date, asset), or the path of a file. A value without known_at is taken as known at the close of its date.
    prices  date, code, open, close and so on: a frame, or the path of a file
    ledger  the folder of the research ledger, which counts every test; None: the one in .inkstone of the current folder
    flags   flags of the command: horizons=[1, 5], quantiles=5, preset="alphalens"

    Raises `Failed` with the words of the program where it refuses something.
    """
    folder = Scratch()
    place = Path(folder.path)
    flags = as_flags({"ledger": None if ledger is None else Path(ledger).absolute(), **flags})
    report = run(
        *("backtest", "--factor", _file(factor, place, name), "--prices", _file(prices, place, "prices")),
        *("--out", place / "out", "--formats", "parquet", "--shapes", "long", *flags),
        progress=progress,
    )
    return Backtest(report, place / "out", folder)


class Backtest:
    """The outcome of a backtest: `figures` (a dict), `lint` (verdicts on look-ahead), `tables` (by name, as `Table`), `report` (a page)."""

    def __init__(self, report, out, folder):
        self._folder = folder
        (factor,) = report["factors"]
        self.name, self.figures, self.lint = factor["name"], factor, factor["lint"]
        self.tables = {path.stem: Table([path]) for path in sorted(out.rglob("*.parquet"))}
        self.report = Page(out / "report.html")

    def __repr__(self):
        return f"Backtest({self.name!r}, tables: {', '.join(self.tables)})"

    def _repr_html_(self):
        return self.report._repr_html_()


def _file(given, folder, name):
    """The file of a table; a frame is written into the folder."""
    if isinstance(given, Table):
        if len(given.paths) > 1:
            raise ValueError(f"{name} has {len(given.paths)} files: give one, or a frame (to_polars())")
        return Path(given.paths[0]).absolute()
    if isinstance(given, (str, Path)):
        return Path(given).absolute()
    if hasattr(given, "reset_index") and hasattr(given, "to_frame"):
        # A pandas.Series over (date, asset), as alphalens has it.
        given = given.rename("value").reset_index()
        given.columns = ["date", "code", "value"]
    path = folder / f"{name}.parquet"
    _native.write_parquet(path, given)
    return path
