#!/usr/bin/env python3
"""What the first line makes of workers whose weights differ: of which tensors, and whether they are copies at all.

    copies.py --assay PROGRAM --ranks 1 3

Four workers with two layers on batches of their own, whose losses come down. The report is the same at every number of ranks.
"""
import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("support", "rules")]
from launch import Checks, mpirun  # noqa: E402
from made import Made  # noqa: E402

COLLECTIONS = {"weights": "^net.*weight$", "biases": "^net.*bias$", "gradients": "^gradient", "losses": "^loss$"}
STEPS, WORKERS = 60, 4
SHAPES = {"net_0.weight": (6, 5), "net_0.bias": (6,), "net_2.weight": (4, 6), "net_2.bias": (4,)}


def train(folder, own, meets=None, shapes=None):
    """own(name, step): does each worker take its own update of a tensor? meets(step): two workers that take their mean behind the update."""
    made = Made(folder, WORKERS, COLLECTIONS)
    shapes = shapes or (lambda worker: SHAPES)
    weights = [{n: numpy.random.default_rng([1, len(n) + n.count("2"), w * (shapes(0) != shapes(1))]).normal(0, 1, s) for n, s in shapes(w).items()} for w in range(WORKERS)]
    for step in range(STEPS):
        saved = {}
        for w in range(WORKERS):
            saved["worker_%d" % w] = {"loss": numpy.float32((0.2 + numpy.exp(-step / 10)) * (1 + 0.01 * numpy.sin(step * (w + 1))))}
            for n, value in list(weights[w].items()):
                rng = numpy.random.default_rng([2, step, len(n) + n.count("2"), w if own(n, step) else 9])
                gradient = rng.normal(0, 0.1 * (1 + w * (meets is None and shapes(0) != shapes(1))), value.shape)
                saved["worker_%d" % w].update({n: value.astype("float32"), "gradient/" + n: gradient.astype("float32")})
                weights[w][n] = value - 0.05 * gradient
        made.step(step, "TRAIN", step, saved)
        for a, b in [meets(step)] if meets else []:
            weights[a] = {n: (weights[a][n] + weights[b][n]) / 2 for n in weights[a]}
            weights[b] = dict(weights[a])
    return made.end()


def some_layers(folder):
    """The second layer alone is not exchanged: a weight and its bias are not all of two weights."""
    return train(folder, lambda n, s: n.startswith("net_2") and s > 0)


def never(folder):
    return train(folder, lambda n, s: s > 0)


def two_by_two(folder):
    """Each step a pair takes its mean: nobody forgot the exchange."""
    return train(folder, lambda n, s: True, lambda s: (s % 4, (s + 1) % 4))


def stages(folder):
    """Each worker has layers of its own: no gradient is odd beside another."""
    return train(folder, lambda n, s: True, shapes=lambda w: dict(SHAPES, **{"net_2.weight": (4 + w, 6), "net_2.bias": (4 + w,)}))


CASES = {some_layers: (lambda line: " and 1 more" in line and " all " not in line, True),
         never: (lambda line: "all 2 gradients" in line or "all 2 weights" in line, True),
         two_by_two: (lambda line: line.startswith("nothing wrong"), False),
         stages: (lambda line: line.startswith("nothing wrong") and "alone" not in line, False)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    checks = Checks()
    os.environ["ASSAY_OVERWRITE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        for case, (holds, warns) in CASES.items():
            trial, bodies = Path(folder) / case.__name__, []
            case(trial)
            for ranks in args.ranks:
                out = Path(folder) / ("%s-%d" % (case.__name__, ranks))
                done = mpirun(ranks, [args.assay, "run", trial, "--out", out, "--fail-on", "warning"])
                report = json.loads((out / "report.json").read_text())
                bodies.append([report["verdict"], report["trials"][0].get("causes", [])])
                line = report["verdict"]
                checks.expect(holds(line), "%s: the first line is %s" % (case.__name__, line))
                checks.expect(done.code == (1 if warns else 0), "%s: exit code %d" % (case.__name__, done.code))
                checks.expect(all(c["certainty"] != "certain" for c in report["trials"][0].get("causes", [])), "%s: certain: %s" % (case.__name__, bodies[-1]))
            checks.expect(all(b == bodies[0] for b in bodies), "%s: reports differ between rank counts" % case.__name__)
    checks.done()


if __name__ == "__main__":
    main()
