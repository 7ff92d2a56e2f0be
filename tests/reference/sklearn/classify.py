"""Makes classify.json of this folder with scikit-learn (pip install scikit-learn==1.9.1; python classify.py)."""

import json
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn import metrics
from sklearn.calibration import CalibratedClassifierCV, _SigmoidCalibration
from sklearn.feature_selection import f_classif, f_regression
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.svm import LinearSVC

warnings.filterwarnings("ignore")
HERE = Path(__file__).parent

rng = np.random.default_rng(5)
N, D = 90, 18
# Values with few binary digits, so that they are the same in f32.
X = np.where(rng.random((N, D)) < 0.35, rng.integers(1, 48, (N, D)) / 16, 0.0)
TRUTH = rng.normal(size=(D, 3))
SCORES = X @ TRUTH + rng.gumbel(scale=1.5, size=(N, 3)) + np.array([0.0, 1.0, -1.0])
CLASS = SCORES.argmax(axis=1)
BINARY = (CLASS == 1).astype(int)
WEIGHTS = np.round(rng.random(N) * 2 + 0.1, 3)


def logistic():
    cases = []
    for y in ("class", "binary"):
        for alpha, ratio, weighted, balanced in [
            (0.3, 0.0, False, False),
            (4.0, 0.0, True, False),
            (0.5, 0.0, False, True),
            (0.5, 0.4, False, False),
            (1.5, 1.0, True, False),
            (0.8, 0.7, False, True),
        ]:
            if y == "binary" and ratio == 0.0 and not balanced:
                continue  # linear.json has these
            model = LogisticRegression(
                C=1 / alpha,
                l1_ratio=ratio,
                solver="saga" if ratio else "newton-cg",
                tol=1e-12,
                max_iter=1_000_000,
                class_weight="balanced" if balanced else None,
                random_state=0,
            )
            model.fit(X, CLASS if y == "class" else BINARY, sample_weight=WEIGHTS if weighted else None)
            cases.append({
                "goal": y,
                "alpha": alpha,
                "l1_ratio": ratio,
                "weighted": weighted,
                "balanced": balanced,
                "coef": model.coef_.tolist(),
                "intercept": model.intercept_.tolist(),
                "probabilities": model.predict_proba(X[:5]).tolist(),
            })
    return cases


def bayes():
    cases = []
    for form, kind in (("multinomial", MultinomialNB), ("complement", ComplementNB)):
        for alpha in (0.01, 1.0):
            for weighted in (False, True):
                model = kind(alpha=alpha).fit(X, CLASS, sample_weight=WEIGHTS if weighted else None)
                cases.append({
                    "form": form,
                    "smoothing": alpha,
                    "weighted": weighted,
                    "joint": model.predict_joint_log_proba(X[:8]).tolist(),
                    "probabilities": model.predict_proba(X[:8]).tolist(),
                })
    return cases


def svm():
    cases = []
    for loss in ("squared_hinge", "hinge"):
        for alpha in (0.2, 2.0):
            for weighted in (False, True):
                model = LinearSVC(C=1 / alpha, loss=loss, dual=True, tol=1e-10, max_iter=10_000_000, random_state=0)
                sample = WEIGHTS if weighted else np.ones(N)
                model.fit(X, BINARY, sample_weight=sample)
                t = 2 * BINARY - 1
                short = np.maximum(0, 1 - t * model.decision_function(X))
                lost = short**2 if loss == "squared_hinge" else short
                size = (model.coef_**2).sum() + model.intercept_[0] ** 2
                cases.append({
                    "loss": loss.replace("_", "-"),
                    "alpha": alpha,
                    "weighted": weighted,
                    "objective": float(0.5 * alpha * size + (sample * lost).sum()),
                    "coef": model.coef_[0].tolist(),
                    "intercept": float(model.intercept_[0]),
                })
    return cases


def calibration():
    scores = np.round(SCORES[:, 1] - SCORES[:, [0, 2]].max(axis=1), 1)  # rounded, so that some are equal
    at = np.linspace(-12, 12, 49)
    out = {"scores": scores.tolist(), "so": BINARY.astype(bool).tolist(), "at": at.tolist(), "cases": []}
    for weighted in (False, True):
        sample = WEIGHTS if weighted else None
        platt = _SigmoidCalibration().fit(scores, BINARY, sample)
        steps = IsotonicRegression(out_of_bounds="clip").fit(scores, BINARY, sample)
        out["cases"].append({
            "weighted": weighted,
            "sigmoid": platt.predict(at).tolist(),
            "isotonic": steps.predict(at).tolist(),
        })
    splits = list(KFold(4).split(X))
    out["folds"] = [test.tolist() for _, test in splits]
    for method in ("sigmoid", "isotonic"):
        base = LogisticRegression(C=0.5, solver="newton-cholesky", tol=1e-12)
        model = CalibratedClassifierCV(base, method=method, cv=splits, ensemble=False).fit(X, BINARY)
        out[f"whole_{method}"] = model.predict_proba(X)[:, 1].tolist()
    return out


def average(report):
    return {"precision": report["precision"], "recall": report["recall"], "f1": report["f1-score"]}


def class_reports():
    cases = []
    # Four classes; in the second case one is never there and never called, another is only called.
    for n, present, callable_ in ((200, [0, 1, 2, 3], [0, 1, 2, 3]), (60, [0, 1], [0, 1, 3])):
        truth = rng.choice(present, n)
        called = np.where(rng.random(n) < 0.6, truth, rng.choice(callable_, n))
        report = metrics.classification_report(truth, called, output_dict=True, zero_division=0)
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(truth, called, average="micro", zero_division=0)
        case = {
            "truth": truth.tolist(),
            "called": called.tolist(),
            "accuracy": metrics.accuracy_score(truth, called),
            "macro": average(report["macro avg"]),
            "weighted": average(report["weighted avg"]),
            "micro": {"precision": precision, "recall": recall, "f1": f1},
            "mcc": metrics.matthews_corrcoef(truth, called),
            "confusion": metrics.confusion_matrix(truth, called, labels=range(4)).tolist(),
        }
        cases.append(case)
    return cases


def probabilities():
    cases = []
    for k in (2, 3):
        truth = rng.integers(0, k, 120)
        p = rng.dirichlet(np.ones(k), 120)
        p[np.arange(120), truth] += 0.4
        p = np.round(p / p.sum(axis=1, keepdims=True), 2)  # rounded, so that some are equal
        p[:, -1] = 1 - p[:, :-1].sum(axis=1)
        case = {
            "classes": k,
            "truth": truth.tolist(),
            "p": p.tolist(),
            "log_loss": metrics.log_loss(truth, p),
            "brier": metrics.brier_score_loss(truth, p[:, 1] if k == 2 else p),
        }
        if k == 2:
            case["auc"] = metrics.roc_auc_score(truth, p[:, 1])
        else:
            case["auc"] = metrics.roc_auc_score(truth, p, multi_class="ovr", average="macro")
        cases.append(case)
    return cases


def label_report():
    truth = (rng.random((80, 5)) < [0.5, 0.3, 0.2, 0.05, 0.0]).astype(int)
    called = np.where(rng.random((80, 5)) < 0.75, truth, 1 - truth)
    called[:, 3] = 0
    out = {"truth": truth.tolist(), "called": called.tolist()}
    for name in ("micro", "macro", "weighted"):
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(truth, called, average=name, zero_division=0)
        out[name] = {"precision": precision, "recall": recall, "f1": f1}
    out["exact"] = metrics.accuracy_score(truth, called)
    out["hamming_loss"] = metrics.hamming_loss(truth, called)
    return out


def order():
    value = SCORES[:, 0]
    return {
        "value": value.tolist(),
        "f_classif": f_classif(X, CLASS)[0].tolist(),
        "f_regression": f_regression(X, value)[0].tolist(),
    }


out = {
    "sklearn": sklearn.__version__,
    "x": X.tolist(),
    "class": CLASS.tolist(),
    "binary": BINARY.tolist(),
    "weights": WEIGHTS.tolist(),
    "logistic": logistic(),
    "bayes": bayes(),
    "svm": svm(),
    "calibration": calibration(),
    "reports": class_reports(),
    "probabilities": probabilities(),
    "labels": label_report(),
    "order": order(),
}
(HERE / "classify.json").write_text(json.dumps(out, separators=(",", ":")) + "\n", encoding="utf-8")
