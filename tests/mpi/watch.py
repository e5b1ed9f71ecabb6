#!/usr/bin/env python3
"""`assay watch` over trials that are written file by file: its report has the bytes of `assay run`'s, every finding of it was
told, each once, and steps are read as they come and not again and again.

    watch.py --assay PROGRAM [--ranks 1 2 3] [--seeds 1 2 3] [CASE...]
"""
import argparse
import json
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import logs  # noqa: E402
from launch import SUITE, TRIALS, Checks, mpirun  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of  # noqa: E402
from watching import END, Watch  # noqa: E402


def clean(text):
    return text.encode("unicode_escape").decode() if any(ord(c) < 32 for c in text) else text


def findings_of(report):
    return {tuple(map(clean, (t["name"], str(f["step"]), r["name"], f["worker"], f["tensor"], f.get("test", ""))))
            for t in report["trials"] for r in t["rules"] for f in r["findings"]}


class Bench:
    """One place with a job's trials: how they are, and where a writer puts them."""

    def __init__(self, args, checks, where):
        self.args, self.checks, self.where = args, checks, Path(where)

    def analyse(self, job, trials, name="ran"):
        out = self.where / name
        done = mpirun(1, [self.args.assay, "run"] + ([job] if job else []) + ["--out", out] + [w for t in trials for w in ("--trial", t)])
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
        self.checks.expect(body_of(watch.out) == body_of(out), "%s: the report is not that of a run" % what)
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
    watch = Watch(bench.args.assay, ranks, SUITE, [target], bench.where / "watched", "--lag", "2")
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
    """The least that the three digits of the last line stand for."""
    match = re.search(r"which read ([\d.]+) (bytes|kB|MB) of records", "\n".join(watch.noise))
    return float(match[1]) * {"bytes": 1, "kB": 1e3, "MB": 1e6}[match[2]] * 0.995 if match else None


def read_once(bench, name, ranks, most):
    """Step after step, each evaluated before the next is written: no more is read than `most` times what a run reads."""
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
    bench.checks.expect(watched is not None and watched <= most * whole,
                        "%s: read %s bytes, a run reads %d" % (what, watched, whole))


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
    # A run still has what it compares with from the step before; of xgboost tensors of new names appear on the way.
    cases = (("linreg_nan", bench.args.ranks[0], 2), ("ddp", bench.args.ranks[-1], 2), ("xgboost", bench.args.ranks[0], 1.2))
    for name, ranks, most in cases:
        with tempfile.TemporaryDirectory() as where:
            read_once(Bench(bench.args, bench.checks, where), name, ranks, most)


@case
def cut_short(bench):
    """An index file and an event file that are cut short are waited for, and are no damage once they are whole."""
    source, target, checks = TRIALS / "ddp", bench.where / "ddp", bench.checks
    steps, rest = steps_of(source)
    expected = bench.without_end(source, "ddp")
    late = [f for f in steps[1][1] if f.startswith("index")][:1] + [f for f in steps[2][1] if f.startswith("events")][-1:]
    watch = Watch(bench.args.assay, bench.args.ranks[-1], SUITE, [target], bench.where / "watched")
    for file in rest + [f for _, files in steps for f in files]:
        write(source, target, file, 0.5 if file in late else None)
    whole = {str(step) for step, files in steps if not set(files) & set(late)}
    steps_seen = lambda: {c[1] for c in watch.told() or ()}  # noqa: E731
    last = str(max(int(c[1]) for c in expected if c[1] in whole))
    checks.expect(watch.wait_for(lambda: last in steps_seen()), "cut short: the other steps are evaluated: %s" % watch)
    checks.expect(not steps_seen() & {str(steps[1][0]), str(steps[2][0])}, "cut short: steps that are not whole wait")
    for file in late:
        write(source, target, file)
    checks.expect(watch.wait_for_told(expected), "cut short: all is told when the files are whole: %s" % watch)
    finish(target)
    bench.compare("cut short", watch, watch.end(), SUITE, [target])


@case
def dead_worker(bench):
    """A worker dies: its steps are evaluated without it, the end comes when nothing is written any more."""
    source, target, checks = TRIALS / "ddp", bench.where / "ddp", bench.checks
    steps, rest = steps_of(source)
    job = bench.where / "job.json"
    suite = json.loads(SUITE.read_text())
    suite["rules"].append({"name": "gone", "rule": "MissingWorker", "severity": "error"})
    job.write_text(json.dumps(suite))
    watch = Watch(bench.args.assay, bench.args.ranks[-1], job, [target], bench.where / "watched", "--lag", "0.5", "--idle", "4")
    for file in rest:
        write(source, target, file)
    for number, (_, files) in enumerate(steps):
        for file in files:
            if number < 3 or "worker_2" not in file:
                write(source, target, file)
    checks.expect(watch.wait_for(lambda: any(c[2] == "gone" and c[3] == "worker_2" for c in watch.told() or ())),
                  "dead worker: told of: %s" % watch)
    bench.compare("dead worker", watch, watch.end(), job, [target])
    checks.expect(any("nothing was written" in line for line in watch.noise), "dead worker: ended because nothing came")
    checks.expect(any("worker_2 has not written step" in line for line in watch.noise), "dead worker: named as late")


@case
def late_worker(bench):
    """A worker comes when its steps were evaluated without it: what was told because it was missing is taken back."""
    source, target, checks = TRIALS / "ddp", bench.where / "ddp", bench.checks
    steps, rest = steps_of(source)
    job = bench.where / "job.json"
    suite = json.loads(SUITE.read_text())
    suite["rules"].append({"name": "gone", "rule": "MissingWorker"})
    job.write_text(json.dumps(suite))
    watch = Watch(bench.args.assay, bench.args.ranks[0], job, [target], bench.where / "watched", "--lag", "0.3")
    for file in rest + [f for _, files in steps for f in files if "worker_1" not in f]:
        write(source, target, file)
    gone = lambda: any(c[2] == "gone" for c in watch.told() or ())  # noqa: E731
    checks.expect(watch.wait_for(gone), "late worker: told as missing: %s" % watch)
    for file in [f for _, files in steps for f in files if "worker_1" in f]:
        write(source, target, file)
    checks.expect(watch.wait_for(lambda: watch.told() is not None and not gone()), "late worker: taken back: %s" % watch)
    checks.expect(any(line.startswith("withdrawn\t") for line in watch.lines), "late worker: a line says so")
    finish(target)
    bench.compare("late worker", watch, watch.end(), job, [target])


@case
def several(bench):
    """Two trials that do not exist when the watch begins, one compared with the other."""
    job = bench.where / "job.json"
    suite = json.loads(SUITE.read_text())
    targets = [bench.where / "healthy", bench.where / "flip"]
    suite["rules"].append({"name": "alike", "rule": "SimilarAcrossRuns", "parameters": {"other_trial": str(targets[0])}})
    job.write_text(json.dumps(suite))
    watch = Watch(bench.args.assay, bench.args.ranks[-1], job, targets, bench.where / "watched")
    time.sleep(0.5)
    bench.checks.expect(watch.process.poll() is None, "several: waits for trials that are not there: %s" % watch)
    dice = random.Random(7)
    names = [(t, f) for t in targets for f in files_of(TRIALS / t.name)]
    dice.shuffle(names)
    for target, file in names:
        write(TRIALS / target.name, target, file)
        time.sleep(1 / len(names))
    finish(targets[0])
    time.sleep(0.5)
    bench.checks.expect(watch.process.poll() is None, "several: waits for both to end")
    finish(targets[1])
    bench.compare("several", watch, watch.end(), job, targets)


@case
def until_finding(bench):
    """The first finding of the level ends it, with exit code 1; one of a lower level does not."""
    source, target, job = TRIALS / "linreg_nan", bench.where / "linreg_nan", bench.where / "job.json"
    job.write_text(json.dumps({"rules": [{"rule": "ExplodingTensor"}]}))
    for file in files_of(source):
        write(source, target, file)
    watch = Watch(bench.args.assay, bench.args.ranks[-1], job, [target], bench.where / "watched", "--until-finding", "warning")
    bench.compare("until a finding", watch, watch.end(), job, [target], expected_code=1)
    watch = Watch(bench.args.assay, 1, job, [target], bench.where / "watched", "--until-finding", "error")
    bench.checks.expect(watch.wait_for(lambda: watch.told()), "until an error: tells of warnings")
    time.sleep(0.5)
    bench.checks.expect(watch.process.poll() is None, "until an error: goes on after warnings: %s" % watch)
    finish(target)
    bench.compare("until an error", watch, watch.end(), job, [target])


@case
def many_workers(bench):
    """Without a job the built-in rules watch; what one step has on many workers is one line, with their number."""
    target, made = bench.where / "many", Made(bench.where / "source", workers=5, collections={"losses": "loss"})
    for step in range(6):
        bad = numpy.float32([numpy.nan if step == 4 else 1.0 / (step + 1)])
        made.step(step, "TRAIN", step, {"worker_%d" % w: {"loss": bad if w != 3 else numpy.float32([1])} for w in range(5)})
    source = made.end()
    for ranks in bench.args.ranks:
        shutil.rmtree(target, ignore_errors=True)
        watch = Watch(bench.args.assay, ranks, None, [target], bench.where / "watched")
        for file in files_of(source):
            write(source, target, file)
        finish(target)
        bench.compare("without a job at %d ranks" % ranks, watch, watch.end(), None, [target])
        lines = [line.split("\t") for line in watch.lines if line.startswith("finding\t") and "ExplodingTensor" in line]
        bench.checks.expect([(c[4], c[8], c[9]) for c in lines] == [("worker_0-2, worker_4", "error", "4")],
                            "without a job at %d ranks: %s" % (ranks, lines))


@case
def growing_logs(bench):
    """Logs whose programs go on: what a database keeps in its journal while the writer holds it, and bytes at the end of a W&B file."""
    curve, root = logs.curve(60, "nan"), bench.where
    full = root / "whole"
    logs.wandb(full, curve)
    file = next(full.rglob("*.wandb"))
    whole, grown = file.read_bytes(), root / "wandb" / file.relative_to(full)
    grown.parent.mkdir(parents=True)
    (root / "db").mkdir()
    store = sqlite3.connect(root / "db/mlflow.db")
    store.execute("pragma journal_mode=wal")
    store.executescript("create table experiments (experiment_id, name, lifecycle_stage); create table runs (run_uuid, name, status, start_time, end_time, lifecycle_stage, experiment_id);"
                        "create table metrics (key, value, timestamp, run_uuid, step, is_nan); insert into experiments values (1, 'mnist', 'active');"
                        "insert into runs values ('0a1b', 'calm-owl-1', 'RUNNING', 1795000000000, 0, 'active', 1);")

    def add(kind, part):
        if kind == "wandb":
            with open(grown, "ab") as out:
                out.write(whole[len(whole) * part // 4:len(whole) * (part + 1) // 4 - (9 if part == 3 else 0)])
        for step, loss, _ in curve[15 * part:15 * (part + 1)] if kind == "db" else ():
            bad = math.isnan(loss)
            store.execute("insert into metrics values ('train/loss', ?, ?, '0a1b', ?, ?)", (0 if bad else loss, step, step, bad))
        store.commit()
    add("db", 0)
    kinds = ["wandb"] + ["db"] * (mpirun(1, [bench.args.assay, "ls", str(root / "db")]).code == 0)  # not without SQLite
    for kind in kinds:
        for part in range(kind == "db", 1):
            add(kind, part)
        watch = Watch(bench.args.assay, bench.args.ranks[-1], None, [root / kind], root / "watched", "--until-finding", "error")
        for part in range(1, 4):
            time.sleep(0.5)
            add(kind, part)
        bench.checks.expect(watch.wait_for(lambda: any(c[2] == "ExplodingTensor" for c in watch.told() or ())), "%s that grows: %s" % (kind, watch))
        bench.compare("%s that grows" % kind, watch, watch.end(), None, [root / kind], expected_code=1)
    store.close()


@case
def signals(bench):
    """A signal ends the watch with the report of what is there. mpirun passes SIGUSR1 on; of the other two it makes its own."""
    source, target = TRIALS / "zero_init", bench.where / "zero_init"
    for file in files_of(source):
        write(source, target, file)
    for number, ranks in ((signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGUSR1, bench.args.ranks[-1])):
        watch = Watch(bench.args.assay, ranks, SUITE, [target], bench.where / "watched", "--lag", "2")
        bench.checks.expect(watch.wait_for(lambda: watch.told()), "%s: tells: %s" % (number.name, watch))
        os.kill(watch.process.pid, number)
        bench.compare(number.name, watch, watch.end(), SUITE, [target])


@case
def wrong(bench):
    """What can never be watched is said at once."""
    for argv, said in (([SUITE, "--trial", "nfs://a/b"], "unknown kind of location"),
                       ([SUITE, "--trial", "t", "--every", "0"], "--every"), ([bench.where / "none.json"], "none.json")):
        done = mpirun(1, [bench.args.assay, "watch"] + argv)
        bench.checks.expect(done.code == 2 and said in done.err, "%s: %s" % (argv, done))


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
