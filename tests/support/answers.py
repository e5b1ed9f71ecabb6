"""answers.py - cases of known answers: a function makes a trial, and says which rules go over it and what each has to report."""
import argparse
import json
import math
import tempfile
from pathlib import Path

from launch import Checks, mpirun, run

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


def report_of(checks, where, done, out):
    """The report of a run that ended well, without what belongs to the run itself; None after another end."""
    if not checks.expect(done.code == 0, "%s: %s" % (where, done)):
        return None
    report = json.loads((out / "report.json").read_text())
    del report["run"]
    return report


def run_case(checks, assay, ranks, function, folder):
    """Runs a case on one rank and compares with what it expects. Returns its trial, its rules and their entries in the report."""
    folder.mkdir()
    trial, every = function(folder / "trial")
    for entry, words in every:
        if isinstance(words, Refusal):
            run_refused(checks, assay, ranks[-1], function.__name__, trial, entry, words, folder)
    rules = [(entry, expected) for entry, expected in every if not isinstance(expected, Refusal)]
    job, out = folder / "job.json", folder / "out"
    write_job(job, trial, [entry for entry, _ in rules])
    report = report_of(checks, function.__name__, run([assay, "run", job, "--out", out]), out)
    if report is None:
        return None
    trial_report = report["trials"][0]
    checks.expect(trial_report["problems"] == [], "%s: %s" % (function.__name__, trial_report["problems"]))
    for (entry, expected), found in zip(rules, trial_report["rules"]):
        said = expected(found) if callable(expected) else all(found[key] == value for key, value in expected.items())
        checks.expect(said, "%s, %s: %s" % (function.__name__, entry["name"], {k: found[k] for k in (
            "status", "message", "datapoints", "findings_total", "steps", "findings")}))
    return trial, [entry for entry, _ in rules], trial_report["rules"]


def run_together(checks, assay, ranks, done, folder):
    """One job of all trials with all rules: a start on many ranks takes longer than a case. Its report is the same at every number of
    ranks, and has of each case what the case alone had."""
    entries = [dict(entry, name="%d: %s" % (k, entry["name"])) for k, (_, rules, _) in enumerate(done) for entry in rules]
    job, out, told = folder / "together.json", folder / "together", None
    job.write_text(json.dumps({"trials": [str(trial) for trial, _, _ in done], "rules": entries}))
    for count in ranks:
        where = "all cases together on %d ranks" % count
        report = report_of(checks, where, mpirun(count, [assay, "run", job, "--out", out]), out)
        if report is None:
            continue
        if told is not None:
            checks.expect(report == told, "%s: another report than on %d" % (where, ranks[0]))
            continue
        told = report
        for k, (_, rules, alone) in enumerate(done):
            mine = [entry for entry in report["trials"][k]["rules"] if entry["name"].startswith("%d: " % k)]
            checks.expect([dict(entry, name=None) for entry in mine] == [dict(entry, name=None) for entry in alone],
                          "%s: case %d has other entries than alone" % (where, k))


def holds(**laws):
    """No finding, and so many tensors of which these laws hold."""
    return lambda entry: entry["findings_total"] == 0 and all("The law '%s' holds of %d tensor" % law in entry["message"] for law in laws.items())


def main():
    """Runs the cases of the script: those named on its command line, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("cases", nargs="*", help="these cases only, by name")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        done = [run_case(checks, args.assay, args.ranks, function, Path(folder) / function.__name__)
                for function in CASES if not args.cases or function.__name__ in args.cases]
        run_together(checks, args.assay, args.ranks, [case for case in done if case is not None], Path(folder))
    checks.done()
