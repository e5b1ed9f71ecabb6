#!/usr/bin/env python3
"""What healthy trainings have as well is no warning of the built-in rules where the losses came down, stayed there and no loss stands higher behind it; it is
one where a loss shows harm, where nobody knows since losses are missing, and where a job file asks for the rule. The same bytes at every number of ranks.

    harm.py --assay PROGRAM --ranks 1 3 7
"""
import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from launch import Checks, mpirun  # noqa: E402
from made import Made  # noqa: E402

STEPS, JUMP, NOT_SAVED = 120, 60, 0
QUIET, WORTH = r"^nothing wrong in \d+ rules", "; worth knowing: "


def training(folder, loss, jumps, workers=1):
    """A weight that moves by noise, its gradient, and at some steps one that is a thousand times as large. Worker 0 has the loss, where there is one."""
    random = numpy.random.default_rng(7)
    made = Made(folder, workers=workers, collections={"losses": "^loss$", "gradients": "^gradient/", "weights": "^fc"})
    weight = random.normal(0, 1, 60)
    for step in range(STEPS):
        slope = random.normal(0, 0.01, 60) * (1000 if step in jumps else 1)
        value = loss(step) * (1 + 0.02 * random.normal())
        saved = {"fc.weight": weight.reshape(6, 10).copy(), "gradient/fc.weight": slope.reshape(6, 10)}
        made.step(step, "TRAIN", step, {name: saved if w or value == NOT_SAVED else {"loss": value, **saved} for w, name in enumerate(made.workers)})
        weight = weight - 0.02 * random.normal(0, 1, 60)
    return made.end()


def cut(folder):
    """The records of one step are cut off, a step at which the loss may have been anything."""
    file = folder / "events" / ("%012d" % (JUMP + 1)) / ("%012d_worker_0.tfevents" % (JUMP + 1))
    file.write_bytes(file.read_bytes()[:30])


def down(step):
    return 0.2 + 2 * 0.96 ** step


def behind(step):
    return down(step) + (0.2 if JUMP <= step < JUMP + 8 else 0)


class Case:
    def __init__(self, loss, warns, jumps=(JUMP,), workers=1, then=None):
        self.loss, self.warns, self.jumps, self.workers, self.then = loss, warns, jumps, workers, then


CASES = {
    "none": Case(down, False),
    "behind": Case(behind, True),
    "elsewhere": Case(lambda s: down(s) + (0.1 if 90 <= s < 98 else 0), False),
    "stands": Case(lambda s: 2.2, True),
    "came_back": Case(lambda s: down(s) if s < 70 else 2.0, True),
    "at_the_end": Case(down, True, (STEPS - 2,)),
    "not_finite": Case(lambda s: down(s) if s != 20 else float("nan"), True),
    "again": Case(behind, True, (30, JUMP)),  # the first did no harm
    "rises_slowly": Case(lambda s: down(s) + max(0, s - JUMP) * 0.006, True),
    "saved_rarely": Case(lambda s: down(s) if s % 6 == 0 else NOT_SAVED, False),
    "not_saved_there": Case(lambda s: NOT_SAVED if JUMP - 2 <= s < JUMP + 30 else down(s), True),
    "not_saved_elsewhere": Case(lambda s: NOT_SAVED if 80 <= s < 100 else down(s), False),
    "not_saved_at_first": Case(lambda s: NOT_SAVED if s < JUMP + 10 else down(s), True),
    "not_saved_at_last": Case(lambda s: NOT_SAVED if s >= JUMP + 20 else down(s), True),
    "of_one_worker": Case(down, True, workers=4),
    "cut": Case(down, True, then=cut),
}


def several(args, checks, folder):
    """Of several trials the one that a loss shows harm of leads, although one without harm is named before it."""
    bodies = set()
    for ranks in args.ranks:
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        mpirun(ranks, [args.assay, "run", folder / "none", folder / "behind", "--out", out])
        bodies.add((out / "report.txt").read_text().partition("Trials side by side")[0])
    text = bodies.pop()
    checks.expect(not bodies, "several: another report at other ranks")
    checks.expect("That is about behind." in text, "several: advice on another trial: %s" % text[:2000])
    checks.expect(re.search(r"\nNormSpike  behind  warning .*\nNormSpike  none    info ", text), "several: %s" % text[:2000])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "job.json").write_text(json.dumps({"rules": [{"rule": "NormSpike", "parameters": {"only_finite": True}},
                                                              {"rule": "LossNotDecreasing", "parameters": {"against": "start"}}]}))
        for name, of in CASES.items():
            training(folder / name, of.loss, of.jumps, of.workers)
            if of.then:
                of.then(folder / name)
            for job in ((), (folder / "job.json", "--trial")):
                bodies = set()
                for ranks in args.ranks:
                    out = folder / "out"
                    shutil.rmtree(out, ignore_errors=True)
                    done = mpirun(ranks, [args.assay, "run", *job, folder / name, "--out", out, "--fail-on", "warning", "--allow-no-data"])
                    report = json.loads((out / "report.json").read_text())
                    del report["run"]
                    bodies.add(json.dumps(report))
                case = "%s%s" % (name, " of a job" if job else "")
                checks.expect(len(bodies) == 1, "%s: another report at other ranks" % case)
                [spike] = [r for r in report["trials"][0]["rules"] if r["name"] == "NormSpike"]
                causes = {c["cause"]: c for c in report["trials"][0]["causes"]}
                wrong = of.warns or bool(job)
                checks.expect(spike["status"] == "IssuesFound" and spike["severity"] == ("warning" if wrong else "info"), "%s: %s" % (case, spike))
                checks.expect(done.code == (1 if wrong else 0), "%s: exit code %d" % (case, done.code))
                checks.expect(bool(re.search(QUIET, report["verdict"])) is not wrong, "%s: %s" % (case, report["verdict"]))
                checks.expect((WORTH in report["verdict"]) is not wrong, "%s: %s" % (case, report["verdict"]))
                checks.expect(wrong or causes.get("gradient-jumped", {}).get("wrong") is False, "%s: %s" % (case, causes))
        several(args, checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
