"""Models of official fastText (0.9.3) on invented text, and what it says with them: `MALLOC_PERTURB_=255 python make.py`.

This version leaves a part of the input matrix as memory happens to be; the variable has the C library give zeros."""
import json
import tempfile
from pathlib import Path

import fasttext

HERE = Path(__file__).parent
TOPICS = {
    "股票": "大盘 今日 上涨 成交 放量 个股 普涨 券商 板块 领涨 指数 收红".split(),
    "债券": "国债 收益率 下行 央行 逆回购 资金面 宽松 利率 债 发行 信用 利差".split(),
    "公司": "公司 公告 净利润 同比 增长 股东 减持 回购 合同 订单 中标 产能".split(),
}


def lines(n, start=0):
    """Invented lines, the same each time."""
    made = []
    names = list(TOPICS)
    state = 12345 + start
    for i in range(n):
        words = []
        for _ in range(6):
            state = (state * 1103515245 + 12345) % 2**31
            words.append(TOPICS[names[i % 3]][state // 65536 % 12])
        # One word in six is of another topic.
        state = (state * 1103515245 + 12345) % 2**31
        words[state // 65536 % 6] = TOPICS[names[(i + 1) % 3]][i % 12]
        made.append(f"__label__{names[i % 3]} " + " ".join(words))
    return made


def main():
    folder = Path(tempfile.mkdtemp())
    train = folder / "train.txt"
    train.write_text("\n".join(lines(90)) + "\n", encoding="utf-8")
    texts = [" ".join(line.split()[1:]) for line in lines(12, 7)] + ["从未 见过 的 词", ""]
    reference = {"train": lines(90), "texts": texts, "models": {}}
    common = {"dim": 4, "bucket": 200, "thread": 10, "verbose": 0, "seed": 1, "epoch": 20, "lr": 0.3}
    for name, options in {
        "softmax": {"wordNgrams": 2},
        "hs": {"loss": "hs", "minn": 1, "maxn": 2},
        "ova": {"loss": "ova", "wordNgrams": 3, "minn": 2, "maxn": 3},
        "ns": {"loss": "ns"},
        "quantised": {"wordNgrams": 2, "bucket": 400},
    }.items():
        model = fasttext.train_supervised(str(train), **{**common, **options})
        path = HERE / f"{name}.bin"
        if name == "quantised":
            model.quantize(cutoff=280, qnorm=True, dsub=2)
            path = HERE / "quantised.ftz"
        model.save_model(str(path))
        test = folder / "test.txt"
        test.write_text("\n".join(lines(30, 99)) + "\n", encoding="utf-8")
        reference["models"][name] = {
            "file": path.name,
            "predictions": [model.f.predict(text + "\n", 3, 0.0, "strict") for text in texts],
            "sentences": [model.get_sentence_vector(text).tolist() for text in texts],
            "test": model.test(str(test), 1),
            "test2": model.test(str(test), 2),
        }
    reference["test_lines"] = lines(30, 99)
    plain = folder / "plain.txt"
    plain.write_text("\n".join(line.split(" ", 1)[1] for line in lines(90)) + "\n", encoding="utf-8")
    model = fasttext.train_unsupervised(str(plain), dim=4, bucket=200, minn=1, maxn=2, minCount=2, thread=10, verbose=0)
    model.save_model(str(HERE / "words.bin"))
    reference["models"]["words"] = {
        "file": "words.bin",
        "predictions": [],
        "sentences": [model.get_sentence_vector(text).tolist() for text in texts],
        "words": {word: model.get_word_vector(word).tolist() for word in ["大盘", "从未", "国债券"]},
    }
    (HERE / "fasttext.json").write_text(json.dumps(reference, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


main()
