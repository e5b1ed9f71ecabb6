#!/usr/bin/env python3
"""One byte of what assay keeps for itself is another one: it is refused or named. Of a seal the answer may also be that without the change.

    flips_kept.py --assay PROGRAM [--changes N] [--ranks 1 3]

Of the checkpoint of a run that was stopped, of bands of good runs, and of the seal of a checkpoint N bytes are changed, evenly apart.
"""
import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoints import save_sharded  # noqa: E402
from launch import SUITE, TRIALS, Checks, environment, mpirun, run  # noqa: E402
from reports import body_of  # noqa: E402


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.checks, self.out = args, Path(folder), Checks(), Path(folder) / "out"

    def assay(self, ranks, *argv):
        argv = [self.args.assay, *argv]
        return mpirun(ranks, argv, timeout=120) if ranks > 1 else run(argv, timeout=120)

    def report(self, ranks, *argv):
        shutil.rmtree(self.out, ignore_errors=True)
        done = self.assay(ranks, "run", *argv, "--out", self.out, "--quiet", "--reports", "json")
        return done, body_of(self.out)

    def change(self, name, path, look):
        """`look(ranks)` gives how a command ended, and its answer."""
        data, dice, counts = path.read_bytes(), random.Random(name), Counter()
        apart = max(1, len(data) // self.args.changes)
        for number, at in enumerate(range(dice.randrange(apart), len(data), apart)):
            byte = data[at] ^ 1 << dice.randrange(8) if number % 2 else (data[at] + dice.randrange(1, 255)) % 256
            ranks = self.args.ranks[number % len(self.args.ranks)]
            path.write_bytes(data)
            sound = self.sound.get((name, ranks)) or self.sound.setdefault((name, ranks), look(ranks))
            path.write_bytes(data[:at] + bytes([byte]) + data[at + 1:])
            done, answer = look(ranks)
            same = (done.code, answer) == (sound[0].code, sound[1])
            said = done.code in (2, 3, 4, 5, 7) and done.code != sound[0].code and (done.err + done.out).strip()
            counts["the same" if same else "named" if said else "bad"] += 1
            self.checks.expect((same and name == "seal") or said, "%s, byte %d of %d, %#x for %#x, %d ranks: %s" % (name, at, len(data), byte, data[at], ranks, done))
        path.write_bytes(data)
        print("%s: %d bytes: %s" % (name, len(data), dict(counts)), flush=True)


def checkpoint(b):
    path = b.folder / "run.ckpt"
    command = [SUITE, "--trial", TRIALS / "ddp_partial", "--checkpoint", path]
    process = subprocess.Popen([str(a) for a in (b.args.assay, "run", *command, "--out", b.out, "--quiet")], env=environment({"ASSAY_FAULT": "slow:100"}))
    while process.poll() is None:
        time.sleep(0.5)
        process.send_signal(signal.SIGUSR1)
    if b.checks.expect(process.returncode == 75 and path.exists(), "it was not stopped: %s" % process.returncode):
        b.change("checkpoint", path, lambda ranks: b.report(ranks, *command, "--resume"))


def bands(b):
    path = b.folder / "bands.json"
    learned = b.assay(1, "compare", TRIALS / "healthy", TRIALS / "ddp", "--learn", path, "--out", b.out, "--quiet")
    if b.checks.expect(path.exists(), "no bands: %s" % learned):
        b.change("bands", path, lambda ranks: b.report(ranks, TRIALS / "linreg_nan", "--against", path))


def seal(b):
    trial = b.folder / "run"
    for step in (1, 2):
        save_sharded(trial / ("checkpoint-%d" % step), {"fc.weight": numpy.ones((4, 6), "float32") * step, "norm.weight": numpy.ones(6, "float32")}, 2)
    sealed = b.assay(1, "seal", trial)

    def look(ranks):
        done = b.assay(ranks, "verify", trial)
        return done, done.out

    if b.checks.expect(list(trial.rglob("assay-seal.json")), "no seal: %s" % sealed):
        b.change("seal", sorted(trial.rglob("assay-seal.json"))[-1], look)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-flips-kept-") as folder:
        b = Bench(args, folder)
        b.sound = {}
        for case in (seal, bands, checkpoint):
            case(b)
    b.checks.done()


if __name__ == "__main__":
    main()
