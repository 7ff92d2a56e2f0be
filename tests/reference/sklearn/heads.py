"""Makes heads.json of this folder: heads on the vectors of encoders, with scikit-learn.

pip install scikit-learn==1.9.1 onnxruntime==1.31.1 tokenizers==0.23.3; python heads.py

`words` is on the means of word vectors whose numbers have few binary digits, so that all programs have the same; `bert` on the vectors of
../onnx/bert, by ONNX Runtime. Columns are standardised by the documents that train. Scores are decision functions, by document.
"""

import json
from pathlib import Path

import numpy as np
import onnxruntime
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from tokenizers import Tokenizer

HERE = Path(__file__).parent
BERT = HERE.parent / "onnx" / "bert"
WORDS = ["增长", "净利润", "股份", "订单", "减持", "亏损", "回购", "中标", "下滑", "调查", "重组", "分红"]
PHRASES = ["净利润同比增长", "订单增长", "公司拟回购股份", "毛利率下滑", "现金流为负", "费用下降", "股东减持", "AI芯片订单", "营业收入下滑"]
CLASSES = ["down", "flat", "up"]

rng = np.random.default_rng(23)


def heads(x, classes, values):
    """Scores of heads with the settings that the tests name."""
    z = StandardScaler().fit_transform(x)
    binary = (classes == 2).astype(int)
    logistic = lambda y: LogisticRegression(C=0.5, tol=1e-12, max_iter=100_000, solver="newton-cg").fit(z, y)
    svm = LinearSVC(C=0.25, tol=1e-10, max_iter=1_000_000, random_state=0).fit(z, binary)
    return {
        "classes": logistic(classes).decision_function(z).tolist(),
        "binary": logistic(binary).decision_function(z).tolist(),
        "svm": svm.decision_function(z).tolist(),
        "ridge": Ridge(alpha=3.0).fit(z, values).predict(z).tolist(),
    }


def goals(x, n):
    """Labels and values that depend on the rows, with noise."""
    z = StandardScaler().fit_transform(x)
    scores = z @ rng.normal(size=(x.shape[1], 3)) + rng.gumbel(scale=1.5, size=(n, 3))
    values = np.round(z @ rng.normal(size=x.shape[1]) + rng.normal(size=n), 3)
    return scores.argmax(axis=1), values


def of_words(n=90, dim=4):
    vectors = rng.integers(-48, 48, (len(WORDS), dim)) / 16
    # Two or four words: their mean has few binary digits, too.
    documents = [rng.choice(len(WORDS), size=2 if i % 3 else 4, replace=False) for i in range(n)]
    x = np.array([vectors[words].mean(axis=0) for words in documents])
    classes, values = goals(x, n)
    return {
        "vectors": dict(zip(WORDS, vectors.tolist())),
        "texts": ["。".join(WORDS[word] for word in words) for words in documents],
        "rows": x.tolist(),
        "labels": [CLASSES[c] for c in classes],
        "values": values.tolist(),
        "scores": heads(x, classes, values),
    }


def of_bert(n=60):
    texts = ["，".join(rng.choice(PHRASES, size=rng.integers(1, 4), replace=False)) + "。" for _ in range(n)]
    tokenizer = Tokenizer.from_file(str(BERT / "tokenizer.json"))
    session = onnxruntime.InferenceSession(str(BERT / "model.onnx"))
    rows = []
    for text in texts:
        cut = tokenizer.encode(text)
        feeds = {"input_ids": cut.ids, "attention_mask": cut.attention_mask, "token_type_ids": cut.type_ids}
        feeds = {i.name: np.array([feeds[i.name]], dtype=np.int64) for i in session.get_inputs()}
        hidden = session.run(["last_hidden_state"], feeds)[0][0]
        rows.append(hidden[0].astype(float))
    x = np.array(rows)
    classes, values = goals(x, n)
    return {
        "texts": texts,
        "labels": [CLASSES[c] for c in classes],
        "values": values.tolist(),
        "scores": heads(x, classes, values),
    }


made = {"words": of_words(), "bert": of_bert()}
(HERE / "heads.json").write_text(json.dumps(made, ensure_ascii=False) + "\n")
