"""answers.py - cases of known answers: a function makes a trial, and says which rules go over it and what each has to report."""
import argparse
import json
import math
import tempfile
from pathlib import Path

from launch import Checks, mpirun

CASES = []


class Refusal(str):
    """What the message of a refused job has to hold."""


def case(function):
    CASES.append(function)
    return function


def rule(name, rule_name, expected, **parameters):
    """`expected`: members of the rule's entry in the report, or a function of that entry."""
    return {"name": name, "rule": rule_name, "parameters": parameters}, expected


def refused(name, rule_name, words, **parameters):
    """A rule that no job may have: the run ends with exit code 2, and the message names the rule and holds `words`."""
    return {"name": name, "rule": rule_name, "parameters": parameters}, Refusal(words)


def fires(*steps, **more):
    return dict(more, steps=list(steps), status="IssuesFound" if steps else "NoIssuesFound")


def values(expected):
    """Findings as (step, value), to a relative 1e-12; the texts of NaN and infinities as they are."""
    def same(entry):
        found = [(f["step"], f["value"]) for f in entry["findings"]]
        return len(found) == len(expected) and all(
            a[0] == b[0] and (a[1] == b[1] or (not isinstance(a[1], str) and not isinstance(b[1], str) and
                                               math.isclose(a[1], b[1], rel_tol=1e-12)))
            for a, b in zip(found, expected))
    return same


def write_job(job, trial, entries):
    job.write_text(json.dumps({"trials": [str(trial)], "rules": entries}))


def run_refused(checks, assay, ranks, where, trial, entry, words, folder):
    job, out = folder / "refused.json", folder / "refused"
    write_job(job, trial, [entry])
    done = mpirun(ranks, [assay, "run", job, "--out", out])
    told = 'rule "%s"' % entry["name"] in done.err and words in done.err
    checks.expect(done.code == 2 and told and not out.exists(), "%s, %s: to be refused: %s" % (where, entry["name"], done))


def run_case(checks, assay, ranks, function, folder):
    trial, every = function(folder / "trial")
    for entry, words in every:
        if isinstance(words, Refusal):
            run_refused(checks, assay, ranks[-1], function.__name__, trial, entry, words, folder)
    rules = [(entry, expected) for entry, expected in every if not isinstance(expected, Refusal)]
    job = folder / "job.json"
    write_job(job, trial, [entry for entry, _ in rules])
    told = None
    for count in ranks:
        where = "%s on %d ranks" % (function.__name__, count)
        done = mpirun(count, [assay, "run", job, "--out", folder / "out"])
        if not checks.expect(done.code == 0, "%s: %s" % (where, done)):
            continue
        report = json.loads((folder / "out" / "report.json").read_text())
        del report["run"]
        told = told or json.dumps(report)
        checks.expect(json.dumps(report) == told, "%s: another report than on %d" % (where, ranks[0]))
        trial_report = report["trials"][0]
        checks.expect(trial_report["problems"] == [], "%s: %s" % (where, trial_report["problems"]))
        for (entry, expected), found in zip(rules, trial_report["rules"]):
            said = expected(found) if callable(expected) else all(found[key] == value for key,
                 value in expected.items())
            checks.expect(said, "%s, %s: %s" % (where, entry["name"], {k: found[k] for k in (
                "status", "message", "datapoints", "findings_total", "steps", "findings")}))


def main():
    """Runs the cases of the script: those named on its command line, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("cases", nargs="*", help="these cases only, by name")
    args = parser.parse_args()
    checks = Checks()
    for function in CASES:
        if not args.cases or function.__name__ in args.cases:
            with tempfile.TemporaryDirectory() as folder:
                run_case(checks, args.assay, args.ranks, function, Path(folder))
    checks.done()
