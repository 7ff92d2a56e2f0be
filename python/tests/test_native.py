"""Text and models in the process of Python. pandas, polars, pyarrow and SciPy are used where they are installed."""

import ast
import contextlib
import datetime
import importlib.util
import inspect
import io
import json
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path

import inkstone
from inkstone import _native

TEXTS = ["公司净利润大幅增长。营收下降！", None, "股东减持股份"]
DOCUMENTS = ["净利润 增长 明显", "净利润 下降", "股东 减持 公告", "股东 增持 公告"] * 5
TIMES = [datetime.datetime(2024, 1, 1 + number, 9) for number in range(20)]


def has(*names):
    return all(importlib.util.find_spec(name) for name in names)


class Text(unittest.TestCase):
    def test_tokens_are_those_of_the_program(self):
        lines = "\n".join(text for text in TEXTS if text)
        cut = subprocess.run([inkstone.program(), "tokenize"], input=lines, text=True, capture_output=True, check=True).stdout
        tokens = [tokens for tokens in inkstone.tokenize(TEXTS).to_list() if tokens is not None]
        self.assertEqual([" ".join(words) for words in tokens], cut.splitlines())

    def test_functions_give_a_row_a_text_and_none_for_none(self):
        self.assertEqual(
            inkstone.tokenize(TEXTS, terms=True).to_list(), [["公司", "净利润", "大幅", "增长", "营收", "下降"], None, ["股东", "减持", "股份"]]
        )
        self.assertEqual(inkstone.tokenize(TEXTS, mode="char").to_list()[2], list("股东减持股份"))
        self.assertEqual(inkstone.sentences(TEXTS).to_list(), [["公司净利润大幅增长。", "营收下降！"], None, ["股东减持股份"]])
        self.assertEqual(inkstone.truncate(TEXTS, "head:4").to_list(), ["公司净利润", None, "股东减持"])
        self.assertEqual(inkstone.normalise(["Ａ股&lt;br&gt;涨", None]).to_list(), ["A股\n涨", None])
        found = inkstone.keywords(TEXTS, 2).to_list()
        self.assertEqual((len(found[0]), found[1], set(found[0][0])), (2, None, {"word", "score"}))
        self.assertEqual(inkstone.keywords(TEXTS, 1, method="tfidf").to_list()[0][0]["word"], "公司")
        self.assertEqual(len(inkstone.tokenize([])), 0)

    def test_columns_of_all_libraries_are_read(self):
        wanted, given = inkstone.tokenize(TEXTS).to_list(), [TEXTS, tuple(TEXTS), (text for text in TEXTS)]
        if has("pyarrow"):
            import pyarrow

            array = pyarrow.array(TEXTS)
            given += [array, pyarrow.chunked_array([TEXTS[:1], TEXTS[1:]]), array.dictionary_encode(), array.slice(0)]
            given += [pyarrow.array(TEXTS, kind()) for kind in (pyarrow.large_string, pyarrow.string_view)]
        if has("polars"):
            import polars

            given += [polars.Series(TEXTS), polars.Series(TEXTS, dtype=polars.Categorical), polars.DataFrame({"text": TEXTS})["text"]]
        if has("pandas"):
            import pandas

            given += [pandas.Series(TEXTS), pandas.Series(TEXTS, dtype=object), pandas.Series(TEXTS, dtype="category")]
        if has("numpy"):
            import numpy

            given.append(numpy.array(TEXTS, dtype=object))
        for texts in given:
            self.assertEqual(inkstone.tokenize(texts).to_list(), wanted, type(texts))

    def test_what_is_no_text_is_told(self):
        for call, error, words in [
            (lambda: inkstone.tokenize("增长"), TypeError, "texts is one str: give a list"),
            (lambda: inkstone.tokenize(["增长", 1]), TypeError, r"texts\[1\] is a int"),
            (lambda: inkstone.tokenize(TEXTS, modes="char"), TypeError, r"tokenize\(\) has no setting \"modes\""),
            (lambda: inkstone.tokenize(TEXTS, mode="letters"), ValueError, "letters"),
            (lambda: inkstone.truncate(TEXTS, "middle:5"), ValueError, "is no truncation"),
            (lambda: inkstone.open_model("/none.model"), FileNotFoundError, "/none.model"),
        ]:
            with self.assertRaisesRegex(error, words):
                call()
        if has("polars"):
            import polars

            with self.assertRaisesRegex(TypeError, "a frame of 1 columns"):
                inkstone.tokenize(polars.DataFrame({"text": TEXTS}))

    @unittest.skipUnless(has("polars", "pandas", "pyarrow"), "needs polars, pandas and pyarrow")
    def test_results_go_to_all_libraries(self):
        import pandas
        import polars
        import pyarrow

        tokens = inkstone.tokenize(TEXTS)
        self.assertEqual(polars.Series(tokens).to_list(), tokens.to_list())
        self.assertEqual(pyarrow.chunked_array(tokens).to_pylist(), tokens.to_list())
        self.assertEqual([None if words is None else list(words) for words in tokens.to_pandas()], tokens.to_list())
        frame = inkstone.train("logistic", DOCUMENTS, labels=["好", "坏", "坏", "好"] * 5, min_df=1).score(["净利润 增长", None])
        self.assertEqual(polars.DataFrame(frame).columns, frame.columns)
        self.assertEqual(pyarrow.table(frame).to_pylist()[0]["label"], "好")
        self.assertTrue(pandas.isna(frame.to_pandas()["p:好"][1]))

    def test_the_stub_says_what_the_module_has(self):
        stub = ast.parse(Path(inkstone.__file__).with_name("_native.pyi").read_text(encoding="utf-8"))

        def parameters(function):
            names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
            return [name for name in names if name != "self"]

        def of_module(thing):
            return [name for name in inspect.signature(thing).parameters if name != "self"]

        found = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        self.assertEqual(found, {name for name in dir(_native) if not name.startswith("_")})
        for node in stub.body:
            if isinstance(node, ast.FunctionDef):
                self.assertEqual(parameters(node), of_module(getattr(_native, node.name)), node.name)
            if isinstance(node, ast.ClassDef):
                here = getattr(_native, node.name)
                methods = {method.name: method for method in node.body if isinstance(method, ast.FunctionDef)}
                public = {name for name in vars(here) if not name.startswith("_")}
                self.assertEqual({name for name in methods if not name.startswith("_")}, public, node.name)
                for name in public:
                    if not inspect.isdatadescriptor(vars(here)[name]):
                        self.assertEqual(parameters(methods[name]), of_module(getattr(here, name)), f"{node.name}.{name}")


class Models(unittest.TestCase):
    def test_a_model_is_the_programs_own_to_the_byte(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = Path(folder) / "lines.jsonl"
            _native.write_lines(lines, DOCUMENTS, times=TIMES)
            by_program = Path(folder) / "program.model"
            inkstone.run("train", "tfidf", "--input", lines, "--output", by_program, "--min-df", 1, "--ngram-range", "1,2")
            saved = inkstone.train("tfidf", DOCUMENTS, times=TIMES, min_df=1, ngram_range=(1, 2)).save(Path(folder) / "saved.model")
            self.assertEqual(saved.path.read_bytes(), by_program.read_bytes())
            self.assertEqual((saved.kind, saved.training), ("tfidf", None))
            self.assertEqual(saved.fitted_until, TIMES[-1])
            self.assertEqual(sorted(os.listdir(folder)), ["lines.jsonl", "program.model", "saved.model"])

    def test_a_head_reads_its_encoder_and_explains_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            encoder = Path(folder) / "lsa.model"
            inkstone.train("lsa", DOCUMENTS, min_df=1, dim=2, output=encoder)
            labels = ["好", "坏", "坏", "好"] * 5
            head = inkstone.train("logistic", DOCUMENTS, labels=labels, model=encoder, output=Path(folder) / "head.model")
            self.assertEqual(len(head.score(DOCUMENTS)), 20)
            self.assertGreater(len(head.explain(DOCUMENTS[0])["terms"]), 0)

    @unittest.skipUnless(has("onnxruntime", "numpy"), "needs ONNX Runtime and NumPy")
    def test_a_contextual_model_scores_explains_and_works_in_a_child(self):
        with tempfile.TemporaryDirectory() as folder:
            project = inkstone.demo(Path(folder) / "market", scale=0.05)
            model = inkstone.open_model(project.folder / "model", output="scores", fitted_until=datetime.date(2022, 12, 31))
            self.assertEqual(model.score([TEXTS[0], None])["label"].to_list(), ["positive", None])
            self.assertEqual(model.fitted_until, datetime.datetime(2022, 12, 31, 23, 59, 59))
            self.assertGreater(len(model.explain(TEXTS[0])["terms"]), 0)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                label = pool.apply_async(_label, (model, TEXTS[0])).get(timeout=60)
            self.assertEqual(label, "positive")
            with self.assertRaisesRegex(ValueError, "cuda:0"):
                inkstone.open_model(project.folder / "model", device="cuda:0")

    def test_rows_are_known_when_text_and_model_are(self):
        model = inkstone.train("tfidf", DOCUMENTS, times=TIMES, min_df=1, until="2024-01-10")
        self.assertEqual(model.fitted_until, datetime.datetime(2024, 1, 10, 9))
        given = ["2024-01-02", datetime.datetime(2024, 5, 1, 10), None]
        self.assertEqual(model.known_at(given).to_list(), [datetime.datetime(2024, 1, 10, 9), datetime.datetime(2024, 5, 1, 10), None])
        untimed = inkstone.train("tfidf", DOCUMENTS, min_df=1)
        self.assertIsNone(untimed.fitted_until)
        with self.assertRaisesRegex(ValueError, "set fitted_until to the last day of that text"):
            untimed.known_at(given)
        night = [datetime.datetime(2024, 5, 1, 2)] * 600
        with self.assertRaisesRegex(ValueError, "may be eight hours off"):
            model.map(["增长"] * 600, night)
        self.assertEqual(len(model.map(["增长"] * 600, night, allow_night=1.0)), 600)

    @unittest.skipUnless(has("numpy", "scipy"), "needs NumPy and SciPy")
    def test_rows_are_arrays(self):
        import numpy

        rows = inkstone.train("tfidf", DOCUMENTS, min_df=1).score([*DOCUMENTS, None])
        self.assertEqual((rows.shape[0], rows.dtype, rows[20].nnz), (21, numpy.float32, 0))
        numpy.testing.assert_allclose(rows[:20].multiply(rows[:20]).sum(axis=1), 1, rtol=1e-5)
        model = inkstone.train("word2vec", DOCUMENTS * 20, min_count=1, dim=8, epochs=2)
        vectors = model.score(["股东 减持", None])
        self.assertEqual((vectors.shape, vectors.dtype), ((2, 8), numpy.float32))
        self.assertTrue(numpy.isfinite(vectors[0]).all() and numpy.isnan(vectors[1]).all())
        self.assertEqual(len(model.nearest(["减持"], 3)["减持"]), 3)

    @unittest.skipUnless(has("numpy"), "needs NumPy")
    def test_estimators_learn_and_explain(self):
        labels = [0, 0, 1, 1] * 5
        model = inkstone.LogisticRegression(C=2.0, min_df=1).fit(DOCUMENTS, labels, times=TIMES)
        self.assertEqual((model.score(DOCUMENTS, labels), model.predict_proba(DOCUMENTS).shape), (1.0, (20, 2)))
        ridge = inkstone.Ridge(alpha=0.1, min_df=1).fit(DOCUMENTS, [1.0, -1.0, -0.5, 0.5] * 5)
        self.assertGreater(ridge.score(DOCUMENTS, [1.0, -1.0, -0.5, 0.5] * 5), 0.9)
        explained = ridge.model_.explain("净利润 增长")
        self.assertAlmostEqual(explained["score"], explained["intercept"] + sum(term["value"] for term in explained["terms"]), 5)
        with self.assertRaisesRegex(ValueError, "is not fitted yet"):
            inkstone.Ridge().predict(DOCUMENTS)
        for train_rows, test_rows in inkstone.PurgedTimeSplit(4, label_days=2).split(DOCUMENTS, groups=TIMES):
            self.assertFalse(set(train_rows) & set(test_rows))
            self.assertTrue(all(row < min(test_rows) - 2 or row > max(test_rows) + 2 for row in train_rows))

    @unittest.skipUnless(has("sklearn"), "needs scikit-learn")
    def test_estimators_work_in_scikit_learn(self):
        from sklearn.base import clone
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.utils.estimator_checks import check_estimator

        values, labels = [1.0, -1.0, -0.5, 0.5] * 5, [0, 1, 1, 0] * 5
        for kind in (
            inkstone.TfidfVectorizer,
            inkstone.CountVectorizer,
            inkstone.Bm25Vectorizer,
            inkstone.Lsa,
            inkstone.Word2Vec,
            inkstone.Surprise,
            inkstone.LogisticRegression,
            inkstone.Ridge,
            inkstone.Sestm,
        ):
            # On columns of numbers scikit-learn has nothing to check of models of text, its own among them.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.assertTrue(all(check["status"] == "passed" for check in check_estimator(kind(), on_skip=None)), kind)
            self.assertEqual(clone(kind(threads=1)).get_params(), kind(threads=1).get_params())
        split = inkstone.PurgedTimeSplit(4, label_days=1)
        self.assertGreater(cross_val_score(inkstone.Ridge(alpha=0.5, min_df=1), DOCUMENTS, values, groups=TIMES, cv=split).min(), 0.9)
        search = GridSearchCV(inkstone.Ridge(min_df=1), {"alpha": [0.1, 10.0]}, cv=split).fit(DOCUMENTS, values, groups=TIMES)
        self.assertEqual(search.best_params_, {"alpha": 0.1})
        pipeline = make_pipeline(inkstone.TfidfVectorizer(min_df=1), LogisticRegression()).fit(DOCUMENTS, labels)
        self.assertEqual(pipeline.score(DOCUMENTS, labels), 1.0)
        with self.assertRaisesRegex(ValueError, "Invalid parameter 'alfa' for estimator Ridge"):
            inkstone.Ridge().set_params(alfa=1)

    def test_a_model_travels_by_its_path_or_its_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            trained = inkstone.train("tfidf", DOCUMENTS, min_df=1)
            saved = trained.save(Path(folder) / "a.model")
            travelled = [pickle.dumps(trained), pickle.dumps(saved)]
            self.assertLess(len(travelled[1]), 600)
            for model in map(pickle.loads, travelled):
                self.assertEqual((model.key, model.columns), (trained.key, trained.columns))
            inkstone.train("tfidf", DOCUMENTS[:4], min_df=1, output=saved.path)
            with self.assertRaisesRegex(ValueError, "is another model than the one that was pickled"):
                pickle.loads(travelled[1])

    def test_children_of_all_kinds_work(self):
        model = inkstone.train("tfidf", DOCUMENTS, min_df=1)
        wanted = _work((model, DOCUMENTS))
        for method in ("fork", "spawn", "forkserver"):
            if method not in multiprocessing.get_all_start_methods():
                continue
            with multiprocessing.get_context(method).Pool(2) as pool:
                found = pool.map_async(_work, [(model, DOCUMENTS)] * 4).get(timeout=60)
            self.assertEqual(found, [wanted] * 4, method)

    def test_threads_share_a_model(self):
        model = inkstone.train("lsa", DOCUMENTS, min_df=1, dim=2)
        wanted, found = model.explain(DOCUMENTS[0]), []
        threads = [threading.Thread(target=lambda: found.extend(model.explain(DOCUMENTS[0]) for _ in range(20))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [wanted] * 80)

    def test_ctrl_c_ends_a_call_and_other_threads_go_on_meanwhile(self):
        code = (
            "import inkstone, threading, time, sys\n"
            "beats = []\n"
            "def beat():\n"
            "    while True:\n"
            "        beats.append(time.time()); time.sleep(0.01)\n"
            "threading.Thread(target=beat, daemon=True).start()\n"
            "texts = ['公司净利润大幅增长，股东减持股份。' * 60] * 40_000\n"
            "print('begin', flush=True)\n"
            "try:\n"
            "    while True:\n"
            "        inkstone.keywords(texts)\n"
            "except KeyboardInterrupt:\n"
            "    print(time.time(), len(beats), flush=True)\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        )
        self.assertEqual(child.stdout.readline(), "begin\n")
        time.sleep(1)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        ended, beats = child.communicate(timeout=60)[0].split()
        self.assertLess(float(ended) - sent, 2, "0.2 s on an idle machine")
        self.assertGreater(int(beats), 20)


def _label(model, text):
    return model.score([text])["label"].to_list()[0]


def _work(given):
    model, texts = given
    return model.explain(texts[0])["score"], inkstone.tokenize(texts * 50).to_list()[-1]


@unittest.skipUnless(has("pyarrow"), "needs pyarrow")
class Mapper(unittest.TestCase):
    def setUp(self):
        import pyarrow

        self.batch = pyarrow.record_batch({"id": [1, 2], "published_at": TIMES[:2], "text": DOCUMENTS[:2]})

    def test_a_batch_gets_the_models_columns_and_known_at(self):
        import pyarrow

        model = inkstone.train("ridge", DOCUMENTS, values=range(20), times=TIMES, min_df=1)
        mapper = pickle.loads(pickle.dumps(inkstone.arrow.mapper(model)))
        mapped = mapper(self.batch)
        self.assertEqual(mapped.schema.names, ["id", "published_at", "value", "known_at"])
        self.assertEqual(mapped["known_at"].to_pylist(), [TIMES[-1]] * 2)
        self.assertIsInstance(mapper(pyarrow.table(self.batch)), pyarrow.Table)
        # In an Arrow stream through the program the same.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ridge.model"
            model.save(path)
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, self.batch.schema) as stream:
                stream.write_batch(self.batch)
            given = sink.getvalue().to_pybytes()
            done = subprocess.run([inkstone.program(), "worker", "--model", path], input=given, capture_output=True, check=True)
            streamed = pyarrow.ipc.open_stream(done.stdout).read_all()
        self.assertEqual(streamed.to_pylist(), mapped.to_pylist())

    def test_what_a_mapper_cannot_do_is_told(self):
        untimed = inkstone.train("ridge", DOCUMENTS, values=range(20), min_df=1)
        with self.assertRaisesRegex(ValueError, "open it with fitted_until"):
            inkstone.arrow.mapper(untimed)
        model = inkstone.train("ridge", DOCUMENTS, values=range(20), times=TIMES, min_df=1)
        with self.assertRaisesRegex(KeyError, "there is no column 'body'; the columns are id, published_at, text"):
            inkstone.arrow.mapper(model, text="body")(self.batch)
        renamed = self.batch.rename_columns(["value", "published_at", "text"])
        with self.assertRaisesRegex(ValueError, "the model gives a column 'value', and so does the input"):
            inkstone.arrow.mapper(model)(renamed)


@unittest.skipUnless(has("pandas", "pyarrow"), "needs pandas and pyarrow")
class Market(unittest.TestCase):
    def test_a_factor_in_memory_is_tested_as_its_file_is(self):
        import pandas

        reference = Path(__file__).resolve().parents[2] / "tests/reference/alphalens"
        factor, prices = (pandas.read_csv(reference / name, dtype={"asset": str}) for name in ("factor.csv", "prices.csv"))
        flags = {"preset": "alphalens", "quantiles": 4, "horizons": [1, 3, 5], "max_loss": 0.5}
        with tempfile.TemporaryDirectory() as folder:
            ledger = Path(folder) / "ledger"
            by_file = inkstone.backtest(reference / "factor.csv", reference / "prices.csv", ledger=ledger, **flags)
            in_memory = inkstone.backtest(factor, prices, ledger=ledger, **flags)
            series = pandas.Series(
                factor["factor"].to_numpy(), index=pandas.MultiIndex.from_arrays([pandas.to_datetime(factor["date"]), factor["asset"]])
            )
            of_series = inkstone.backtest(series, prices, ledger=ledger, **flags)
        self.assertEqual(in_memory.figures["ic"], by_file.figures["ic"])
        self.assertEqual(of_series.figures["ic"], by_file.figures["ic"])
        self.assertIn("<iframe", in_memory._repr_html_())
        self.assertGreater(len(in_memory.tables), 2)


@unittest.skipUnless(has("polars", "pandas", "pyarrow", "scipy"), "needs polars, pandas, pyarrow and SciPy")
class Notebooks(unittest.TestCase):
    def test_the_notebook_runs_from_a_demo_to_a_factor(self):
        path = Path(__file__).resolve().parents[1] / "notebooks/text_to_factor.ipynb"
        cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
        names, shown = {}, None
        with contextlib.redirect_stdout(io.StringIO()):
            for number, cell in enumerate(cells):
                code = ast.parse("".join(cell["source"]))
                last = code.body.pop() if isinstance(code.body[-1], ast.Expr) else None
                exec(compile(code, f"cell {number}", "exec"), names)
                shown = last and eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        self.assertIn("<iframe", shown._repr_html_())
        self.assertEqual(names["smooth"].columns, ["date", "code", "value", "known_at"])
        self.assertTrue(all(cell["outputs"] == [] for cell in cells), "the notebook is kept without outputs")
        shutil.rmtree(names["folder"].parent)


if __name__ == "__main__":
    unittest.main()
