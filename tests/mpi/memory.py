#!/usr/bin/env python3
"""A rank keeps to its memory budget on trials of all shapes, and the report does not depend on the budget where all of it fits.

    memory.py --assay PROGRAM GENERATE        GENERATE: bench/generate, which writes the trials
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import LAUNCHER, SUITE, Checks, environment, mpirun  # noqa: E402
from reports import body_of  # noqa: E402

MEBI = 1 << 20
ROWS = "rules that keep a row of every tensor and step"
# what it is, the arguments of generate, budgets in MiB, is all of it sure to fit
SHAPES = [
    ("few large tensors", (2, 4, 2, 4 * MEBI), (64, 512), True),
    ("60 000 tensors a step", (1, 2, 20000, 4), (48, 64, 512), False),
    ("6000 steps", (1, 6000, 1, 4), (64, 512), True),
    (ROWS, (1, 20, 2000, 4), (56, 512), True),
]
FILES = 20000
A_RECORD = 200  # bytes that the catalog may take of an index file of one record, with all that planning needs


def run_and_measure(argv):
    """Exit code and the largest resident size in MiB, as the kernel counts it."""
    process = subprocess.Popen([str(a) for a in argv], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024, said


def job_of_rows(folder):
    job = folder / "rows.json"
    rules = ["UnchangedTensor", "NormSpike", "LossSpike", "WeightFrozenDespiteGradient"]
    job.write_text(json.dumps({"rules": [{"rule": rule, "parameters": {"tensor_regex": ".*"}} for rule in rules]}))
    return job


def check_shape(checks, assay, folder, job, trial, what, budgets, fits):
    bodies = set()
    for budget in budgets:
        out = folder / "out"
        code, peak, said = run_and_measure([assay, "run", job, "--trial", trial, "--quiet", "--memory", "%dM" % budget,
                                            "--out", out])
        print("%s, --memory %dM: %.0f MiB resident at most, exit %d" % (what, budget, peak, code))
        if checks.expect(code in ((0,) if fits else (0, 3)), "%s, --memory %dM: exit %d: %s" % (what, budget, code, said)):
            checks.expect(peak <= budget, "%s, --memory %dM: %.0f MiB were resident" % (what, budget, peak))
            bodies.add(body_of((out / "report.json").read_bytes()) if fits else budget)
    checks.expect(len(bodies) == (1 if fits else len(budgets)), "%s: the reports differ with the budget" % what)


def write_indexes(trial, count):
    """Index files of one record each, without event files: enough for a plan."""
    folder = trial / "collections" / "000000000"
    folder.mkdir(parents=True)
    (folder / "worker_0_collections.json").write_text('{"collections": {}, "_meta": {"num_workers": 1}}')
    for step in range(count):
        folder = trial / "index" / ("%09d" % (step // 1000))
        if step % 1000 == 0:
            folder.mkdir(parents=True)
        meta = {"mode": "TRAIN", "mode_step": step, "event_file_name": "events/%012d/%012d_worker_0.tfevents" % (step, step)}
        record = {"tensorname": "loss", "start_idx": 0, "length": 100 + step % 7}
        (folder / ("%012d_worker_0.json" % step)).write_text(json.dumps({"meta": meta, "tensor_payload": [record]}))


def check_catalog(checks, assay, folder):
    job = folder / "job.json"
    job.write_text(json.dumps({"rules": [{"rule": "AllZero", "parameters": {"tensor_regex": ".*"}}]}))
    peaks = []
    for count in (10, FILES):
        trial = folder / ("files-%d" % count)
        write_indexes(trial, count)
        code, peak, said = run_and_measure([assay, "run", job, "--trial", trial, "--dry-run"])
        checks.expect(code == 0, "%d index files: exit %d: %s" % (count, code, said))
        peaks.append(peak * MEBI)
    each = (peaks[1] - peaks[0]) / FILES
    print("the catalog takes %.0f bytes a record" % each)
    checks.expect(each < A_RECORD, "the catalog takes %.0f bytes a record, more than %d" % (each, A_RECORD))


def check_refusals(checks, assay, folder, job, trial, budget):
    """Which tensors are refused does not depend on the ranks that share the index and what rules keep."""
    bodies = set()
    for ranks in (1, 3) if LAUNCHER != "none" else (1,):
        done = mpirun(ranks, [assay, "run", job, "--trial", trial, "--quiet", "--memory", budget, "--out", folder / "out"])
        if checks.expect(done.code == 3, "--memory %s, %d ranks: %s" % (budget, ranks, done)):
            body = body_of((folder / "out" / "report.json").read_bytes())
            checks.expect(b"memory-budget" in body, "--memory %s, %d ranks: nothing was refused" % (budget, ranks))
            bodies.add(body)
    checks.expect(len(bodies) == 1, "the ranks refuse different tensors")


def check_warning(checks, assay, folder, trial):
    code, _, said = run_and_measure([assay, "run", SUITE, "--trial", trial, "--memory", "16M", "--out", folder / "out"])
    checks.expect(code in (0, 3) and "--memory 16 MiB is little for this trial" in said, "--memory 16M: exit %d: %s" % (code, said))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("generate")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = job_of_rows(folder)
        for number, (what, sizes, budgets, fits) in enumerate(SHAPES):
            trial = folder / ("trial-%d" % number)
            subprocess.run([args.generate, trial, *map(str, sizes)], check=True)
            check_shape(checks, args.assay, folder, rows if what == ROWS else SUITE, trial, what, budgets, fits)
            if not fits:
                check_refusals(checks, args.assay, folder, SUITE, trial, "40M")
                check_refusals(checks, args.assay, folder, rows, trial, "56M")
        check_warning(checks, args.assay, folder, trial)
        check_catalog(checks, args.assay, folder)
    checks.done()


if __name__ == "__main__":
    main()
