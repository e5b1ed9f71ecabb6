#!/usr/bin/env python3
"""score.py - how often `assay why` is right: endings whose truth is known, and healthy twins of them.

    score.py --assay PROGRAM [--seed N] [--real] [--slurm] [--set NAME] [--only NAME ...] [--keep FOLDER] [--few] [--least 0.9] [--bulk MB]

Prints a line for each ending: class, rank, whether it was certain and wrong, whether its twin is silent. Exit 1 when anything is
certain and wrong, a twin is not silent, or fewer than `--least` of the endings have both class and rank right. `--few` takes a dozen
small ones, for a test. `--real` also lets processes really fail (failures.py; Debian's python3-torch). A seed that nobody has looked
at says more than one that the engine was tried with: take another one each time. `--set held_back` and `--set again` take the endings that
were written before the program was asked about them, and what was kept for the changes that they led to.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from endings import planted, twin_of  # noqa: E402
from launch import environment  # noqa: E402
from plots import PLOTS  # noqa: E402
from plots_held_back import HELD_BACK, HELD_BACK_AGAIN  # noqa: E402

FEW = ("gpu_memory_one", "exception_one", "killed_one", "hang_one", "gpu_off_bus", "host_memory_slurm", "time_limit", "disk_full", "nan_all", "port_taken", "module_missing", "load_other_shapes")


class Answer:
    def __init__(self, assay, folder, more):
        done = subprocess.run([assay, "why", str(folder), "--json"] + more, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, stdin=subprocess.DEVNULL, env=environment())
        self.code, self.error = done.returncode, done.stderr.decode(errors="replace")
        try:
            said = json.loads(done.stdout)
        except ValueError:
            said = {}
            self.error = "no JSON (exit %d): %s" % (self.code, self.error.strip()[-200:])
        cause = said.get("cause") or {}
        self.line, self.failed = said.get("answer") or "", self.code == 1
        self.kind, self.certainty = cause.get("class"), cause.get("certainty")
        self.ranks, self.nodes, self.signature = cause.get("ranks") or [], cause.get("nodes") or [], cause.get("signature")


def class_right(truth, answer):
    return answer.kind in truth.classes or (not truth.known and answer.certainty == "unknown")


def rank_right(truth, answer, ranks):
    """Where a node is the cause its name is what counts, and no rank of another node. What ends the whole job names all or none."""
    if truth.ranks == "any":
        return True
    if truth.nodes:
        return answer.nodes == truth.nodes and set(answer.ranks) <= set(truth.ranks)
    if truth.ranks is None:
        return len(answer.ranks) in (0, ranks)
    return answer.ranks == truth.ranks


def short(ranks):
    return "-" if ranks in (None, []) else str(ranks) if isinstance(ranks, str) or len(ranks) < 4 else "%s..%s" % (ranks[0], ranks[-1])


def fatten(folder, megabytes):
    """Puts so much of an ordinary training in front of the largest file."""
    path = max((p for p in folder.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    end = path.read_bytes()
    found = re.search(rb"^(?: *\d+: )?\[default\d+\]:|^ *\d+: ", end, re.M)
    prefix = found.group() if found else b""
    block = b"".join(prefix + b"eval batch %d accuracy 0.%03d, errors in labels: none, lr 2.5e-04, tokens per second 9312\n" % (i, i % 997) for i in range(10000))
    with path.open("wb") as out:
        for _ in range(max(1, megabytes * 1000000 // len(block))):
            out.write(block)
        out.write(end)


class Score:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.right = self.count = self.alarms = self.wrong = 0

    def judge(self, name, folder, truth, ranks, twin=None):
        answer = Answer(self.args.assay, folder, self.args.more)
        if truth is None:  # it comes to a good end
            self.alarms += answer.code != 0
            print("%-22s %5d  %s" % (name, ranks, "silent" if answer.code == 0 else "NOT SILENT: exit %d, %s" % (answer.code, (answer.line or answer.error)[:300])))
            return
        kind, rank = class_right(truth, answer), rank_right(truth, answer, ranks)
        certain = answer.certainty == "certain" and not (kind and (rank or not (answer.ranks or answer.nodes)))  # who names nobody says nothing wrong
        silent = True
        if twin:
            healthy = Answer(self.args.assay, twin, self.args.more)
            silent = healthy.code == 0
        self.count += 1
        self.right += kind and rank and answer.failed
        self.wrong += certain
        self.alarms += not silent
        print("%-22s %5d  class %-5s rank %-5s %s%s" % (name, ranks, "right" if kind else "WRONG", "right" if rank else "WRONG", "CERTAIN AND WRONG " if certain else "", "" if silent else "TWIN NOT SILENT"))
        if not (kind and rank and answer.failed):
            print("    wanted %s ranks %s nodes %s\n    got    %s (%s, %s) ranks %s nodes %s exit %d\n    %s" % (
                "|".join(sorted(truth.classes)), short(truth.ranks), short(truth.nodes), answer.kind, answer.certainty, answer.signature, short(answer.ranks), short(answer.nodes), answer.code, (answer.line or answer.error)[:300]))
        if not silent:
            print("    twin: exit %d, %s" % (healthy.code, (healthy.line or healthy.error)[:300]))
        sys.stdout.flush()

    def really_with_twins(self, again):
        """Processes that really fail, and the same ones where all is well."""
        if self.args.real:
            from failures_held_back import CASES
            for case in CASES:
                if case.again == again and (not self.args.only or case.name in self.args.only):
                    place, twin = self.folder / case.name, self.folder / (case.name + "-healthy")
                    if case.run(twin, True) not in (0, None):
                        print("%-22s its twin did not end well" % case.name)
                    if case.run(place) is not None:
                        self.keep_truth(case.name, case.truth, case.world)
                        if not self.args.write:
                            self.judge(case.name, place, case.truth, case.world, twin)
        if self.args.slurm:
            from slurm_held_back import under_slurm
            for name, truth, ranks in under_slurm(self.folder, again, self.args.only):
                self.keep_truth(name, truth, ranks)
                if not self.args.write:
                    self.judge(name, self.folder / name, truth, ranks, self.folder / (name + "-healthy"))

    def keep_truth(self, name, truth, ranks):
        (self.folder / (name + ".truth")).write_text(json.dumps({"classes": sorted(truth.classes), "ranks": truth.ranks, "nodes": truth.nodes, "known": truth.known, "world": ranks}))

    def end(self):
        print("%d of %d right in class and rank, %d certain and wrong, %d healthy ones not silent" % (self.right, self.count, self.wrong, self.alarms))
        return 1 if self.wrong or self.alarms or self.right < self.args.least * self.count or not self.count else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--slurm", action="store_true", help="also jobs that really die under a Slurm of the test's own")
    parser.add_argument("--set", choices=("known", "held_back", "again"), default="known")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--least", type=float, default=0.9)
    parser.add_argument("--write", action="store_true", help="write the endings to --keep and judge nothing")
    parser.add_argument("--bulk", type=int, default=0, help="so many MB of ordinary output in front of each")
    parser.add_argument("more", nargs="*", help="options for assay why")
    args = parser.parse_args()
    folder = Path(args.keep or tempfile.mkdtemp(prefix="endings-"))
    score = Score(args, folder)
    try:
        plots = {"known": PLOTS, "held_back": HELD_BACK, "again": HELD_BACK_AGAIN}[args.set]
        plots = [plot for plot in plots if (not args.few or plot.__name__ in FEW) and (not args.only or plot.__name__ in args.only)]
        for ending in planted(args.seed, plots):
            place, twin = folder / ending.name, folder / (ending.name + "-healthy")
            for each in (place, twin):
                shutil.rmtree(each, True)
            truth = ending.truth
            ending.write(place)
            if args.bulk:
                fatten(place, args.bulk)
            if truth:
                twin_of(ending).write(twin)
            (folder / (ending.name + ".truth")).write_text(json.dumps({"layout": ending.job.layout, "torch": ending.job.torch, **({"classes": sorted(truth.classes), "ranks": truth.ranks, "nodes": truth.nodes} if truth else {})}))
            if not args.write:
                score.judge(ending.name, place, truth, ending.ranks, twin)
        if args.set != "known":
            score.really_with_twins(args.set == "again")
        elif args.real:
            from failures import FAILURES, really
            for failure in FAILURES:
                if not args.only or failure.__name__ in args.only:
                    place = folder / failure.__name__
                    shutil.rmtree(place, True)
                    truth, ranks = really(failure, place)
                    if truth and not args.write:
                        score.judge(failure.__name__, place, truth, ranks)
        if args.slurm and args.set == "known":
            from slurm_failures import under_slurm
            for name, truth, ranks in under_slurm(folder):
                if not args.write and (not args.only or name in args.only):
                    score.judge(name, folder / name, truth, ranks)
        return 0 if args.write else score.end()
    finally:
        if not args.keep:
            shutil.rmtree(folder, True)


if __name__ == "__main__":
    sys.exit(main())
