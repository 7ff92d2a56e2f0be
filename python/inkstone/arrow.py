"""A fixed model on batches of Arrow, as engines hand them over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .model import Model


def mapper(
    model: Model,
    text: str = "text",
    time: str = "published_at",
    title: str | None = None,
    keep: list[str] | None = None,
    allow_night: float = 0.15,
) -> Callable[[Any], Any]:
    """A function from a pyarrow.RecordBatch or Table to one with the columns of the model and `known_at`.

    It can be pickled, and opens the model once a process: for `ray.data.Dataset.map_batches(f, batch_format="pyarrow")`, Dask, Daft and
    mapInArrow. `keep` are the columns that stand before the model's; None: all but text and title. A row without a text or a time that can be
    read has no values. Work stops where more than `allow_night` of the documents seem to be published between 01:00 and 05:00 in Shanghai.
    """
    return _Mapper(model, text, time, title, keep, allow_night)


class _Mapper:
    def __init__(self, model, text, time, title, keep, allow_night):
        if not isinstance(model, Model):
            raise TypeError("give a model of inkstone.open_model or inkstone.train")
        if model.fitted_until is None:
            raise ValueError("the model does not say how far its text reaches: open it with fitted_until, the last day of that text")
        self.model, self.text, self.time, self.title, self.keep, self.allow_night = model, text, time, title, keep, allow_night
        self._native = None

    def __getstate__(self):
        return {**self.__dict__, "_native": None}

    def __call__(self, batch):
        import pyarrow

        model = self.model._here()
        if self._native is None or self._native.process != model.process:
            self._native = model.mapper(self.allow_night)
        title = None if self.title is None else _column(batch, self.title)
        made = pyarrow.table(self._native.map(_column(batch, self.text), _column(batch, self.time), title, self.model._threads))
        keep = [name for name in batch.schema.names if name not in (self.text, self.title)] if self.keep is None else self.keep
        names, columns = list(keep), [_column(batch, name) for name in keep]
        for name, column in zip(made.schema.names, made.columns):
            if name in names:
                raise ValueError(f"the model gives a column {name!r}, and so does the input: keep other columns, or rename that one")
            names.append(name)
            columns.append(column.cast(_plain(column.type)))
        if isinstance(batch, pyarrow.Table):
            return pyarrow.table(columns, names)
        columns = [column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column for column in columns]
        return pyarrow.RecordBatch.from_arrays(columns, names)


def _column(batch, name):
    place = batch.schema.get_field_index(name)
    if place < 0:
        raise KeyError(f"there is no column {name!r}; the columns are {', '.join(batch.schema.names)}")
    return batch.column(place)


def _plain(kind):
    """The type that Spark takes as well: it has no large lists."""
    import pyarrow

    if pyarrow.types.is_large_list(kind):
        return pyarrow.list_(kind.value_type)
    return pyarrow.string() if pyarrow.types.is_large_string(kind) else kind
