"""The package against the program: `python -m unittest discover -s python/tests`, with INKSTONE_PROGRAM or an installed wheel."""

import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import inkstone


def has(name):
    return importlib.util.find_spec(name) is not None


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.project = inkstone.demo(Path(cls.folder.name) / "market", scale=0.05)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_run_says_what_each_stage_did(self):
        report = self.project.run(until="factor")
        stages = {stage["stage"]: stage for stage in report["stages"]}
        self.assertTrue(stages["clean"]["unchanged"])
        self.assertGreater(stages["clean"]["rows_out"], 100)
        with self.assertRaisesRegex(ValueError, "there is no stage 'factors'; the stages are: ingest, "):
            self.project.run(until="factors")

    def test_figures_verdicts_and_traces_are_those_of_the_commands(self):
        figures = {factor["name"]: factor for factor in self.project.run()["factors"]}
        self.assertEqual(self.project.backtest()["tone"]["ic"], figures["tone"]["ic"])
        self.assertEqual(self.project.lint()["tone"], figures["tone"]["lint"])
        names = self.project.trace("tone", date="2024-05-31")["date"]["names"]
        cell = self.project.trace("tone", date="2024-05-31", code=names[0]["code"])
        self.assertGreater(len(cell["readings"][0]["documents"]), 0)
        self.assertGreaterEqual(len(self.project.ledger()["trials"]), len(figures))

    def test_an_error_is_in_the_words_of_the_program(self):
        with self.assertRaisesRegex(inkstone.Failed, 'there is no feature "none"; the features are: tone') as caught:
            self.project.plan("none", 2, Path(self.folder.name) / "none.plan")
        self.assertEqual(caught.exception.code, 2)
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((str(again), again.code, again.report), (str(caught.exception), 2, caught.exception.report))
        with self.assertRaisesRegex(FileNotFoundError, "there are no values of a factor 'none': run the project first"):
            self.project.factor("none")
        with self.assertRaisesRegex(FileNotFoundError, "there is no configuration"):
            inkstone.Project(Path(self.folder.name) / "none.toml")

    def test_tables_open_in_each_library_of_frames(self):
        tone, documents = self.project.factor("tone"), self.project.documents()
        rows = set()
        if has("polars"):
            rows.add((tone.to_polars().height, documents.to_polars().height))
            self.assertEqual(tone.to_polars().columns, ["date", "code", "value", "raw", "documents", "known_at"])
        if has("pandas") and has("pyarrow"):
            rows.add((len(tone.to_pandas()), len(documents.to_pandas())))
            values = tone.to_alphalens()
            self.assertEqual((values.index.names, values.name, len(values)), (["date", "asset"], "factor", len(tone.to_pandas())))
        if has("pyarrow"):
            import pyarrow

            rows.add((tone.to_arrow().num_rows, documents.to_arrow().num_rows))
            self.assertEqual(pyarrow.table(tone).num_rows, tone.to_arrow().num_rows)
        self.assertLessEqual(len(rows), 1, rows)

    def test_nothing_is_planned_where_all_rows_are_there(self):
        made = self.project.plan("tone", 3, Path(self.folder.name) / "tone.plan")
        self.assertEqual((made["tasks"], made["plan"]["rows_out"]), (0, 0))

    def test_an_interrupt_stops_the_program_and_is_raised(self):
        code = f"import inkstone; inkstone.demo({str(Path(self.folder.name) / 'large')!r}, scale=5)"
        environment = os.environ | {"PYTHONPATH": str(Path(inkstone.__file__).parents[1])}
        child = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        child.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, said = child.communicate(timeout=30)
        self.assertLess(time.monotonic() - began, 10)
        self.assertIn("KeyboardInterrupt", said)
        # The program has ended, too, and holds no lock.
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        self.assertNotIn("--dir large", listed)


if __name__ == "__main__":
    unittest.main()
