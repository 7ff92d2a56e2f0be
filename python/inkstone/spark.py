"""Features on a Spark cluster: a job of as many tasks as a plan has.

    inkstone.spark.extract(project, spark, features=["finbert"], rows="/nas/rows", cpus=4)

Spark says where a task runs and tries it again when its executor dies; the program commits the rows, and no text travels through Spark. All
machines see the project's folder and the folder of rows under the same paths, and have this package. Sessions of Spark Connect will do.
"""

from . import _tasks


def extract(project, spark, features, rows, tasks=200, cpus=1, device="auto", mixed=False, progress=True):
    """Computes the rows of features on the cluster, then runs the project up to its features; returns the object of that run.

    spark     a SparkSession; spark.task.cpus should be `cpus`
    rows      a folder that all machines see, for plans and rows
    tasks     tasks of a feature at most; Spark needs a tenth of a second for each
    cpus      threads of a task
    device    where contextual models run: auto, cpu or cuda:0
    mixed     machines may have different processors or cards, whose last digits differ
    """
    for plan, count in _tasks.planned(project, features, rows, tasks, mixed):
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
