#!/usr/bin/env python3
"""assay history over reports of many nights: the answer, the dates, reports of early versions, and files that are not reports;
and over trials themselves: which run left the band of those before, since when, and the gate.

    history.py --assay PROGRAM
"""
import argparse
import calendar
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import jsonschema

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import logs  # noqa: E402
from launch import ROOT, TRIALS, Checks, run  # noqa: E402

FIRST = calendar.timegm((2026, 11, 16, 2, 10, 0))
STATUS = {"x": "IssuesFound", ".": "NoIssuesFound", "-": "NoData", "!": "Error"}
# a letter a night, as the table shows it; "_": that night's report does not have the rule
NIGHTS = {"spike": "__..xx", "gone": "xxx...", "always": "xxxxxx", "back": "x..x.x", "untested": ".x-x-x", "lost": ".x...-",
          "quiet": "......", "silent": "------", "broken": ".....!", "a\x1b[31mbad name": ".....x"}
SINCE = {"spike": 4, "gone": 3, "always": 0, "back": 5, "untested": 1, "lost": 5, "quiet": None, "silent": None, "broken": 5,
         "a\x1b[31mbad name": 5}


def day(night):
    return "2026-11-%02dT02:10:00Z" % (16 + night)


def write(folder, night, dated):
    """The report of a night as a version wrote it; early ones had neither a verdict nor a date."""
    rules = [{"name": name, "rule": name, "status": STATUS[letters[night]], "severity": "error" if name == "always" else "warning"}
             for name, letters in NIGHTS.items() if letters[night] != "_"]
    report = {"schema": "assay-report/1", "trials": [{"name": "a", "rules": rules[::2]}, {"name": "b", "rules": rules[1::2]}],
              "run": {"version": "0.0.1"}}
    if dated:
        report["verdict"] = "the verdict of night %d" % night
        report["run"]["date"] = day(night)
    path = folder / ("r%d" % (9 - night)) / "report.json"  # the order of names is not that of nights
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(report))
    if not dated:
        os.utime(path, (FIRST + 86400 * night,) * 2)


def check_severities(checks, assay, folder):
    """What did no harm is no warning: the night on which it does is new, the one on which it no longer does is not."""
    def night(number, status, severity):
        rules = [{"name": "spike", "rule": "spike", "status": status, "severity": severity}]
        path = folder / ("%s of severity %s, %d" % (status, severity, number)) / "report.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"schema": "assay-report/1", "trials": [{"name": "a", "rules": rules}], "run": {"version": "0.0.1", "date": day(number)}}))
        return path

    found, none = "IssuesFound", "NoIssuesFound"
    for nights, since, marks, code in (
            (((found, "info"), (found, "warning")), 1, "ix", 1), (((found, "warning"), (found, "info")), 0, "xi", 0),
            (((none, "warning"), (found, "info")), 1, ".i", 0), (((none, "warning"), (found, "warning")), 1, ".x", 1)):
        reports = [night(n, *of) for n, of in enumerate(nights)]
        done = run([assay, "history", "--fail-on", "new", *reports])
        checks.expect(done.code == code and done.out.startswith("spike since 2026-11-%d" % (16 + since)), "%s: %s" % (nights, done))
        [row] = [line for line in done.out.splitlines() if line.startswith("spike  ")]
        checks.expect(row.split()[-1] == marks and row.split()[1] == "warning", "%s: %s" % (nights, row))


def check_nights(checks, assay, folder):
    for night in range(6):
        write(folder, night, dated=night >= 2)
    operands = sorted(folder.iterdir())
    done = run([assay, "history", *operands])
    checks.expect(done.code == 0, "six nights: %s" % done)
    lines = done.out.splitlines()
    checks.expect(lines[0].startswith("always since 2026-11-16 02:10 or earlier, a\\x1b[31mbad name since 2026-11-21 02:10, back since 2026-11-21"),
                  "the answer: %s" % lines[0])
    for said in ("spike since 2026-11-20 02:10", "untested since 2026-11-17", "; gone no more since 2026-11-19 02:10; "
                 "broken not tested since 2026-11-21 02:10, lost not tested since 2026-11-21 02:10"):
        checks.expect(said in lines[0], "the answer has %r: %s" % (said, lines[0]))
    checks.expect("6 reports, 2026-11-16 02:10 to 2026-11-21 02:10 UTC; of 2 without a date" in done.out, "the dates: %s" % done.out)
    checks.expect("silent" not in done.out and "2 rules found nothing" in done.out, "quiet rules are counted: %s" % done.out)
    table = run([assay, "history", "--all", *operands]).out.splitlines()
    rows = {line.split("  ")[0].strip(): line.split()[-1] for line in table if line}
    for name, letters in NIGHTS.items():
        checks.expect(rows.get(name.replace("\x1b", "\\x1b")) == letters, "%s: %s" % (name, rows))
    narrow = run([assay, "history", "--color", "always", *operands], env={"COLUMNS": "60"})
    plain = re.sub("\x1b\\[[0-9;]*m", "", narrow.out).splitlines()
    checks.expect(narrow.code == 0 and plain and max(map(len, plain)) <= 60, "60 columns: %s" % narrow)

    told = json.loads(run([assay, "history", "--json", operands[0].joinpath("report.json"), *operands[1:]]).out)
    schema = json.loads((ROOT / "docs/schema/history.schema.json").read_text())
    wrong = [e.message for e in jsonschema.Draft202012Validator(schema).iter_errors(told)]
    checks.expect(not wrong, "the schema refuses it: %s" % wrong[:3])
    checks.expect([r["date"] for r in told["reports"]] == [day(n) for n in range(6)], "in order of time: %s" % told["reports"])
    checks.expect([r["dated"] for r in told["reports"]] == [False] * 2 + [True] * 4, "which have dates: %s" % told["reports"])
    by_name = {r["name"]: r for r in told["rules"]}
    for name, letters in NIGHTS.items():
        rule = by_name[name]
        checks.expect(rule["status"] == [STATUS.get(letter) for letter in letters] and rule["newest"] == STATUS[letters[-1]] and
                      rule["reports_with_findings"] == letters.count("x"), "%s: %s" % (name, rule))
        checks.expect(rule["since"] == (None if SINCE[name] is None else day(SINCE[name])), "%s: since %s" % (name, rule["since"]))
    return operands


def check_what_is_no_report(checks, assay, folder, operands):
    bad, empty, newer = folder / "bad.json", folder / "empty", folder / "newer.json"
    bad.write_text('{"schema": "assay-report/1", "trials": [')
    newer.write_text('{"schema": "assay-report/2", "trials": []}')
    empty.mkdir()
    done = run([assay, "history", bad, empty, newer, folder / "absent", *operands])
    checks.expect(done.code == 3 and done.out.startswith("always since"), "the rest counts: %s" % done)
    for path, why in ((bad, "line 1, column"), (empty, "no report.json there"), (newer, "assay-report/1"), (folder / "absent", "")):
        checks.expect("%s: " % path in done.err and why in done.err, "%s is named: %s" % (path, done.err))
    checks.expect(run([assay, "history", bad, empty]).code == 2, "nothing but what is no report")
    checks.expect(run([assay, "history"]).code == 2, "no report")


def check_gate(checks, assay, folder):
    """--fail-on new: each letter pair is a rule in two reports, and what the gate makes of it."""
    cases = {"..": 0, "xx": 0, "x.": 0, ".x": 1, "_x": 1, ".-": 1, ".!": 1, "._": 1, "x-": 1, "--": 1, "-.": 0, "-x": 1}
    for severity in ("warning", "info"):
        for letters, code in cases.items():
            places = []
            for night, letter in enumerate(letters):
                rules = [] if letter == "_" else [{"name": "r", "rule": "r", "status": STATUS[letter], "severity": severity}]
                place = folder / ("%s-%s-%d.json" % (severity, letters.replace(".", "q").replace("!", "e"), night))
                place.parent.mkdir(exist_ok=True)
                place.write_text(json.dumps({"schema": "assay-report/1", "verdict": "v", "run": {"date": day(night)},
                                             "trials": [{"name": "a", "rules": rules}]}))
                places.append(place)
            done = run([assay, "history", "--fail-on", "new", *reversed(places)])
            wanted = code if severity == "warning" else int(letters[1] in "-!_")  # where nothing was tested, nothing passes
            checks.expect(done.code == wanted, "%s %s: exit %d, not %d: %s" % (severity, letters, done.code, wanted, done))
            done = run([assay, "history", *places])
            checks.expect(done.code == 0, "without a gate")
            checks.expect(letters != "--" or done.out.startswith("nothing could be tested in the newest of 2 reports"), "no data is no pass: %s" % done)
    checks.expect(run([assay, "history", "--fail-on", "new", places[0]]).code == 2, "one report alone has nothing new")


def check_directory(checks, assay, folder):
    """The directory of reports as assay run keeps it: `latest` is no report of its own, and a gate holds the newest against another one."""
    reports = folder / "assay-report"
    for number, letter in enumerate(".x"):
        (reports / str(number)).mkdir(parents=True)
        rules = [{"name": "r", "rule": "r", "status": STATUS[letter], "severity": "warning"}]
        (reports / str(number) / "report.json").write_text(json.dumps(
            {"schema": "assay-report/1", "verdict": "v", "run": {"date": day(number)}, "trials": [{"name": "a", "rules": rules}]}))
    (reports / "latest").symlink_to("1")
    for operands in ([reports], ["%s/*" % reports], sorted(reports.iterdir()), [reports / "0", reports / "1", reports / "latest" / "report.json"]):
        done = run([assay, "history", "--fail-on", "new", *operands])
        checks.expect(done.code == 1 and done.out.startswith("r since ") and "\n2 reports, " in done.out, "%s: %s" % (operands[0], done))
    trial = folder / "trial"
    shutil.copytree(TRIALS / "linreg_nan", trial)
    shutil.copytree(reports / "0", trial / "report")
    done = run([assay, "history", trial, TRIALS / "healthy"])
    checks.expect("2 runs, " in done.out and "ExplodingTensor" in done.out, "a trial with a report in it is a trial: %s" % done)


def check_real_reports(checks, assay, folder):
    for name in ("healthy", "ddp"):
        run([assay, "run", TRIALS / name, "--out", folder / name, "--quiet"])
    done = run([assay, "history", folder / "healthy", folder / "ddp"])
    checks.expect(done.code == 0 and done.out.startswith("GradientNotSynchronized since "), "reports of this version: %s" % done)


def night(place, number, times=1.0, fault=None, started=None):
    """A run whose loss ends near `times`; W&B's files say when they began."""
    rows = [(step, value * times * (1 + 0.002 * (number * 7 % 5)), None) for step, value, _ in logs.curve(40, fault)]
    if started is None:
        logs.csv(place, rows)
    else:
        logs.wandb(place, rows, "run%02d" % number, started)


def check_trials(checks, assay, folder, ranks):
    schema = json.loads((ROOT / "docs/schema/history.schema.json").read_text())
    for name, last, code, said in (
            ("steady", {}, 0, "nothing wrong in "),
            ("newest", {"times": 1.5}, 1, "last loss of metrics/train/loss, TRAIN since n11"),
            ("lower", {"times": 0.5}, 0, "nothing wrong in "),
            ("nan", {"fault": "nan"}, 1, "ExplodingTensor since n11")):
        place = folder / name
        for i in range(12):
            night(place / ("n%02d" % i), i, **(last if i == 11 else {}))
        pattern = str(place) + "/*"
        done = run([assay, "history", "--fail-on", "new", pattern])
        checks.expect(done.code == code and said in done.out.splitlines()[0], "%s: exit %d: %s" % (name, code, done))
        checks.expect("12 runs, n00 to n11; as they were given" in done.out, "%s: the runs: %s" % (name, done.out))
        told = json.loads(run([assay, "history", "--json", pattern]).out)
        wrong = [e.message for e in jsonschema.Draft202012Validator(schema).iter_errors(told)]
        checks.expect(not wrong, "%s: the schema refuses it: %s" % (name, wrong[:3]))
        loss = next(r for r in told["rules"] if r["name"].startswith("last loss"))
        checks.expect(loss["status"][:5] == ["NoData"] * 5 and loss["status"][5] == "NoIssuesFound", "%s: too few before: %s" % (name, loss))
        checks.expect(loss["newest"] == ("IssuesFound" if code else "NoIssuesFound") and 1 < loss["band"]["high"] < 1.5 and loss["band"]["runs"] == 11,
                      "%s: the band: %s" % (name, loss))
        alike = [run(["mpirun", "-n", str(n), "--oversubscribe", assay, "history", "--json", pattern]).out for n in ranks]
        checks.expect(all(json.loads(text) == told for text in alike), "%s: another history on ranks" % name)
    place = folder / "moved"  # a figure that moves stays outside; a look at the strip, drawn
    for i in range(12):
        night(place / ("n%02d" % i), i, 1.5 if i > 7 else 1.0)
    done = run([assay, "history", "--fail-on", "new", str(place) + "/*"])
    checks.expect(done.code == 0 and "last loss of metrics/train/loss, TRAIN since n08" in done.out.splitlines()[0], "since the eighth: %s" % done)
    checks.expect("outside in 4 runs: n11 1." in done.out, "the odd ones: %s" % done.out)
    drawn = run([assay, "history", "--color", "always", str(place) + "/*"], env={"COLUMNS": "60"})
    plain = re.sub("\x1b\\[[0-9;]*m", "", drawn.out)
    checks.expect(max(map(len, plain.splitlines())) <= 60, "60 columns: %s" % drawn)
    place = folder / "numbered"  # a pattern gives version_10 before version_9
    for i in range(12):
        night(place / ("version_%d" % i), i, 1.5 if i == 11 else 1.0)
    done = run([assay, "history", str(place) + "/*"])
    checks.expect("TRAIN since version_11" in done.out.splitlines()[0] and "12 runs, version_0 to version_11; by the numbers" in done.out, "numbers in names: %s" % done)
    place = folder / "many"  # more than the engine runs at once: each is told as among few
    for i in range(70):
        night(place / ("n%02d" % i), i, 1.5 if i == 69 else 1.0)
    done = run([assay, "history", str(place) + "/*"])
    checks.expect("TRAIN since n69" in done.out.splitlines()[0] and "70 runs, n00 to n69" in done.out, "seventy runs: %s" % done.out[:500])
    many, few = (json.loads(run([assay, "history", "--json", str(place / names)]).out)["reports"] for names in ("n*", "n3[0-9]"))
    checks.expect(len(many) == 70 and [r["verdict"] for r in many[30:40]] == [r["verdict"] for r in few], "another verdict among many: %s" % few[:2])
    place = folder / "dated"  # the order is that of the times at which they began
    for i in range(8):
        night(place / ("n%02d" % (9 - i)), i, 1.5 if i == 7 else 1.0, started=1795000000 + 86400 * i)
    done = run([assay, "history", str(place) + "/*"])
    checks.expect("TRAIN since n02" in done.out.splitlines()[0] and "8 runs, n09 to n02" in done.out, "in order of time: %s" % done)
    done = run([assay, "history", folder / "absent" / "x", str(place) + "/*"])
    checks.expect(done.code in (2, 3) and "absent" in done.err, "what is not there is named: %s" % done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="*", default=[])
    args = parser.parse_args()
    assay = args.assay
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_severities(checks, assay, folder / "severities")
        operands = check_nights(checks, assay, folder / "nights")
        check_what_is_no_report(checks, assay, folder, operands)
        check_gate(checks, assay, folder / "gate")
        check_directory(checks, assay, folder)
        check_real_reports(checks, assay, folder)
        check_trials(checks, assay, folder / "trials", args.ranks)
    checks.done()


if __name__ == "__main__":
    main()
