#!/usr/bin/env python3
"""The smallest healthy and faulty trainings of bench/accuracy: nothing is said of the healthy ones, and each fault is found by
its rule, at its step, worker and tensor, with the same bytes at every number of ranks.

    accuracy.py --assay PROGRAM --ranks 1 3 7
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "bench" / "accuracy")]
import faulty  # noqa: E402
import healthy  # noqa: E402
import torch  # noqa: E402
from launch import Checks, mpirun  # noqa: E402
from tally import Tally  # noqa: E402

HEALTHY = ("accumulation", "gan", "ddp_4_chief_evaluates", "imbalanced")
FAULTY = ("nan_input", "jump_after_descent", "constant_weights", "rare_class_lost")
JOB = ROOT / "jobs" / "built-in.json"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    checks, tally, bodies = Checks(), Tally(), []
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        command = [args.assay, "run", JOB]
        for name in HEALTHY + FAULTY:
            dict(healthy.TRAININGS, **faulty.TRAININGS)[name](str(Path(folder) / name), 1)
            command += ["--trial", Path(folder) / name]
        for ranks in args.ranks:
            done = mpirun(ranks, command + ["--out", Path(folder) / "out"])
            checks.expect(done.code == 0, "%d ranks: %s" % (ranks, done))
            text = (Path(folder) / "out" / "report.json").read_text()
            bodies.append(text.split('\n "run":')[0])
    checks.expect(all(b == bodies[0] for b in bodies), "the report differs between rank counts")
    for trial in json.loads(text)["trials"]:
        errors = [r["name"] for r in trial["rules"] if r["status"] == "Error"]
        checks.expect(not errors, "%s: Error in %s" % (trial["name"], errors))
        if trial["name"] in HEALTHY:
            tally.healthy(1, trial)
        else:
            tally.faulty(1, trial, faulty.EXPECTED[trial["name"]])
    counts = tally.by_seed[1]
    checks.expect(counts["healthy"] == len(HEALTHY) and counts["faulty"] == len(FAULTY), "trials: %s" % counts)
    checks.expect(not tally.lines, "\n".join(tally.lines))
    checks.done()


if __name__ == "__main__":
    main()
