#!/usr/bin/env python3
"""`assay watch` over trials that are written file by file: its report has the bytes of `assay run`'s, every finding of it was
told, each once, and steps are read as they come and not again and again.

    watch.py --assay PROGRAM [--ranks 1 2 3] [--seeds 1 2 3] [CASE...]
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import LAUNCHER, SUITE, TRIALS, Checks, environment, run  # noqa: E402

END = "training_job_end.ts"
PATIENCE = 90  # seconds for something that comes at once


class Watch:
    """A running watch and what it has told so far."""

    def __init__(self, assay, ranks, job, trials, out, *options):
        argv = [] if LAUNCHER == "none" else [LAUNCHER, "-n", str(ranks)]
        argv += [assay, "watch", job, "--out", out, "--every", "0.1"] + list(options)
        for trial in trials:
            argv += ["--trial", trial]
        self.out, self.lines, self.noise = Path(out), [], []
        self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment(), text=True, start_new_session=True)
        self.readers = [threading.Thread(target=self.read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.noise))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def told(self):
        """What was told and not withdrawn; None when something was told twice, or withdrawn without being told."""
        now = set()
        for line in self.lines:
            word, *columns = line.split("\t")
            columns = tuple(columns[:6])
            if word not in ("finding", "withdrawn") or not columns:
                continue
            if (word == "finding") == (columns in now):
                return None
            (now.add if word == "finding" else now.discard)(columns)
        return now

    def wait_for(self, condition):
        """Until the condition holds; False when the watch ended before, or patience did."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if condition():
                return True
            if self.process.poll() is not None:
                return condition()
            time.sleep(0.02)
        return False

    def wait_for_told(self, findings):
        return self.wait_for(lambda: self.told() == findings)

    def end(self):
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            code = None
        for reader in self.readers:
            reader.join(10)
        return code

    def __str__(self):
        return "exit %s\n%s\n---\n%s" % (self.process.poll(), "\n".join(self.lines[-20:]), "\n".join(self.noise[-10:]))


def clean(text):
    return text.encode("unicode_escape").decode() if any(ord(c) < 32 for c in text) else text


def findings_of(report):
    return {tuple(map(clean, (t["name"], str(f["step"]), r["name"], f["worker"], f["tensor"], f.get("test", ""))))
            for t in report["trials"] for r in t["rules"] for f in r["findings"]}


def body(path):
    text = (Path(path) / "report.json").read_bytes()
    return text[:text.index(b'\n "run":')]


class Bench:
    """One place with a job's trials: how they are, and where a writer puts them."""

    def __init__(self, args, checks, where):
        self.args, self.checks, self.where = args, checks, Path(where)

    def analyse(self, job, trials, name="ran"):
        out = self.where / name
        done = run([self.args.assay, "run", job, "--out", out] + [w for t in trials for w in ("--trial", t)])
        return (json.loads((out / "report.json").read_text()), out) if (out / "report.json").exists() else (None, done)

    def without_end(self, trial, name):
        """What the rules find in the trial while the training has not said that it ended."""
        copy = self.where / "unended" / name
        shutil.copytree(trial, copy, ignore=shutil.ignore_patterns(END))
        return findings_of(self.analyse(SUITE, [copy], "unended-report")[0])

    def compare(self, what, watch, code, job, trials, expected_code=0):
        """The report of the watch is that of a run, and what it told is what is in there."""
        report, out = self.analyse(job, trials)
        if not self.checks.expect(code == expected_code and report, "%s: ends well: %s" % (what, watch)):
            return
        self.checks.expect(body(watch.out) == body(out), "%s: the report is not that of a run" % what)
        told, found = watch.told(), findings_of(report)
        self.checks.expect(told == found, "%s: told, but not in the report: %s; in the report, but not told: %s" %
                           (what, sorted((told or set()) - found)[:5], sorted(found - (told or set()))[:5]))


def files_of(trial):
    return sorted(str(p.relative_to(trial)) for p in Path(trial).rglob("*") if p.is_file() and p.name != END)


def write(source, target, name, part=None):
    """One file as a writer makes it: under another name first, or, for a part of it, in its place."""
    to = Path(target) / name
    to.parent.mkdir(parents=True, exist_ok=True)
    data = (Path(source) / name).read_bytes()
    if part is not None:
        to.write_bytes(data[:int(len(data) * part)])
        return
    hidden = to.with_name(to.name + ".tmp")
    hidden.write_bytes(data)
    os.replace(hidden, to)


def finish(target):
    (Path(target) / END).write_bytes(b"")


def random_order(bench, name, seed, ranks):
    """All files in any order, some in pieces; what is told in the end is what a run finds."""
    dice, what = random.Random(seed), "%s in random order, seed %d, %d ranks" % (name, seed, ranks)
    source, target = TRIALS / name, bench.where / name
    expected = bench.without_end(source, name)
    watch = Watch(bench.args.assay, ranks, SUITE, [target], bench.where / "watched")
    names, cut = files_of(source), []
    dice.shuffle(names)
    for file in names:
        part = dice.random() if dice.random() < 0.15 else None
        write(source, target, file, part)
        cut += [file] if part is not None else []
        time.sleep(dice.random() * 1.6 / len(names))
        if cut and dice.random() < 0.3:
            write(source, target, cut.pop(dice.randrange(len(cut))))
    for file in cut:
        write(source, target, file)
    bench.checks.expect(watch.wait_for_told(expected), "%s: before the end: %s" % (what, watch))
    finish(target)
    bench.compare(what, watch, watch.end(), SUITE, [target])


def steps_of(trial):
    """[(step, its files)], and the files that belong to no step."""
    steps, rest = {}, []
    for name in files_of(trial):
        match = re.search(r"/(\d{12})_", name)
        (steps.setdefault(int(match[1]), []) if match else rest).append(name)
    return sorted(steps.items()), rest


def bytes_read(watch):
    match = re.search(r"which read (\d+) bytes", "\n".join(watch.noise))
    return int(match[1]) if match else None


def read_once(bench, name, ranks):
    """Step after step, each evaluated before the next is written: no record is read more often than in a run."""
    what = "%s step by step, %d ranks" % (name, ranks)
    source, target, job = TRIALS / name, bench.where / name, bench.where / "job.json"
    suite = json.loads(SUITE.read_text())
    suite["rules"] = suite["rules"] + [{"name": "every step", "when": "count(/./) >= 0"}]
    suite.setdefault("output", {})["max_findings"] = 100000
    job.write_text(json.dumps(suite))
    steps, rest = steps_of(source)
    for file in rest:
        write(source, target, file)
    watch = Watch(bench.args.assay, ranks, job, [target], bench.where / "watched")
    for step, files in steps:
        for file in sorted(files, key=lambda f: f.startswith("events") == (step % 2 == 0)):
            write(source, target, file)
        if not bench.checks.expect(watch.wait_for(lambda: any(c[1:3] == (str(step), "every step") for c in watch.told() or ())),
                                   "%s: step %d is evaluated: %s" % (what, step, watch)):
            break
    finish(target)
    bench.compare(what, watch, watch.end(), job, [target])
    whole, watched = json.loads((watch.out / "report.json").read_text())["run"]["bytes_read"], bytes_read(watch)
    print("%s: evaluations read %s bytes, a run %d" % (what, watched, whole))
    bench.checks.expect(watched is not None and watched <= whole, "%s: read %s bytes, a run reads %d" % (what, watched, whole))


CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def any_order(bench):
    names = ["ddp", "zero_init", "reductions", "ddp_partial", "xgboost", "linreg_nan"]
    for i, seed in enumerate(bench.args.seeds):
        with tempfile.TemporaryDirectory() as where:
            random_order(Bench(bench.args, bench.checks, where), names[i % len(names)], seed,
                         bench.args.ranks[i % len(bench.args.ranks)])


@case
def once(bench):
    for name, ranks in (("linreg_nan", bench.args.ranks[0]), ("ddp", bench.args.ranks[-1])):
        with tempfile.TemporaryDirectory() as where:
            read_once(Bench(bench.args, bench.checks, where), name, ranks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("cases", nargs="*", help="of: %s; default: all" % " ".join(CASES))
    args = parser.parse_args()
    checks = Checks()
    for name in args.cases or CASES:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as where:
            CASES[name](Bench(args, checks, where))
        print("%s: %.1f s" % (name, time.monotonic() - began), flush=True)
    checks.done()


if __name__ == "__main__":
    main()
