#!/usr/bin/env python3
"""Workers that count their steps each for itself, as where rank 0 alone evaluates: the report is that of the same training
with one count for all, byte for byte, at any number of ranks; so are what `ls` says and what a watch ends with.

    align.py --assay PROGRAM --ranks 1 2 3 ...
"""
import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of, report_of  # noqa: E402

WORKERS, STEPS, SAVE, ELEMENTS, CLASSES, BATCH = 3, 60, 1, 2048, 4, 16
NAN_STEP = 41  # of mode TRAIN: worker_2's weight
RULES = ["ReplicaDivergence", "GradientNotSynchronized", "MissingWorker", "WeightUpdateRatio", "StragglerWorker",
         "ExplodingTensor", "DuplicateShard"]
JOB = {"rules": [{"rule": rule} for rule in RULES] +
       [{"rule": "UnchangedTensor", "parameters": {"collection_names": "weights"}}],
       "aggregations": [{"name": mode, "kind": "class_counts", "labels_regex": "CrossEntropyLoss_input_1", "mode": mode}
                        for mode in ("TRAIN", "EVAL")],
       "output": {"formats": ["json"]}}


def passes(fault):
    """(mode, mode step, tensors by worker) in order: every fifth training step rank 0 evaluates two batches."""
    rng, weight, evaluated = numpy.random.default_rng(1), None, 0
    weight = rng.normal(0, 1, ELEMENTS).astype("float32")
    for trained in range(STEPS):
        gradient = rng.normal(0, 1, ELEMENTS).astype("float32")
        saved = {}
        for worker in range(WORKERS):
            own = weight.copy()
            if fault and worker == 2 and trained == NAN_STEP:
                own[7] = numpy.nan
            saved["worker_%d" % worker] = {
                "net.weight": own, "gradient/net.weight": gradient,
                "CrossEntropyLoss_input_1": rng.integers(0, CLASSES, BATCH),
                "CrossEntropyLoss_output_0": numpy.float32(2 * 0.97 ** trained).reshape(())}
        yield "TRAIN", trained, saved
        weight = (weight - 0.01 * gradient).astype("float32")
        if trained % 5 == 4:
            for _ in range(2):
                yield "EVAL", evaluated, {"worker_0": {"net.weight": weight,
                                                       "CrossEntropyLoss_input_1": rng.integers(0, CLASSES, BATCH)}}
                evaluated += 1


def make(folder, apart, save=1, fault=False, dead=None):
    """`apart`: each worker counts its own passes. `dead`: worker_0 writes nothing from this training step on."""
    made = Made(folder, WORKERS, {"weights": "^net.*weight$", "gradients": "^gradient", "losses": "Loss_output"})
    own = dict.fromkeys(made.workers, 0)
    for at, (mode, mode_step, saved) in enumerate(passes(fault)):
        for worker, tensors in saved.items():
            step = own[worker] if apart else at
            own[worker] += 1
            gone = dead is not None and worker == "worker_0" and at >= dead
            if mode_step % save == 0 and not gone:
                made.step(step, mode, mode_step, {worker: tensors}, 1e9 + at)
    made.end()


def body(assay, ranks, job, folder, trial, command="run"):
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    argv = [assay, command, job, "--trial", "trial=%s" % trial, "--out", out]
    if command == "run":
        argv += ["--progress", "0"]
    done = mpirun(ranks, argv)
    text = body_of(out)
    return done, text and text.replace(str(trial).encode(), b"TRIAL")


def compare(checks, assay, ranks, job, folder, name, **how):
    trials = {apart: folder / ("%s-%s" % (name, "apart" if apart else "together")) for apart in (False, True)}
    for apart, trial in trials.items():
        make(trial, apart, **how)
    _, expected = body(assay, 1, job, folder, trials[False])
    checks.expect(expected is not None, "%s: a report" % name)
    for count in ranks:
        done, got = body(assay, count, job, folder, trials[True])
        checks.expect(done.code in (0, 1) and got == expected, "%s: %d ranks: %s" % (name, count, done.err[-300:]))
    return trials, expected


def listed(assay, trial):
    found = json.loads(run([assay, "ls", trial, "--json"]).out)
    return {key: value for key, value in found.items() if key not in ("path", "name")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    a = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        job = folder / "job.json"
        job.write_text(json.dumps(JOB))
        trials, expected = compare(checks, a.assay, a.ranks, job, folder, "healthy")
        trial = json.loads(expected + b'"run": {}}')["trials"][0]
        fired = [r["name"] for r in trial["rules"] if r["status"] == "IssuesFound" and r["name"] != "UnchangedTensor"]
        checks.expect(fired == [], "nothing is wrong with it: %s" % fired)
        checks.expect(trial["incomplete"] == [] and trial["problems"] == [], "complete: %s" % trial["incomplete"][:1])
        counts = {one["name"]: one["samples"] for one in trial["aggregations"]}
        checks.expect(counts == {"TRAIN": STEPS * WORKERS * BATCH, "EVAL": STEPS // 5 * 2 * BATCH}, "counts: %s" % counts)
        checks.expect(listed(a.assay, trials[True]) == listed(a.assay, trials[False]), "ls says the same")
        for count in (1, 3):
            done, got = body(a.assay, count, job, folder, trials[True], "watch")
            checks.expect(done.code == 0 and got == expected, "watch, %d ranks: %s" % (count, done.err[-300:]))
            checks.expect("has not written" not in done.err, "nobody is late: %s" % done.err[-300:])

        compare(checks, a.assay, a.ranks, job, folder, "now-and-then", save=10)
        _, expected = compare(checks, a.assay, a.ranks, job, folder, "fault", fault=True)
        rules = {r["name"]: r for r in json.loads(expected + b'"run": {}}')["trials"][0]["rules"]}
        first = rules["ReplicaDivergence"]["first"]
        checks.expect(first and (first["worker"], first["mode_step"]) == ("worker_2", NAN_STEP), "the fault: %s" % first)

        make(folder / "dead", True, dead=45)  # the numbers of the others go on behind worker_0's last one
        bodies = [body(a.assay, count, job, folder, folder / "dead")[1] for count in [1] + a.ranks]
        checks.expect(bodies[0] and all(b == bodies[0] for b in bodies), "worker_0 dies: the same at any number of ranks")
        trial = report_of(folder / "out")["trials"][0]
        checks.expect(trial["modes"]["TRAIN"]["steps"] == STEPS, "every training step is there: %s" % trial["modes"])
        missing = {worker for step in trial["incomplete"] for worker in step["missing_workers"]}
        checks.expect(missing == {"worker_0"}, "only worker_0 is missing: %s" % missing)
    checks.done()


if __name__ == "__main__":
    main()
