"""Rows by Ray, Spark and Dask are the bytes of one machine, whatever is killed: a worker, an executor, the driver, a node. What is not installed is
skipped; `.ci/engines` installs all of it and runs these tests.
"""

import contextlib
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


def processes(*words):
    """The processes whose command lines have all these words."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout.splitlines()[1:]
    return [int(line.split()[0]) for line in listed if all(word in line for word in words)]


def workers():
    """The processes that work on a plan."""
    return processes("inkstone", " work ", ".plan")


class Killer(threading.Thread):
    """Kills one process of those that `victims` gives, once a worker is at work."""

    def __init__(self, victims):
        super().__init__(daemon=True)
        self.victims, self.killed, self.over = victims, None, False

    def run(self):
        while not self.over and self.killed is None:
            victims = self.victims() if workers() else []
            if victims:
                try:
                    os.kill(victims[0], signal.SIGKILL)
                    self.killed = victims[0]
                except ProcessLookupError:
                    pass
            time.sleep(0.02)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.over = True
        self.join()


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

    def environment(self):
        return {"PYTHONPATH": os.pathsep.join([str(Path(inkstone.__file__).parents[1]), str(HERE)]), "INKSTONE_PROGRAM": inkstone.program()}

    @unittest.skipUnless(has("ray"), "Ray is not installed")
    def test_ray_with_a_worker_killed(self):
        import ray

        import inkstone.ray

        project = self.copy("ray")
        ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": self.environment()}, log_to_driver=False)
        try:
            with Killer(workers) as killer:
                report = inkstone.ray.extract(project, ["head", "hashed"], self.folder / "ray-rows", tasks=6, progress=False)
            self.assertIsNotNone(killer.killed, "no worker was seen")
            self.check(project, report)
        finally:
            ray.shutdown()

    @unittest.skipUnless(has("ray"), "Ray is not installed")
    def test_ray_with_a_node_killed(self):
        import ray
        from ray.cluster_utils import Cluster

        import inkstone.ray

        project = self.copy("raylet")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        node = cluster.add_node(num_cpus=1)
        raylet = node.all_processes["raylet"][0].process.pid
        ray.init(address=cluster.address, runtime_env={"env_vars": self.environment()}, log_to_driver=False)
        try:
            with Killer(lambda: [raylet]) as killer:
                report = inkstone.ray.extract(project, ["head", "hashed"], self.folder / "raylet-rows", tasks=6, progress=False)
            self.assertEqual(killer.killed, raylet)
            self.check(project, report)
        finally:
            ray.shutdown()
            cluster.shutdown()

    @unittest.skipUnless(has("distributed"), "Dask is not installed")
    def test_dask_with_a_worker_killed(self):
        from dask.distributed import Client, LocalCluster

        project, rows_folder = self.copy("dask"), self.folder / "dask-rows"
        os.environ.update(self.environment())
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client, Killer(workers) as killer:
            for feature in ("head", "hashed"):
                plan = self.folder / f"{feature}.plan"
                made = project.plan(feature, 6, plan, rows_folder / feature)
                client.gather([client.submit(inkstone.work, str(plan), task, pure=False, retries=3) for task in range(made["tasks"])])
        self.assertIsNotNone(killer.killed, "no worker was seen")
        self.check(project, project.run(until="extract"))

    @unittest.skipUnless(has("daft"), "Daft is not installed")
    def test_daft_maps_text_with_known_at(self):
        import daft
        import pyarrow
        from daft import DataType

        texts, times = ["净利润 增长 明显", "净利润 下降"] * 10, ["2024-03-05 09:00:00"] * 20
        model = inkstone.train("ridge", texts, values=range(20), times=["2024-03-01"] * 20, min_df=1)

        @daft.func.batch(return_dtype=DataType.struct({"value": DataType.float64(), "known_at": DataType.timestamp("us")}))
        def score(text: daft.Series, time: daft.Series):
            batch = pyarrow.table({"text": text.to_arrow(), "published_at": time.to_arrow()})
            return inkstone.arrow.mapper(model, keep=[])(batch).to_struct_array().combine_chunks()

        frame = daft.from_pydict({"body": texts, "time": times})
        found = frame.select(score(frame["body"], frame["time"]).alias("s")).to_pydict()["s"]
        wanted = model.map(texts, times)
        self.assertEqual([row["value"] for row in found], wanted["value"].to_list())
        self.assertEqual([row["known_at"] for row in found], wanted["known_at"].to_list())

    @contextlib.contextmanager
    def spark(self, master, zone="UTC"):
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.sql.session.timeZone", zone).config("spark.driver.host", "127.0.0.1")
        for name, value in self.environment().items():
            builder = builder.config(f"spark.executorEnv.{name}", value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            session.stop()

    @unittest.skipUnless(has("pyspark"), "Spark is not installed")
    def test_spark_with_a_worker_killed(self):
        import inkstone.spark

        project = self.copy("spark")
        with self.spark("local[2,4]") as session, Killer(workers) as killer:
            report = inkstone.spark.extract(project, session, ["head", "hashed"], self.folder / "spark-rows", tasks=6, progress=False)
        self.assertIsNotNone(killer.killed, "no worker was seen")
        self.check(project, report)

    @unittest.skipUnless(has("pyspark"), "Spark is not installed")
    def test_spark_with_an_executor_killed(self):
        import inkstone.spark

        project = self.copy("executor")
        with self.spark("local-cluster[2,1,1024]") as session:
            with Killer(lambda: processes("CoarseGrainedExecutorBackend")) as killer:
                report = inkstone.spark.extract(project, session, ["head", "hashed"], self.folder / "executor-rows", tasks=6, progress=False)
        self.assertIsNotNone(killer.killed, "no executor was seen")
        self.check(project, report)

    @unittest.skipUnless(has("pyspark"), "Spark is not installed")
    def test_spark_with_the_driver_killed(self):
        import inkstone.spark

        project, rows_folder = self.copy("driver"), self.folder / "driver-rows"
        code = (
            "import sys, unittest, test_clusters, inkstone.spark\n"
            "with test_clusters.Clusters().spark('local[2]') as session:\n"
            f"    inkstone.spark.extract(inkstone.Project({str(project.config)!r}), session, ['head', 'hashed'], {str(rows_folder)!r}, tasks=6)\n"
        )
        driver = subprocess.Popen(
            [sys.executable, "-c", code], env={**os.environ, **self.environment()}, start_new_session=True, stderr=subprocess.DEVNULL
        )
        written = lambda: list(rows_folder.rglob("*.rows"))
        while driver.poll() is None and not (written() and workers()):
            time.sleep(0.02)
        # Python, the JVM and the workers of both.
        os.killpg(driver.pid, signal.SIGKILL)
        for worker in workers():
            os.kill(worker, signal.SIGKILL)
        driver.wait()
        there = {path: path.stat().st_mtime_ns for path in written()}
        self.assertGreater(len(there), 0, "the driver died before the first part")
        with self.spark("local[2]") as session:
            report = inkstone.spark.extract(project, session, ["head", "hashed"], rows_folder, tasks=6, progress=False)
        self.check(project, report)
        again = [path for path, time in there.items() if path.stat().st_mtime_ns != time]
        self.assertEqual(again, [], "what was done was done again")

    @unittest.skipUnless(has("pyspark"), "Spark is not installed")
    def test_spark_maps_text_with_known_at(self):
        with self.spark("local[2]") as session:
            self.check_map(session)

    @unittest.skipUnless(has("pyspark"), "Spark is not installed")
    def test_spark_transforms_by_the_program(self):
        texts = ["净利润 增长 明显", "净利润 下降"] * 10
        path = self.folder / "transform.model"
        model = inkstone.train("ridge", texts, values=range(20), times=["2024-03-01"] * 20, min_df=1, output=path)
        command = f"{inkstone.program()} worker -m {path} --tsv doc_id,published_at,body --text body --keep doc_id"
        tabs = "ROW FORMAT DELIMITED FIELDS TERMINATED BY '\\t'"
        with self.spark("local[2]", "Asia/Shanghai") as session:
            rows = [(number, "2024-04-01 15:00:00", text) for number, text in enumerate(texts)]
            frame = session.createDataFrame(rows, "doc_id long, published_at string, body string")
            frame.selectExpr("doc_id", "to_timestamp(published_at) AS published_at", "body").createOrReplaceTempView("news")
            query = f"SELECT TRANSFORM (doc_id, published_at, body) {tabs} USING '{command}' AS (doc_id bigint, value double, known_at string) {tabs} FROM news"
            found = {row["doc_id"]: row for row in session.sql(query).collect()}
        self.assertEqual([found[number]["value"] for number in range(20)], model.score(texts)["value"].to_list())
        self.assertEqual(found[0]["known_at"], "2024-04-01 15:00:00")

    @unittest.skipUnless(has("pysail"), "Sail is not installed")
    def test_sail_maps_text_with_known_at(self):
        from pysail.spark import SparkConnectServer
        from pyspark.sql import SparkSession

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        host, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        try:
            self.check_map(session)
        finally:
            session.stop()
            server.stop()

    def check_map(self, session):
        """What `inkstone.spark.map` gives in a session whose zone is UTC."""
        import datetime

        from pyspark.sql import functions

        import inkstone.spark

        shanghai = datetime.timezone(datetime.timedelta(hours=8))
        times = [datetime.datetime(2024, 4, 1, 15, tzinfo=shanghai) + datetime.timedelta(minutes=number) for number in range(40)]
        texts = ["净利润 增长 明显", "净利润 下降", None, "股东 增持 公告"] * 10
        model = inkstone.train("ridge", [text or "" for text in texts], values=range(40), times=["2024-03-01"] * 40, min_df=1)
        vectors = inkstone.train("lsa", [text or "" for text in texts], times=["2024-03-01"] * 40, min_df=1, dim=2)
        frame = session.createDataFrame(list(zip(range(40), times, texts)), "id long, published_at timestamp, text string")
        found = {row["id"]: row for row in inkstone.spark.map(frame, model, keep=["id"]).collect()}
        wanted = model.map(texts, times)
        for number, value, known in zip(range(40), wanted["value"].to_list(), wanted["known_at"].to_list()):
            self.assertEqual(found[number]["value"], value)
            if known is not None:
                self.assertEqual(found[number]["known_at"].astimezone(shanghai).replace(tzinfo=None), known)
                self.assertEqual(found[number]["known_at"].timestamp(), times[number].timestamp(), "15:00 in Shanghai")
        rows = inkstone.spark.map(frame, vectors, keep=["id"]).collect()
        self.assertEqual({len(row["vector"]) for row in rows if row["vector"] is not None}, {2})
        # Local times of a morning that a session in UTC reads as its own.
        local = session.range(600).select(
            "id", functions.lit("净利润 增长").alias("text"), functions.expr("to_timestamp('2024-04-01 19:30:00')").alias("published_at")
        )
        with self.assertRaisesRegex(Exception, "may be eight hours off"):
            inkstone.spark.map(local.coalesce(1), model).collect()
        self.assertEqual(inkstone.spark.map(local, model, allow_night=1.0).count(), 600)


if __name__ == "__main__":
    unittest.main()
