#!/usr/bin/env python3
"""The verdicts on a recorded trial are the expected ones (tests/data/trials/*.rules.json) at every rank count.

    verdicts.py --assay PROGRAM --ranks 1 2 3 7 -- TRIAL            against TRIAL.rules.json
    verdicts.py --assay PROGRAM --ranks 1 2 3 7 -- TRIAL OTHER      SimilarAcrossRuns, against similar.TRIAL-OTHER.rules.json

OTHER may be TRIAL again. tests/e2e/compare_rules.py does the comparison.
"""
import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, SUITE, TRIALS, Checks, mpirun, run  # noqa: E402

COMPARE = ROOT / "tests" / "e2e" / "compare_rules.py"


def similar_job(folder, trial, other):
    """A job with both trials; a trial cannot be listed twice, so TRIAL itself is compared with a copy."""
    second = TRIALS / other
    if other == trial:
        second = Path(folder) / "copy"
        shutil.copytree(TRIALS / trial, second)
    job = Path(folder) / "job.json"
    job.write_text(json.dumps({
        "trials": [{"path": str(TRIALS / trial), "name": trial}, {"path": str(second), "name": "other"}],
        "rules": [{"rule": "SimilarAcrossRuns", "parameters": {"other_trial": "other"}}],
        "output": {"max_findings": 2000}}))
    return job, TRIALS / ("similar.%s-%s.rules.json" % (trial, other))


def suite_job(folder, trial):
    job = Path(folder) / "job.json"
    suite = json.loads(SUITE.read_text())
    suite["trials"] = [{"path": str(TRIALS / trial), "name": trial}]
    suite["output"] = {"max_findings": 2000}  # as many as the expected values keep
    job.write_text(json.dumps(suite))
    return job, TRIALS / (trial + ".rules.json")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("trials", nargs="+")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        job, expected = (similar_job if len(args.trials) == 2 else suite_job)(folder, *args.trials)
        for ranks in args.ranks:
            out = Path(folder) / ("out-%d" % ranks)
            done = mpirun(ranks, [args.assay, "run", job, "--out", out])
            if checks.expect(done.code == 0 and (out / "report.json").exists(), "%d ranks: %s" % (ranks, done)):
                compared = run([sys.executable, COMPARE, out / "report.json", expected, "--trial", args.trials[0]])
                checks.expect(compared.code == 0, "%d ranks: %s" % (ranks, compared))
    checks.done()


if __name__ == "__main__":
    main()
