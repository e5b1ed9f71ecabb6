#!/usr/bin/env python3
"""The first line over several trials, and the forms around it: nothing is called sound, or good, that is not.

    headline.py --assay PROGRAM
"""
import argparse
import json
import math
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import logs  # noqa: E402
from launch import Checks, run  # noqa: E402
from made import Made  # noqa: E402

GOOD = ROOT / "tests" / "data" / "trials" / "healthy"
T0 = 1700006400  # a full minute
QUIET = {"rules": [{"rule": "ExplodingTensor"}]}


def training(folder, seed, until=40, rate=0.1, unit=None):
    """A loss that comes down, a little otherwise for each seed; `unit`: what one of two units of a ReLU gives from step 20 on."""
    made = Made(folder, collections={"losses": "loss"})
    for step in range(until):
        value = 2.0 * (1 - rate) ** step + 0.01 * ((7 * seed + 3 * step) % 5)
        units = {} if unit is None else {"relu_output_0": [[1.0, unit if step >= 20 else 1.0], [2.0, 1.0]]}
        made.step(step, "TRAIN", step, {"worker_0": {"loss": [value], **units}})
    made.end()
    return folder


def report_of(args, folder, *command):
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    done = run([args.assay, *command, "--out", out, "--reports", "json,text,markdown,html"])
    texts = {p.suffix[1:]: p.read_text() for p in out.iterdir()} if out.exists() else {}
    return done, json.loads(texts.get("json", "{}")), texts


def check_damage(args, checks, folder):
    """A damaged one among three: no word of "nothing wrong" for all of them, as exit code 3 has it."""
    for i in range(3):
        shutil.copytree(GOOD, folder / ("t%d" % i))
    victim = sorted((folder / "t1").rglob("*.tfevents"))[-1]
    victim.write_bytes(victim.read_bytes()[:300])
    (folder / "job.json").write_text(json.dumps(QUIET))
    trials = [o for i in range(3) for o in ("--trial", folder / ("t%d" % i))]
    done, report, _ = report_of(args, folder, "run", folder / "job.json", *trials)
    checks.expect(done.code == 3 and report["verdict"].startswith("1 of 3 trials is damaged: t1 ("), "damaged: %s" % report["verdict"])


def sample(folder, node, seconds):
    for begin in range(0, seconds, 60):
        lines = [json.dumps({"Type": "x", "Name": name, "Dimension": what, "Value": value, "NodeId": node, "Timestamp": T0 + second})
                 for second in range(begin, min(begin + 60, seconds)) for name, what, value in (("gpu0", "GPUUtilization", 90), ("cpu0", "CPUUtilization", 60))]
        logs.write(folder / ("system/incremental/2023111500/%d.%s.json" % (T0 + begin, node)), "\n".join(lines) + "\n")


def check_reserved(args, checks, folder):
    """What the sentence about one trial says against "nothing wrong" is not lost among several, and steps that were not asked for are said."""
    place = folder / "reserved"
    for i in range(3):
        logs.mlflow(place / ("mlflow-%d" % i), logs.curve(40), "%032x" % i, "owl-%d" % i)
        logs.csv(place / ("csv-%d" % i), logs.curve(40))
        for node, seconds in (("algo-1", 150), ("algo-2", 150 if i != 1 else 90)):
            sample(place / ("nodes-%d" % i), node, seconds)
        training(place / ("steps-%d" % i), i)
        logs.csv(place / ("nan-%d" % i), [(step, math.nan if i == 1 and step > 30 else loss, None) for step, loss, _ in logs.curve(40)])
        training(place / ("unit-%d" % i), i, unit=math.inf if i == 1 else 3.0)
    meta = place / "mlflow-1/mlruns/1" / ("%032x" % 1) / "meta.yaml"
    meta.write_text(meta.read_text().replace("status: 3", "status: 4"))
    rows = (place / "csv-1/metrics.csv").read_text().splitlines(keepends=True)
    (place / "csv-1/metrics.csv").write_text("".join(row if i % 4 or i == 0 else "%s,what\n" % row.split(",")[0] + row for i, row in enumerate(rows)))
    (folder / "busy.json").write_text(json.dumps({"rules": [{"rule": "CPUBottleneck", "parameters": {"patience": 10}}]}))
    for rule in ("LossSpike", "DeadRelu"):  # they leave out what is not finite
        (folder / (rule + ".json")).write_text(json.dumps({"rules": [{"rule": rule}]}))
    unjudged = "1 of 3 trials has values that are not finite and that no rule judged: %s-1 (nothing wrong in 1 %s, but %d tensors that were read have NaN or infinities, and no rule"
    for kind, job, wanted in (("nan", (folder / "LossSpike.json",), unjudged % ("nan", "loss over 40 steps", 9)),
                              ("unit", (folder / "DeadRelu.json",), unjudged % ("unit", "rule", 20)), ("mlflow", (), "1 of 3 trials did not end well: "), ("csv", (), "1 of 3 trials is not complete: csv-1 ("),
                              ("nodes", (folder / "busy.json",), "1 of 3 trials is not complete: nodes-1 (nothing wrong in 1 rule, but algo-2 recorded nothing from ")):
        options = [["--trial", place / ("%s-%d" % (kind, i))] if job else [place / ("%s-%d" % (kind, i))] for i in range(3)]
        for given, good in ((options[1], False), (options[0], True), (options[0] + options[1] + options[2], False)):
            done, report, texts = report_of(args, folder, "run", *job, *given)
            checks.expect(('class="verdict is-good"' in texts.get("html", "")) == good, "%s: green is not %s: %s" % (kind, good, done))
        # The gate is not open where the page is not green.
        for given, shut in ((options[1], True), (options[0], False), (options[0] + options[1] + options[2], True)):
            out = folder / "gate"
            for level, more in (("error", []), ("info", ["--allow-no-data"])):
                done = run([args.assay, "run", *job, *given, "--fail-on", level, *more, "--overwrite", "--out", out, "--format", "json,junit", "--quiet"])
                failed = re.findall(r'<testcase [^>]*name="([^"]*)"[^>]*>\s*<failure', (out / "junit.xml").read_text())
                checks.expect(done.code == shut and failed == ["(the trial can be called good)"] * shut, "%s: --fail-on %s %s, shut is not %s: %s %s" % (kind, level, more, shut, done, failed))
        done = run([args.assay, "run", *job, *options[1], "--overwrite", "--out", folder / "gate", "--quiet"])
        checks.expect(done.code == 0, "%s: no gate was asked for: %s" % (kind, done))
        checks.expect(report.get("verdict", "").startswith(wanted) and "nothing wrong in 3" not in report["verdict"], "%s: %s %s" % (kind, report.get("verdict"), done))
        done, report, _ = report_of(args, folder, "run", *job, *options[0], *options[2])
        checks.expect("nothing wrong in" in report.get("verdict", "") and " is not complete" not in report["verdict"], "%s, sound: %s %s" % (kind, report.get("verdict"), done))
    done, report, _ = report_of(args, folder, "run", *[place / ("steps-%d" % i) for i in range(3)], "--steps", "5:30")
    checks.expect(report.get("verdict", "").endswith("; only steps 5 to 29 were looked at"), "steps: %s %s" % (report.get("verdict"), done))


def check_unread(args, checks, folder):
    """One that cannot be opened has no findings: it says so, in a few words."""
    (folder / "nowhere").mkdir()
    done, report, _ = report_of(args, folder, "compare", folder / "t0", folder / "nowhere", "--job", folder / "job.json")
    said = report["verdict"]
    checks.expect(done.code != 0 and re.fullmatch(r"1 of 2 trials could not be opened: nowhere \([^:;()]+\)", said), "unread: %s" % said)


def check_compared(args, checks, folder):
    """One of six is unlike the others: the page does not greet with green, and report.md says what it leaves out, with and without rules."""
    trials = [training(folder / ("run-%d" % i), i, rate=0.1 if i < 5 else 0.001) for i in range(6)]
    done, report, texts = report_of(args, folder, "compare", *trials)
    checks.expect(report["comparison"]["answer"].startswith("1 of 6 is unlike the others: run-5"), report["comparison"]["answer"])
    checks.expect('class="verdict is-good"' not in texts["html"], "the page is green")
    checks.expect("not reported here: 5" in texts["md"], "report.md: %s" % texts["md"])
    (folder / "none.json").write_text(json.dumps({"rules": [], "aggregations": [{"name": "classes", "kind": "class_counts", "labels_regex": "label"}]}))
    done, report, texts = report_of(args, folder, "compare", *trials, "--job", folder / "none.json")
    checks.expect("not reported here: 5" in texts.get("md", ""), "report.md without rules: %s %s" % (done, texts.get("md")))


def check_lead(args, checks, folder):
    """Of several trials with findings the severest leads, wherever it stands: the first line, what to do, and the cards."""
    mild, grave = training(folder / "a-mild", 1), training(folder / "b-grave", 2)
    for trial, values in ((mild, [1.5] * 40), (grave, [2.0] * 20 + [float("nan")] * 20)):
        shutil.rmtree(trial)
        made = Made(trial, collections={"losses": "loss"})
        for step, value in enumerate(values):
            made.step(step, "TRAIN", step, {"worker_0": {"loss": [value]}})
        made.end()
    rules = [{"rule": "LossNotDecreasing", "parameters": {"num_steps": 5}}, {"rule": "ExplodingTensor", "severity": "error"}]
    (folder / "both.json").write_text(json.dumps({"rules": rules}))
    done, report, texts = report_of(args, folder, "run", folder / "both.json", "--trial", mild, "--trial", grave)
    checks.expect(re.match(r"2 of 2 trials have findings: b-grave \(.*a-mild \(", report.get("verdict", "")), "lead: %s %s" % (report.get("verdict"), done))
    for form, name in (("txt", "%s"), ("md", "`%s`")):
        checks.expect("That is about %s.\n" % (name % "b-grave") in texts[form], "%s: whom the advice is about: %s" % (form, texts[form]))
        at = [re.search(r"(?m)^(#+ `?)?%s`?$" % trial, texts[form]) for trial in ("b-grave", "a-mild")]
        checks.expect(all(at) and at[0].start() < at[1].start(), "%s: the order of cards: %s" % (form, texts[form]))


def check_steps(args, checks, folder):
    """Workers whose gradients are averaged up to step 53, saved every tenth: what went wrong behind step 50 shows at 60."""
    made, rng = Made(folder / "apart", workers=3, collections={"weights": "weight$", "gradients": "^gradient"}), numpy.random.default_rng(2)
    w, own = rng.normal(0, 1, (6, 5)), [numpy.zeros((6, 5)) for _ in range(3)]
    for step in range(101):
        if step % 10 == 0:
            made.step(step, "TRAIN", step, {"worker_%d" % k: {"fc.weight": w + own[k], "gradient/fc.weight": rng.normal(0, 1, (6, 5))} for k in range(3)})
        w = w + 0.01
        own = [o + (0.01 * rng.normal(0, 1, (6, 5)) if step > 53 else 0) for o in own]
    made.end()
    (folder / "apart.json").write_text(json.dumps({"rules": [{"rule": "GradientNotSynchronized"}]}))
    done, report, _ = report_of(args, folder, "run", folder / "apart.json", "--trial", folder / "apart")
    checks.expect("TRAIN steps 50 to 59" in report["verdict"], "steps: %s" % report["verdict"])


def check_headings(args, checks, folder):
    """A heading has something below it, also where no rule had data."""
    (folder / "idle.json").write_text(json.dumps({"rules": [{"rule": "DuplicateShard"}]}))
    done, _, texts = report_of(args, folder, "run", folder / "idle.json", "--trial", folder / "t0")
    for form in ("txt", "md"):
        checks.expect("What the rules found" not in texts[form], "%s: an empty heading: %s" % (form, texts[form]))
    lines = [line for line in texts["md"].splitlines() if line]
    empty = [a for a, b in zip(lines, lines[1:] + ["# "]) if a.startswith("###") and b.startswith("#") and b.split()[0] <= a.split()[0]]
    checks.expect(not empty, "empty headings: %s" % empty)


def check_bands(args, checks, folder):
    """A run that leaves the bands of good ones: that leads, though every rule passed."""
    good = [training(folder / ("good-%d" % i), i) for i in range(12)]
    done = run([args.assay, "compare", *good, "--learn", folder / "bands", "--out", folder / "out"])
    odd = training(folder / "odd", 3, rate=0.002)
    done, report, texts = report_of(args, folder, "run", folder / "job.json", "--trial", odd, "--against", folder / "bands")
    if not report:  # bands are compare's alone
        done, report, texts = report_of(args, folder, "compare", odd, good[0], "--job", folder / "job.json", "--against", folder / "bands")
    checks.expect(re.match(r"(1 of 2 trials leaves|odd leaves) the bands of good runs: ", report.get("verdict", "")), "bands: %s %s" % (done, report.get("verdict")))
    checks.expect('class="verdict is-good"' not in texts.get("html", ""), "the page is green")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_damage, check_reserved, check_unread, check_compared, check_lead, check_steps, check_headings, check_bands):
            check(args, checks, Path(folder))
    checks.done()


if __name__ == "__main__":
    main()
