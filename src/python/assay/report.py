"""A report of assay as DataFrames."""
import json
import os

from . import html
from .exceptions import AssayError, meant

FINDING = ["trial", "rule", "kind", "severity", "step", "mode", "mode_step", "worker", "tensor", "value", "threshold"]
NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}  # as report.json writes them


def _pandas():
    try:
        import pandas
    except ImportError:
        raise ImportError("reports come as pandas DataFrames: install pandas; `json` has the report without it") from None
    return pandas


def _rows_of(profile, part):
    """The rows of a part of a profile; a dictionary is one, without the lists in it."""
    if part == "operators":
        framework = profile.get("framework") or {}
        return [{"device": device, **row} for device in ("cpu", "gpu") for row in (framework.get(device + "_operators") or {}).get("top", ())]
    found = profile.get(part) or []
    return [{key: value for key, value in found.items() if not isinstance(value, (list, dict))}] if isinstance(found, dict) else found


class Comparison:
    """Of the trials of a report: odd(), settings() and outliers() are those of the report."""

    def __init__(self, report):
        self._report = report
        self.json = report.json.get("comparison", {})
        self.odd, self.settings, self.outliers = report.odd, report.settings, report.outliers

    def __repr__(self):
        return "<assay.Comparison %s: %d odd trials>" % (self._report.path, len(self.json.get("odd", ())))

    def _repr_html_(self):
        if not self.json:
            return html.block("no comparison: the report is of one trial")
        odd = [(entry["trial"], "; ".join(entry["reasons"])) for entry in self.json.get("odd", ())]
        parts = [html.table(odd, ("odd trial", "why"))] if odd else []
        for part, title in (("outliers", "far from the others"), ("settings", "set differently")):
            rows = self.json.get(part, ())
            head = list(dict.fromkeys(key for row in rows for key in row))
            if rows:
                parts.append(html.block(title, html.table([[row.get(key, "") for key in head] for row in rows], head)))
        return html.block("comparison of %d trials" % len(self._report.json["trials"]), *(parts or [html.text("nothing stands apart")]))


class Report:
    """What a job found. `json` is report.json as it stands, `verdict` its first line."""

    def __init__(self, path):
        path = os.fspath(path)
        self.path = os.path.join(path, "report.json") if os.path.isdir(path) else path
        try:
            with open(self.path, encoding="utf-8") as file:
                self.json = json.load(file)
        except FileNotFoundError:
            raise AssayError("%s: no report; give the directory of `assay run --out`, or its report.json" % self.path, -3) from None
        except ValueError as error:
            raise AssayError("%s: no report of assay: %s" % (self.path, error), -5) from None
        schema = self.json.get("schema", "") if isinstance(self.json, dict) else ""
        if not str(schema).startswith("assay-report/1"):
            raise AssayError("%s: no report of assay that this version reads: its schema is %r" % (self.path, schema), -5)
        self.verdict = self.json["verdict"]

    def __repr__(self):
        return "<assay.Report %s: %s>" % (self.path, self.verdict)

    def _repr_html_(self):
        """The verdict, what is odd among several trials, and the rules that said something, worst first."""
        worst = {"Error": 0, "IssuesFound": 1}
        rows = [(trial["name"], rule["name"], rule["status"], rule["severity"], rule["findings_total"], rule["message"])
                for trial in self.json["trials"] for rule in trial.get("rules", ()) if rule["status"] not in ("NoIssuesFound", "NoData")]
        rows.sort(key=lambda row: worst.get(row[2], 3))
        odd = [(entry["trial"], "; ".join(entry["reasons"])) for entry in self.json.get("comparison", {}).get("odd", ())]
        parts = [html.table(odd, ("odd trial", "why"))] if odd else []
        return html.block(self.verdict, *parts, html.table(rows, ("trial", "rule", "status", "severity", "findings", "message")))

    def _compared(self, part, columns):
        """A list of the comparison as a DataFrame; without a comparison it is empty."""
        rows = [{key: NUMBERS.get(value, value) if isinstance(value, str) else value for key, value in entry.items()}
                for entry in self.json.get("comparison", {}).get(part, ())]
        more = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in columns]
        return _pandas().DataFrame(rows, columns=columns + more)

    def odd(self):
        """The trials that stand apart from the others, a row for each reason."""
        rows = [(entry["trial"], reason) for entry in self.json.get("comparison", {}).get("odd", ()) for reason in entry["reasons"]]
        return _pandas().DataFrame(rows, columns=["trial", "reason"])

    def settings(self):
        """What the trials were set to where they differ, as the comparison has it."""
        return self._compared("settings", [])

    def outliers(self):
        """Numbers of trials that lie far from those of the others: trial, what, value, median, score."""
        return self._compared("outliers", ["trial", "what", "value", "median", "score"])

    @property
    def comparison(self):
        """What comparing several trials has shown: it shows itself in a notebook."""
        return Comparison(self)

    def profile(self, part="system", trial=None):
        """A part of the profile of each trial (docs/profiler.md), or of one: "system", a row for each metric of each unit, "steps", "sampling",
        "dataloading", "clock", "summary", "hints", "other"; "job" is a row for each trial, "operators" one for each operator."""
        rows, parts = [], set()
        for each in self.json["trials"]:
            profile = each.get("profile")
            if profile is None or trial not in (None, each["name"]):
                continue
            parts |= set(profile) | {"operators"}
            rows += [{"trial": each["name"], **row} for row in _rows_of(profile, part)]
        if parts and part not in parts:
            raise AssayError("%s: a profile has no part %r%s; they are %s" % (self.path, part, meant(part, parts), ", ".join(sorted(parts))), -3)
        return _pandas().DataFrame(rows)

    def rules(self):
        """A row for each trial and rule: status, severity, datapoints, findings (all, not only those that findings() has)."""
        rows = [(trial["name"], rule["name"], rule["rule"], rule["status"], rule["severity"], rule["datapoints"], rule["findings_total"],
                 rule["message"]) for trial in self.json["trials"] for rule in trial.get("rules", ())]
        return _pandas().DataFrame(rows, columns=["trial", "rule", "kind", "status", "severity", "datapoints", "findings", "message"])

    def findings(self):
        """A row for each finding that the report keeps (a job's max_findings), in the order of the report. Step, mode and worker are
        empty where a finding is about none: worker "*" is all of them together."""
        rows = []
        for trial in self.json["trials"]:
            for rule in trial.get("rules", ()):
                head = {"trial": trial["name"], "rule": rule["name"], "kind": rule["rule"], "severity": rule["severity"]}
                for finding in rule["findings"]:
                    rows.append({**head, **{key: NUMBERS.get(value, value) if key in ("value", "threshold") else value
                                            for key, value in finding.items()}})
        more = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in FINDING]
        return _pandas().DataFrame(rows, columns=FINDING + more).astype({"value": float, "threshold": float})

    def losses(self):
        """The loss curves: trial, tensor, mode, step, mode_step, loss (the mean over workers and elements)."""
        path = os.path.join(os.path.dirname(self.path), "loss.csv")
        if not os.path.exists(path):
            raise AssayError("%s: not there; curves are part of the form csv: assay run --reports json,csv" % path, -3)
        return _pandas().read_csv(path, keep_default_na=False, na_values=["nan", ""])

    def _aggregation(self, kind, name, trial):
        found = [(t["name"], a) for t in self.json["trials"] for a in t.get("aggregations", ())
                 if a["kind"] == kind and name in (None, a["name"]) and trial in (None, t["name"])]
        if len(found) == 1:
            return found[0][1]
        names = sorted({a["name"] for t in self.json["trials"] for a in t.get("aggregations", ()) if a["kind"] == kind})
        trials = [t for t, _ in found]
        raise AssayError("%s: %s; the aggregations of kind %s are %s%s" % (
            self.path, "%d fit" % len(found) if found else "none is called %r" % name, kind, ", ".join(map(repr, names)) or "none",
            ", give trial= one of %s" % ", ".join(map(repr, trials)) if len(set(trials)) > 1 else ""), -3)

    def confusion(self, name=None, trial=None):
        """A confusion matrix: a row for each label, a column for each prediction. `name` is that of the aggregation, and `trial`
        that of one of several trials; each may be left out where there is one."""
        found = self._aggregation("confusion", name, trial)
        classes = [entry["class"] for entry in found["per_class"]]
        pandas = _pandas()
        return pandas.DataFrame(found["matrix"], index=pandas.Index(classes, name="label"),
                                columns=pandas.Index(classes, name="prediction"))

    def class_counts(self, name=None, trial=None):
        """How often each class occurs, as a Series."""
        found = self._aggregation("class_counts", name, trial)["classes"]
        pandas = _pandas()
        return pandas.Series(list(found.values()), index=pandas.Index(list(found), name="class"), name="count")
