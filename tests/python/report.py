"""report.py - a report as DataFrames: the numbers are those of report.json and the csv files.

Usage: report.py ASSAY WORK_DIR        (ASSAY_TRIALS; pandas)
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import assay_hook
import numpy

import assay
from assay import html

ASSAY, OUT, TRIALS = sys.argv[1], Path(sys.argv[2]), Path(os.environ["ASSAY_TRIALS"])
shutil.rmtree(OUT, ignore_errors=True)


def raises(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except assay.AssayError as error:
        return str(error)
    raise AssertionError("%s did not raise" % call)


subprocess.run([ASSAY, "run", TRIALS / "flip", TRIALS / "linreg_nan", "--out", OUT, "--reports", "json,csv", "--quiet"], check=True,
               stdout=subprocess.DEVNULL)
said = json.loads((OUT / "report.json").read_text())
report = assay.report(OUT)
assert report.json == said and report.verdict == said["verdict"] and assay.report(OUT / "report.json").verdict == report.verdict

rules = report.rules()
assert len(rules) == sum(len(trial["rules"]) for trial in said["trials"]) and set(rules.trial) == {"flip", "linreg_nan"}
kept = [finding for trial in said["trials"] for rule in trial["rules"] for finding in rule["findings"]]
findings = report.findings()
assert len(findings) == len(kept) > 0 and list(findings.step) == [finding["step"] for finding in kept]
assert list(findings.tensor) == [finding["tensor"] for finding in kept] and findings.value.dtype == float
assert rules.findings.sum() == sum(rule["findings_total"] for trial in said["trials"] for rule in trial["rules"])
assert (findings.kind == "ExplodingTensor").any() and findings.columns[0] == "trial"

losses = report.losses()
loss = assay.open(TRIALS / "flip").tensor("CrossEntropyLoss_output_0")
train = losses[(losses.trial == "flip") & (losses["mode"] == "TRAIN")]
assert list(train.mode_step) == loss.steps(assay.modes.TRAIN)
assert all(abs(row.loss - float(loss.value(row.mode_step, assay.modes.TRAIN).mean())) < 1e-6 for row in train.itertuples())

name = next(a["name"] for a in said["trials"][0]["aggregations"] if a["kind"] == "confusion" and a["matrix"])
confusion = report.confusion(name, "flip")
assert confusion.values.tolist() == next(a["matrix"] for a in said["trials"][0]["aggregations"] if a["name"] == name)
assert list(confusion.index) == list(confusion.columns) == list(range(len(confusion))) and confusion.index.name == "label"
counts = next(a for a in said["trials"][0]["aggregations"] if a["kind"] == "class_counts")
assert report.class_counts(counts["name"], "flip").to_dict() == counts["classes"]
assert repr(name) in raises(report.confusion, "none such") and "trial=" in raises(report.confusion, name)

page = report._repr_html_()
assert report.verdict.split(";")[0][:20] in page.replace("&#x27;", "'") and "ExplodingTensor" in page and "http" not in page
assert page.count("<tr>") == 1 + sum(rules.status.isin(["IssuesFound", "Error"])) and "<script" not in page
assert report.odd().empty and list(report.odd().columns) == ["trial", "reason"] and report.outliers().empty and report.settings().empty
trial = assay.open(TRIALS / "flip")
page = trial._repr_html_()
assert "steps of TRAIN" in page and str(TRIALS / "flip") in page and "gradients" in page
page = loss._repr_html_()
assert "<svg" in page and "min" in page and loss.name in page and "NaN" not in page
nan = assay.open(TRIALS / "linreg_nan")
assert all(nan.tensor(each)._repr_html_() for each in nan.tensor_names()), "NaN are gaps"
reductions = assay.open(TRIALS / "reductions")
assert all(reductions.tensor(each)._repr_html_() for each in reductions.tensor_names()), "without a value there are no figures of it"
assert "&lt;b&gt;" in html.table([("<b>",)]) and "and 5 more" in html.table([(i,) for i in range(35)])

several = OUT / "several"
subprocess.run([ASSAY, "compare", TRIALS / "flip", TRIALS / "linreg_nan", TRIALS / "healthy", "--out", several, "--quiet"], check=False,
               stdout=subprocess.DEVNULL)
compared = assay.report(several)
against = compared.json["comparison"]
assert len(compared.odd()) == sum(len(entry["reasons"]) for entry in against["odd"])
assert len(compared.outliers()) == len(against["outliers"]) and len(compared.settings()) == len(against["settings"])
page = compared.comparison._repr_html_()
assert "comparison of 3 trials" in page and "http" not in page and ("odd trial" in page) == bool(against["odd"]) and repr(compared.comparison)
events = OUT / "events"
subprocess.run([ASSAY, "run", TRIALS.parent / "events" / "profiler", "--out", events, "--quiet", "--reports", "json"], check=False,
               stdout=subprocess.DEVNULL)
timed = assay.report(events)
profile = timed.json["trials"][0]["profile"]
assert len(timed.profile()) == len(profile["system"]) > 0 and list(timed.profile()["mean"]) == [row["mean"] for row in profile["system"]]
assert len(timed.profile("steps")) == len(profile["steps"]) and len(timed.profile("job")) == 1 and "start_us" in timed.profile("job")
assert len(timed.profile("operators")) == sum(len(profile["framework"][device + "_operators"]["top"]) for device in ("cpu", "gpu"))
assert 'did you mean "system"' in raises(timed.profile, "sistem") and report.profile().empty
assert not against["odd"] or "odd trial" in compared._repr_html_()

hook = assay_hook.Hook(OUT / "relus", include_collections=["relu_outputs", "outputs"], save_config=assay_hook.SaveConfig(save_interval=1))
for _ in range(3):
    hook.step()
    hook.save_tensor("1_output_0", numpy.zeros((4, 5), "f4"), "relu_outputs")
    hook.save_tensor("2_output_0", numpy.zeros((4, 5), "f4"), "outputs")  # which no ReLU made
hook.close()
(OUT / "job.json").write_text('{"rules": [{"rule": "DeadRelu"}]}')
subprocess.run([ASSAY, "run", OUT / "job.json", "--trial", OUT / "relus", "--out", OUT / "dead", "--quiet"], check=True, stdout=subprocess.DEVNULL)
assert set(assay.report(OUT / "dead").findings().tensor) == {"1_output_0"}

assert "no report" in raises(assay.report, OUT / "nothing.json")
(OUT / "loss.csv").unlink()
assert "csv" in raises(report.losses)
(OUT / "report.json").write_text('{"schema": "assay-report/9"}')
assert "assay-report/9" in raises(assay.report, OUT)
print("%d findings, %d losses" % (len(findings), len(losses)))
