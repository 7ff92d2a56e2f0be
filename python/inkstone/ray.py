"""Features on a Ray cluster: tasks of Ray Core, a task of a plan each.

    ray.init("auto")
    inkstone.ray.extract(project, features=["finbert"], rows="/nas/rows", gpus=0.5)

Ray says where a task runs and tries it again when its worker or the program dies; the program commits the rows. All machines see the project's folder and
the folder of rows under the same paths, and have this package.
"""

from __future__ import annotations

import os
from typing import Any

from . import Killed, Project, _tasks


def extract(
    project: Project,
    features: list[str],
    rows: str | os.PathLike[str],
    tasks: int = 200,
    cpus: int = 1,
    gpus: float = 0,
    device: str = "auto",
    mixed: bool = False,
    progress: bool = True,
) -> dict[str, Any]:
    """Computes the rows of features on the cluster, then runs the project up to its features; returns the object of that run.

    rows      a folder that all machines see, for plans and rows
    tasks     tasks of a feature at most
    cpus      processors of a task, which has as many threads; gpus: its share of a card. Its memory is what the plan says.
    device    where contextual models run: auto, cpu or cuda:0
    mixed     machines may have different processors or cards, whose last digits differ
    """
    import ray

    options: dict[str, Any] = {"num_cpus": cpus, "num_gpus": gpus, "max_retries": 3, "retry_exceptions": [Killed]}
    remote: Any = ray.remote(**options)(_tasks.work)
    for plan, count, memory in _tasks.planned(project, features, rows, tasks, cpus, mixed):
        task_of = remote.options(memory=memory << 20)
        waiting, done = [task_of.remote(str(plan), task, cpus, device) for task in range(count)], 0
        try:
            while waiting:
                ready, waiting = ray.wait(waiting, num_returns=1)
                # What failed on a machine is said in that machine's words.
                ray.get(ready)
                done += len(ready)
                _tasks.tell(plan, done, count, progress)
        finally:
            for task in waiting:
                ray.cancel(task)
    return project.run(until="extract", progress=progress)
