"""What clusters share: plans of features, their tasks, and the run that takes the rows up."""

import sys
from pathlib import Path

from ._program import run


def work(plan, task, threads=1, device="auto"):
    """Computes a task of a plan on this machine (`inkstone work`): what an engine runs. Returns a dict: the task, and the numbers of parts that it
    computed, found there and left. Raises `Killed` where the program was killed, so that the engine tries the task again."""
    done = run("work", plan, "--task", task, "--threads", threads, "--device", device)["worked"]
    return {"task": task, **{name: len(done[name]) for name in ("computed", "there", "left")}}


def planned(project, features, rows, tasks, threads, mixed):
    """The plans of features with their numbers of tasks and the megabytes that a task takes; plans lie beside the rows. Features of which nothing
    is missing have none."""
    rows = Path(rows).resolve()
    rows.mkdir(parents=True, exist_ok=True)
    for feature in features:
        plan = rows / f"{feature}.plan"
        made = project.plan(feature, tasks, plan, rows / feature, mixed, threads)
        if made["tasks"]:
            yield plan, made["tasks"], made.get("memory_mb", 0)


def tell(plan, done, tasks, progress):
    """Says how many tasks of a plan are done."""
    if progress:
        print(f"{Path(plan).stem}: {done} of {tasks} tasks", file=sys.stderr, flush=True)
