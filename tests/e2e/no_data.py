#!/usr/bin/env python3
"""What was not tested is never green, and always says why: in text, JSON, HTML, Markdown and JUnit, in a run as in a check.

    no_data.py --assay PROGRAM --ranks 1 3 7
"""
import argparse
import html
import json
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rules"))
from launch import ROOT, Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402

import numpy  # noqa: E402

LABELS = {"labels_regex": "^labels$", "predictions_regex": "^predictions$"}
RULES = [  # name, rule, parameters, the reason, and whether the index alone tells it
    ("relu", "DeadRelu", {}, "no tensor is in collection relu_outputs or matches .*relu_output; near: relu1_output_0, relu2_output_0.", True),
    ("plateau", "LossNotDecreasing", {"mode": "EVAL"}, "EVAL has 4 steps; none is 10 after another (num_steps).", True),
    ("classes", "ClassImbalance", LABELS, "400 labels, and the parameter samples asks for 500.", False),
    ("reduced", "AllZero", {"tensor_regex": "^reduced$"},
     "reduced matches, but no values of it were saved, only reductions or shapes.", True),
    ("worker", "AllZero", {"tensor_regex": "^labels$", "worker": "worker_9"}, "no worker is called worker_9; there are worker_0.", True),
    ("steps", "ExplodingTensor", {"start_step": 1000},
     "the trial has steps 0 to 7, and none that the rule looks at (start_step, end_step).", True),
    ("mode", "LossNotDecreasing", {"mode": "TRAIN", "use_losses_collection": False, "tensor_regex": "^eval_only$"},
     "eval_only was saved in EVAL, not in TRAIN.", True),
    ("replicas", "ReplicaDivergence", {}, "the rule compares workers, and one alone recorded.", True),
    ("collection", "AllZero", {"collection_names": "gradients"}, "no tensor is in collection gradients.", True),
    ("spike", "LossSpike", {"window": 10, "min_history": 10},
     "the trial has 8 steps; the rule needs 11 of one mode (min_history and one more).", True),
    ("shorter", "LossSpike", {"collection_names": "nothing", "tensor_regex": "^eval_only$"},
     "eval_only has 4 finite values, and no tensor more; the rule needs 6 of one mode (min_history and one more).", False),
    ("norms", "NormSpike", {"window": 9, "min_history": 9},
     "the trial has 8 steps; the rule needs 10 of one mode (min_history and one more), or as many workers as min_workers says.", True),
    ("course", "LossNotDecreasing", {"against": "start", "mode": "TRAIN"},
     "TRAIN has 4 steps; the rule needs 24 losses to judge their course (against = start).", True),
    ("still", "UnchangedTensor", {"collection_names": "weights", "num_steps": 9},
     "the trial has 8 steps; the rule needs 9 in a row (num_steps).", True),
    ("shards", "DuplicateShard", {}, "the rule compares workers, and one alone recorded.", True),
    ("late", "StragglerWorker", {}, "the rule compares workers, and one alone recorded.", True),
    ("targets", "LabelOutOfRange", {"labels_regex": "^scores$", "predictions_regex": "^targets$"},
     "what matches as labels are floating-point numbers in the shape of the predictions: targets of a regression, not classes.", False),
    ("half", "HalfPrecisionRisk", {"tensor_regex": "^labels$", "collection_names": "nothing"},
     "no tensor that matches holds floating-point numbers.", False),
    ("collapse", "PredictionCollapse", {"predictions_regex": "^predictions$", "labels_regex": "^labels$", "min_samples": 101},
     "no step has 101 predictions of classes (min_samples): there are fewer, or the targets are not classes.", False),
    ("frozen", "WeightFrozenDespiteGradient", {"collection_names": "weights"},
     "0 of 1 weight has a gradient (gradient/NAME); none has a finite one at a saved step and is saved at the next. "
     "no tensor is in collection gradients.", False),
    ("images", "CheckInputImages", {"regex": "^pictures$", "threshold_samples": 500},
     "8 images, and the parameter threshold_samples asks for 500.", False),
    ("ratio", "WeightUpdateRatio", {"end_step": 2}, "TRAIN has 1 step; the rule needs 2 to have an update between them.", True),
]


def make_trial(folder):
    made = Made(folder, workers=1, collections={"losses": "loss", "weights": "weight"})
    labels = numpy.arange(100, dtype=numpy.int64) % 5
    for step in range(8):
        tensors = {"labels": labels, "predictions": labels, "relu1_output_0": numpy.ones(4, dtype=numpy.float32),
                   "relu2_output_0": numpy.ones(4, dtype=numpy.float32), "fc.weight": numpy.full(3, 1.0 + step, dtype=numpy.float32),
                   "loss": numpy.float32([1.0]), "smdebug/reductions/mean/reduced": numpy.float32(1)}
        tensors.update(scores=numpy.float32([1.5, 2]), targets=numpy.float32([1, 2]), pictures=numpy.ones((2, 1, 3, 3), numpy.float32))
        if step % 2:
            tensors["eval_only"] = numpy.float32([1.0])
        made.step(step, "EVAL" if step % 2 else "TRAIN", step // 2, {"worker_0": tensors})
    made.end()


def check_reasons(checks, args, folder, trial):
    rules = [{"name": name, "rule": rule, "parameters": parameters} for name, rule, parameters, _, _ in RULES]
    job, bodies = folder / "job.json", []
    job.write_text(json.dumps({"rules": rules, "output": {"formats": ["json", "text", "html", "markdown", "junit"]}}))
    for n in args.ranks:
        done = mpirun(n, [args.assay, "run", job, "--trial", trial, "--out", folder / "out"])
        checks.expect(done.code == 1 and "no rule had anything to test" in done.err, "%d ranks: %s" % (n, done))
        bodies.append((folder / "out" / "report.json").read_text().split('\n "run":')[0])
    checks.expect(all(b == bodies[0] for b in bodies), "the report differs between rank counts")
    found = {r["name"]: r for r in json.loads((folder / "out" / "report.json").read_text())["trials"][0]["rules"]}
    text = " ".join((folder / "out" / "report.txt").read_text().split())
    page = html.unescape((folder / "out" / "report.html").read_text())
    cases = {c.get("name"): c for c in ElementTree.parse(folder / "out" / "junit.xml").getroot().iter("testcase")}
    done = run([args.assay, "check", job, "--trial", trial])
    checks.expect(done.code == 0, "check: %s" % done)
    foretold = {r["name"]: r["message"] for r in json.loads(done.out)["no_data"][0]["rules"]}
    for name, _, _, reason, early in RULES:
        rule = found[name]
        checks.expect((rule["status"], rule["message"]) == ("NoData", reason), "%s: %s" % (name, rule))
        checks.expect(reason in text, "report.txt does not say %r" % reason)
        checks.expect(reason in page, "report.html does not say %r" % reason)
        checks.expect(cases[name][0].get("message") == "NoData: " + reason, "junit.xml: %s" % name)
        checks.expect((foretold.get(name) == reason) == early, "check on %s: %s" % (name, foretold.get(name)))
        checks.expect(not early or 'rule "%s" has nothing to test: %s' % (name, reason) in done.err, "check is silent on %s" % name)
    checks.expect("### Not tested" in (folder / "out" / "report.md").read_text(), "report.md is silent")


def check_junit(checks, args, folder, trial):
    """JUnit fails where the run does, and nowhere else."""
    job = folder / "gate.json"
    job.write_text(json.dumps({"rules": [
        {"name": "found", "rule": "AllZero", "parameters": {"tensor_regex": "^labels$", "threshold": 10}, "severity": "warning"},
        {"name": "fine", "rule": "ExplodingTensor", "severity": "error"}, {"name": "none", "rule": "DeadRelu", "severity": "info"}],
        "output": {"formats": ["json", "junit"]}}))
    for options, code, expected in (
            ([], 0, {"found": "system-out", "fine": None, "none": "skipped"}),
            (["--fail-on", "error"], 0, {"found": "system-out", "fine": None, "none": "skipped"}),
            (["--fail-on", "warning"], 1, {"found": "failure", "fine": None, "none": "skipped"}),
            (["--fail-on", "info"], 1, {"found": "failure", "fine": None, "none": "failure"}),
            (["--fail-on", "info", "--allow-no-data", "none"], 1, {"found": "failure", "fine": None, "none": "skipped"})):
        done = run([args.assay, "run", job, "--trial", trial, "--out", folder / "gate", "--quiet", *options])
        suite = ElementTree.parse(folder / "gate" / "junit.xml").getroot()[0]
        cases = {c.get("name"): c[0].tag if len(c) else None for c in suite.findall("testcase")}
        checks.expect(done.code == code and cases == expected, "%s: exit %s, %s" % (options, done.code, cases))
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            checks.expect(int(suite.get(name)) == sum(c == tag for c in cases.values()), "%s: count of %s" % (options, name))


def check_choice(checks, args, folder):
    """What was left out by choice stands with what is complete."""
    path = folder / "thin"
    made = Made(path, workers=2)
    for step in range(0, 60, 20):
        made.step(step, "TRAIN", step, {w: {"loss": numpy.float32([1.0])} for w in ("worker_0", "worker_1")})
    made.end()
    facts = folder / "chosen"
    made = Made(facts, workers=1)
    made.step(0, "TRAIN", 0, {"worker_0": {"loss": numpy.float32([1.0])}})
    made.end()
    (facts / "run").mkdir()
    (facts / "run" / "worker_0.json").write_text(json.dumps({
        "schema": "assay-run/1", "worker": "worker_0", "rank": 0, "workers": 4, "started": "2026-01-31T12:00:00Z", "command": ["train"],
        "recorded": {"workers": 1, "of": 4, "modes": {"TRAIN": {"steps": 1, "of": 60, "every": 500}}}}))
    job = folder / "job.json"
    job.write_text(json.dumps({"rules": [{"rule": "ExplodingTensor"}]}))
    for trial, choice in ((path, "Recorded by choice: 3 of 41 TRAIN steps (every 20th)."),
                          (facts, "Recorded by choice: 1 of 4 workers, 1 of 60 TRAIN steps (every 500th).")):
        done = run([args.assay, "run", job, "--trial", trial, "--out", folder / "choice", "--quiet"])
        checks.expect(done.code == 0 and choice in " ".join(done.out.split()), "%s: %s" % (choice, done))


def check_selections(checks, args, folder, trial):
    """A choice of steps that has none is refused, or is said to be untested: it is neither sound nor an empty table."""
    (folder / "later").symlink_to(trial)
    saved = ROOT / "tests" / "data" / "formats" / "checkpoint"
    steps, out = ["--steps", "1000:2000"], ["--out", folder / "selected"]
    for argv, code in ((["verify", saved], 2), (["verify", saved, "--last"], 2), (["seal", saved], 2), (["ls", trial], 2),
                       (["show", trial, "labels"], 2), (["stats", trial, "-o", folder / "none.csv"], 2),
                       (["compare", "--tensors", trial, folder / "later"], 2), (["run", trial] + out, 1),
                       (["compare", trial, folder / "later", "--fail-on", "info"] + out, 1),
                       (["history", trial, folder / "later", "--fail-on", "new"], 1)):
        done = run([args.assay] + argv + steps)
        checks.expect(done.code == code, "%s of no step: %s" % (argv[0], done))
    done = run([args.assay, "seal", trial])
    checks.expect(done.code == 2 and "no checkpoint" in done.err, "sealing no checkpoint: %s" % done)
    (folder / "later").unlink()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_trial(folder / "trial")
        check_reasons(checks, args, folder, folder / "trial")
        check_junit(checks, args, folder, folder / "trial")
        check_choice(checks, args, folder)
        check_selections(checks, args, folder, folder / "trial")
    checks.done()


if __name__ == "__main__":
    main()
