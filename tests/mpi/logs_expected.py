#!/usr/bin/env python3
"""Metric logs against the values of an independent reader: every series, count, setting, problem and finding, with the same
report at any number of ranks.

    logs_expected.py --assay PROGRAM --ranks 1 2 3 ... -- DIRECTORY [NAME ...]
"""
import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, mpirun  # noqa: E402
from reports import body_of  # noqa: E402

JOB = {"rules": [{"name": "low", "rule": "LowPrecisionHealth"}], "output": {"formats": ["json"]}}


def number(value):
    return float(value)


def same(a, b):
    return (math.isnan(a) and math.isnan(b)) or a == b


def cell_value(row):
    """The one element of a row of `assay stats`."""
    if int(row["nan"]):
        return math.nan
    if int(row["pos_inf"]):
        return math.inf
    if int(row["neg_inf"]):
        return -math.inf
    return float(row["min"])


def series_of(table, trials):
    found = {}
    csv.field_size_limit(1 << 24)
    with open(table, newline="", errors="surrogateescape") as text:
        for row in csv.DictReader(text):
            if int(row["elements"]) != 1:
                continue
            key = (row["worker"], row["mode"], row["tensor"])
            found.setdefault(row["trial"], {}).setdefault(key, {})[int(row["mode_step"])] = cell_value(row)
    return found


def compare_series(check, name, expected, found):
    wanted = {(s["worker"], s["mode"], s["name"]): dict(zip(s["steps"], map(number, s["values"]))) for s in expected}
    for key in sorted(set(wanted) | set(found)):
        a, b = wanted.get(key), found.get(key)
        if a is None or b is None:
            check("%s: %s is %s" % (name, key, "missing" if b is None else "not expected"), False)
            continue
        differ = [s for s in sorted(set(a) | set(b)) if s not in a or s not in b or not same(a[s], b[s])]
        check("%s: %s differs at steps %s" % (name, key, differ[:5]), not differ)


def as_text(value):
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value)


def same_setting(a, b):
    if b is None:
        return False
    a = as_text(a)
    try:
        return a.lower() == b.lower() or float(a) == float(b)
    except ValueError:
        return False


def compare_trial(check, name, expected, trial, place):
    log = trial.get("metrics", {})
    check("%s: kind %s, not %s" % (name, log.get("kind"), expected["kind"]), log.get("kind") == expected["kind"])
    check("%s: %s files, not %s" % (name, log.get("files"), expected["files"]), log.get("files") == expected["files"])
    counts = {k: v for k, v in expected["counts"].items() if v}
    check("%s: counts %s, not %s" % (name, log.get("counts"), counts), log.get("counts") == counts)
    if expected.get("series"):
        workers = [w for w in trial["workers"]]
        check("%s: workers %s, not %s" % (name, workers, expected["workers"]), workers == expected["workers"])
    for key, value in expected.get("settings", {}).items():
        have = trial.get("facts", {}).get(key)
        check("%s: %s is %r, not %r" % (name, key, have, value), same_setting(value, have))
    if "settings" in expected:
        more = sorted(set(trial.get("facts", {})) - set(expected["settings"]))
        check("%s: settings %s are not expected" % (name, more), not more)
    problems = [p["text"] for p in trial["problems"] if "beside the series" not in p["text"]]
    for text in expected["problems"]:
        check("%s: no problem says: %s (%s)" % (name, text, problems), any(text in p for p in problems))
    check("%s: problems %s" % (name, problems), len(problems) == len(expected["problems"]))


def compare_judged(check, name, expected, trial):
    """What the log is judged on: METRICS.md 7."""
    have = trial.get("metrics", {}).get("judged", {})
    for key, value in expected.get("judged", {}).items():
        check("%s: judged: %s is %s, not %s" % (name, key, have.get(key), value), have.get(key) == value)


def compare_rule(check, name, expected, trial):
    rule = next(r for r in trial["rules"] if r["name"] == "low")
    wanted = expected["rules"]["LowPrecisionHealth"]
    for key in ("status", "datapoints", "findings_total"):
        check("%s: LowPrecisionHealth: %s is %s, not %s" % (name, key, rule[key], wanted[key]), rule[key] == wanted[key])
    order = lambda step: lambda f: (f[step], f["worker"], f["tensor"])  # noqa: E731: of one step the report goes by number
    for a, b in zip(sorted(wanted["findings"], key=order("step")), sorted(rule["findings"], key=order("mode_step"))):
        text = " ".join(str(v) for v in b.values())
        good = (a["step"] == b["mode_step"] and a["mode"] == b["mode"] and a["worker"] == b["worker"] and
                a["tensor"] == b["tensor"] and a["test"] in text and same(number(a["value"]), number(b["value"])) and
                same(number(a["threshold"]), number(b["threshold"])))
        check("%s: finding %s, not %s" % (name, b, a), good)
        if not good:
            break


def run(args, place, job, scratch, ranks):
    out = scratch / ("out-%d" % ranks)
    done = mpirun(ranks, [args.assay, "run", str(job), "--trial", str(place), "--out", str(out), "--quiet", "--allow-no-data"])
    path = out / "report.json"
    if done.code not in (0, 1, 3) or not path.exists():
        return done.code, done.err, None, None
    report = json.loads(path.read_text(errors="surrogateescape"))
    body = body_of(out)
    path.unlink()
    return done.code, done.err, report, body


def compare_place(args, check, name, directory, scratch):
    place, expected = directory / name, json.loads((directory / (name + ".expected.json")).read_text())
    job = scratch / "job.json"
    job.write_text(json.dumps(JOB))
    code, text, report, body = run(args, place, job, scratch, args.ranks[0])
    check("%s: assay run ended with %d: %s" % (name, code, text.strip()[:300]), report is not None)
    if report is None:
        return
    trials = expected.get("trials") or [dict(expected, name=None)]
    found = report["trials"]
    check("%s: %d trials, not %d" % (name, len(found), len(trials)), len(found) == len(trials))
    table = scratch / "stats.csv"
    subprocess.run([args.assay, "stats", str(place), "--out", str(table), "--quiet"], capture_output=True)
    series = series_of(table, trials) if table.exists() else {}
    around = found[0].get("metrics", {}) if found else {}
    for key in ("logged_nothing", "never_started"):
        check("%s: %s: %s, not %s" % (name, key, around.get(key), expected.get(key)), around.get(key, []) == expected.get(key, []))
    if expected.get("trials"):
        counts = {k: v for k, v in expected["counts"].items() if v}
        check("%s: of the place: %s, not %s" % (name, around.get("around"), counts), around.get("around", {}) == counts)
    for one, trial in zip(trials, found):
        title = name if one["name"] is None else "%s/%s" % (name, one["name"])
        if one["name"] is not None:
            check("%s: is called %s" % (title, trial["name"]), trial["name"] == one["name"])
        compare_trial(check, title, one, trial, expected)
        compare_series(check, title, one["series"], series.get(trial["name"], {}))
        compare_judged(check, title, one, trial)
        compare_rule(check, title, one, trial)
    for ranks in args.ranks[1:]:
        check("%s: another report at %d ranks" % (name, ranks), run(args, place, job, scratch, ranks)[3] == body)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("rest", nargs="*")
    args = parser.parse_args()
    directory = Path(args.rest[0])
    names = args.rest[1:] or sorted(p.name[:-len(".expected.json")] for p in directory.glob("*.expected.json"))
    failed = {}
    checks = [0]

    def check(text, good):
        checks[0] += 1
        if not good:
            failed.setdefault(text.split(":")[0], []).append(text)

    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            compare_place(args, check, name, directory, Path(scratch))
    for texts in failed.values():
        for text in texts[:8]:
            print(text, file=sys.stderr)
    print("%d checks of %d places, %d differences" % (checks[0], len(names), sum(map(len, failed.values()))))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
