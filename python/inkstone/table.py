"""Tables that the program wrote, for any library of data frames."""


class Table:
    """One or several Parquet files with the same columns. Nothing is read before it is asked for.

    Any library that takes Arrow streams can read it (`polars.DataFrame(table)`, `pyarrow.table(table)`, `pandas.DataFrame.from_arrow(table)`);
    that needs pyarrow or polars.
    """

    def __init__(self, paths, folder=None):
        self.paths = [str(path) for path in paths]
        # A temporary folder, which goes with the table.
        self._folder = folder

    def __repr__(self):
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"Table({self.paths[0]}{more})"

    def to_polars(self):
        """A polars.DataFrame."""
        import polars

        return polars.concat([polars.read_parquet(path) for path in self.paths])

    def to_arrow(self):
        """A pyarrow.Table."""
        import pyarrow
        from pyarrow import parquet

        return pyarrow.concat_tables([parquet.ParquetFile(path).read() for path in self.paths])

    def to_pandas(self):
        """A pandas.DataFrame."""
        import pandas

        return pandas.concat([pandas.read_parquet(path) for path in self.paths], ignore_index=True)

    def to_qlib(self):
        """The values as Qlib takes them: a pandas.DataFrame over (datetime, instrument) with codes as SH600000."""
        import pandas

        frame = self.to_pandas()
        codes = [market + code for code, _, market in (code.partition(".") for code in frame["code"].astype(str))]
        index = pandas.MultiIndex.from_arrays([pandas.to_datetime(frame["date"]), codes], names=["datetime", "instrument"])
        return pandas.DataFrame({"value": frame["value"].to_numpy()}, index=index).sort_index()

    def to_alphalens(self):
        """The values as alphalens takes them: a pandas.Series over (date, asset)."""
        import pandas

        frame = self.to_pandas()
        index = pandas.MultiIndex.from_arrays([pandas.to_datetime(frame["date"]), frame["code"].astype(str)], names=["date", "asset"])
        return pandas.Series(frame["value"].to_numpy(), index=index, name="factor").sort_index()

    def __arrow_c_stream__(self, requested_schema=None):
        try:
            table = self.to_arrow()
        except ImportError:
            table = self.to_polars()
        return table.__arrow_c_stream__(requested_schema)
