#!/usr/bin/env python3
"""Rules about boosted trees on made trials whose answers are known beforehand.

    known_xgboost.py --assay PROGRAM --ranks 1 3 -- [CASE]...
"""
import math
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, fires, main, rule, values  # noqa: E402
from made import Made  # noqa: E402


@case
def trees(folder):
    """A complete tree of depth 4 has the numbers 0..30; a chain of 6 has few numbers and is deeper."""
    made = Made(folder)
    complete = list(range(31))
    yes = ["0-%d" % (2 * n + 1) if n < 15 else "nan" for n in complete]
    no = ["0-%d" % (2 * n + 2) if n < 15 else "nan" for n in complete]
    made.step(0, "GLOBAL", 0, {"trees/Node": numpy.array(complete), "trees/Yes": yes, "trees/No": no})
    chain = list(range(13))
    yes = ["1-%d" % (n + 1) if n % 2 == 0 and n < 12 else "nan" for n in chain]
    no = ["1-%d" % (n + 2) if n % 2 == 0 and n < 12 else "nan" for n in chain]
    made.step(1, "GLOBAL", 1, {"trees/Node": numpy.array(chain), "trees/Yes": yes, "trees/No": no})
    loop = ["2-0", "2-1", "2-0"]
    made.step(2, "GLOBAL", 2, {"trees/Node": numpy.array([0, 1, 2]), "trees/Yes": loop, "trees/No": loop})
    return made.end(), [
        rule("four", "TreeDepth", fires(datapoints=3)),
        rule("three", "TreeDepth", values([(0, 4)]), depth=3),
        rule("true", "TreeDepth", values([(1, 6)]), true_depth="True"),
        rule("true three", "TreeDepth", values([(0, 4), (1, 6)]), true_depth="True", depth="3.5"),
    ]


@case
def importance(folder):
    made = Made(folder)
    for step, scale in enumerate((1.0, 0.0)):
        made.step(step, "GLOBAL", step, {"feature_importance/weight/f%d" % i: numpy.array([x * scale])
                                         for i, x in enumerate((0.5, 0.2, 0.2, 0.1))})
    return made.end(), [
        rule("three", "FeatureImportanceOverweight", lambda e: values([(0, 0.9)])(e) and e["datapoints"] == 1),
        rule("two", "FeatureImportanceOverweight", fires(datapoints=1), nfeatures=2),
        rule("all", "FeatureImportanceOverweight", lambda e: e["first"]["note"] == "degenerate", nfeatures=4),
    ]


@case
def boosted(folder):
    """Two classes at step 0, regression at step 1; two workers share the labels."""
    random = numpy.random.default_rng(7)
    made = Made(folder, workers=2, collections={"metrics": "^train-", "feature_importance": "^feature_imp"})
    labels = [random.integers(0, 2, 150).astype("float64") for _ in range(2)]
    scores = [numpy.clip(y * 0.3 + random.uniform(0, 0.7, 150), 0, 1) for y in labels]
    made.step(0, "GLOBAL", 0, {"worker_%d" % w: {
        "train-error": 0.5 - w / 8, "feature_importance/gain/f%d" % w: 0.25, "labels": labels[w],
        "predictions": scores[w]} for w in range(2)})
    y, p = numpy.concatenate(labels), numpy.concatenate(scores)
    area = ((p[y == 1][:, None] > p[y == 0]) + 0.5 * (p[y == 1][:, None] == p[y == 0])).mean()
    matrix = [[int(((y == i) & ((p >= 0.5) == j)).sum()) for j in range(2)] for i in range(2)]

    def binary(e):
        roc = e["roc"]
        return (e["task"] == "binary" and e["confusion"]["matrix"] == matrix and
                abs(roc["auc"] - area) <= roc["auc_error"] + 1e-12 and roc["auc_error"] < 0.01 and
                roc["points"][-1] == [1, 1] and e["metrics"][1]["values"] == [0.375] and
                e["feature_importance"]["gain"][0] == {"feature": "f0", "value": 0.25} and
                math.isclose(e["confusion"]["recall"]["micro"], (matrix[0][0] + matrix[1][1]) / 300))

    truth = random.uniform(10, 20, 400)
    guess = truth + random.normal(0, 1, 400)
    made.step(1, "GLOBAL", 1, {"worker_0": {"labels": truth, "predictions": guess}})
    edges = numpy.linspace(truth.min(), truth.max(), 11)
    counts, _ = numpy.histogram(truth, edges)
    errors, _ = numpy.histogram(truth, edges, weights=abs(truth - guess))
    residuals, _ = numpy.histogram(truth - guess, 20)

    def regression(e):
        bars = [b for b in e["absolute_error"] if b["step"] == 1]
        return (e["task"] == "regression" and [b["count"] for b in e["labels"]] == list(counts) and
                [b["count"] for b in e["residuals"]] == list(residuals) and len(bars) == 10 and
                all(math.isclose(b["value"], x, rel_tol=1e-9) for b, x in zip(bars, errors / counts)))

    return made.end(), [rule("binary", "CreateXgboostReport", binary, end_step=1),
                        rule("regression", "CreateXgboostReport", regression)]


if __name__ == "__main__":
    main()
