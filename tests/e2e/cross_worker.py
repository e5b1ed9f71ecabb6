#!/usr/bin/env python3
"""The rules that compare workers, spikes and the like, on trainings with one fault each: which fire, where, and which do not.

    cross_worker.py --assay PROGRAM --ranks 1 3 7

The trainings are made by tests/support/parallel_training.py and recorded through the hook. Every rule runs on every one of
them with its defaults (StragglerWorker with a limit that a test can wait for), so that each has a trial that fires it
and many that must not. The recorded trials of tests/data are checked as well.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import parallel_training as training  # noqa: E402
from launch import TRIALS, Checks, mpirun, run  # noqa: E402
from reports import body_of  # noqa: E402

RULES = ("ReplicaDivergence", "GradientNotSynchronized", "DuplicateShard", "MissingWorker", "StragglerWorker",
         "WeightFrozenDespiteGradient", "NormSpike", "LossSpike", "PredictionCollapse", "LabelOutOfRange",
         "HalfPrecisionRisk")
PARAMETERS = {"StragglerWorker": {"min_seconds": "0.1"}}
AT = training.FAULT_STEP
NUMERIC = "ExplodingTensor"  # names the first cause

# fault: {rule that fires: what its first finding says}; all others must not fire. Later effects of a fault are real too.
FIRES = {
    "healthy": {},
    "flipped": {"ReplicaDivergence": {"step": AT, "worker": "worker_3", "tensor": training.NAMES[0]}},
    "unsynchronized": {"ReplicaDivergence": {"step": AT},
                       "GradientNotSynchronized": {"step": AT - 1, "worker": "*", "test": "gradients"}},
    "duplicate": {"DuplicateShard": {"step": 1, "worker": "worker_2", "note": "the same as worker_1"}},
    "missing": {"MissingWorker": {"step": AT, "worker": "worker_3", "test": "away", "value": 1,
                                  "note": "wrote last at step %d" % (AT - 1)}},
    "absent": {"MissingWorker": {"step": 0, "worker": "worker_3", "test": "never", "value": 1,
                                 "note": "3 of 4 expected workers wrote: nothing came from worker_3"}},
    "straggler": {"StragglerWorker": {"step": 2, "worker": "worker_2"}},
    "frozen": {"WeightFrozenDespiteGradient": {"step": 2, "worker": "worker_0", "tensor": training.NAMES[2]}},
    "gradient_spike": {"NormSpike": {"step": AT, "worker": "worker_1", "tensor": "gradient/" + training.NAMES[2]},
                       "HalfPrecisionRisk": {"step": AT, "worker": "worker_1", "test": "overflow"}},
    "loss_spike": {"LossSpike": {"step": AT, "worker": "worker_0"}, "NormSpike": {"step": AT}},
    "collapse": {"PredictionCollapse": {"step": AT + 9, "worker": "*", "value": 1}, "NormSpike": {"step": AT},
                 "LossSpike": {"step": AT}},
    "bad_label": {"LabelOutOfRange": {"step": AT, "worker": "worker_2", "value": 1,
                                      "note": "first: label 4 at element 5 with 4 classes"}},
    "tiny_gradients": {"HalfPrecisionRisk": {"step": 0, "test": "flush"}},
    "infinite": {NUMERIC: {"step": AT, "worker": "worker_3"}},
}

# Of the recorded trials: whom the rules name. Trainings in which nothing else is wrong fire nothing.
RECORDED = {"healthy": set(), "ddp": set(), "ddp_partial": {"MissingWorker"}, "reductions": set(), "xgboost": set(),
            "dead_relu": {"PredictionCollapse"}, "zero_init": {"PredictionCollapse"}}


def job_for(folder, trials, rules, parameters):
    job = Path(folder) / "job.json"
    job.write_text(json.dumps({
        "trials": [str(t) for t in trials],
        "rules": [{"rule": r, "parameters": parameters.get(r, {})} for r in rules], "output": {"max_findings": 100}}))
    return job


def fired(trial):
    return {r["rule"]: r for r in trial["rules"] if r["status"] == "IssuesFound"}


def analyse(checks, assay, folder, trials, ranks, rules, parameters):
    """The report's trials by name and the text; the same at every rank count."""
    job, bodies = job_for(folder, trials, rules, parameters), []
    for n in ranks:
        out = Path(folder) / ("out-%d" % n)
        done = mpirun(n, [assay, "run", job, "--out", out])
        if not checks.expect(done.code == 0, "%d ranks: %s" % (n, done)):
            checks.done()
        bodies.append(body_of(out))
    checks.expect(all(b == bodies[0] for b in bodies), "the report differs between rank counts")
    report = json.loads((out / "report.json").read_text())
    for trial in report["trials"]:
        for rule in trial["rules"]:
            checks.expect(rule["status"] != "Error", "%s on %s: %s" % (rule["name"], trial["name"], rule["message"]))
    return {t["name"]: t for t in report["trials"]}, done.out


def check_fault(checks, fault, trial):
    found, expected = fired(trial), FIRES[fault]
    checks.expect(set(found) == set(expected), "%s: fired %s instead of %s" % (fault, sorted(found), sorted(expected)))
    for rule in set(found) & set(expected):
        for key, value in expected[rule].items():
            first = found[rule]["first"]
            checks.expect(first.get(key) == value, "%s, %s: %s of the first finding is not %r: %s" %
                          (fault, rule, key, value, first))
        checks.expect(len(found[rule].get("remedies", [])) >= 2, "%s: lists no remedies" % rule)


def check_details(checks, trials):
    """What only one fault has to show."""
    odd = fired(trials["flipped"])["ReplicaDivergence"]
    checks.expect({f["worker"] for f in odd["findings"]} == {"worker_3"}, "flipped: others are odd too")
    checks.expect(odd["findings_total"] == training.STEPS - AT, "flipped: %d findings" % odd["findings_total"])
    checks.expect(abs(odd["first"]["value"] - 0.5) < 1e-6, "flipped: largest difference %s" % odd["first"]["value"])
    apart = fired(trials["unsynchronized"])["GradientNotSynchronized"]
    checks.expect({f["test"] for f in apart["findings"]} == {"drift", "gradients"}, "unsynchronized: both tests fire")
    twins = fired(trials["duplicate"])["DuplicateShard"]
    checks.expect({f["worker"] for f in twins["findings"]} == {"worker_2"}, "duplicate: only worker_2 is named")
    late = fired(trials["straggler"])["StragglerWorker"]
    checks.expect({f["worker"] for f in late["findings"]} == {"worker_2"}, "straggler: only worker_2 is named")
    spike = fired(trials["gradient_spike"])["NormSpike"]
    checks.expect([f["test"] for f in spike["findings"]] == ["history", "workers"], "gradient_spike: both tests fire")
    stopped = {r["rule"]: r for r in trials["missing"]["rules"]}["MissingWorker"]
    checks.expect({"worker": "worker_3", "step": AT - 1} in stopped["last_steps"], "missing: %s" % stopped["last_steps"])


def check_first_cause(checks, assay, trial, text):
    cause = fired(trial)[NUMERIC].get("first_cause", {})
    expected = {"step": AT, "mode": "TRAIN", "mode_step": AT, "phase": "forward", "layer": "act2", "tensor": "act2_output_0",
                "worker": "worker_3", "element": training.HIDDEN + 1, "value": "inf"}
    for key, value in expected.items():
        checks.expect(cause.get(key) == value, "first cause: %s is %r instead of %r" % (key, cause.get(key), value))
    sentence = "act2_output_0 of worker_3 overflowed to Inf at step %d; all workers by step %d" % (AT, AT + 1)
    checks.expect(cause.get("text", "").startswith(sentence), "first cause: %r" % cause.get("text"))
    checks.expect("First cause: " + sentence in text, "the text report does not name the first cause")
    stages = [(s["step"], s["workers"], s["all_workers"]) for s in cause.get("spread", [])]
    checks.expect(stages == [(AT, 1, False), (AT + 1, training.WORKERS, True)], "spread: %s" % stages)
    command = cause.get("show", "")
    checks.expect(command.startswith("assay show ") and command in text, "show: %r" % command)
    shown = subprocess.run("'%s'%s" % (assay, command[len("assay"):]), shell=True, capture_output=True, text=True)
    checks.expect(shown.returncode == 0 and "act2_output_0" in shown.stdout and "worker_3" in shown.stdout,
                  "%s: %s" % (command, shown))


def check_phases(checks, assay, folder):
    """Gradients vanish in the backward pass, the first of them being the one saved first; a loss overflows forward."""
    trials = [TRIALS / name for name in ("linreg_nan", "dead_relu")]
    found, _ = analyse(checks, assay, folder, trials, [1], ["VanishingGradient", NUMERIC, "DeadRelu"],
                       {"DeadRelu": {"tensor_regex": "act._output"}})
    for trial, rule, phase, tensor in (("dead_relu", "VanishingGradient", "backward", "gradient/ConvNet_fc2.weight"),
                                       ("linreg_nan", NUMERIC, "forward", "MSELoss_output_0"),
                                       ("dead_relu", "DeadRelu", "forward", "act2_output_0")):
        cause = fired(found[trial])[rule]["first_cause"]
        checks.expect((cause["phase"], cause["tensor"], cause["step"]) == (phase, tensor, 0), "%s: %s" % (trial, cause))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / fault for fault in FIRES]
        for path in paths:
            training.record(str(path), path.name)
        trials, text = analyse(checks, args.assay, folder, paths, args.ranks, RULES + (NUMERIC,), PARAMETERS)
        for fault in FIRES:
            check_fault(checks, fault, trials[fault])
        check_details(checks, trials)
        check_first_cause(checks, args.assay, trials["infinite"], text)
        recorded, _ = analyse(checks, args.assay, folder, [TRIALS / name for name in RECORDED], args.ranks, RULES, {})
        for name, expected in RECORDED.items():
            found = set(fired(recorded[name]))
            checks.expect(found == expected, "%s: fired %s instead of %s" % (name, sorted(found), sorted(expected)))
        check_phases(checks, args.assay, folder)
        done = run([args.assay, "rules"])
        checks.expect(all(rule in done.out for rule in RULES), "assay rules does not list them all")
    checks.done()


if __name__ == "__main__":
    main()
