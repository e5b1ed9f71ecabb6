"""rule_ranks.py - how much faster a rule in Python is on several ranks: `assay run` of a rule that computes for some milliseconds a step.

Usage: rule_ranks.py ASSAY [--ranks 1 2 ...] [--steps 1000] [--size 96] [--runs 3]        PYTHONPATH has assay_hook

Records a trial of so many steps by one worker, a matrix of size x size each, and has a rule take its singular values (numpy, in one
thread). Shown are the medians of the seconds by the clock, and what share they are of those on the first number of ranks. That
takes as many idle cores as ranks; `stolen` is the share of processor time that a virtual machine's host kept for others.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy

import assay_hook

RULE = '''import numpy

import assay


class Singular(assay.Rule):
    def invoke_at_step(self, step):
        found = numpy.linalg.svd(self.base_trial.tensor("gradient/w").value(step).astype("f8"), compute_uv=False)
        return bool(found[0] > 1e9)
'''


def record(place, steps, size):
    hook = assay_hook.Hook(str(place), save_config=assay_hook.SaveConfig(save_interval=1), include_regex=["gradient"])
    numbers = numpy.random.default_rng(1)
    for _ in range(steps):
        hook.set_mode(assay_hook.modes.TRAIN)
        hook.step()
        hook.save_tensor("gradient/w", numbers.standard_normal((size, size)).astype("f4"), "gradients")
    hook.close()


def stolen():
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return fields[7], sum(fields)


def run(assay, place, ranks):
    """Seconds, the digest, and the share of time that was stolen."""
    before, began = stolen(), time.monotonic()
    done = subprocess.run(["mpirun", "-n", str(ranks), assay, "run", place / "job.json", "--trial", place / "trial", "--out", place / "out",
                           "--quiet", "--digest"], check=True, stdout=subprocess.PIPE)
    after = stolen()
    digest = next(line for line in done.stdout.split(b"\n") if line.startswith(b"digest "))
    return time.monotonic() - began, digest, (after[0] - before[0]) / max(1, after[1] - before[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay", type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        record(place / "trial", args.steps, args.size)
        (place / "rule.py").write_text(RULE)
        (place / "job.json").write_text(json.dumps({"rules": [{"python": "%s:Singular" % (place / "rule.py")}]}))
        seconds, digests = {ranks: [] for ranks in args.ranks}, set()
        for _ in range(args.runs):
            for ranks in args.ranks:  # in turn: what else the machine does meets all of them
                took, digest, share = run(args.assay, place, ranks)
                seconds[ranks].append(took)
                digests.add(digest)
                print("%d ranks: %.2f s, stolen %.0f %%, load %.1f" % (ranks, took, 100 * share, os.getloadavg()[0]), flush=True)
        assert len(digests) == 1, "reports differ between numbers of ranks"
        first = statistics.median(seconds[args.ranks[0]])
        for ranks in args.ranks:
            print("%d ranks: median %.2f s, %.2f of %d" % (ranks, statistics.median(seconds[ranks]),
                                                           statistics.median(seconds[ranks]) / first, args.ranks[0]))


if __name__ == "__main__":
    main()
