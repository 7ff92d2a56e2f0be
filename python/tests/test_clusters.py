"""Rows by Ray and Spark are the bytes of one machine, whatever is killed. What is not installed is skipped.

    python3 -m venv engines && engines/bin/pip install ray pyspark==4.3.0 pyarrow pandas      # Spark needs a JRE of 17 or later
    INKSTONE_PROGRAM=target/release/inkstone PYTHONPATH=python engines/bin/python -m unittest discover -s python/tests
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import inkstone

HERE = Path(__file__).parent
FEATURES = """
[[feature]]
name = "head"
model = "lexicon"
truncate = "head:60"

[[feature]]
name = "hashed"
model = "tfidf"
tfidf = { buckets = 4096, formula = "count" }
"""


def has(name):
    return importlib.util.find_spec(name) is not None


def rows(project):
    """The files of the feature store's rows, by path."""
    folder = project.folder / ".inkstone/features.sled/rows"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def workers():
    """The processes that work on a plan."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout.splitlines()[1:]
    return [int(line.split()[0]) for line in listed if " work " in line and "inkstone" in line and ".plan" in line]


class Killer(threading.Thread):
    """Kills so many workers, one after the other."""

    def __init__(self, kills):
        super().__init__(daemon=True)
        self.left, self.over = kills, False

    def run(self):
        while self.left and not self.over:
            for process in workers()[:1]:
                try:
                    os.kill(process, signal.SIGKILL)
                    self.left -= 1
                except ProcessLookupError:
                    pass
            time.sleep(0.05)


class Clusters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        project = inkstone.demo(cls.folder / "market", scale=0.3)
        text = project.config.read_text(encoding="utf-8").split("\n[[feature]]")[0]
        project.config.write_text(text + FEATURES, encoding="utf-8")
        shutil.rmtree(project.folder / ".inkstone")
        project.run(until="link")
        cls.linked = project.folder
        alone = cls.copy("alone")
        alone.run(until="extract")
        cls.alone = rows(alone)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def copy(cls, name):
        shutil.copytree(cls.linked, cls.folder / name)
        return inkstone.Project(cls.folder / name / "workbench.toml")

    def check(self, project, report):
        facts = [stage["facts"] for stage in report["stages"] if stage["stage"] in ("extract head", "extract hashed")]
        self.assertEqual(len(facts), 2)
        for fact in facts:
            self.assertEqual(fact["taken_parts"], fact["batches"])
        self.assertEqual(rows(project), self.alone)

    @unittest.skipUnless(has("ray"), "Ray is not installed")
    def test_ray_with_a_worker_killed(self):
        import ray

        import inkstone.ray

        project = self.copy("ray")
        environment = {"env_vars": {"PYTHONPATH": str(HERE.parent), "INKSTONE_PROGRAM": inkstone.program()}}
        ray.init(num_cpus=2, include_dashboard=False, runtime_env=environment, log_to_driver=False)
        try:
            killer = Killer(1)
            killer.start()
            report = inkstone.ray.extract(project, ["head", "hashed"], self.folder / "ray-rows", tasks=6, progress=False)
            killer.over = True
            self.assertEqual(killer.left, 0, "no worker was seen")
            self.check(project, report)
        finally:
            ray.shutdown()

    @unittest.skipUnless(has("pyspark"), "Spark is not installed")
    def test_spark_with_a_worker_killed(self):
        from pyspark.sql import SparkSession

        import inkstone.spark

        project = self.copy("spark")
        os.environ["PYSPARK_PYTHON"] = sys.executable
        session = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
        session = session.config("spark.executorEnv.PYTHONPATH", str(HERE.parent)).getOrCreate()
        try:
            killer = Killer(1)
            killer.start()
            report = inkstone.spark.extract(project, session, ["head", "hashed"], self.folder / "spark-rows", tasks=6, progress=False)
            killer.over = True
            self.assertEqual(killer.left, 0, "no worker was seen")
            self.check(project, report)
        finally:
            session.stop()


if __name__ == "__main__":
    unittest.main()
