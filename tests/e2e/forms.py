#!/usr/bin/env python3
"""The other forms of the report say what report.json says, to the programs that they are made for: pandas for csv, XML Schema
and a real XML reader for junit, GitHub's own Markdown for markdown; also where names are hostile, and with the same bytes at
every rank count.

    forms.py --assay PROGRAM --ranks 1 2 3 7 [--only CASE]
"""
import argparse
import functools
import hashlib
import html.parser
import json
import math
import os
import re
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy
import pandas

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import hostile  # noqa: E402
import tfevents  # noqa: E402
from launch import ROOT, TRIALS, Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from reports import in_order  # noqa: E402

FORMATS = ["csv", "jsonl", "junit", "markdown", "tensorboard"]
EVENTS = "events.out.tfevents.0.assay"
SCHEMA = Path(__file__).resolve().parent / "junit.xsd"
GITHUB_MOST = 65536
MARKDOWN_TAGS = {"h2", "h3", "h4", "h5", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li", "code", "br"}


def number(value):
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value] if isinstance(value, str) else value


def same(a, b):
    return a == b or (isinstance(a, float) and math.isnan(a) and math.isnan(b))


def rules(report):
    return [(trial, rule) for trial in report["trials"] for rule in trial["rules"]]


class Forms:
    """The files of one run, report.json beside them, and what was saved in each trial."""

    def __init__(self, folder, checks, name, values, is_loss):
        self.folder, self.checks, self.name = Path(folder), checks, name
        self.report = json.loads((self.folder / "report.json").read_text())
        names = [t["name"] for t in self.report["trials"]]
        self.losses = {n: losses(v, is_loss) for n, v in zip(names, values)}
        self.norms = {n: norms(v) for n, v in zip(names, values)}
        self.steps = {n: sorted({step for saved in v.values() for step, _ in saved}) for n, v in zip(names, values)}

    def expect(self, condition, what):
        return self.checks.expect(condition, "%s: %s" % (self.name, what))

    def table(self, file, types):
        frame = pandas.read_csv(self.folder / file, keep_default_na=False, float_precision="round_trip",
                                na_values={c: ["nan"] for c in ("value", "threshold", "loss")})
        plain = pandas.read_csv(self.folder / file)  # as everybody calls it
        for column, kind in types.items():
            self.expect(plain[column].dtype == kind, "%s: %s is %s" % (file, column, plain[column].dtype))
        return frame


# ---- what the trial itself says, read by other means ----

def near(a, b):
    """Equal to the precision of a float of 32 bits."""
    return a == b or abs(a - b) <= 1e-6 * abs(b) or (math.isnan(a) and math.isnan(b))


@functools.lru_cache
def recorded(path):
    """{(tensor, mode): {(step, mode_step): [one worker's values, ...]}} of the numeric tensors that were saved whole."""
    found = {}
    for (step, _), part in sorted(tfevents.Trial(path, check=False).steps.items()):
        for name, (dtype, values) in part.tensors.items():
            if dtype and values.size and not name.startswith("smdebug/reductions/"):
                found.setdefault((name, part.mode), {}).setdefault((step, part.mode_step), []).append(values.astype("float64"))
    return found


IS_LOSS = re.compile("[Ll]oss_(?!input).*output")  # the collection "losses" of recorded trials


def losses(values, is_loss):
    """{(tensor, mode): [(step, mode_step, mean over workers and elements)]}"""
    return {(name, mode): [(step, mode_step, numpy.mean([v.mean() for v in parts])) for (step, mode_step), parts in steps.items()]
            for (name, mode), steps in values.items() if is_loss(name)}


def norms(values):
    """{(tensor, mode): [(step, mode_step, root of the mean over the workers of the squared norm)]}"""
    return {key: [(step, mode_step, math.sqrt(numpy.mean([(v ** 2).sum() for v in parts])))
                  for (step, mode_step), parts in steps.items()] for key, steps in values.items()}


# ---- csv ----

def check_verdict(forms):
    """The first row is the verdict; each trial and rule has one."""
    frame = pandas.read_csv(forms.folder / "verdict.csv", keep_default_na=False)
    first = frame.iloc[0]
    forms.expect((first.trial, first.rule, first.message) == ("", "", forms.report["verdict"]), "verdict.csv begins with %s" % list(first))
    rules = [(row.trial, row.rule, row.status, int(row.datapoints), int(row.findings), row.message)
             for row in frame.itertuples(index=False) if row.rule]
    wanted = [(t["name"], r["name"], r["status"], r["datapoints"], r["findings_total"], r["message"])
              for t in forms.report["trials"] for r in in_order(t["rules"])]
    forms.expect(rules == wanted, "verdict.csv: %s" % [pair for pair in zip(rules, wanted) if pair[0] != pair[1]][:2])
    trials = [row.trial for row in frame.itertuples(index=False) if row.trial and not row.rule]
    forms.expect(trials == [t["name"] for t in forms.report["trials"]], "verdict.csv: the trials %s" % trials)


def check_findings(forms):
    frame = forms.table("findings.csv", {"step": "int64", "mode_step": "int64", "value": "float64",
                                         "threshold": "float64"})
    rows = list(frame.itertuples(index=False))
    wanted = [(t, r, f) for t in forms.report["trials"] for r in in_order(t["rules"]) for f in r["findings"]]
    if not forms.expect(len(rows) == len(wanted), "findings.csv: %d rows for %d findings" % (len(rows), len(wanted))):
        return
    for row, (trial, rule, finding) in zip(rows, wanted):
        got = [row.trial, row.rule, row.kind, row.severity, row.step, row.mode, row.mode_step, row.worker, row.tensor, row.test,
               row.value, row.threshold, row.cells, row.note, row.value_unit]
        cells = " ".join("%d:%d" % tuple(c) for c in finding.get("cells", []))
        should = [trial["name"], rule["name"], rule["rule"], rule["severity"], finding["step"], finding["mode"],
                  finding["mode_step"], finding["worker"], finding["tensor"], finding.get("test", ""), number(finding["value"]),
                  number(finding["threshold"]), cells, finding.get("note", ""), finding.get("value_unit", "")]
        forms.expect(all(same(a, b) for a, b in zip(got, should)), "findings.csv: %r is not %r" % (got, should))


def check_aggregations(forms):
    classes = forms.table("class_counts.csv", {"class": "int64", "count": "int64"})
    cells = forms.table("confusion.csv", {"label": "int64", "prediction": "int64", "count": "int64"})
    counts, pairs = [], []
    for trial in forms.report["trials"]:
        for a in trial["aggregations"]:
            counts += [(trial["name"], a["name"], int(c), n) for c, n in a.get("classes", {}).items()]
            pairs += [(trial["name"], a["name"], i, k, n) for i, row in enumerate(a.get("matrix", []))
                      for k, n in enumerate(row) if n]
    forms.expect(counts and list(classes.itertuples(index=False, name=None)) == counts, "class_counts.csv has other rows")
    forms.expect(pairs and list(cells.itertuples(index=False, name=None)) == pairs, "confusion.csv has other rows")


def check_losses(forms):
    frame = forms.table("loss.csv", {"step": "int64", "mode_step": "int64", "loss": "float64"})
    rows = {}
    for row in frame.itertuples(index=False):
        rows.setdefault((row.trial, row.tensor, row.mode), []).append((row.step, row.mode_step, row.loss))
    for trial in forms.report["trials"]:
        for (name, mode), points in forms.losses[trial["name"]].items():
            got = rows.pop((trial["name"], hostile.as_reported(name), mode), [])
            forms.expect(len(got) == len(points) and all(g[:2] == p[:2] and near(g[2], p[2]) for g, p in zip(got, points)),
                         "loss.csv: %r in %s is %s, not %s" % (name, mode, got, points))
    forms.expect(len(frame) and not rows, "loss.csv: also %s" % list(rows))


# ---- lines ----

def check_lines(forms):
    """Every line is an object; they say what report.json and loss.csv say, in the same order."""
    lines = [json.loads(line) for line in (forms.folder / "report.jsonl").read_text().split("\n")[:-1]]
    forms.expect(lines[0] == {"kind": "report", "schema": "assay-lines/1", "verdict": forms.report["verdict"]}, "report.jsonl begins with %s" % lines[0])
    kinds = {kind: [line for line in lines[1:] if line["kind"] == kind] for kind in ("trial", "rule", "loss")}
    forms.expect(sum(map(len, kinds.values())) == len(lines) - 1, "report.jsonl: lines of other kinds")
    forms.expect([t["trial"] for t in kinds["trial"]] == [t["name"] for t in forms.report["trials"]], "report.jsonl: the trials %s" % kinds["trial"])
    got = [(r["trial"], r["name"], r["rule"], r["severity"], r["status"], r["datapoints"], r["findings"], r["message"], r.get("first_step")) for r in kinds["rule"]]
    wanted = [(t["name"], r["name"], r["rule"], r["severity"], r["status"], r["datapoints"], r["findings_total"], r["message"],
               r["first"] and r["first"]["step"]) for t in forms.report["trials"] for r in in_order(t["rules"])]
    forms.expect(got == wanted, "report.jsonl: %s" % [pair for pair in zip(got, wanted) if pair[0] != pair[1]][:2])
    frame = forms.table("loss.csv", {"step": "int64", "mode_step": "int64", "loss": "float64"})
    got = [(p["trial"], p["tensor"], p["mode"], p["step"], p["mode_step"], number(p["loss"])) for p in kinds["loss"]]
    forms.expect(len(got) == len(frame) and all(all(same(a, b) for a, b in zip(g, row)) for g, row in zip(got, frame.itertuples(index=False))),
                 "report.jsonl: the losses are not those of loss.csv")


# ---- junit ----

def xml_text(text):
    """What XML 1.0 can hold of it."""
    return re.sub("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def check_junit(forms):
    done = run(["xmllint", "--noout", "--nonet", "--schema", SCHEMA, forms.folder / "junit.xml"])
    forms.expect(done.code == 0, "junit.xml does not validate: %s" % done)
    root = ElementTree.parse(forms.folder / "junit.xml").getroot()
    suites = [xml_text(t["name"]) for t in forms.report["trials"]]
    forms.expect([s.get("name") for s in root] == suites, "junit.xml: other suites")
    element = {"IssuesFound": "system-out", "Error": "error", "NoData": "skipped", "NoIssuesFound": None}
    for suite, trial in zip(root, forms.report["trials"]):
        cases = suite.findall("testcase")
        path = suite.find("properties/property[@name='path']").get("value")
        forms.expect(path == xml_text(trial["path"]), "junit.xml: path %r" % path)
        verdict = suite.find("properties/property[@name='verdict']").get("value")
        forms.expect(verdict == xml_text(forms.report["verdict"]) if len(suites) == 1 else
                     re.search("found something|may follow", verdict) or len([r for r in trial["rules"] if r["status"] == "IssuesFound"]) < 2,
                     "junit.xml: verdict %r" % verdict)
        for case, rule in zip(cases, in_order(trial["rules"])):
            what = case[0].tag if len(case) else None
            forms.expect(case.get("name") == xml_text(rule["name"]) and case.get("classname") == suite.get("name"),
                         "junit.xml: %r is not %r" % (case.get("name"), rule["name"]))
            forms.expect(what == element[rule["status"]], "junit.xml: %s is %s" % (rule["status"], what))
            if rule["status"] == "IssuesFound":
                first, message = rule["first"], case[0].text
                where = [rule["first_cause"]["text"]] if "first_cause" in rule else [first["tensor"], "worker"]
                forms.expect(all(xml_text(w) in message for w in where) and message.startswith(xml_text(where[0]) if "first_cause" in rule else "first at ") and
                             "%d of %d" % (rule["findings_total"], rule["datapoints"]) in message, "junit.xml: %r" % message)
            elif rule["status"] == "NoData":
                forms.expect(case[0].get("message") == "NoData: " + xml_text(rule["message"]), "junit.xml: no reason")
            elif rule["status"] == "Error":
                forms.expect(case[0].get("message") == xml_text(rule["message"]), "junit.xml: another message")
        more = [a["name"] for a in trial["aggregations"] if "error" in a]
        lost = trial["problems_total"] > 0
        forms.expect([c.get("name") for c in cases[len(trial["rules"]):]] ==
                     [xml_text(n) for n in more] + ["(the trial can be read)"] * lost, "junit.xml: other cases behind the rules")
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            forms.expect(int(suite.get(name)) == len(suite.findall("testcase/" + tag)), "junit.xml: count of %s" % name)
        forms.expect(int(suite.get("tests")) == len(cases), "junit.xml: count of tests")


# ---- markdown ----

def visible(name):
    """A name as the text forms show it: what would act on the line is written out."""
    acts = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
    words = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return re.sub(acts, lambda m: words.get(m[0], ("\\x%02x" if ord(m[0]) < 256 else "\\u%04x") % ord(m[0])), name)


def cut(name, most=80):
    head = (most - 3) // 2
    return name if len(name) <= most else name[:head] + "..." + name[len(name) - (most - 3 - head):]


class Page(html.parser.HTMLParser):
    """The cells of the first table, and every tag."""

    def __init__(self):
        super().__init__()
        self.tags, self.rows, self.code, self.tables = set(), [], [], 0
        self.cell = self.in_code = None

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.tables += tag == "table"
        if tag == "tr":
            self.rows += [[]] * (self.tables == 1)
            self.row = self.rows[-1] if self.tables == 1 else []
        elif tag in ("td", "th"):
            self.cell = ""
        elif tag == "code":
            self.in_code = ""

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.row.append(self.cell)
            self.cell = None
        elif tag == "code":
            self.code.append(self.in_code)
            self.in_code = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
        if self.in_code is not None:
            self.in_code += data


def check_markdown(forms):
    data = (forms.folder / "report.md").read_bytes()
    forms.expect(len(data) <= GITHUB_MOST, "report.md has %d bytes" % len(data))
    done = run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "autolink", forms.folder / "report.md"])
    page = Page()
    page.feed(done.out)
    forms.expect(page.tags <= MARKDOWN_TAGS, "report.md: %s" % sorted(page.tags))
    found = [(t, r) for severity in ("error", "warning", "info") for t, r in rules(forms.report)
             if r["status"] == "IssuesFound" and r["severity"] == severity]
    several = len(forms.report["trials"]) > 1
    for row, (trial, rule) in zip(page.rows[1:], found):
        first = rule["first"]
        should = [rule["name"]] + [trial["name"]] * several + [rule["severity"], "%d of %d" % (rule["findings_total"],
                  rule["datapoints"]), str(first["step"]), first["worker"], first["tensor"]]
        should = [cut(visible(text)) for text in should]
        if not any(r["first"]["tensor"] for _, r in found):  # a column that is empty in every row is left out
            should.pop()
        forms.expect(row == should, "report.md: %r is not %r" % (row, should))
    forms.expect(len(page.rows) == 1 + len(found), "report.md: %d rows for %d rules" % (len(page.rows) - 1, len(found)))
    for trial, rule in rules(forms.report):
        if rule["status"] == "Error":
            forms.expect(cut(visible(rule["name"])) in page.code, "report.md does not name %r" % rule["name"])


# ---- tensorboard ----

def scalars(path):
    """{tag: [(step, value)]} of an event file whose checksums are true; protobuf itself refuses what is no UTF-8."""
    found = {}
    for number, (_, _, payload, kind) in enumerate(tfevents.records(path.read_bytes(), path)):
        event = tfevents.Event.FromString(payload)
        if kind != "true" or event.wall_time != 0 or (event.file_version == "brain.Event:2") != (number == 0):
            raise tfevents.Damage("%s: record %d: %s %s" % (path, number, kind, event))
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def check_tensorboard(forms):
    runs = sorted((forms.folder / "tensorboard").iterdir())
    plain = [t["name"] for t in forms.report["trials"] if re.fullmatch(r"[0-9A-Za-z][\w.-]{0,99}", t["name"], re.A)]
    forms.expect(len(runs) == len(forms.report["trials"]) and set(plain) <= {r.name for r in runs} and
                 all(re.fullmatch(r"[\w.-]{1,120}", r.name, re.A) for r in runs), "tensorboard: %s" % runs)
    for trial in forms.report["trials"]:
        digest = hashlib.sha256(trial["name"].encode()).hexdigest()[:16]
        (folder,) = [r for r in runs if r.name == trial["name"] or r.name.endswith("-" + digest)]
        found = scalars(folder / EVENTS)
        for rule in trial["rules"]:
            points = found.pop("findings/" + rule["name"], [])
            steps, fired = forms.steps[trial["name"]], rule["steps"]
            shown = [(s, s in fired) for i, s in enumerate(steps)
                     if i in (0, len(steps) - 1) or any(n in fired for n in steps[i - 1:i + 2])] if fired else []
            forms.expect(points == shown, "tensorboard: findings/%s has %s, not %s" % (rule["name"], points, shown))
        for group, curves in (("loss", forms.losses[trial["name"]]), ("norm", forms.norms[trial["name"]])):
            forms.expect(curves, "nothing to compare")
            for (name, mode), points in sorted(curves.items()):
                got = found.pop("%s/%s/%s" % (group, mode, hostile.as_reported(name)), [])
                forms.expect([s for s, _ in got] == [p[0] for p in points] and all(near(g[1], p[2]) for g, p in zip(got, points)),
                             "tensorboard: %s of %r in %s is %s, not %s" % (group, name, mode, got, points))
        forms.expect(not found, "tensorboard: also %s" % list(found))


# ---- all together ----

def check_forms(forms):
    check_verdict(forms)
    check_findings(forms)
    check_aggregations(forms)
    check_losses(forms)
    check_lines(forms)
    check_junit(forms)
    check_markdown(forms)
    check_tensorboard(forms)


def files_of(folder):
    """{name: bytes} of what does not tell of the run itself."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*")
            if p.is_file() and p.name not in ("report.json", "report.txt", ".assay-files")}


def check_hostile(args, checks, folder):
    job, first = hostile.make(folder, FORMATS), None
    for ranks in args.ranks:
        out = folder / ("out-%d" % ranks)
        done = mpirun(ranks, [args.assay, "run", job, "--out", out, "--quiet"])
        checks.expect(done.code == 3, "hostile names at %d ranks: %s" % (ranks, done))
        files = files_of(out)
        first = first or files
        checks.expect(files == first, "hostile names: other bytes at %d ranks: %s" %
                      (ranks, [n for n in first if files.get(n) != first[n]]))
    forms = Forms(folder / ("out-%d" % args.ranks[0]), checks, "hostile names",
                  [hostile.values(False), hostile.values(True)], lambda name: name not in ("labels", "predictions"))
    named = {f["tensor"] for _, rule in rules(forms.report) for f in rule["findings"]}
    checks.expect(named == {hostile.as_reported(n) for n in hostile.TENSORS}, "findings do not name every tensor")
    checks.expect({r["status"] for _, r in rules(forms.report)} == {"IssuesFound", "NoIssuesFound", "NoData", "Error"},
                  "not every status is there")
    check_forms(forms)


def check_recorded(args, checks, folder):
    """A recorded training with a worker that died, and one that is healthy."""
    out = folder / "recorded"
    done = run([args.assay, "run", ROOT / "jobs" / "image-classifier.json", "--trial", TRIALS / "ddp_partial", "--trial",
                TRIALS / "ddp", "--out", out, "--reports", ",".join(["json"] + FORMATS)])
    if checks.expect(done.code == 0, "recorded trials: %s" % done):
        check_forms(Forms(out, checks, "recorded trials", [recorded(TRIALS / t) for t in ("ddp_partial", "ddp")], IS_LOSS.search))


def check_long_page(args, checks, folder):
    """A page that would be too long for GitHub leaves entries out, says how many, and still has something of each part."""
    first = Made(folder / "t0").step(0, "TRAIN", 0, {"a" * 90 + "|" * 90: numpy.zeros(2)}).end()
    (first / "index" / "000000000" / "000000000001_worker_0.json").write_text("damaged")
    for i in range(1, 120):
        (folder / ("t%d" % i)).symlink_to(first)
    names = [chr(0x100 + i) + "|`" * 60 for i in range(4)]
    job = folder / "job.json"
    job.write_text(json.dumps({
        "trials": [{"path": str(folder / ("t%d" % i)), "name": "%d " % i + "*_|" * 40} for i in range(120)],
        "rules": [{"rule": "AllZero", "name": n, "parameters": {"tensor_regex": "."}} for n in names]}))
    done = run([args.assay, "run", job, "--out", folder / "out", "--reports", "json,markdown", "--quiet"])
    checks.expect(done.code == 3, "long page: %s" % done)
    text = (folder / "out" / "report.md").read_text()
    page = Page()
    page.feed(run(["cmark-gfm", "--unsafe", "-e", "table", folder / "out" / "report.md"]).out)
    checks.expect(len(text.encode()) <= GITHUB_MOST, "long page: %d bytes" % len(text.encode()))
    checks.expect(page.tags <= MARKDOWN_TAGS and all(len(row) == 7 for row in page.rows), "long page: %s" % page.rows[-1:])
    found = sum(r["status"] == "IssuesFound" for _, r in rules(json.loads((folder / "out" / "report.json").read_text())))
    more = re.search(r"^and (\d+) more rules$", text, re.M)
    checks.expect(more and int(more[1]) + len(page.rows) - 1 == found, "long page: %s more, %d there of %d" %
                  (more and more[1], len(page.rows) - 1, found))
    for heading in ("What the rules found", "Completeness and damage"):
        checks.expect(re.search("^### %s$" % heading, text, re.M), "long page: nothing under %s" % heading)


def check_failures(args, checks, folder):
    """What stands in the way of one file does not keep the others from being written."""
    job = hostile.make(folder, FORMATS)
    whole = folder / "whole"
    run([args.assay, "run", job, "--out", whole, "--quiet"])
    for name in sorted(files_of(whole)):
        out = folder / "barred"
        (out / name / "in-the-way").mkdir(parents=True)
        done = run([args.assay, "run", job, "--out", out, "--quiet"])
        checks.expect(done.code == 4 and str(out / name) in done.err, "%s is in the way: %s" % (name, done))
        left = {n for n in files_of(whole) if not (out / n).is_file()}
        checks.expect(left == {name}, "%s is in the way: %s were not written" % (name, left))
        shutil.rmtree(out)


def check_full_disk(args, checks, folder):
    """Files that do not fit are named; those that fit are whole, and nothing else is left behind."""
    job, whole, left = hostile.make(folder, FORMATS), folder / "whole", folder / "left"
    run([args.assay, "run", job, "--out", whole, "--quiet"])
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    (folder / "disk").mkdir()
    done = run(["unshare", "--mount"] + user + ["sh", "-c", 'mount -t tmpfs -o size=540k tmpfs "$1" || exit 99; "$2" run "$3" '
                '--out "$1" --quiet; code=$?; cp -r "$1" "$4"; exit $code', "sh", folder / "disk", args.assay, job, left])
    checks.expect(done.code == 4 and str(folder / "disk" / "report.json") in done.err, "full disk: %s" % done)
    files = {name: data for name, data in files_of(left).items()}
    checks.expect("junit.xml" not in files and set(files) >= {"findings.csv", "class_counts.csv", "report.md"},
                  "full disk: %s are left" % sorted(files))
    checks.expect(all(data == (whole / name).read_bytes() for name, data in files.items()), "full disk: a file is not whole")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    cases = {"hostile": check_hostile, "recorded": check_recorded, "long-page": check_long_page,
             "failures": check_failures, "full-disk": check_full_disk}
    parser.add_argument("--only", choices=cases)
    args = parser.parse_args()
    checks = Checks()
    for check in [cases[args.only]] if args.only else cases.values():
        with tempfile.TemporaryDirectory() as folder:
            check(args, checks, Path(folder))
    checks.done()


if __name__ == "__main__":
    main()
