#!/usr/bin/env python3
"""A rank keeps to its memory budget on a trial many times as large, and the report does not depend on the budget.

    memory.py --assay PROGRAM GENERATE        GENERATE: bench/generate, which writes the trial
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import SUITE, Checks, environment  # noqa: E402
from same_report import body_of  # noqa: E402

MEBI = 1 << 20
BUDGETS = [64, 512]
BESIDE = 96  # MiB that MPI, libraries and the program take before they read anything


def run_and_measure(argv):
    """Exit code and the largest resident size in MiB, as the kernel counts it."""
    process = subprocess.Popen([str(a) for a in argv], env=environment(), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("generate")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / "trial"
        subprocess.run([args.generate, trial, "2", "6", "2", str(4 * MEBI)], check=True)
        size = sum(f.stat().st_size for f in trial.rglob("*.tfevents")) // MEBI
        checks.expect(size > 1000, "the generated trial has %d MiB only" % size)
        bodies = []
        for budget in BUDGETS:
            out = Path(folder) / str(budget)
            code, peak = run_and_measure([args.assay, "run", SUITE, "--trial", trial, "--quiet", "--memory", "%dM" % budget,
                                          "--out", out])
            print("budget %d MiB, trial %d MiB, largest resident size %.0f MiB" % (budget, size, peak))
            if checks.expect(code == 0, "--memory %dM: exit %d" % (budget, code)):
                checks.expect(peak < budget + BESIDE, "--memory %dM: %.0f MiB were resident" % (budget, peak))
                bodies.append(body_of((out / "report.json").read_bytes()))
        checks.expect(len(set(bodies)) == 1, "the reports differ with the budget")
    checks.done()


if __name__ == "__main__":
    main()
