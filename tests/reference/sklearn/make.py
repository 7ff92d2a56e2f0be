"""Makes the reference numbers of this folder with scikit-learn (pip install scikit-learn==1.9.1; python make.py)."""

import json
from pathlib import Path

import numpy as np
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

HERE = Path(__file__).parent

# Invented sentences, cut into words by hand.
DOCS = [line.split() for line in """
公司 一 季度 营收 增长 净利润 增长 毛利率 提升
公司 公告 股东 减持 股份 减持 比例 不 超过 总股本
新能源 订单 饱满 产能 利用率 提升 订单 增长
行业 景气 回落 公司 营收 下滑 净利润 下滑 毛利率 承压
董事会 审议 通过 回购 股份 方案 回购 价格 不 超过 上限
公司 中标 轨道 交通 项目 订单 金额 超过 上年 营收
监管 问询 公司 商誉 减值 公司 净利润 大幅 下滑
机构 上调 盈利 预测 维持 买入 评级 目标价 提升
公司 公司 公司 增长 增长 新能源 产能 释放
风险 提示 需求 不及 预期 原材料 价格 上涨
景气
研发 费用 增长 新 产品 获批 净利润 增长
""".strip().splitlines()]

CASES = [
    {"min_df": 1},
    {"min_df": 2, "max_df": 0.5},
    # No two words tie for the eighth place: scikit-learn leaves ties to an unstable sort.
    {"min_df": 1, "max_features": 8, "sublinear_tf": True},
    {"min_df": 1, "norm": "l1"},
    {"min_df": 0.15, "norm": None},
]


def tfidf():
    cases = []
    for params in CASES:
        model = TfidfVectorizer(analyzer=lambda doc: doc, **params)
        rows = model.fit_transform(DOCS)
        rows.sort_indices()
        cases.append({
            "params": {**params, "norm": params.get("norm", "l2") or "none"},
            "words": model.get_feature_names_out().tolist(),
            "idf": model.idf_.tolist(),
            "rows": [[[int(j), float(v)] for j, v in zip(r.indices, r.data)] for r in rows],
        })
    return {"sklearn": sklearn.__version__, "docs": [" ".join(d) for d in DOCS], "cases": cases}


# Texts for characters: cases, runs of white space, marks.
TEXTS = ["公司ETF份额增长，增长  超预期。", "净利润下滑\t\n公司商誉减值", "etf份额\t下滑", "订单　饱满", ""]

# Our parameters, scikit-learn's vectorizer, its parameters.
VECTORIZERS = [
    ({"formula": "count"}, CountVectorizer, {}),
    ({"formula": "binary", "ngram_range": [2, 2]}, CountVectorizer, {"binary": True, "ngram_range": (2, 2)}),
    ({"formula": "count", "ngram_range": [1, 3], "min_df": 2}, CountVectorizer, {"ngram_range": (1, 3), "min_df": 2}),
    ({"ngram_range": [1, 2]}, TfidfVectorizer, {"ngram_range": (1, 2)}),
    ({"smooth_idf": False, "sublinear_tf": True}, TfidfVectorizer, {"smooth_idf": False, "sublinear_tf": True}),
    ({"ngram_range": [1, 2], "max_df": 0.3, "norm": "l1"}, TfidfVectorizer, {"ngram_range": (1, 2), "max_df": 0.3, "norm": "l1"}),
    ({"analyzer": "char", "ngram_range": [1, 2]}, TfidfVectorizer, {"analyzer": "char", "ngram_range": (1, 2)}),
    ({"analyzer": "char", "ngram_range": [3, 5], "formula": "count"}, CountVectorizer, {"analyzer": "char", "ngram_range": (3, 5)}),
    ({"formula": "count", "norm": "l2", "buckets": 1 << 20}, HashingVectorizer, {}),
    (
        {"formula": "count", "buckets": 50, "alternate_sign": False, "ngram_range": [1, 2]},
        HashingVectorizer,
        {"n_features": 50, "alternate_sign": False, "norm": None, "ngram_range": (1, 2)},
    ),
    # Few columns, so that terms collide and cancel out.
    ({"formula": "count", "buckets": 7}, HashingVectorizer, {"n_features": 7, "norm": None}),
    (
        {"formula": "binary", "analyzer": "char", "ngram_range": [3, 3], "buckets": 1 << 20},
        HashingVectorizer,
        {"analyzer": "char", "ngram_range": (3, 3), "binary": True, "norm": None},
    ),
]


def vectorize():
    cases = []
    for ours, kind, theirs in VECTORIZERS:
        words = theirs.get("analyzer") != "char"
        docs = [" ".join(d) for d in DOCS] if words else TEXTS
        # Words are what stands between spaces, as lines of tokens have them.
        how = {"tokenizer": str.split, "token_pattern": None, "lowercase": False} if words else {}
        model = kind(**theirs, **how)
        rows = model.fit_transform(docs)
        rows.eliminate_zeros()
        rows.sort_indices()
        cases.append({
            "params": {"min_df": 1, **ours},
            "docs": docs,
            "terms": [] if kind is HashingVectorizer else model.get_feature_names_out().tolist(),
            "rows": [[[int(j), float(v)] for j, v in zip(r.indices, r.data)] for r in rows],
        })
    return {"sklearn": sklearn.__version__, "cases": cases}


def linear():
    rng = np.random.default_rng(7)
    n, d = 60, 25
    # Values with few binary digits, so that they are the same in f32.
    x = np.where(rng.random((n, d)) < 0.3, rng.integers(1, 64, (n, d)) / 16, 0.0)
    truth = rng.normal(size=d)
    y = np.round(x @ truth + rng.normal(scale=2.0, size=n) + 3.0, 6)
    up = y > np.quantile(y, 0.6)
    weights = np.round(rng.random(n) * 2, 3)
    out = {"sklearn": sklearn.__version__, "x": x.tolist(), "y": y.tolist(), "up": up.tolist(), "weights": weights.tolist()}
    for kind in ("ridge", "logistic"):
        out[kind] = []
        for alpha in (0.1, 5.0):
            for weighted in (False, True):
                sample = weights if weighted else None
                if kind == "ridge":
                    model = Ridge(alpha=alpha, solver="cholesky").fit(x, y, sample_weight=sample)
                else:
                    model = LogisticRegression(C=1 / alpha, solver="newton-cholesky", tol=1e-12, max_iter=1000)
                    model.fit(x, up, sample_weight=sample)
                out[kind].append({
                    "alpha": alpha,
                    "weighted": weighted,
                    "coef": np.ravel(model.coef_).tolist(),
                    "intercept": float(np.ravel(model.intercept_)[0]),
                })
    return out


def walk():
    """Two samples a trading day; a label is known two days after its own. Windows: 20 days in, 10 out."""
    rng = np.random.default_rng(11)
    days, words = 40, 24
    dates = np.repeat(np.arange(days), 2)
    texts = [rng.integers(0, words, 15) for _ in dates]
    push = lambda t: (t < 5).sum() - ((t >= 5) & (t < 10)).sum()
    labels = np.round([push(t) + rng.normal(scale=1.5) for t in texts], 4)
    docs = np.array([" ".join(f"{i:02}" for i in t) for t in texts])
    # Columns beside the words, with few binary digits: sparse ones as they are, dense ones with other scales and with gaps.
    sparse = np.where(rng.random((len(dates), 4)) < 0.3, rng.integers(1, 32, (len(dates), 4)) / 16, 0.0)
    dense = rng.integers(-64, 64, (len(dates), 3)) / 16 * np.array([1, 8, 0.25]) + np.array([0, 40, -1])
    dense[rng.random(dense.shape) < 0.1] = np.nan
    dense[:, 0] += np.round(labels)
    stacked = np.column_stack([docs.astype(object), sparse, dense])
    inputs = {"words": [0], "dense": [5, 6, 7], "stacked": list(range(8))}
    scores = {f"{kind}_{name}": [None] * len(dates) for kind in ("ridge", "logistic") for name in inputs}
    for start in range(20, days, 10):
        train = (dates >= start - 20) & (dates + 2 < start)
        test = np.flatnonzero((dates >= start) & (dates < start + 10))
        y = labels[train]
        low, high = np.quantile(y, [0.3, 0.7])
        outer = (y <= low) | (y >= high)
        for name, columns in inputs.items():
            goals = {
                "ridge": (stacked[train], np.clip(y, *np.quantile(y, [0.01, 0.99])), Ridge(alpha=0.5, solver="cholesky")),
                "logistic": (
                    stacked[train][outer],
                    y[outer] >= high,
                    LogisticRegression(C=2.0, solver="newton-cholesky", tol=1e-12),
                ),
            }
            for kind, (fit_rows, goal, model) in goals.items():
                model = Pipeline([("inputs", side_by_side(columns)), ("model", model)]).fit(fit_rows, goal)
                got = model.predict(stacked[test]) if kind == "ridge" else model.decision_function(stacked[test])
                for i, score in zip(test, got):
                    scores[f"{kind}_{name}"][i] = float(score)
    return {
        "sklearn": sklearn.__version__,
        "dates": dates.tolist(),
        "texts": [t.tolist() for t in texts],
        "labels": labels.tolist(),
        "sparse": sparse.tolist(),
        "dense": [[None if np.isnan(v) else v for v in row] for row in dense.tolist()],
        **scores,
        "search": searches(stacked, labels),
    }


def side_by_side(columns):
    """Words weighed by TF-IDF, sparse columns as they are, dense columns standardised, a gap counting as the mean."""
    scaled = Pipeline([("scale", StandardScaler()), ("fill", SimpleImputer(strategy="constant", fill_value=0.0))])
    parts = [
        ("words", TfidfVectorizer(min_df=2), 0),
        ("sparse", FunctionTransformer(lambda rows: rows.astype(float)), [c for c in columns if 1 <= c < 5]),
        ("dense", scaled, [c for c in columns if c >= 5]),
    ]
    return ColumnTransformer([part for part in parts if part[2] == 0 and 0 in columns or part[2]], sparse_threshold=0.0)


def searches(stacked, labels):
    """Grids over all inputs; the folds are stretches of rows, and what is fitted is fitted in each."""
    splits = list(KFold(4).split(stacked))
    classes = labels > np.median(labels)
    logistic = LogisticRegression(solver="saga", tol=1e-12, max_iter=1_000_000, random_state=0)
    cases = [
        (Ridge(solver="cholesky"), {"alpha": [0.1, 1.0, 10.0]}, labels, {"r2": "r2", "mse": "neg_mean_squared_error"}),
        (
            logistic,
            {"C": [0.1, 1.0, 10.0], "l1_ratio": [0.0, 0.5]},
            classes,
            {"auc": "roc_auc", "accuracy": "accuracy", "f1": "f1_macro", "log_loss": "neg_log_loss"},
        ),
    ]
    found = []
    for model, grid, goal, measures in cases:
        pipeline = Pipeline([("inputs", side_by_side(list(range(8)))), ("model", model)])
        named = {f"model__{name}": values for name, values in grid.items()}
        search = GridSearchCV(pipeline, named, cv=splits, scoring=measures, refit=False).fit(stacked, goal)
        settings = [{name.removeprefix("model__"): v for name, v in p.items()} for p in search.cv_results_["params"]]
        figures = {
            name: [[search.cv_results_[f"split{k}_test_{name}"][at] for k in range(4)] for at in range(len(settings))]
            for name in measures
        }
        found.append({"goal": goal.tolist(), "grid": grid, "settings": settings, "figures": figures})
    return {"splits": [[train.tolist(), test.tolist()] for train, test in splits], "cases": found}


for name, value in (("tfidf", tfidf()), ("vectorize", vectorize()), ("linear", linear()), ("walk", walk())):
    (HERE / f"{name}.json").write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
