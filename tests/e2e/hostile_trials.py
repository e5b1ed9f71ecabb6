#!/usr/bin/env python3
"""Trials that lie, or that try to act outside of themselves: what they say wrongly is named, and nothing leaves them.

    hostile_trials.py --assay PROGRAM [--ranks 1 3] [--only NAME]

Damage as disks and networks make it: bad_trials.py.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import hostile  # noqa: E402
from launch import TRIALS, Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of  # noqa: E402

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


def problems(report):
    return [p for t in report["trials"] for p in t["problems"]]


@case
def event_file_of_another_step(w):
    trial = w.trial()
    source, target = (trial / ("events/%012d/%012d_worker_1.tfevents" % (n, n)) for n in (10, 20))
    w.expect(source.stat().st_size == target.stat().st_size, "the two files differ in size: nothing is tested")
    target.write_bytes(source.read_bytes())
    report, code = w.reports(trial)
    found = [p for p in problems(report) if p["kind"] == "damaged-record"]
    w.expect(code == 3 and found, "exit %s, %s" % (code, problems(report)))
    w.expect(all("000000000020_worker_1.tfevents" in p["text"] and "says step 20 " in p["text"] and "the record step 10 " in p["text"]
                 for p in found), found[:2])
    shown = w.run("show", trial, "--regex", ".*", "--step", "20", "--worker", "worker_1")
    w.expect(shown.code == 3 and "of another step" in shown.out + shown.err, shown)


@case
def collections_of_workers_differ(w):
    for of, to, word in (('"losses"', '"losres"', "losres"), ("[Ll]oss_", "[Ll]osz_", "losses"), ('"num_workers": 3', '"num_workers": 5', "5 workers")):
        trial = w.trial()
        path = trial / "collections/000000000/worker_1_collections.json"
        text = path.read_text()
        w.expect(of in text, "%s is not in the file" % of)
        path.write_text(text.replace(of, to))
        report, code = w.reports(trial)
        found = [p for p in problems(report) if p["kind"] == "collections-differ"]
        w.expect(found and any(word in p["text"] for p in found), "%s: %s" % (to, problems(report)[:3]))
        w.expect(all(p["file"].endswith("worker_1_collections.json") for p in found), found)
        w.expect(code == 0, "%s: exit %s" % (to, code))
        shutil.rmtree(trial)


@case
def printed_commands(w):
    """A command that the report tells people to paste has the words that were meant, whatever the names are, and does no more."""
    names = [n for n in hostile.TENSORS if not n.endswith("\n")] + ["-x", "--help", "w$(touch X)", "a'b\"c", "`touch X`"]
    shells = w.folder / "bin"
    shells.mkdir()
    (shells / "assay").write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    (shells / "assay").chmod(0o755)
    for at in range(0, len(names)):
        tensor, worker = names[at], re.sub("[/\0]", "|", names[-1 - at])[:60]
        worker = worker if worker.strip(".") and worker[0] != "_" else "worker_0"
        place = w.folder / ("$(touch X) %d" % at)
        made = Made(place, [worker])
        for step in range(3):
            made.step(step, "TRAIN", step, {worker: {tensor: [1.0, float("inf") if step > 1 else 2.0]}})
        made.end()
        done = w.run("run", place, "--format", "json,text", "--quiet", "--out", w.folder / "out")
        report = json.loads((w.folder / "out" / "report.json").read_text())
        commands = [r["first_cause"]["show"] for t in report["trials"] for r in t["rules"] if "show" in r.get("first_cause", {})]
        if not w.expect(done.code in (0, 3) and len(commands) == 1, "no command for %r: %s" % (tensor, done)):
            continue
        w.expect(subprocess.run(["sh", "-n", "-c", commands[0]]).returncode == 0, "malformed: %s" % commands[0])
        pasted = subprocess.run(["sh", "-c", commands[0]], cwd=w.folder, capture_output=True,
                                env={"PATH": "%s:/usr/bin:/bin" % shells})
        words = pasted.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
        operands = words[1:3] if words[1:2] == [str(place)] else words[-2:]
        w.expect(operands == [str(place), tensor] and worker in words, "%s: %s" % (commands[0], words))
        w.expect(commands[0] in (w.folder / "out" / "report.txt").read_text(), "not so in report.txt: %s" % commands[0])
        again = report["run"]["command"]
        words = subprocess.run(["sh", "-c", "printf '%%s\\0' %s" % again], cwd=w.folder, capture_output=True).stdout.split(b"\0")
        w.expect(os.fsencode(place) in words, "the report's own command: %s" % again)
    w.expect(not list(w.folder.rglob("X")), "a name was run")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--only")
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


if __name__ == "__main__":
    main()
