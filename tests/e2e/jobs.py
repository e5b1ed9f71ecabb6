#!/usr/bin/env python3
"""The job files of jobs/ are right and run on recorded trials: every rule comes to a verdict, none is an Error.

    jobs.py --assay PROGRAM
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, TRIALS, Checks, run  # noqa: E402

RUNS = {  # job: the trials it is run on
    "image-classifier": ["ddp", "ddp_partial", "linreg_nan"],
    "language-model": ["ddp", "linreg_nan"],
    "xgboost": ["xgboost"],
    "act-on-findings": ["dead_relu"],  # its actions: tests/slurm/templates.py
    "suite": ["ddp", "xgboost", "reductions"],
    "compare": ["ddp", "dead_relu"],
    "traffic-sign": ["healthy", "flip"],
}
WITH_DATA = {("image-classifier", "ddp"): 9, ("xgboost", "xgboost"): 5}  # rules that find something to look at


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--no-curl", action="store_true")
    arguments = parser.parse_args()
    assay = arguments.assay
    checks = Checks()
    files = {p.stem for p in (ROOT / "jobs").glob("*.json")}
    checks.expect(files == set(RUNS), "jobs/ holds %s, tested are %s" % (sorted(files), sorted(RUNS)))
    for name in sorted(files & set(RUNS)):
        job = ROOT / "jobs" / (name + ".json")
        right = not (arguments.no_curl and '"notify"' in job.read_text())
        checks.expect((run([assay, "check", job]).code == 0) == right, "%s is not right" % job)
        for trial in RUNS[name]:
            with tempfile.TemporaryDirectory() as out:
                done = run([assay, "run", job, "--trial", TRIALS / trial, "--out", out, "--no-actions"])
                if not checks.expect(done.code == 0, "%s on %s: %s" % (name, trial, done)):
                    continue
                report = json.loads((Path(out) / "report.json").read_text())["trials"][0]
            statuses = [r["status"] for r in report["rules"]]
            checks.expect("Error" not in statuses, "%s on %s: %s" % (name, trial, statuses))
            checks.expect(not [a for a in report["aggregations"] if "error" in a], "%s on %s: aggregations" % (name, trial))
            looked = len(statuses) - statuses.count("NoData")
            checks.expect(looked >= WITH_DATA.get((name, trial), 1), "%s on %s: %d of %d rules found data" % (
                name, trial, looked, len(statuses)))
            wide = [line for line in done.out.splitlines()
                    if len(line) > 100 and "To see it: assay show" not in line]  # a command to copy stays whole
            checks.expect(not wide, "%s on %s: lines of more than 100 columns: %s" % (name, trial, wide[:3]))
    checks.done()


if __name__ == "__main__":
    main()
