#!/usr/bin/env python3
"""A trial that is watched while its files are cut, written over, renamed, replaced by what are no files, and given times of
other days; the clock of the day jumps, too. When everything has come to rest, the report is that of a run.

    restless.py --assay PROGRAM --clock LIBRARY [--fast LIBRARY] [--ranks 1 3] [--seconds N] [--seed N]

With --fast, a day of watching passes in some seconds as well.

Damage is made good within five seconds: a step that has been whole and at rest for ten is not looked at again.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import SUITE, TRIALS, Checks, mpirun  # noqa: E402
from reports import body_of  # noqa: E402
from watching import END, Watch  # noqa: E402

MENDED = 4.0     # seconds until damage is made good
MOST = 200 << 20  # bytes that a watch may hold: no look leaves anything behind
SOURCE = TRIALS / "ddp_partial"
HOW = ("cut", "over", "mixed", "away", "pipe", "directory", "device", "dangling", "time")


class Trial:
    """A copy of the source that comes into being file by file, and what is wrong with it now."""

    def __init__(self, place, seed):
        self.place, self.rng, self.done = place, random.Random(seed), {}
        # A worker's records before its index, as programs write them.
        files = [p.relative_to(SOURCE) for p in SOURCE.rglob("*") if p.is_file() and p.name != END]
        self.waiting = sorted(files, key=lambda p: (p.parts[0] != "collections", p.name[:12], p.parts[0] == "index", p.name))
        self.there, self.hurt = [], {}

    def put(self, name):
        """As programs do it: under another name first."""
        target = self.place / name
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".tmp")
        part.write_bytes((SOURCE / name).read_bytes())
        part.rename(target)

    def grow(self):
        if self.waiting:
            self.there.append(self.waiting.pop(0))
            self.put(self.there[-1])

    def damage(self):
        name = self.rng.choice(self.there)
        if name in self.hurt:
            return
        path, how = self.place / name, self.rng.choice(HOW)
        self.done[how] = self.done.get(how, 0) + 1
        self.hurt[name] = time.monotonic()
        if how == "cut":
            os.truncate(path, self.rng.randrange(path.stat().st_size + 1))
        elif how == "over":  # with the contents of another file, in place
            path.write_bytes((SOURCE / self.rng.choice(self.there)).read_bytes())
        elif how == "mixed":
            data = bytearray(path.read_bytes())
            for _ in range(8):
                data[self.rng.randrange(len(data))] = self.rng.randrange(256)
            path.write_bytes(data)
        elif how == "time":
            when = time.time() + self.rng.uniform(-1e7, 1e7)
            os.utime(path, (when, when))
        elif how == "away":
            path.rename(path.with_name("." + path.name))
        else:
            path.unlink()
            if how == "pipe":
                os.mkfifo(path)
            elif how == "directory":
                path.mkdir()
            else:
                path.symlink_to("/dev/zero" if how == "device" else "/nowhere")

    def mend(self, before):
        for name in [n for n, at in self.hurt.items() if at <= before]:
            path = self.place / name
            path.with_name("." + path.name).unlink(missing_ok=True)
            self.put(name)
            del self.hurt[name]


def peak(pid):
    try:
        return max(int(line.split()[1]) << 10 for line in open("/proc/%d/status" % pid) if line.startswith("VmHWM"))
    except (OSError, ValueError):
        return 0


def watched(args, checks, ranks, where):
    trial = Trial(where / "trial", args.seed + ranks)
    trial.place.mkdir()
    os.environ["LD_PRELOAD"] = args.clock
    watch = Watch(args.assay, ranks if ranks > 1 else 0, SUITE, [trial.place], where / "watched", "--lag", "1", "--quiet")
    del os.environ["LD_PRELOAD"]
    end, every = time.monotonic() + args.seconds, max(0.02, 0.6 * args.seconds / len(trial.waiting))
    grown = time.monotonic()
    while time.monotonic() < end and watch.process.poll() is None:
        if time.monotonic() > grown + every:
            grown = time.monotonic()
            trial.grow()
        if trial.there and trial.rng.random() < 0.3:
            trial.damage()
        trial.mend(time.monotonic() - MENDED)
        time.sleep(0.05)
    checks.expect(watch.process.poll() is None, "%d ranks: ended early: %s" % (ranks, watch))
    while trial.waiting:
        trial.grow()
    trial.mend(time.monotonic())
    if ranks == 1:
        held = peak(watch.process.pid)
        checks.expect(0 < held < MOST, "%d bytes resident" % held)
    (trial.place / END).write_bytes(b"")
    code = watch.end()
    print("%d ranks, %d s: %s" % (ranks, args.seconds, trial.done), flush=True)
    run = mpirun(1, [args.assay, "run", SUITE, "--trial", trial.place, "--out", where / "ran", "--quiet"])
    checks.expect(run.code == 0 and code == 0, "%d ranks: exit %s and %s: %s" % (ranks, code, run.code, watch))
    same = body_of(where / "watched") == body_of(where / "ran")
    checks.expect(same, "%d ranks: the report is not that of a run: %s" % (ranks, watch))
    noise = [line for line in watch.noise if "assay: error" in line]
    checks.expect(not noise, "%d ranks: %s" % (ranks, noise[:5]))


def processor_seconds(pid):
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def day(args, checks, ranks, where):
    """24 hours by a clock that runs 10 800 times as fast. However much there is to look at, a watch sleeps for most of the time."""
    factor, trial = 10800, Trial(where / "trial", args.seed)
    trial.place.mkdir()
    os.environ.update(LD_PRELOAD=args.fast, FAST_CLOCK=str(factor))
    watch = Watch(args.assay, ranks if ranks > 1 else 0, SUITE, [trial.place], where / "watched", "--lag", "60", "--idle", "0", "--quiet")
    del os.environ["LD_PRELOAD"], os.environ["FAST_CLOCK"]
    began, every = time.monotonic(), 86400 / factor / len(trial.waiting)
    while trial.waiting and watch.process.poll() is None:
        trial.grow()
        time.sleep(every)
    if checks.expect(watch.process.poll() is None, "a day, %d ranks: ended early: %s" % (ranks, watch)) and ranks == 1:
        used, passed = processor_seconds(watch.process.pid), time.monotonic() - began
        checks.expect(used < passed / 3, "a day: %.2f s of processor time in %.2f s" % (used, passed))
        checks.expect(0 < peak(watch.process.pid) < MOST, "a day: %d bytes resident" % peak(watch.process.pid))
    (trial.place / END).write_bytes(b"")
    code = watch.end()
    run = mpirun(1, [args.assay, "run", SUITE, "--trial", trial.place, "--out", where / "ran", "--quiet"])
    checks.expect(run.code == code == 0 and body_of(where / "watched") == body_of(where / "ran"), "a day, %d ranks: not as a run: %s" % (ranks, watch))


def clocks(args, checks, where):
    """Nothing that a run says depends on the time of the day."""
    plain = mpirun(1, [args.assay, "run", SUITE, "--trial", SOURCE, "--out", where / "plain", "--quiet"])
    for ranks in args.ranks:
        out = where / ("jumps-%d" % ranks)
        done = mpirun(ranks, [args.assay, "run", SUITE, "--trial", SOURCE, "--out", out, "--quiet", "--checkpoint", where / "state",
                              "--checkpoint-every", "0.001"], env={"LD_PRELOAD": args.clock})
        same = done.code == plain.code and body_of(out) == body_of(where / "plain")
        checks.expect(same, "a clock that jumps, %d ranks: %s" % (ranks, done))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--clock", required=True)
    parser.add_argument("--fast")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    checks = Checks()
    for ranks in args.ranks:
        with tempfile.TemporaryDirectory() as folder:
            watched(args, checks, ranks, Path(folder))
        with tempfile.TemporaryDirectory() as folder:
            if args.fast:
                day(args, checks, ranks, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        clocks(args, checks, Path(folder))
    checks.done()


if __name__ == "__main__":
    main()
