"""What it costs to compute a feature by workers: bare processes, Ray and Spark, on this machine, beside one run that does all.

    python3 -m venv engines && engines/bin/pip install ray pyspark==4.3.0 pyarrow pandas      # Spark needs a JRE of 17 or later
    PYTHONPATH=python engines/bin/python benches/cluster.py target/release/inkstone --scale 10

CPU seconds are those of the whole machine, so leave it alone meanwhile. Each way computes the same feature of the same corpus, a contextual model,
with one thread a task; its rows are compared byte by byte with those of one run. Sessions of Ray and Spark are started before the clock, and
have run a small job. The way `map` is text that travels: a tone by words of jieba for each document, by mapInArrow and by bare processes that read
the same Parquet files.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import inkstone

FEATURE = """
[[feature]]
name = "bert"
model = "onnx"
onnx = {{ model = "model", fitted_until = "2010-12-31", output = "scores" }}
"""


def cpu_seconds():
    """Seconds that the processors of this machine have worked."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system = map(int, file.readline().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def rows(project):
    folder = project.folder / ".inkstone/features.sled/rows"
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Bench:
    def __init__(self, folder, scale, tasks):
        self.folder, self.tasks = folder, tasks
        project = inkstone.demo(folder / "market", scale=scale)
        text = project.config.read_text(encoding="utf-8").split("\n[[feature]]")[0]
        project.config.write_text(text + FEATURE.format(), encoding="utf-8")
        shutil.rmtree(project.folder / ".inkstone")
        stages = project.run(until="link")["stages"]
        self.documents = next(stage["rows_out"] for stage in stages if stage["stage"] == "clean")
        self.linked = project
        self.alone = self.bare = None
        print(f"{self.documents} documents, {tasks} tasks")

    def way(self, name, compute):
        """Computes the feature in a copy of the project, and tells what it cost."""
        copy = self.folder / "copy"
        shutil.copytree(self.linked.folder, copy)
        project = inkstone.Project(copy / "workbench.toml")
        cpu, wall = cpu_seconds(), time.perf_counter()
        report = compute(project) or project.run(until="extract")
        cpu, wall = cpu_seconds() - cpu, time.perf_counter() - wall
        found = rows(project)
        self.alone = self.alone or found
        told = [f"CPU {cpu:6.1f} s, wall {wall:6.1f} s", "the same bytes" if found == self.alone else "OTHER BYTES"]
        if name.startswith("bare"):
            self.bare = self.bare or (cpu, wall)
        if self.bare:
            told.append(f"CPU {cpu / self.bare[0]:.2f} of bare, {self.bare[1] / wall:.2f} times as fast")
        stage = next(stage for stage in report["stages"] if stage["stage"] == "extract bert")
        if "taken_parts" in stage["facts"]:
            told.append(f"{stage['facts']['taken_parts']} parts taken up in {1e6 * stage['seconds'] / self.documents:.1f} us a document")
        print(f"{name:<22} {'; '.join(told)}", flush=True)
        shutil.rmtree(copy)
        shutil.rmtree(self.folder / "rows", ignore_errors=True)

    def workers(self, project, count):
        """Bare processes, so many at once."""
        plan = self.folder / "rows/bert.plan"
        plan.parent.mkdir()
        made = project.plan("bert", self.tasks, plan, self.folder / "rows/bert")
        waiting, running = list(range(made["tasks"])), []
        while waiting or running:
            running = [process for process in running if process.poll() is None]
            while waiting and len(running) < count:
                command = [inkstone.program(), "work", plan, "--task", str(waiting.pop(0)), "--threads", "1"]
                running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            time.sleep(0.02)


BARE_MAP = """
import sys
import inkstone
from pyarrow import parquet
model = inkstone.open_model(sys.argv[1], fitted_until="2010-12-31", threads=1)
give = inkstone.arrow.mapper(model, keep=["id"])
print(sum(give(batch).num_rows for path in sys.argv[2:] for batch in parquet.ParquetFile(path).iter_batches(10_000, use_threads=False)))
"""


def map_text(bench, session, documents, files=16):
    """Prints what it costs to give documents a tone: by Spark, and by two bare processes."""
    import pyarrow
    from pyarrow import parquet

    import inkstone.spark

    text = bench.linked.documents().to_arrow().select(["body", "published_at"]).rename_columns(["text", "published_at"])
    folder, model = bench.folder / "texts", bench.folder / "tone.model"
    folder.mkdir()
    inkstone.run("train", "tone", "--output", model)
    copies = documents // text.num_rows + 1
    whole = pyarrow.concat_tables([text] * copies).slice(0, documents).append_column("id", pyarrow.array(range(documents)))
    for number in range(files):
        begin = documents * number // files
        parquet.write_table(whole.slice(begin, documents * (number + 1) // files - begin), folder / f"{number:02}.parquet", row_group_size=10_000)
    paths = sorted(folder.iterdir())

    def bare():
        halves = [subprocess.Popen([sys.executable, "-c", BARE_MAP, model, *paths[half::2]], stdout=subprocess.DEVNULL) for half in (0, 1)]
        assert [half.wait() for half in halves] == [0, 0]

    opened = inkstone.open_model(model, fitted_until="2010-12-31", threads=1)
    frame = session.read.parquet(str(folder))
    spark = lambda: inkstone.spark.map(frame, opened, keep=["id"]).write.format("noop").mode("overwrite").save()
    size = whole.column("text").nbytes / 1e6
    print(f"map: {documents} documents, {size:.0f} MB of text")
    spent = {}
    for name, way in (("bare, 2 processes", bare), ("Spark mapInArrow", spark)) * 3:
        cpu, wall = cpu_seconds(), time.perf_counter()
        way()
        found = (cpu_seconds() - cpu, time.perf_counter() - wall)
        spent[name] = min(spent.get(name, found), found)
    for name, (cpu, wall) in spent.items():
        print(f"{name:<22} CPU {cpu:6.1f} s, wall {wall:6.1f} s; CPU {cpu / spent['bare, 2 processes'][0]:.2f} of bare", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--scale", type=float, default=10)
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--ways", nargs="+", default=["run", "one", "two", "ray", "spark", "map"])
    parser.add_argument("--documents", type=int, default=1_000_000, help="documents of the way map")
    arguments = parser.parse_args()
    os.environ["INKSTONE_PROGRAM"] = str(Path(arguments.program).resolve())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), arguments.scale, arguments.tasks)
        if "run" in arguments.ways:
            bench.way("one run, all threads", lambda project: None)
        if "one" in arguments.ways:
            bench.way("bare, 1 worker", lambda project: bench.workers(project, 1))
        if "two" in arguments.ways:
            bench.way("bare, 2 workers", lambda project: bench.workers(project, 2))
        shared = {"features": ["bert"], "rows": bench.folder / "rows", "tasks": arguments.tasks, "device": "cpu", "progress": False}
        if "ray" in arguments.ways:
            import ray

            import inkstone.ray

            environment = {"env_vars": {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "INKSTONE_PROGRAM": inkstone.program()}}
            ray.init(num_cpus=2, include_dashboard=False, runtime_env=environment, log_to_driver=False)
            nap = ray.remote(lambda: time.sleep(0.5))
            ray.get([nap.remote() for _ in range(2)])
            bench.way("Ray, 2 workers", lambda project: inkstone.ray.extract(project, **shared))
            ray.shutdown()
        if {"spark", "map"} & set(arguments.ways):
            from pyspark.sql import SparkSession

            import inkstone.spark

            session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
            session = session.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
            session.range(0, 8, 1, 8).mapInArrow(lambda batches: batches, "id long").collect()
            if "spark" in arguments.ways:
                bench.way("Spark, 2 workers", lambda project: inkstone.spark.extract(project, session, **shared))
            if "map" in arguments.ways:
                map_text(bench, session, arguments.documents)
            session.stop()


if __name__ == "__main__":
    main()
