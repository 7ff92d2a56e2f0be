"""Features on a Spark cluster: a job of as many tasks as a plan has.

    inkstone.spark.extract(project, spark, features=["finbert"], rows="/nas/rows", cpus=4)

Spark says where a task runs and tries it again when its executor dies; the program commits the rows, and no text travels through Spark. All
machines see the project's folder and the folder of rows under the same paths, and have this package. Sessions of Spark Connect will do.
"""

from __future__ import annotations

import os
from typing import Any

from . import Model, Project, _tasks


def extract(
    project: Project,
    spark: Any,
    features: list[str],
    rows: str | os.PathLike[str],
    tasks: int = 200,
    cpus: int = 1,
    device: str = "auto",
    mixed: bool = False,
    progress: bool = True,
) -> dict[str, Any]:
    """Computes the rows of features on the cluster, then runs the project up to its features; returns the object of that run.

    spark     a SparkSession; spark.task.cpus should be `cpus`
    rows      a folder that all machines see, for plans and rows
    tasks     tasks of a feature at most; Spark needs a tenth of a second for each
    cpus      threads of a task. Its memory lies beside the JVM's: spark.executor.memoryOverhead should be the `memory_mb` of `project.plan`.
    device    where contextual models run: auto, cpu or cuda:0
    mixed     machines may have different processors or cards, whose last digits differ
    """
    for plan, count, _ in _tasks.planned(project, features, rows, tasks, cpus, mixed):
        path = str(plan)

        def compute(batches):
            import pyarrow

            for batch in batches:
                done = [_tasks.work(path, task, cpus, device)["task"] for task in batch.column(0).to_pylist()]
                yield pyarrow.RecordBatch.from_pydict({"task": pyarrow.array(done, pyarrow.int64())})

        numbers = spark.range(0, count, 1, count)
        done = numbers.mapInArrow(compute, "task long").collect()
        _tasks.tell(plan, len(done), count, progress)
    return project.run(until="extract", progress=progress)


def map(
    df: Any,
    model: Model,
    text: str = "text",
    time: str = "published_at",
    title: str | None = None,
    keep: list[str] | None = None,
    allow_night: float = 0.15,
) -> Any:
    """A DataFrame with the columns of a fixed model and `known_at`, by mapInArrow: for text that lives in Hive or Iceberg.

    model   of `inkstone.open_model`; all machines see its file under the same path
    time    a column of times of publication: timestamp, timestamp_ntz, date or string. A string is read as Shanghai's time.
    keep    columns that stand before the model's; None: all but text and title

    The text goes through Spark, which costs more than `extract`. A row without a text or a readable time has no values. The job stops where
    the times seem to be eight hours off: see `inkstone.arrow.mapper`.
    """
    from pyspark.sql import types

    from .arrow import mapper

    give = mapper(model, text, time, title, keep, allow_night)
    names = [name for name in df.columns if name not in (text, title)] if keep is None else keep
    kinds = {
        "text": types.StringType(),
        "number": types.DoubleType(),
        "vector": types.ArrayType(types.FloatType()),
        "indices": types.ArrayType(types.IntegerType()),
    }
    made = [types.StructField(name, kinds[kind]) for name, kind in model.map_columns]
    zoned = isinstance(df.schema[time].dataType, types.TimestampType)
    known = types.StructField("known_at", types.TimestampType() if zoned else types.TimestampNTZType())

    def compute(batches):
        for batch in batches:
            yield give(batch)

    return df.mapInArrow(compute, types.StructType([*(df.schema[name] for name in names), *made, known]))
