#!/usr/bin/env python3
"""What healthy trainings have as well is no warning of the built-in rules where the losses came down, stayed there and no loss stands higher behind it; it is
one where a loss shows harm, where too few losses follow, and where a job file asks for the rule. The same bytes at every number of ranks.

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

STEPS, JUMP = 120, 60
QUIET, WORTH = r"^nothing wrong in \d+ rules", "; worth knowing: "


def training(folder, loss, jump=JUMP):
    """A weight that moves by noise, its gradient, and at one step one that is a thousand times as large."""
    random = numpy.random.default_rng(7)
    made = Made(folder, collections={"losses": "^loss$", "gradients": "^gradient/", "weights": "^fc"})
    weight = random.normal(0, 1, 60)
    for step in range(STEPS):
        slope = random.normal(0, 0.01, 60) * (1000 if step == jump else 1)
        made.step(step, "TRAIN", step, {"loss": loss(step) * (1 + 0.02 * random.normal()), "fc.weight": weight.reshape(6, 10).copy(),
                                        "gradient/fc.weight": slope.reshape(6, 10)})
        weight = weight - 0.02 * random.normal(0, 1, 60)
    return made.end()


def down(step):
    return 0.2 + 2 * 0.96 ** step


CASES = {  # the loss, the step of the jump, and whether it is a warning
    "none": (down, JUMP, False),
    "behind": (lambda s: down(s) + (0.2 if JUMP <= s < JUMP + 8 else 0), JUMP, True),
    "elsewhere": (lambda s: down(s) + (0.1 if 90 <= s < 98 else 0), JUMP, False),
    "stands": (lambda s: 2.2, JUMP, True),
    "came_back": (lambda s: down(s) if s < 70 else 2.0, JUMP, True),
    "at_the_end": (down, STEPS - 2, True),
    "not_finite": (lambda s: down(s) if s != 20 else float("nan"), JUMP, True),
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
        for name, (loss, jump, warns) in CASES.items():
            training(folder / name, loss, jump)
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
                wrong = warns or bool(job)
                checks.expect(spike["status"] == "IssuesFound" and spike["severity"] == ("warning" if wrong else "info"), "%s: %s" % (case, spike))
                checks.expect(done.code == (1 if wrong else 0), "%s: exit code %d" % (case, done.code))
                checks.expect(bool(re.search(QUIET, report["verdict"])) is not wrong, "%s: %s" % (case, report["verdict"]))
                checks.expect((WORTH in report["verdict"]) is not wrong, "%s: %s" % (case, report["verdict"]))
                checks.expect(wrong or causes.get("gradient-jumped", {}).get("wrong") is False, "%s: %s" % (case, causes))
        several(args, checks, folder)
    checks.done()


if __name__ == "__main__":
    main()
