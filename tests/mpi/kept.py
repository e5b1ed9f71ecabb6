#!/usr/bin/env python3
"""What a rank keeps of large tensors, to compare later ones with, and that it measures those of some steps at once, saves reading
and changes nothing in the report: not with windows that stay and windows that move, not with a damaged record among them, not
at any rank count. What is kept over evaluations is not read again.

    kept.py --assay PROGRAM --ranks 1 2 3 ... -- GENERATE        GENERATE: bench/generate, which writes the trial
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, mpirun  # noqa: E402
from made import Made, Typed  # noqa: E402
from reports import body_of  # noqa: E402

STEPS = 18
TRIALS = ((STEPS, 80000),  # of 320 kB: enough to be measured ahead, and more steps than at once (lookahead.h)
          (6, 250000))     # of 1 MB: more than an event file's window, read where they are kept
WITHOUT, BETWEEN, WITH = "24MiB", "44MiB", "512MiB"  # without: no more than the program itself takes
RULES = [
    ("update", "WeightUpdateRatio", {}),
    ("window_stays", "WeightUpdateRatio", {"num_steps": 100}),
    ("window_moves", "WeightUpdateRatio", {"num_steps": 4}),
    ("unchanged", "UnchangedTensor", {"collection_names": "weights,gradients"}),
    ("against_current", "UnchangedTensor", {"collection_names": "weights", "num_steps": 4, "against": "current"}),
    ("init", "PoorWeightInitialization", {}),
]
# Of tensors that are compared with another worker's, too, step by step.
BETWEEN_WORKERS = [("replicas", "ReplicaDivergence", {}), ("gradients", "GradientNotSynchronized", {})]


def generate(program, trial, steps, elements):
    subprocess.run([program, trial, "3", str(steps), "2", str(elements)], check=True)


def damage(trial, step):
    """Changes a byte in the middle of a weight of a step."""
    index = json.loads((trial / "index" / "000000000" / ("%012d_worker_1.json" % step)).read_text())
    record = next(t for t in index["tensor_payload"] if t["tensorname"] == "net_layer1.weight")
    with open(trial / index["meta"]["event_file_name"], "r+b") as file:
        file.seek(record["start_idx"] + record["length"] // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))


def analyse(checks, assay, job, trial, where, ranks, memory, codes):
    out = where / ("out-%d-%s" % (ranks, memory))
    done = mpirun(ranks, [assay, "run", job, "--trial", trial, "--out", out, "--memory", memory, "--quiet"])
    if not checks.expect(done.code in codes, "%d ranks, --memory %s: %s" % (ranks, memory, done)):
        return None, None
    report = (out / "report.json").read_bytes()
    return body_of(report), json.loads(report)["run"]


def compare(checks, args, what, codes, job, trial, where):
    bare, run = analyse(checks, args.assay, job, trial, where, args.ranks[0], WITHOUT, codes)
    without = run["bytes_read"] if run else 0
    for ranks in args.ranks:
        body, run = analyse(checks, args.assay, job, trial, where, ranks, WITH, codes)
        read = run["bytes_read"] if run else 0
        print("%s, %d ranks: %d bytes read without, %d with" % (what, ranks, without, read))
        checks.expect(read < 0.9 * without, "%s, %d ranks: nothing was saved" % (what, ranks))
        checks.expect(body == bare, "%s, %d ranks: the reports differ" % (what, ranks))
    body, run = analyse(checks, args.assay, job, trial, where, args.ranks[-1], BETWEEN, codes)
    checks.expect(body == bare, "%s, --memory %s: the reports differ" % (what, BETWEEN))


def check_memory(checks, args, job, where):
    """Neither the decoded values of all the files that are open at once would fit --memory, nor what is measured of units in so
    many steps. And an index may name any place."""
    made, memory, count = Made(where / "memory", 4, {"weights": "weight$"}), 256 << 20, 2 << 20
    output = numpy.ones((2, count), "uint8")
    for step in range(STEPS):
        made.step(step, "TRAIN", step, {worker: {"net.weight": Typed(count if worker == "worker_0" else 8, step + 1)}
                                        for worker in made.workers})
        made.step(STEPS + step, "EVAL", step, {"worker_0": {"net_relu_output": output}})
    trial = made.end()
    index = trial / "index" / "000000000" / ("%012d_worker_0.json" % 0)
    content = json.loads(index.read_text())
    content["tensor_payload"].append({"tensorname": "far", "start_idx": 2**62 - 16, "length": 16})
    index.write_text(json.dumps(content))
    job.write_text(json.dumps({"rules": [
        {"rule": "WeightUpdateRatio", "parameters": {}}, {"rule": "DeadRelu", "parameters": {}},
        {"rule": "UnchangedTensor", "parameters": {"tensor_regex": "relu"}}]}))
    _, run = analyse(checks, args.assay, job, trial, where, 1, "%d" % memory, [0])
    if run:
        print("large values and results: %d MiB of %d" % (run["peak_memory"] >> 20, memory >> 20))
        checks.expect(run["peak_memory"] <= memory, "large values and results take %d bytes" % run["peak_memory"])


def check_evaluations(checks, args, job, where):
    """What rules that compare TRAIN steps refer to is kept over evaluations."""
    made = Made(where / "evaluations", 1, {"weights": "weight$"})
    random = numpy.random.default_rng(7)
    names = ("large.weight", "small.weight")
    taken = {"TRAIN": 0, "EVAL": 0}
    for step, mode in enumerate(["TRAIN", "EVAL", "EVAL", "TRAIN", "TRAIN", "EVAL", "TRAIN"]):
        made.step(step, mode, taken[mode],
                  {"worker_0": {n: random.random(size, "float32") for n, size in zip(names, (300000, 3000))}})
        taken[mode] += 1
    trial, read = made.end(), {}
    for what, rules in (("alone", [("AllZero", {"tensor_regex": ".*"})]),
                        ("compared", [("AllZero", {"tensor_regex": ".*"}), ("WeightUpdateRatio", {}),
                                      ("WeightUpdateRatio", {"num_steps": 100})]),
                        # Three places that comparisons refer to: the step before, the TRAIN step before, where the window begins.
                        ("all compared", [("AllZero", {"tensor_regex": ".*"}), ("WeightUpdateRatio", {}),
                                          ("WeightUpdateRatio", {"num_steps": 100}), ("UnchangedTensor", {"tensor_regex": ".*"})])):
        job.write_text(json.dumps({"rules": [{"name": "%s_%d" % (r, i), "rule": r, "parameters": p}
                                             for i, (r, p) in enumerate(rules)]}))
        _, run = analyse(checks, args.assay, job, trial, where, 1, WITH, [0])
        read[what] = run and run["bytes_read"]
    checks.expect(read["alone"] == read["compared"] == read["all compared"], "evaluations: bytes read: %s" % read)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("generate")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        job = where / "job.json"
        for steps, elements in TRIALS:
            trial = where / ("of-%d" % elements)
            generate(args.generate, trial, steps, elements)
            for state, codes in (("sound", [0]), ("damaged", [3])):
                if state == "damaged":
                    damage(trial, steps // 2)
                for name, rules in (("steps", RULES), ("steps and workers", RULES + BETWEEN_WORKERS)):
                    job.write_text(json.dumps({"rules": [{"name": n, "rule": r, "parameters": p} for n, r, p in rules]}))
                    compare(checks, args, "%d elements, %s, between %s" % (elements, state, name), codes, job, trial, where)
        check_memory(checks, args, job, where)
        check_evaluations(checks, args, job, where)
    checks.done()


if __name__ == "__main__":
    main()
