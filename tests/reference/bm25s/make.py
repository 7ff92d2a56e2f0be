"""Makes the reference numbers of this folder with bm25s (pip install bm25s==0.3.16 numpy; python make.py)."""

import json
from pathlib import Path

import bm25s

HERE = Path(__file__).parent
DOCS = json.loads((HERE.parent / "sklearn" / "tfidf.json").read_text(encoding="utf-8"))["docs"]
K1, B = 1.5, 0.6

# Lucene's BM25 leaves out Robertson's factor k1 + 1, which is the same for all terms.
model = bm25s.BM25(method="lucene", k1=K1, b=B, dtype="float64")
docs = [doc.split() for doc in DOCS]
model.index(docs, show_progress=False)
words = sorted({word for doc in docs for word in doc})
scores = {word: model.get_scores([word]) for word in words}
rows = [
    [[j, float(scores[word][i]) * (K1 + 1)] for j, word in enumerate(words) if word in doc] for i, doc in enumerate(docs)
]
case = {"params": {"formula": "bm25", "k1": K1, "b": B, "min_df": 1}, "terms": words, "rows": rows}
value = {"bm25s": bm25s.__version__, "docs": DOCS, "cases": [case]}
(HERE / "bm25.json").write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
