"""Reads an export with the tools that it is for, and fails on the first value that is not that of the long table.

    python check.py DIR [--factor FILE] [--prices FILE]

DIR holds an export of `inkstone` (manifest.json says of which shapes and formats), `long` among its shapes. FILE of --factor is
the table that was exported (date, asset, factor), FILE of --prices what alphalens computes returns from (date, asset, close).
Numbers are equal to the last bit; in .bin, to the last bit of a float32. Tools and versions: requirements.txt beside this file.
"""
import argparse
import contextlib
import io
import json
import os
import re
import sys
import traceback
import warnings
from pathlib import Path

import blake3
import numpy as np
import pandas as pd
import pyarrow.ipc
import pyarrow.parquet

EXCHANGES = {"SH": "SH", "SS": "SH", "XSHG": "SH", "SZ": "SZ", "XSZ": "SZ", "XSHE": "SZ", "BJ": "BJ"}
BOM = b"\xef\xbb\xbf"


def qlib_code(code):
    """A code of any style as Qlib writes it; a code of no mainland exchange stays as it is."""
    if match := re.fullmatch(r"(\d{6})\.([A-Z]+)", code):
        if exchange := EXCHANGES.get(match[2]):
            return exchange + match[1]
    if match := re.fullmatch(r"(sh|sz|bj)\.(\d{6})", code):
        return match[1].upper() + match[2]
    return code


class Difference(Exception):
    """What is not as it should be."""


def need(true, message):
    if not true:
        raise Difference(message)


def same(found, expected, what):
    """Fails unless two frames or series are equal: index, its names and order, columns, every bit of every number."""
    # Whether times are kept as micro- or nanoseconds is the reader's affair; so is the class of a column of text.
    found = found.set_axis(found.index.set_levels(found.index.levels[0].astype("datetime64[ns]"), level=0))
    compare = pd.testing.assert_frame_equal if isinstance(expected, pd.DataFrame) else pd.testing.assert_series_equal
    try:
        compare(found, expected, check_exact=True, check_index_type=False, check_dtype=False, check_freq=False)
    except AssertionError as error:
        raise Difference(f"{what}\n{error}") from None


class Export:
    """An export and its long table, indexed by time and Qlib's code."""

    def __init__(self, folder):
        self.folder = folder
        self.manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        self.shapes = self.manifest["export"]["shapes"]
        self.formats = self.manifest["export"]["formats"]
        self.factors = self.manifest["factors"]
        need("long" in self.shapes, "the long table, which the others are compared with, is not among the shapes")
        self.long = self.keyed(self.read("long/factors", self.formats[0]))

    def read(self, path, format):
        """A table as plain columns. The first is of dates, whatever its type in the file."""
        path = self.folder / f"{path}.{format}"
        if format == "parquet":
            table = pyarrow.parquet.read_table(path).to_pandas(ignore_metadata=True)
        elif format == "arrow":
            table = pyarrow.ipc.open_file(pyarrow.memory_map(str(path))).read_all().to_pandas(ignore_metadata=True)
        else:
            # By default pandas reads 17 digits of a number, zeros in front counted.
            table = pd.read_csv(path, float_precision="round_trip")
        first = table.columns[0]
        if first in ("date", "datetime"):
            table[first] = pd.to_datetime(table[first]).astype("datetime64[ns]")
        return table

    def keyed(self, table):
        """A table of time, security and numbers, as the long table is kept here."""
        table = table.set_axis(["datetime", "instrument", *table.columns[2:]], axis=1)
        table["instrument"] = table["instrument"].map(qlib_code)
        return table.set_index(["datetime", "instrument"]).sort_index()

    def values(self, factor):
        return self.long[factor].dropna()


def check_files(export):
    """Every file is in the manifest, as it was written, and the other way round."""
    folder, listed = export.folder, {file["path"]: file for file in export.manifest["files"]}
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    own = {"manifest.json", ".inkstone-folder"}
    need(found == set(listed) | own, f"files: {sorted(found ^ set(listed) - own)}")
    for path, file in listed.items():
        content = (folder / path).read_bytes()
        need(len(content) == file["bytes"], f"{path} has {len(content)} bytes, {file['bytes']} in the manifest")
        need(blake3.blake3(content).hexdigest() == file["blake3"], f"{path} has another BLAKE3 than in the manifest")
        if path.endswith(".csv"):
            need(content.startswith(BOM) == export.manifest["export"]["bom"], f"{path}: byte-order mark")
        rows = None
        if path.endswith((".parquet", ".arrow", ".csv")):
            stem, format = path.rsplit(".", 1)
            rows = len(export.read(stem, format))
        elif path.endswith(".txt"):
            rows = content.count(b"\n")
        elif path.endswith(".bin"):
            rows = len(content) // 4 - 1
        need(rows in (None, file["rows"]), f"{path} has {rows} rows, {file['rows']} in the manifest")
    return f"{len(listed)} files with their rows and BLAKE3"


def check_long(export, factor):
    columns = ["date", "code", *export.factors]
    for format in export.formats:
        table = export.read("long/factors", format)
        need(list(table.columns) == columns, f"long {format}: columns {list(table.columns)} for {columns}")
        need(table.set_index(["date", "code"]).index.is_monotonic_increasing, f"long {format}: order of rows")
        same(export.keyed(table), export.long, f"long {format}")
    need(export.long.index.is_unique, "long: a date has a code twice")
    need(export.long.notna().any(axis=1).all(), "long: a row without a value")
    if factor is not None:
        source = export.keyed(pd.read_csv(factor, parse_dates=[0], float_precision="round_trip"))
        need(len(export.factors) == 1 and source.shape[1] == 1, "long: --factor is for an export of one factor")
        source.columns = export.factors
        same(export.long, source, "long and the table that was exported")
    return f"{len(export.long)} rows of {', '.join(export.factors)}"


def check_wide(export):
    for factor in export.factors:
        for format in export.formats:
            table = export.read(f"wide/{factor}", format)
            need(table.columns[0] == "date" and table["date"].is_monotonic_increasing, f"wide {format}: dates")
            stacked = table.set_index("date").rename(columns=qlib_code).stack().dropna().sort_index()
            stacked = stacked.rename_axis(["datetime", "instrument"]).rename(factor)
            same(stacked, export.values(factor), f"wide {factor} {format}")
    return f"{table.shape[0]} dates x {table.shape[1] - 1} codes"


def alphalens_rows(factor, price):
    import alphalens.utils

    with contextlib.redirect_stdout(io.StringIO()):
        return alphalens.utils.get_clean_factor_and_forward_returns(
            factor, price, quantiles=4, periods=(1, 3, 5), max_loss=0.5)


def check_alphalens(export, prices):
    said = []
    for factor in export.factors:
        path, expected = export.folder / f"alphalens/{factor}", export.values(factor)
        readers = {
            "parquet": lambda: pd.read_parquet(f"{path}.parquet"),
            "arrow": lambda: pd.read_feather(f"{path}.arrow"),
            "csv": lambda: pd.read_csv(f"{path}.csv", index_col=[0, 1], parse_dates=[0], float_precision="round_trip"),
        }
        for format in export.formats:
            series = readers[format]()["factor"]
            need(series.index.names == ["date", "asset"], f"alphalens {format}: index {series.index.names}")
            need(isinstance(series.index.levels[0], pd.DatetimeIndex), f"alphalens {format}: the index is not of times")
            same(export.keyed(series.reset_index())["factor"], expected.rename("factor"), f"alphalens {factor} {format}")
            if prices is None:
                continue
            price = pd.read_csv(prices, parse_dates=[0], float_precision="round_trip")
            price = price.pivot(index=price.columns[0], columns=price.columns[1], values="close")
            as_written = {qlib_code(code): code for code in series.index.levels[1]}
            price = price.rename(columns=lambda code: as_written.get(qlib_code(code), code))
            clean = alphalens_rows(series, price)
            direct = expected.rename(as_written, level=1).rename_axis(["date", "asset"]).rename("factor")
            same(clean, alphalens_rows(direct, price), f"alphalens on {factor} {format}")
            said = [f"{len(clean)} rows with forward returns and quantiles"]
    return ", ".join([f"{sum(len(export.values(factor)) for factor in export.factors)} values", *said])


def check_qlib(export):
    from qlib.data.dataset.loader import StaticDataLoader

    path = export.folder / "qlib/factors"
    instruments = export.long.index.get_level_values(1).unique().sort_values()
    times = export.long.index.get_level_values(0).unique()
    loaders = {
        "parquet": lambda: StaticDataLoader(f"{path}.parquet"),
        "arrow": lambda: StaticDataLoader(pd.read_feather(f"{path}.arrow")),
        # Qlib reads CSV by the default of pandas, which reads 17 digits of a number, zeros in front counted.
        "csv": lambda: StaticDataLoader({"feature": f"{path}.csv"}),
    }
    some = export.long.loc[times[1]:times[-2]]
    some = some[some.index.isin(instruments[:2], level=1)]
    for format in export.formats:
        loader = loaders[format]()
        parts = {"all": ([], export.long), "a part": ([list(instruments[:2]), times[1], times[-2]], some)}
        for part, (wanted, expected) in parts.items():
            frame = loader.load(*wanted)
            need(frame.index.names == ["datetime", "instrument"], f"qlib {format}: index {frame.index.names}")
            if format == "csv":
                frame = frame["feature"]
                need(np.allclose(frame, expected, rtol=1e-10, atol=0, equal_nan=True), f"qlib {format}: {part}")
                frame = expected.set_index(frame.index)
            same(frame, expected, f"qlib {format}: {part}")
    return f"{len(export.long)} rows by StaticDataLoader"


def check_qlib_bin(export):
    import qlib
    from qlib.data import D

    qlib.init(provider_uri=str(export.folder / "qlib_bin"), region="cn", logging_level=40, kernels=1)
    calendar = pd.DatetimeIndex(D.calendar(freq="day"))
    need(calendar.is_monotonic_increasing and calendar.is_unique, "qlib_bin: the calendar is out of order")
    times = export.long.index.get_level_values(0)
    need(times.isin(calendar).all(), "qlib_bin: days with values are not in the calendar")
    lives = times.to_series(index=export.long.index).groupby(level=1).agg(["min", "max"])
    spans = {code: [(life["min"], life["max"])] for code, life in lives.iterrows()}
    found = D.list_instruments(D.instruments("all"), as_list=False)
    need(found == spans, f"qlib_bin: instruments {found} for {spans}")
    fields = [re.sub(r"\W", "_", factor.lower()) for factor in export.factors]
    frame = D.features(D.instruments("all"), [f"${field}" for field in fields], freq="day", disk_cache=0)
    frame = frame.set_axis(export.factors, axis=1).swaplevel().sort_index()
    same(frame.dropna(how="all"), export.long.astype("float32"), "qlib_bin: features")
    # Between its first and last day a security has every day of the calendar.
    days = sum(((calendar >= first) & (calendar <= last)).sum() for [(first, last)] in spans.values())
    need(len(frame) == days, f"qlib_bin: {len(frame)} days of securities for {days}")
    before = D.features(D.instruments("all"), [f"Ref(${fields[0]}, 1)"], freq="day", disk_cache=0)
    wide = export.long[export.factors[0]].astype("float32").unstack().reindex(calendar).shift(1)
    before = before.iloc[:, 0].dropna().swaplevel().sort_index()
    expected = wide.stack().rename_axis(["datetime", "instrument"]).dropna().sort_index()
    same(before, expected.loc[before.index].rename(before.name), "qlib_bin: an expression")
    return f"{len(spans)} instruments, {len(calendar)} days, {len(frame)} rows by D.features"


def check_backtests(export):
    tables = sorted((export.folder / "backtest").glob("*/*.parquet"))
    for path in tables:
        stem = path.relative_to(export.folder).with_suffix("").as_posix()
        parquet, csv = export.read(stem, "parquet"), export.read(stem, "csv")
        need(list(parquet.columns) == list(csv.columns), f"{stem}: columns")
        for column in parquet:
            left, right = parquet[column], csv[column]
            if column == "date":
                left, right = pd.to_datetime(left), pd.to_datetime(right)
            need(((left == right) | (left.isna() & right.isna())).all(), f"{stem}: {column}")
    return f"{len(tables)} tables, Parquet and CSV alike"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--factor", metavar="FILE", type=Path)
    parser.add_argument("--prices", metavar="FILE", type=Path)
    args = parser.parse_args()
    # Of the tools about themselves.
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", "Could not infer format")
    export = Export(args.folder)
    checks = {
        "long": lambda: check_long(export, args.factor),
        "wide": lambda: check_wide(export),
        "alphalens": lambda: check_alphalens(export, args.prices),
        "qlib": lambda: check_qlib(export),
        "qlib_bin": lambda: check_qlib_bin(export),
    }
    print(f"files: {check_files(export)}")
    for shape in export.shapes:
        formats = "float32" if shape == "qlib_bin" else " ".join(export.formats)
        print(f"{shape} ({formats}): {checks[shape]()}")
    print(f"backtest: {check_backtests(export)}")


if __name__ == "__main__":
    status = 1
    try:
        main()
        status = 0
    except Difference as difference:
        print(f"DIFFERENCE {difference}", file=sys.stderr)
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    # Not by way of the interpreter's end, where a thread of pyarrow now and then aborts the process.
    os._exit(status)
