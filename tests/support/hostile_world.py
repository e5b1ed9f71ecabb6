"""hostile_world.py - what tests of hostile trials share: a folder for each case, the program, runs at several numbers of ranks.

    @case
    def name(w): ...        w.folder, w.run(...), w.reports(trial), w.expect(...)

    main()                  --assay PROGRAM [--ranks 1 3] [--only NAME] [--sanitized]
    peak_of(argv)           how a program ended, and the most bytes that it had in memory
"""
import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from launch import TRIALS, Checks, mpirun, run
from reports import body_of

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


class World:
    """A folder of its own, the program, and what a run of it on so many ranks left."""

    def __init__(self, args, checks, folder, name):
        self.args, self.checks, self.folder, self.name = args, checks, Path(folder), name

    def expect(self, condition, what):
        return self.checks.expect(condition, "%s: %s" % (self.name, what))

    def trial(self, name="ddp_partial"):
        place = self.folder / name
        shutil.copytree(TRIALS / name, place)
        for path in place.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        return place

    def run(self, *argv, **how):
        return run([self.args.assay, *argv], timeout=60, **how)

    def reports(self, trial, *more):
        """The report of a run at each number of ranks, which is the same; exit codes beside it."""
        found, codes = [], set()
        for ranks in self.args.ranks:
            out = self.folder / ("out-%d" % ranks)
            done = mpirun(ranks, [self.args.assay, "run", "--trial", trial, "--out", out, "--quiet", *more], timeout=60)
            self.expect(not done.hung, "hung: %s" % done)
            codes.add(done.code)
            found.append(body_of(out))
        self.expect(len(set(found)) == 1 and found[0], "the report depends on the ranks, or there is none")
        self.expect(len(codes) == 1, "exit codes %s" % codes)
        return json.loads(found[0].rstrip(b", \n") + b"}") if found[0] else {"trials": []}, codes.pop()


# A program between, because a child has the memory of who starts it in what the system says of it.
MEASURE = """
import os, sys
pid = os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, used = os.wait4(pid, 0)
open(sys.argv[1], "w").write(str(used.ru_maxrss))
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
"""


def peak_of(argv, timeout=60):
    with tempfile.NamedTemporaryFile("r") as told:
        done = run([sys.executable, "-S", "-c", MEASURE, told.name, *argv], timeout=timeout)
        return done, int(told.read() or 0) << 10


def problems(report):
    return [p for t in report["trials"] for p in t["problems"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--only")
    parser.add_argument("--sanitized", action="store_true", help="the program takes more memory than its own")
    args = parser.parse_args()
    checks = Checks()
    for name, function in CASES.items():
        if args.only and args.only != name:
            continue
        failed = checks.failed
        with tempfile.TemporaryDirectory() as folder:
            function(World(args, checks, folder, name))
        print("%-34s %s" % (name, "ok" if checks.failed == failed else "FAILED"), flush=True)
    checks.done()
