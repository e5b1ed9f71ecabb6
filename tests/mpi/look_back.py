#!/usr/bin/env python3
"""Look-back passes by values that are empty or text, however many come one after the other: the report is the same wherever the
border between two ranks lies, and names the references that one expects.

    look_back.py --assay PROGRAM --ranks 1 2 3 ...
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, mpirun  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of  # noqa: E402

STEPS, ELEMENTS = 24, 40000  # a step is a chunk
EMPTY = {"worker_0": {5, 6, 7, 8, 9, 14}, "worker_1": {1, 2, 20}}
TEXT = {"worker_0": {15}, "worker_1": {3, 19}}
RULES = [("update", "WeightUpdateRatio", {"large_threshold": 1e-9}),
         ("unchanged", "UnchangedTensor", {"collection_names": "weights", "num_steps": 2}),
         ("against_current", "UnchangedTensor", {"collection_names": "weights", "num_steps": 4, "against": "current"})]


def make(folder):
    made, rng = Made(folder, 2, {"weights": "weight$"}), numpy.random.default_rng(1)
    trained = evaluated = 0
    for step in range(STEPS):
        evaluates = step % 4 == 3
        saved = {}
        for worker in made.workers:
            weight = rng.normal(0, 1, ELEMENTS).astype("float32")
            saved[worker] = {"net.weight": weight[:0] if step in EMPTY[worker] else
                             ["a", "b"] if step in TEXT[worker] else weight}
        made.step(step, "EVAL" if evaluates else "TRAIN", evaluated if evaluates else trained, saved)
        evaluated, trained = evaluated + evaluates, trained + (not evaluates)
    made.end()
    # What a reference behind empty values is looked up by lies in a bucket that is not its step's.
    index, strayed = folder / "index", folder / "index" / "000000007"
    strayed.mkdir()
    (index / "000000000" / "000000000004_worker_0.json").rename(strayed / "000000000004_worker_0.json")


def make_restarted(folder):
    """Mode steps begin again behind the first step, and worker_1 has none of those that are too far back for a window."""
    made, rng = Made(folder, 2, {"weights": "weight$"}), numpy.random.default_rng(2)
    for step in range(STEPS):
        made.step(step, "TRAIN", step - 1 if step else 100, {
            worker: {"net.weight": rng.normal(0, 1, ELEMENTS).astype("float32")}
            for worker in made.workers if worker == "worker_0" or step == 0 or step >= STEPS // 2})
    made.end()


def compared(worker):
    """How many TRAIN steps have a value and one before it in a TRAIN step."""
    there = [s for s in range(STEPS) if s % 4 != 3 and s not in EMPTY[worker] | TEXT[worker]]
    return len(there) - 1


def restarted(checks, args, where, job):
    make_restarted(where / "restarted")
    job.write_text(json.dumps({"rules": [{"rule": "WeightUpdateRatio", "parameters": {"num_steps": 4}}]}))
    bodies = set()
    for ranks in args.ranks:
        done = mpirun(ranks, [args.assay, "run", job, "--trial", where / "restarted", "--out", where / "out", "--quiet"])
        checks.expect(done.code == 0, "mode steps begin again, %d ranks: %s" % (ranks, done))
        report = (where / "out" / "report.json").read_bytes()
        bodies.add(body_of(report))
        found = json.loads(report)["trials"][0]["rules"][0]["datapoints"]
        checks.expect(found == STEPS - 1 + STEPS // 2, "mode steps begin again, %d ranks: %d updates" % (ranks, found))
    checks.expect(len(bodies) == 1, "mode steps begin again: the reports differ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    checks, bodies = Checks(), set()
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        job = where / "job.json"
        job.write_text(json.dumps({"rules": [{"name": n, "rule": r, "parameters": p} for n, r, p in RULES]}))
        make(where / "trial")
        for ranks in args.ranks:
            done = mpirun(ranks, [args.assay, "run", job, "--trial", where / "trial", "--out", where / "out", "--quiet"])
            checks.expect(done.code == 0, "%d ranks: %s" % (ranks, done))
            body = body_of((where / "out" / "report.json").read_bytes())
            checks.expect(not bodies or body in bodies, "%d ranks: another report" % ranks)
            bodies.add(body)
            found = {r["name"]: r["datapoints"] for r in json.loads((where / "out" / "report.json").read_text())["trials"][0]["rules"]}
            print("%d ranks: %s" % (ranks, found), flush=True)
            checks.expect(found["update"] == sum(map(compared, EMPTY)), "%d ranks: %d updates" % (ranks, found["update"]))
        restarted(checks, args, where, job)
    checks.done()


if __name__ == "__main__":
    main()
