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


def resident(pid):
    """The most MiB that were resident so far; 0 when the process has ended."""
    try:
        status = Path("/proc/%d/status" % pid).read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def run(assay, out):
    """Exit code; the most MiB that were resident, as the report says, as was seen on the way, and as the system says at the end."""
    argv = [assay, "run", SUITE, "--trial", TRIALS / "healthy", "--quiet", "--out", out]
    process = subprocess.Popen([str(a) for a in argv], env=environment(), stdout=subprocess.DEVNULL)
    seen, pid = 0, 0
    while pid == 0:
        seen = max(seen, resident(process.pid))
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    told = json.loads((out / "report.json").read_text())["run"]["peak_memory"]
    return process.returncode, told / MEBI, seen, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        code, told, seen, _ = run(args.assay, out)  # what the system says has this program in it even now
        checks.expect(code == 0 and told > 1 and seen <= 2 * told, "exit %d, %.1f MiB were seen, told are %.1f" % (code, seen, told))
        ballast = bytearray(b"x") * (512 * MEBI)  # more than assay takes, under sanitizers too
        code, again, _, measured = run(args.assay, out)
        checks.expect(code == 0 and 0.8 * told <= again <= 1.25 * told and measured > len(ballast) // MEBI,
                      "started by a program of %d MiB: exit %d, %.1f MiB are told, not %.1f" %
                      (len(ballast) // MEBI, code, again, told))
    checks.done()


if __name__ == "__main__":
    main()
