"""rule_ranks.py - how much faster a rule in Python is on several ranks: `assay run` of a rule that computes for some milliseconds a step.

Usage: rule_ranks.py ASSAY [--ranks 1 2 ...] [--steps 1000] [--size 96] [--runs 3]        PYTHONPATH has assay_hook

Records a trial of so many steps by one worker, a matrix of size x size each, and has a rule take its singular values (numpy, in one
thread). Shown are the medians of the seconds by the clock, which take as many idle cores as ranks, and of the processor time of the
busiest interpreter, from its start on, which is what a rank has to do; and what share they are of those on the first number of ranks.
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

RULE = '''import os
import time

import numpy

import assay

note = os.open(os.path.join(os.environ["NOTES"], str(os.getpid())), os.O_WRONLY | os.O_CREAT)


class Singular(assay.Rule):
    def invoke_at_step(self, step):
        found = numpy.linalg.svd(self.base_trial.tensor("gradient/w").value(step).astype("f8"), compute_uv=False)
        os.pwrite(note, b"%20.6f" % time.process_time(), 0)
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


def run(assay, place, ranks):
    """Seconds by the clock, of processor time of the busiest interpreter, and the digest."""
    notes = Path(tempfile.mkdtemp(dir=place))
    began = time.monotonic()
    done = subprocess.run(["mpirun", "-n", str(ranks), assay, "run", place / "job.json", "--trial", place / "trial", "--out", place / "out",
                           "--quiet", "--digest"], check=True, stdout=subprocess.PIPE, env={**os.environ, "NOTES": str(notes)})
    took = time.monotonic() - began
    digest = next(line for line in done.stdout.split(b"\n") if line.startswith(b"digest "))
    return took, max(float(note.read_text() or 0) for note in notes.iterdir()), digest


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
        seconds, busy, digests = {ranks: [] for ranks in args.ranks}, {ranks: [] for ranks in args.ranks}, set()
        for _ in range(args.runs):
            for ranks in args.ranks:  # in turn: what else the machine does meets all of them
                took, busiest, digest = run(args.assay, place, ranks)
                seconds[ranks].append(took)
                busy[ranks].append(busiest)
                digests.add(digest)
                print("%d ranks: %.2f s, busiest %.2f s, load %.1f" % (ranks, took, busiest, os.getloadavg()[0]), flush=True)
        assert len(digests) == 1, "reports differ between numbers of ranks"
        first = args.ranks[0]
        for ranks in args.ranks:
            clock, cpu = (statistics.median(what[ranks]) for what in (seconds, busy))
            print("%d ranks: clock %.2f s, %.2f of %d; busiest %.2f s, %.2f of %d" % (
                ranks, clock, clock / statistics.median(seconds[first]), first, cpu, cpu / statistics.median(busy[first]), first))


if __name__ == "__main__":
    main()
