#!/usr/bin/env python3
"""Compares the verdicts in a report.json with the expected ones of a trial (<trial>.rules.json).

    compare_rules.py REPORT EXPECTED [--trial NAME] [--only NAME[,NAME]...] [--relative 1e-9]

Every rule and aggregation of EXPECTED has to be in the report, by its name, with the same status, datapoints, number of
findings, steps, findings (as far as both keep them) and classes or matrix. Numbers may differ by a relative 1e-9.
Ends with 1 on any difference, and with 2 when there was nothing to compare.
"""
import argparse
import json
import math
import sys

SHOWN = 20  # differences printed


def number(value):
    """A JSON number, or one of the texts "nan", "inf", "-inf", as float; anything else as it is."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return float(value)
    if value in ("nan", "inf", "-inf"):
        return float(value)
    return value


def same(expected, found, relative):
    a, b = number(expected), number(found)
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or abs(a - b) <= relative * max(abs(a), abs(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, relative) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], relative) for k in a)
    return type(a) is type(b) and a == b


class Comparison:
    def __init__(self, relative):
        self.relative = relative
        self.compared = 0
        self.differences = []

    def check(self, where, expected, found):
        self.compared += 1
        if not same(expected, found, self.relative):
            self.differences.append(f"{where}: expected {json.dumps(expected)[:300]}, found {json.dumps(found)[:300]}")

    def finding(self, where, expected, found):
        """The report may say more about a finding (a note), never less or otherwise."""
        for key in expected:
            self.check(f"{where}.{key}", expected[key], found.get(key))
        for key in ("test", "cells"):
            if key in found and key not in expected:
                self.check(f"{where}.{key}", None, found[key])

    def findings(self, name, expected, found, total):
        """Step by step. Within a step a report has the order of computation, which the expected ones do not tell: they are
        compared by tensor, worker and test. Of the last step that the report keeps it may have some only."""
        def place(finding):
            return str(finding["tensor"]), str(finding["worker"]), str(finding.get("test"))

        last = found[-1]["step"] if found and len(found) < total else None
        for step in dict.fromkeys(f["step"] for f in found):
            there = sorted((f for f in found if f["step"] == step), key=place)
            wanted = sorted((f for f in expected if f["step"] == step), key=place)
            if step == last:
                wanted = [f for f in wanted if place(f) in {place(g) for g in there}]
            elif expected and step >= expected[-1]["step"] and len(expected) < total:
                continue  # the expected ones are cut off here
            self.check(f"{name}: findings of step {step}", [place(f) for f in wanted], [place(f) for f in there])
            for a, b in zip(wanted, there):
                self.finding(f"{name}: {step} {place(a)}", a, b)

    def rule(self, name, expected, found):
        for key in ("rule", "status", "datapoints", "findings_total", "steps"):
            self.check(f"{name}.{key}", expected[key], found.get(key))
        kept, total = found.get("findings", []), expected["findings_total"]
        if expected["first"] is None or found.get("first") is None:
            self.check(f"{name}.first", expected["first"], found.get("first"))
        else:
            self.check(f"{name}.first", kept[:1], [found["first"]])
            self.check(f"{name}.first.step", expected["first"]["step"], found["first"]["step"])
        if len(kept) < len(expected["findings"]) and len(kept) < 1000:
            self.check(f"{name}: number of findings kept", len(expected["findings"]), len(kept))
        self.findings(name, expected["findings"], kept, total)

    def aggregation(self, name, expected, found):
        for key in expected:
            self.check(f"{name}.{key}", expected[key], found.get(key))


def named(entries):
    return {entry["name"]: entry for entry in entries}


def chosen_trial(report, name):
    trials = report.get("trials", [])
    if name is not None:
        trials = [t for t in trials if t["name"] == name]
    if len(trials) != 1:
        sys.exit(f"compare_rules: the report has {len(trials)} trials to choose from; say which with --trial")
    return trials[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report")
    parser.add_argument("expected")
    parser.add_argument("--trial", help="which trial of the report; needed when it has several")
    parser.add_argument("--only", help="compare these rules and aggregations only, by name")
    parser.add_argument("--relative", type=float, default=1e-9)
    arguments = parser.parse_args()

    with open(arguments.report, encoding="utf-8") as file:
        trial = chosen_trial(json.load(file), arguments.trial)
    with open(arguments.expected, encoding="utf-8") as file:
        expected = json.load(file)

    comparison = Comparison(arguments.relative)
    only = arguments.only.split(",") if arguments.only else None
    for kind, compare in (("rules", comparison.rule), ("aggregations", comparison.aggregation)):
        found = named(trial.get(kind, []))
        for name, entry in expected.get(kind, {}).items():
            if only is not None and name not in only:
                continue
            if name not in found:
                comparison.check(f"{kind}.{name}", "an entry", None)
            else:
                compare(name, entry, found[name])
    compared_rules = comparison.compared
    if only is None:
        incomplete = [entry["step"] for entry in trial.get("incomplete", [])]
        comparison.check("incomplete steps", expected.get("incomplete_steps", []), incomplete)

    for line in comparison.differences[:SHOWN]:
        print(line)
    if len(comparison.differences) > SHOWN:
        print(f"... and {len(comparison.differences) - SHOWN} more")
    print(f"{expected.get('trial', arguments.expected)}: {comparison.compared} values compared, "
          f"{len(comparison.differences)} differences")
    if compared_rules == 0:
        print("nothing was compared")
        return 2
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
