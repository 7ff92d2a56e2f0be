"""What a call from Python costs beside the program, and beside jieba, scikit-learn, gensim and alphalens, in one run.

    python3 -m venv peers && peers/bin/pip install pandas polars pyarrow scipy jieba scikit-learn gensim alphalens-reloaded
    INKSTONE_PROGRAM=target/release/inkstone PYTHONPATH=python peers/bin/python benches/python.py --documents 20000

(absolute paths; CONTRIBUTING.md says how the compiled module comes into the package). Times are the best of some rounds, in which the ways take turns;
the first round is not counted. The peers get text that is cut already, and one thread, as they use it; so do the others.
"""

import argparse
import logging
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy
import pandas

import inkstone

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)


def race(title, rounds, **ways):
    """Runs some ways in turns, and prints the best time of each and how often the peer's it is."""
    best = {name: float("inf") for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            if number:
                best[name] = min(best[name], time.perf_counter() - began)
    peer = best["peer"]
    shown = ", ".join(f"{name} {seconds:.2f} s ({peer / seconds:.1f}x)" for name, seconds in best.items() if name != "peer")
    print(f"{title}: peer {peer:.2f} s, {shown}; python / program {best['python'] / best['program']:.2f}", flush=True)


def texts_of(folder, documents):
    """Texts of a synthetic market, made different by a number."""
    project = inkstone.demo(folder / "market", scale=1)
    table = project.documents().to_polars()
    bodies = table["body"].to_list()
    return [f"{bodies[number % len(bodies)]}第{number}号" for number in range(documents)]


def tokens(texts, folder, rounds):
    import jieba

    lines = folder / "lines.txt"
    lines.write_text("\n".join(text.replace("\n", " ") for text in texts) + "\n", encoding="utf-8")
    jieba.initialize()

    def program():
        with open(lines, encoding="utf-8") as given:
            subprocess.run([inkstone.program(), "tokenize", "--threads", "1"], stdin=given, stdout=subprocess.DEVNULL, check=True)

    few = texts[: len(texts) // 10]
    size = sum(len(text.encode()) for text in texts) / 1e6
    began = time.perf_counter()
    for text in few:
        jieba.lcut(text)
    seconds = (time.perf_counter() - began) * len(texts) / len(few)
    best = {"python": float("inf"), "program": float("inf")}
    for _ in range(rounds + 1):
        for name, way in (("python", lambda: inkstone.tokenize(texts, threads=1)), ("program", program)):
            began = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - began)
    print(
        f"tokenize, {size:.0f} MB: jieba {seconds:.2f} s (by a tenth), program {best['program']:.2f} s ({seconds / best['program']:.1f}x), "
        f"python {best['python']:.2f} s ({seconds / best['python']:.1f}x); python / program {best['python'] / best['program']:.2f}",
        flush=True,
    )


def models(texts, folder, rounds):
    from gensim.models import Word2Vec
    from sklearn.feature_extraction.text import TfidfVectorizer

    cut = [" ".join(words) for words in inkstone.tokenize(texts, terms=True).to_list()]
    words = [text.split() for text in cut]
    lines = folder / "lines.jsonl"
    inkstone._native.write_lines(lines, texts)

    def program(kind, *flags):
        inkstone.run("train", kind, "--input", lines, "--output", folder / "model", "--threads", 1, *flags)

    race(
        "tfidf, cut and fitted (peer: fitted)",
        rounds,
        peer=lambda: TfidfVectorizer(tokenizer=str.split, lowercase=False, token_pattern=None, min_df=2).fit(cut),
        program=lambda: program("tfidf"),
        python=lambda: inkstone.train("tfidf", texts, threads=1),
    )
    race(
        "word2vec, cut and trained (peer: trained)",
        rounds,
        peer=lambda: Word2Vec(words, vector_size=100, window=5, min_count=5, epochs=3, sg=1, negative=5, workers=1),
        program=lambda: program("word2vec", "--dim", 100, "--epochs", 3, "--sg"),
        python=lambda: inkstone.train("word2vec", texts, threads=1, dim=100, epochs=3, sg=True),
    )


def backtests(folder, names, days, rounds):
    from alphalens import performance, utils

    random = numpy.random.default_rng(1)
    dates = pandas.bdate_range("2015-01-05", periods=days)
    codes = [f"{600000 + number}.SH" for number in range(names)]
    close = pandas.DataFrame(numpy.exp(numpy.cumsum(random.normal(0, 0.02, (days, names)), axis=0)) * 10, dates, codes)
    values = pandas.DataFrame(random.normal(size=(days, names)), dates, codes)
    long = lambda frame, name: frame.rename_axis("date").reset_index().melt("date", var_name="code", value_name=name)
    factor, prices = long(values, "value"), long(close, "close")
    inkstone._native.write_parquet(folder / "factor.parquet", factor)
    inkstone._native.write_parquet(folder / "prices.parquet", prices)
    flags = {"preset": "alphalens", "quantiles": 5, "horizons": [1, 5, 10], "max_loss": 1.0, "ledger": folder / "ledger", "threads": 1}

    def peer():
        data = utils.get_clean_factor_and_forward_returns(values.stack(), close, quantiles=5, periods=(1, 5, 10), max_loss=1.0)
        performance.factor_information_coefficient(data)
        performance.mean_return_by_quantile(data, by_date=True)
        performance.factor_returns(data)
        for quantile in range(1, 6):
            performance.quantile_turnover(data["factor_quantile"], quantile)

    race(
        f"backtest, {names} names of {days} days",
        rounds,
        peer=peer,
        program=lambda: inkstone.backtest(folder / "factor.parquet", folder / "prices.parquet", **flags),
        python=lambda: inkstone.backtest(factor, prices, **flags),
    )


def main():
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--documents", type=int, default=20_000)
    reader.add_argument("--names", type=int, default=300)
    reader.add_argument("--days", type=int, default=500)
    reader.add_argument("--rounds", type=int, default=3)
    given = reader.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        texts = texts_of(folder, given.documents)
        tokens(texts, folder, given.rounds)
        models(texts, folder, given.rounds)
        backtests(folder, given.names, given.days, given.rounds)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
