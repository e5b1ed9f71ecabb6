#!/usr/bin/env python3
"""Large copies of a tensor on two workers: where they are the same bytes, what was found of the first counts for both; where they part,
at the first element, the last one or a NaN, and when they come together again, each is what it is. The same at any number of ranks.

    replicas.py --assay PROGRAM --ranks 1 3 ...
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, mpirun  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of  # noqa: E402

ELEMENTS = 200_000  # 800 kB: several pieces
RULES = [("apart", "ReplicaDivergence", {"replicated": "always"}), ("unchanged", "UnchangedTensor", {"collection_names": "weights", "num_steps": 2, "rtol": 0, "atol": 0}),
         ("bad", "ExplodingTensor", {"tensor_regex": "weight"})]
# Of each step: what worker_1 has otherwise, and whether the weights of each worker are those of the step before.
LAST, FIRST, BAD = -1, 0, 150_000
STEPS = [(None, 0, 0), (None, 0, 0), (LAST, 0, 0), (None, 0, 0), (None, 1, 1), (FIRST, 0, 1), (None, 0, 0), (BAD, 0, 0), (None, 0, 0), (None, 1, 1)]


def make(folder):
    made, rng = Made(folder, 2, {"weights": "weight$"}), numpy.random.default_rng(3)
    before = {}
    for step, (other, *same) in enumerate(STEPS):
        fresh, saved = rng.normal(0, 1, ELEMENTS).astype("float32"), {}
        for worker, keeps in zip(made.workers, same):
            weight = before[worker].copy() if keeps else fresh.copy()
            if worker == "worker_1" and other is not None and not keeps:
                weight[other] = numpy.nan if other == BAD else weight[other] + 1
            before[worker] = weight
            saved[worker] = {"net.weight": weight}
        made.step(step, "TRAIN", step, saved)
    made.end()


def make_left(folder):
    """worker_0 leaves behind step 0. There worker_2's copy is its, and worker_1's is other; from then on worker_1's is the first, and all keep it."""
    made, rng = Made(folder, 3, {"weights": "weight$"}), numpy.random.default_rng(4)
    first, other = (rng.normal(0, 1, ELEMENTS).astype("float32") for _ in range(2))
    made.step(0, "TRAIN", 0, {w: {"net.weight": other if w == "worker_1" else first} for w in made.workers})
    for step in (1, 2):
        made.step(step, "TRAIN", step, {w: {"net.weight": other} for w in made.workers[1:]})
    made.end()


def make_parted(folder):
    """Two copies of a matrix that two workers share by rows each, the same bytes; the upper half is zero, the whole is not. What a leader's piece
    comes to is not what the whole comes to."""
    made, rng = Made(folder, 4, {"weights": "weight$"}), numpy.random.default_rng(5)
    for step in range(2):
        whole = rng.normal(0, 1, (2 * ELEMENTS // 100, 100)).astype("float32")
        whole[:ELEMENTS // 100] = 0
        made.step(step, "TRAIN", step, {w: {"net.weight": half} for w, half in zip(made.workers, 2 * list(numpy.split(whole, 2)))})
    made.end()
    (made.folder / "topology.json").write_text(json.dumps({"schema": "assay-topology/1", "meshes": {"dense": {"axes": [["dp", 2], ["tp", 2]]}},
                                                           "tensors": [{"match": "weight", "split": {"tp": {"axis": 0}}, "replicate": ["dp"]}]}))


PARTED_RULES = [RULES[0], ("zero", "AllZero", {"tensor_regex": "weight", "num_steps": 1})]
PARTED = {"zero": [], "apart": []}
LEFT = {"unchanged": [(1, "worker_1"), (2, "worker_1"), (2, "worker_2")], "apart": [(0, "worker_1")], "bad": []}


def found(report):
    return {rule["name"]: [(f["step"], f["worker"]) for f in rule["findings"]] for rule in report["trials"][0]["rules"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    both = lambda step: [(step, "worker_0"), (step, "worker_1")]
    expected = {"apart": [(2, "worker_1"), (5, "worker_1"), (7, "worker_1")], "unchanged": both(4) + [(5, "worker_1")] + both(9),
                "bad": [(7, "worker_1")]}
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        make(where / "trial")
        make_left(where / "left")
        make_parted(where / "parted")
        for name, rules, wanted in (("trial", RULES, expected), ("left", RULES, LEFT), ("parted", PARTED_RULES, PARTED)):
            job, bodies = where / "job.json", set()
            job.write_text(json.dumps({"rules": [{"name": n, "rule": r, "parameters": p} for n, r, p in rules]}))
            for ranks in args.ranks:
                done = mpirun(ranks, [args.assay, "run", job, "--trial", where / name, "--out", where / "out", "--quiet"])
                report = (where / "out" / "report.json").read_bytes()
                bodies.add(body_of(report))
                got = found(json.loads(report))
                checks.expect(got == wanted, "%s, %d ranks: %s, %s" % (name, ranks, got, done))
            checks.expect(len(bodies) == 1, "%s: the reports differ" % name)
    checks.done()


if __name__ == "__main__":
    main()
