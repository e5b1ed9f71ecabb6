#!/usr/bin/env python3
"""The first cause says what the records prove, and no more: one training of four workers for each way in which it can begin.

    first_cause.py --assay PROGRAM --ranks 1 3 7

Every report form has to name the same one, at every number of ranks with the same bytes.
"""
import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rules"))
import parallel_training as training  # noqa: E402
from launch import Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from webhook import Webhook  # noqa: E402

import numpy  # noqa: E402

AT = training.FAULT_STEP
ALL = ["worker_%d" % w for w in range(training.WORKERS)]
W2 = training.NAMES[2]
JOB = {"rules": [{"name": "a_rule_before", "rule": "AllZero", "parameters": {"tensor_regex": "nothing"}},
                 {"rule": "ExplodingTensor", "severity": "error"}],
       "output": {"formats": ["json", "text", "junit", "markdown", "html", "csv"]}}

# (fault, save interval): what first_cause says.
CAUSES = {
    ("nan_input", 1): {"step": AT, "phase": "data", "tensor": "TinyNet_input_0", "worker": "worker_2", "certain": True,
                       "last_good_step": AT - 1, "text": "worker_2 fed NaN at step %d; all workers by step %d" % (AT, AT + 1),
                       "workers": ["worker_2"]},
    ("nan_input", 5): {"step": 15, "phase": "update", "worker": None, "certain": False, "last_good_step": 10, "workers": ALL},
    ("nan_gradient", 1): {"step": AT, "phase": "backward", "tensor": "gradient/" + W2, "worker": "worker_1", "certain": True,
                          "text": "gradient/%s of worker_1 became NaN at step %d; all workers by step %d" % (W2, AT, AT + 1)},
    ("nan_update", 1): {"step": AT, "phase": "update", "tensor": W2, "worker": None, "certain": False, "workers": ALL,
                        "text": "the update before step %d made %s of all 4 workers NaN" % (AT, W2)},
    ("nan_loss", 1): {"step": AT, "phase": "forward", "tensor": "CrossEntropyLoss_output_0", "worker": "worker_0",
                      "certain": True, "text": "CrossEntropyLoss_output_0 of worker_0 became NaN at step %d" % AT},
    ("overflow", 1): {"step": AT, "phase": "forward", "tensor": "act2_output_0", "worker": "worker_1", "certain": True,
                      "text": "act2_output_0 of worker_1 overflowed to Inf at step %d; all workers by step %d" % (AT, AT + 1)},
    ("infinite", 1): {"step": AT, "phase": "forward", "tensor": "act2_output_0", "worker": "worker_3", "certain": True},
    ("nan_gradient", 5): {"step": 15, "phase": "update", "worker": None, "certain": False, "last_good_step": 10, "workers": ALL},
    ("nan_update", 5): {"step": 15, "phase": "update", "worker": None, "certain": False, "last_good_step": 10, "workers": ALL},
    ("overflow", 5): {"step": 15, "phase": "update", "worker": None, "certain": False, "last_good_step": 10, "workers": ALL,
                      "text": "an update made all %d weights of all 4 workers NaN between steps 11 and 15" % len(training.NAMES)},
    ("nan_labels", 1): {"step": AT, "phase": "data", "tensor": "CrossEntropyLoss_input_1", "worker": "worker_2", "certain": True,
                        "text": "worker_2 fed NaN labels at step %d; all workers by step %d" % (AT, AT + 1)},
    ("several", 1): {"step": AT, "phase": "data", "tensor": "TinyNet_input_0", "worker": None, "certain": False,
                     "last_good_step": AT - 1, "workers": ["worker_1", "worker_3"],
                     "text": "worker_1 and worker_3 fed NaN at step %d; all workers by step %d" % (AT, AT + 1)},
}


# The hook recorded worker_0 alone: what came from the others shows in its weights, and is not its own.
ALONE = {
    ("nan_input", 1): {"step": AT + 1, "phase": "update", "worker": None, "certain": False, "last_good_step": AT,
                       "text": "the update before step %d made %s NaN" % (AT + 1, training.NAMES[0]), "workers": ["worker_0"]},
    ("nan_gradient", 1): {"step": AT + 1, "phase": "update", "worker": None, "certain": False, "last_good_step": AT},
    ("nan_loss", 1): {"step": AT, "phase": "forward", "worker": None, "certain": False, "last_good_step": AT - 1},
    ("overflow", 5): {"step": 15, "phase": "update", "worker": None, "certain": False, "last_good_step": 10},
    ("own_input", 1): {"step": AT, "phase": "data", "worker": "worker_0", "certain": False, "tensor": "TinyNet_input_0"},
}


def reports(checks, assay, folder, trials, ranks, job):
    path, bodies = Path(folder) / "job.json", []
    path.write_text(json.dumps(dict(job, trials=[str(t) for t in trials])))
    for n in ranks:
        out = Path(folder) / ("out-%d" % n)
        done = mpirun(n, [assay, "run", path, "--out", out])
        checks.expect(done.code == 0, "%d ranks: %s" % (n, done))
        bodies.append((out / "report.json").read_text().split('\n "run":')[0])
    checks.expect(all(b == bodies[0] for b in bodies), "the report differs between rank counts")
    return {t["name"]: t for t in json.loads((out / "report.json").read_text())["trials"]}, out


def check_cause(checks, case, cause, expected):
    for key, value in expected.items():
        found = [w["worker"] for w in cause["workers"]] if key == "workers" else cause[key]
        checks.expect(found == value, "%s every %d: %s is %r instead of %r" % (*case, key, found, value))
    checks.expect(("record" in cause) == (not cause["certain"]), "%s every %d: what to record: %s" % (*case, cause))


def check_record(checks, folder, cause):
    """What is to be recorded next time is text to paste: a hook started with it records those steps of all workers."""
    config, trial = Path(folder) / "hook.json", Path(folder) / "again"
    config.write_text(cause["record"])
    code = "import parallel_training as t; t.record(%r, 'nan_input', 5)" % str(trial)
    done = run([sys.executable, "-c", code],
               env={"ASSAY_HOOK_CONFIG": str(config), "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + str(Path(training.__file__).parent)})
    steps = sorted({int(p.name.split("_")[0]) for p in (trial / "index").glob("*/*.json")})
    checks.expect(done.code == 0 and steps == [11, 12, 13, 14, 15], "%s: recorded %s: %s" % (cause["record"], steps, done))
    found, _ = reports(checks, ASSAY, folder, [trial], [1], JOB)
    again = found["again"]["rules"][1]["first_cause"]
    checks.expect((again["step"], again["worker"], again["phase"], again["certain"]) == (AT, "worker_2", "data", True),
                  "recorded again: %s" % again)


def check_alone(checks, folder, ranks):
    paths = {case: Path(folder) / ("alone-%s-%d" % case) for case in ALONE}
    for case, path in paths.items():
        training.record(str(path), *case, workers="one")
    trials, _ = reports(checks, ASSAY, folder, paths.values(), ranks, JOB)
    for case, path in paths.items():
        cause = trials[path.name]["rules"][1]["first_cause"]
        check_cause(checks, case, cause, ALONE[case])
        record = json.loads(cause["record"])["HookParameters"]
        checks.expect(record["include_workers"] == "all" and int(record["train.start_step"]) <= AT <= int(record["train.end_step"]) - 1,
                      "%s alone: what to record does not hold step %d of all workers: %s" % (case, AT, record))
        checks.expect(not any(s["all_workers"] for s in cause["spread"]), "%s alone: %s" % (case, cause["spread"]))
    found, out = reports(checks, ASSAY, folder, [paths["nan_input", 1]], [1], JOB)
    for name in ("report.json", "report.txt", "report.md", "report.html"):
        checks.expect("judged by 1 of 4 workers" in (out / name).read_text(), "%s does not say who judged" % name)


def check_short_forms(checks, folder, case, path, cause):
    """What people see first says the same: the verdict, a message in Slack, a line of watch, the table of a comparison."""
    out, job = Path(folder) / "short", Path(folder) / "slack.json"
    with Webhook() as hook:
        actions = [{"notify": {"url": hook.url("/"), "style": "slack"}}] if SENDS else []
        job.write_text(json.dumps(dict(JOB, actions=actions)))
        done = run([ASSAY, "run", job, path, "--out", out], env={"no_proxy": "127.0.0.1"})
        said = [json.loads(r.body)["text"] for r in hook.requests if "ExplodingTensor" in r.body]
    text = cause["text"]
    told = len(said) == 1 and text in said[0].replace("&gt;", ">")
    checks.expect(done.code == 0 and (told or not SENDS), "%s: Slack says %s: %s" % (case, said, done))
    checks.expect(done.out.splitlines()[0].startswith(text), "%s: the verdict is %s" % (case, done.out.splitlines()[0]))
    watched = run([ASSAY, "watch", path, "--out", out, "--lag", "0", "--findings"])
    lines = [line.split("\t") for line in watched.out.splitlines() if line.startswith("finding\t")]
    first = next(line for line in lines if line[3] == "ExplodingTensor")
    checks.expect(first[2] == str(cause["step"]) and first[5] == cause["tensor"], "%s: watch begins with %s" % (case, first))
    checks.expect((first[4] == cause["worker"]) if cause["worker"] else int(first[9]) == len(cause["workers"]),
                  "%s: watch names %s" % (case, first[4]))
    again = Path(folder) / ("%s-%d-again" % case)
    again.symlink_to(path)
    both = run([ASSAY, "compare", path, again, "--job", Path(folder) / "job.json", "--out", out])
    row = next(line for line in both.out.splitlines() if re.match(r"(\S+-\d)(?: baseline)?\s+1\s", line))
    checks.expect(str(cause["step"]) in row.split() and "ExplodingTensor" in row.split() and text in " ".join(both.out.split()),
                  "%s: compare says %s" % (case, row))


def check_forms(checks, trial, out):
    """All forms name the finding that is the cause, though other tensors come first in the alphabet."""
    rule = trial["rules"][1]
    cause = rule["first_cause"]
    first = rule["first"]
    checks.expect((first["step"], first["tensor"]) == (cause["step"], cause["tensor"]) and
                  first["worker"] in (cause["worker"], cause["workers"][0]["worker"]), "the first finding is not the first cause: %s" % first)
    checks.expect(rule["findings"][0] == first, "the list of findings begins with another one")
    for name in ("report.txt", "junit.xml", "report.md", "report.html"):
        text = (out / name).read_text()
        checks.expect(cause["text"] in text.replace("\n    ", " "), "%s does not say %r" % (name, cause["text"]))
    rows = (out / "findings.csv").read_text().splitlines()
    checks.expect(cause["tensor"] in rows[1], "findings.csv begins with %s" % rows[1])


def check_meant(checks, assay, folder, ranks):
    """Masks are remarks, unless strict; what is bad on one worker only, in a loss, or as a whole never is meant."""
    masked = Path(folder) / "masked"
    training.record(str(masked), "masked")
    trees = Path(folder) / "trees"
    made = Made(trees, workers=2)
    leaf = numpy.array([0.5, numpy.nan, numpy.nan], dtype=numpy.float32)
    good = numpy.ones(3, dtype=numpy.float32)
    for step in range(4):
        made.step(step, "GLOBAL", step, {
            "worker_0": {"trees/Split": leaf, "one_worker_output_0": leaf, "whole_output_0": leaf * numpy.nan, "train-rmse": good[:1]},
            "worker_1": {"trees/Split": leaf, "one_worker_output_0": good, "whole_output_0": leaf * numpy.nan, "train-rmse": good[:1]}})
    made.end()
    poisoned = Path(folder) / "poisoned"
    made = Made(poisoned, workers=1)
    for step in range(3):
        made.step(step, "TRAIN", step, {"worker_0": {"net_input_0": leaf, "loss": leaf[1:2]}})
    made.end()
    job = {"rules": [{"rule": "ExplodingTensor", "parameters": {"strict": False}},
                     {"name": "strict", "rule": "ExplodingTensor"}]}
    found, _ = reports(checks, assay, folder, [masked, trees, poisoned], ranks, job)
    default, strict = found["masked"]["rules"]
    checks.expect(default["status"] == "NoIssuesFound" and default["meant"] == ["attention_mask_output_0"] and
                  "attention_mask_output_0" in default["message"], "masked: %s" % default)
    checks.expect(strict["findings_total"] == training.STEPS * training.WORKERS and "meant" not in strict, "strict: %s" % strict)
    default, strict = found["trees"]["rules"]
    checks.expect(default["meant"] == ["trees/Split"], "trees: %s" % default)
    checks.expect({f["tensor"] for f in default["findings"]} == {"one_worker_output_0", "whole_output_0"}, "trees: %s" % default)
    default, strict = found["poisoned"]["rules"]
    checks.expect(default["findings_total"] == 6 and default["first"]["tensor"] == "net_input_0", "poisoned: %s" % default)


def check_intervals(checks, assay, folder, ranks):
    """A loss that is saved at every step, with layers saved at every fourth: the loss is first, but nobody knows what was
    before it. And a step of another mode between two training steps is no gap."""
    path = Path(folder) / "intervals"
    made = Made(path, workers=1)
    good, bad = numpy.ones(2, dtype=numpy.float32), numpy.full(2, numpy.nan, dtype=numpy.float32)
    for step in range(10):
        tensors = {"act_output_0": bad if step > 7 else good} if step % 4 == 0 else {}
        tensors["loss"] = bad if step >= 6 else good
        made.step(step, "TRAIN", step, {"worker_0": tensors})
    made.end()
    modes = Path(folder) / "modes"
    made = Made(modes, workers=1)
    for step, mode, mode_step in ((0, "TRAIN", 0), (1, "TRAIN", 1), (2, "EVAL", 0), (3, "EVAL", 1), (4, "TRAIN", 2)):
        tensors = {"other_output_0": good} if mode == "EVAL" else {"gradient/w.weight": bad if step == 4 else good}
        made.step(step, mode, mode_step, {"worker_0": tensors})
    made.end()
    scores = Path(folder) / "scores"  # of a network of which nothing else was recorded
    made = Made(scores, workers=1)
    for step in range(4):
        made.step(step, "TRAIN", step, {"worker_0": {"CrossEntropyLoss_input_0": bad if step == 3 else good}})
    made.end()
    found, _ = reports(checks, assay, folder, [path, modes, scores], ranks, {"rules": [{"rule": "ExplodingTensor"}]})
    cause = found["intervals"]["rules"][0]["first_cause"]
    checks.expect((cause["tensor"], cause["step"], cause["last_good_step"], cause["certain"]) == ("loss", 6, 5, False),
                  "intervals: %s" % cause)
    cause = found["modes"]["rules"][0]["first_cause"]
    checks.expect((cause["step"], cause["last_good_step"], cause["certain"]) == (4, 1, True), "modes: %s" % cause)
    cause = found["scores"]["rules"][0]["first_cause"]
    checks.expect((cause["step"], cause["certain"]) == (3, False) and cause["text"].startswith("NaN was first recorded in CrossEnt"),
                  "scores: %s" % cause)


def main():
    global ASSAY, SENDS
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("--no-curl", action="store_true", help="the build sends nothing to anybody")
    args = parser.parse_args()
    ASSAY, SENDS = args.assay, not args.no_curl
    checks = Checks()
    numpy.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as folder:
        paths = {case: Path(folder) / ("%s-%d" % case) for case in CAUSES}
        for case, path in paths.items():
            training.record(str(path), *case)
        trials, _ = reports(checks, args.assay, folder, paths.values(), args.ranks, JOB)
        for case, path in paths.items():
            check_cause(checks, case, trials[path.name]["rules"][1]["first_cause"], CAUSES[case])
        alphabet = sorted(f["tensor"] for f in trials["overflow-1"]["rules"][1]["findings"] if f["step"] == AT)
        checks.expect(alphabet[0] != "act2_output_0", "no case tells the order from the alphabet")
        for case, path in paths.items():
            found, out = reports(checks, args.assay, folder, [path], [1], JOB)
            check_forms(checks, found[path.name], out)
            check_short_forms(checks, folder, case, path, found[path.name]["rules"][1]["first_cause"])
        check_alone(checks, folder, args.ranks)
        check_record(checks, folder, trials["nan_input-5"]["rules"][1]["first_cause"])
        check_meant(checks, args.assay, folder, args.ranks)
        check_intervals(checks, args.assay, folder, args.ranks)
    checks.done()


if __name__ == "__main__":
    main()
