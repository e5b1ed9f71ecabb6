"""reports.py - what a run left behind: its report and its digest.

    body_of(folder)       the bytes of FOLDER/report.json that are the same at any rank count
    report_of(folder)     FOLDER/report.json, parsed
    in_order(rules)       a trial's rules, what says most first
    digest_of(done.out)   what --digest printed
"""
import json
import re
from pathlib import Path


def body_of(report):
    """The bytes of a report.json up to the line of its last member, `run`; None when it has no such line, or another behind it.

    `report` is what the file holds, or the folder that it is in; None when that has no report."""
    if not isinstance(report, bytes):
        path = Path(report) / "report.json"
        if not path.exists():
            return None
        report = path.read_bytes()
    cut = report.find(b'\n "run":')
    return report[:cut + 1] if cut >= 0 and b"\n" not in report[cut + 1:].strip().rstrip(b"}").strip() else None


def report_of(folder):
    return json.loads((Path(folder) / "report.json").read_text())


def in_order(rules):
    """A trial's rules in the order in which every form goes through them."""
    ranks, severities = ("IssuesFound", "Error", "NoData", "NoIssuesFound"), ("error", "warning", "info")
    return sorted(rules, key=lambda r: (ranks.index(r["status"]), severities.index(r["severity"]),
                                        r["first"]["step"] if r["first"] else float("inf")))


def digest_of(out):
    found = re.search(r"^digest ([0-9a-f]{64})$", out, re.M)
    return found and found.group(1)
