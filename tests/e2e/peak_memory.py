#!/usr/bin/env python3
"""`peak_memory` of a report is what the system measured, and of assay alone, also when a large program starts it.

    peak_memory.py --assay PROGRAM
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import SUITE, TRIALS, Checks, environment  # noqa: E402

MEBI = 1 << 20


def run(assay, out):
    """Exit code; the most MiB that were resident, as the report says and as the system does."""
    argv = [assay, "run", SUITE, "--trial", TRIALS / "healthy", "--quiet", "--out", out]
    process = subprocess.Popen([str(a) for a in argv], env=environment(), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    told = json.loads((out / "report.json").read_text())["run"]["peak_memory"]
    return process.returncode, told / MEBI, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        code, told, measured = run(args.assay, out)
        checks.expect(code == 0 and 0.8 * measured <= told <= measured, "exit %d, %.1f MiB were resident, told are %.1f" %
                      (code, measured, told))
        ballast = bytearray(b"x") * (512 * MEBI)  # more than assay takes, under sanitizers too
        code, again, measured = run(args.assay, out)
        checks.expect(code == 0 and 0.8 * told <= again <= 1.25 * told and measured > len(ballast) // MEBI,
                      "started by a program of %d MiB: exit %d, %.1f MiB are told, not %.1f" %
                      (len(ballast) // MEBI, code, again, told))
    checks.done()


if __name__ == "__main__":
    main()
