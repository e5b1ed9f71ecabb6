"""tally.py - compares what assay says of trainings with what is known of them, and counts."""
import re
from collections import Counter, defaultdict


def matches(expected, finding):
    """Does a finding name the step, the worker and the tensor that it has to name?"""
    step = expected.step
    if step is not None:
        first, last = step if isinstance(step, tuple) else (step, step)
        if not first <= finding["mode_step"] <= last:
            return False
    if expected.worker is not None and finding["worker"] != expected.worker:
        return False
    return expected.tensor is None or re.search(expected.tensor, finding["tensor"] or "") is not None


def describe(rule):
    first = rule["first"]
    return "%s (%s): %d of %d, first at step %s, %s %s, value %.4g, threshold %.4g %s %s" % (
        rule["name"], rule["severity"], rule["findings_total"], rule["datapoints"], first["step"], first["worker"],
        first["tensor"], float(first["value"]), float(first["threshold"]), first.get("test") or "", first.get("note") or "")


def first_findings(rule):
    """The findings of its first step: several tensors, or workers, may be named there."""
    return [f for f in rule["findings"] if f["step"] == rule["first"]["step"]]


class Tally:
    """What was counted over all seeds, and for each of them."""

    def __init__(self):
        self.alarms, self.due, self.found, self.lines = Counter(), Counter(), Counter(), []
        self.by_seed = defaultdict(Counter)
        self.rules = []

    def healthy(self, seed, trial):
        self.by_seed[seed]["healthy"] += 1
        for rule in trial["rules"]:
            if rule["status"] == "IssuesFound" and rule["severity"] != "info":
                self.alarms[rule["rule"]] += 1
                self.by_seed[seed][rule["severity"]] += 1
                self.lines.append("seed %d: false alarm on %s: %s" % (seed, trial["name"], describe(rule)))

    def faulty(self, seed, trial, expected):
        fired = [r for r in trial["rules"] if r["status"] == "IssuesFound"]
        due = [r for r in fired if r["rule"] == expected.rule]
        right = any(matches(expected, f) for r in due for f in first_findings(r))
        self.by_seed[seed]["faulty"] += 1
        self.by_seed[seed]["found"] += right
        self.due[expected.rule] += 1
        self.found[expected.rule] += right
        if not right:
            said = "; ".join(describe(r) for r in due) or "fired: " + (", ".join(sorted(r["name"] for r in fired)) or "nothing")
            self.lines.append("seed %d: missed %s (%s): %s" % (seed, trial["name"], expected.rule, said))

    def table(self):
        lines = ["| rule | false alarms | faults found |", "|---|---|---|"]
        for rule in sorted(set(self.rules)):
            found = "%d of %d" % (self.found[rule], self.due[rule]) if self.due[rule] else ""
            lines.append("| %s | %d | %s |" % (rule, self.alarms[rule], found))
        lines.append("| all | %d | %d of %d |" % (sum(self.alarms.values()), sum(self.found.values()), sum(self.due.values())))
        return lines

    def seeds(self):
        return ["seed %d: %d warnings and %d errors on %d healthy trainings, %d of %d faults found" % (
            s, c["warning"], c["error"], c["healthy"], c["found"], c["faulty"]) for s, c in sorted(self.by_seed.items())]

    def reached(self):
        return all(c["warning"] <= 1 and not c["error"] and c["faulty"] - c["found"] <= 2 for c in self.by_seed.values())
