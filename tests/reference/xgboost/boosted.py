"""Makes boosted.json of this folder with XGBoost (pip install xgboost==3.2.0 numpy scipy; python boosted.py).

The rows are those of ../sklearn/classify.json. No column has more values than bins, so that all tools cut it alike."""

import json
from pathlib import Path

import numpy as np
import scipy.sparse
import xgboost

HERE = Path(__file__).parent
given = json.loads((HERE.parent / "sklearn" / "classify.json").read_text(encoding="utf-8"))
X = scipy.sparse.csr_matrix(np.array(given["x"], dtype=np.float32))
WEIGHTS = np.array(given["weights"])
GOALS = {
    "class": (np.array(given["class"]), "multi:softprob"),
    "binary": (np.array(given["binary"]), "binary:logistic"),
    "value": (np.array(given["order"]["value"]), "reg:squarederror"),
}


def base_scores(goal, y, w):
    if goal == "value":
        return np.array([np.average(y, weights=w)])
    sizes = np.bincount(y, weights=w)
    return np.array([np.log(sizes[1] / sizes[0])]) if goal == "binary" else np.log(sizes / sizes.sum())


def case(goal, trees, learning_rate, max_depth, min_leaf_weight, l2, weighted):
    y, objective = GOALS[goal]
    w = WEIGHTS if weighted else np.ones(len(y))
    base = base_scores(goal, y, w)
    margin = np.tile(base, (len(y), 1))
    rows = xgboost.DMatrix(X, label=y, weight=w, base_margin=margin if len(base) > 1 else margin[:, 0])
    params = {
        "objective": objective,
        "tree_method": "hist",
        "max_bin": 256,
        "eta": learning_rate,
        "max_depth": max_depth,
        "min_child_weight": min_leaf_weight,
        "reg_lambda": l2,
        "nthread": 1,
    }
    if len(base) > 1:
        params["num_class"] = len(base)
    model = xgboost.train(params, rows, trees)
    # Rows by outputs; of contributions also by columns, the mean last.
    scores = model.predict(rows, output_margin=True).reshape(len(y), -1)
    parts = model.predict(rows, pred_contribs=True).reshape(len(y), len(base), -1)[:6]
    return {
        "goal": goal,
        "weighted": weighted,
        "params": {
            "trees": trees,
            "learning_rate": learning_rate,
            "max_depth": max_depth,
            "min_leaf_weight": min_leaf_weight,
            "l2": l2,
        },
        "scores": np.round(scores.astype(float), 7).tolist(),
        "parts": np.round(parts.astype(float), 7).tolist(),
    }


cases = [
    case("binary", 20, 0.1, 6, 1.0, 1.0, False),
    case("binary", 10, 0.3, 3, 0.5, 0.0, True),
    case("class", 12, 0.1, 6, 1.0, 1.0, False),
    case("class", 5, 0.5, 2, 2.0, 3.0, True),
    case("value", 20, 0.2, 4, 3.0, 1.0, False),
    case("value", 8, 0.3, 12, 1.0, 0.5, True),
]
out = {"xgboost": xgboost.__version__, "cases": cases}
(HERE / "boosted.json").write_text(json.dumps(out, separators=(",", ":")) + "\n", encoding="utf-8")
