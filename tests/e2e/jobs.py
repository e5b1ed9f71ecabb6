#!/usr/bin/env python3
"""The job files of jobs/ and slurm/ are right and run on recorded trials: every rule comes to a verdict, none is an Error. Where
a job has a rule of the built-in set, it has the parameters that the set was calibrated with.

    jobs.py --assay PROGRAM
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, TRIALS, Checks, job_of, run  # noqa: E402
from made import Made  # noqa: E402

RUNS = {  # job: the trials it is run on
    "image-classifier": ["ddp", "ddp_partial", "linreg_nan"],
    "language-model": ["ddp", "linreg_nan"],
    "xgboost": ["xgboost"],
    "act-on-findings": ["dead_relu"],  # its actions: tests/slurm/templates.py
    "compare": ["ddp", "dead_relu"],
    "built-in": ["ddp", "dead_relu", "linreg_nan", "xgboost"],
    "traffic-sign": ["healthy", "flip"],
    "gate": ["ddp", "healthy"],
}
OWN_PARAMETERS = {  # a whole job, or a rule of one: about something else than the built-in rule
    "xgboost", "traffic-sign", ("image-classifier", "confusion at the end"),  # images are not padded
    ("language-model", "normalisation spread"), ("language-model", "gates dead")}
WITH_DATA = {("image-classifier", "ddp"): 9, ("xgboost", "xgboost"): 5}  # rules that find something to look at


def check_activations(checks, assay, job):
    """A NaN that begins in an activation, or in a bias, is found there and not where it ends, in the loss."""
    collections = {"weights": "^(?!gradient).*weight$", "biases": "^(?!gradient).*bias$", "losses": "loss"}
    for begins in ("relu2_output_0", "fc1.bias"):
        with tempfile.TemporaryDirectory() as folder:
            made = Made(Path(folder) / "trial", collections=collections)
            for step in range(6):
                value = float("nan") if step == 4 else 1.0 / (step + 1)
                made.step(step, "TRAIN", step, {"fc1.weight": 0.1 * step, "fc1.bias": value if "bias" in begins else 0.1 * step,
                                                "relu2_output_0": value if "relu" in begins else 0.5, "my_loss": value})
            run([assay, "run", job, "--trial", made.end(), "--out", Path(folder) / "out", "--no-actions"])
            report = json.loads((Path(folder) / "out" / "report.json").read_text())["trials"][0]
        found = [r for r in report["rules"] if r["rule"] == "ExplodingTensor"][0]
        checks.expect({f["tensor"] for f in found["findings"]} >= {begins} and
                      found["first_cause"]["tensor"] == begins, "%s: NaN in %s: %s" % (job, begins, found))


def check_calibrated(checks, files):
    """A job says more than the built-in set (a mode, names of tensors), and nothing else."""
    built_in = {}
    for rule in job_of(files["built-in"])["rules"]:
        built_in.setdefault(rule["rule"], rule.get("parameters", {}))
    for name in set(files) - set(OWN_PARAMETERS) - {"built-in"}:
        for rule in job_of(files[name])["rules"]:
            own, known = rule.get("parameters", {}), built_in.get(rule["rule"], {})
            if (name, rule.get("name", rule["rule"])) in OWN_PARAMETERS or rule["rule"] not in built_in:
                continue
            wrong = {k: (v, own.get(k)) for k, v in known.items() if not k.endswith("regex") and own.get(k) != v}
            checks.expect(not wrong, "%s, %s: parameters of the built-in set and its own: %s" % (name, rule["rule"], wrong))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--no-curl", action="store_true")
    arguments = parser.parse_args()
    assay = arguments.assay
    checks = Checks()
    files = {p.stem: p for folder in ("jobs", "slurm") for p in (ROOT / folder).glob("*.json")}
    checks.expect(set(files) == set(RUNS), "there are %s, tested are %s" % (sorted(files), sorted(RUNS)))
    check_calibrated(checks, files)
    for name in sorted(set(files) & set(RUNS)):
        job = files[name]
        right = not (arguments.no_curl and '"notify"' in job.read_text())
        checks.expect((run([assay, "check", job]).code == 0) == right, "%s is not right" % job)
        for trial in RUNS[name]:
            with tempfile.TemporaryDirectory() as out:
                done = run([assay, "run", job, "--trial", TRIALS / trial, "--out", out, "--no-actions"])
                if not checks.expect(done.code == 0, "%s on %s: %s" % (name, trial, done)):
                    continue
                report = json.loads((Path(out) / "report.json").read_text())["trials"][0]
            statuses = [r["status"] for r in report["rules"]]
            checks.expect("Error" not in statuses, "%s on %s: %s" % (name, trial, statuses))
            checks.expect(not [a for a in report["aggregations"] if "error" in a], "%s on %s: aggregations" % (name, trial))
            looked = len(statuses) - statuses.count("NoData")
            checks.expect(looked >= WITH_DATA.get((name, trial), 1), "%s on %s: %d of %d rules found data" % (
                name, trial, looked, len(statuses)))
            wide = [line for line in done.out.splitlines()[1:]  # the first is the verdict, in one line
                    if len(line) > 100 and "To see it: assay show" not in line]  # a command to copy stays whole
            checks.expect(not wide, "%s on %s: lines of more than 100 columns: %s" % (name, trial, wide[:3]))
    for name in ("image-classifier", "language-model"):
        check_activations(checks, assay, ROOT / "jobs" / (name + ".json"))
    checks.done()


if __name__ == "__main__":
    main()
