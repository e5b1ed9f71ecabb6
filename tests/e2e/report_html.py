#!/usr/bin/env python3
"""report.html in a real browser: what it says, that it needs nothing from outside, that it can be read on a telephone, on a
wide screen, in the dark, by keyboard and on paper, and that hostile names stay names.

    report_html.py --assay PROGRAM --ranks 1 2 3 7
"""
import argparse
import base64
import json
import re
import shutil
import struct
import sys
import tempfile
import zlib
from pathlib import Path

import numpy
import pandas

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import hostile  # noqa: E402
from browser import Browser  # noqa: E402
from launch import ROOT, TRIALS, Checks, job_of, mpirun, run  # noqa: E402
from reports import in_order, report_of  # noqa: E402
from tfevents import Trial  # noqa: E402

MOST = 5000000
JOB = ROOT / "jobs" / "traffic-sign.json"
CUT = ROOT / "tests" / "data" / "story"
STORY = [CUT / "balanced", CUT / "imbalanced", TRIALS / "healthy", TRIALS / "flip", CUT / "overfit", TRIALS / "ddp_partial"]
STATUS = {"IssuesFound": "Issues found", "NoIssuesFound": "No issues found", "NoData": "No data", "Error": "Error"}
SHAPE = {"IssuesFound": "\u25b2", "NoIssuesFound": "\u2713", "NoData": "\u25cb", "Error": "\u2715"}
WIDTHS = (400, 1600)


def page_and_report(checks, done, folder, name):
    checks.expect(done.code in (0, 3), "%s: %s" % (name, done))
    page = Path(folder) / "report.html"
    checks.expect(page.stat().st_size < MOST, "%s: %d bytes" % (name, page.stat().st_size))
    return page, report_of(folder)


def without_run(path):
    text = path.read_bytes()
    return text[:text.index(b"<!-- run -->\n")]


def check_harmless(checks, page, name):
    checks.expect(page.requests == [], "%s: requests %s" % (name, page.requests))
    checks.expect(page.console == [], "%s: console %s" % (name, page.console[:3]))
    checks.expect(not page.select("script[src], iframe, object, embed, form, base, link[rel=stylesheet]") and len(page.select("script")) == 1, "%s: active elements" % name)
    outside = page.run("return [...document.querySelectorAll('[src],[href]')].map(e => e.getAttribute('src') || "
                       "e.getAttribute('href')).filter(u => !u.startsWith('#') && !u.startsWith('data:'))")
    checks.expect(outside == [], "%s: leads outside: %s" % (name, outside[:3]))
    handlers = page.run("return [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => "
                        "a.name.startsWith('on'))).length")
    checks.expect(handlers == 0, "%s: %d elements with handlers" % (name, handlers))
    dangling = page.run("return [...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href'))"
                        ".filter(h => !document.getElementById(h.slice(1)))")
    checks.expect(dangling == [], "%s: links without a target: %s" % (name, dangling[:5]))
    ids = page.run("let n = {}; document.querySelectorAll('[id]').forEach(e => n[e.id] = (n[e.id] || 0) + 1);"
                   "return Object.keys(n).filter(k => n[k] > 1)")
    checks.expect(ids == [], "%s: ids twice: %s" % (name, ids[:5]))


def check_readable(checks, browser, path, name):
    """At both widths and in both schemes, with everything unfolded."""
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            where = "%s at %d pixels, %s" % (name, width, scheme)
            page = browser.open(path, width, scheme)
            check_harmless(checks, page, where)
            checks.expect(page.widest() is None, "%s: is %s pixels wide" % (where, page.widest()))
            page.unfold()
            checks.expect(page.widest() is None, "%s: unfolded, it is %s pixels wide" % (where, page.widest()))
            ratio, text = page.contrast()
            checks.expect(ratio >= 4.5, "%s: contrast %.2f of %s" % (where, ratio, text))
            lines = page.run("""
                let root = getComputedStyle(document.documentElement), c = document.createElement('canvas').getContext('2d');
                function lum(name) {
                  c.fillStyle = root.getPropertyValue(name); c.fillRect(0, 0, 1, 1);
                  let [r, g, b] = [...c.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => (v /= 255, v <= .03928 ? v / 12.92 :
                    Math.pow((v + .055) / 1.055, 2.4)));
                  return .2126 * r + .7152 * g + .0722 * b;
                }
                let paper = lum('--paper');
                return [0,1,2,3,4,5,6,7].map(i => lum('--s' + i)).map(s => (Math.max(s, paper) + .05) / (Math.min(s, paper) + .05));
                """)
            checks.expect(min(lines) >= 3, "%s: contrasts of lines %s" % (where, lines))
        checks.expect(page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(14, 18, 23)", "%s: not dark" % name)


def check_findings(checks, page, report, name):
    """A row for each rule that fired, the severest first, and a card with its evidence; the others in a line each."""
    text = page.all_text()
    several = len(report["trials"]) > 1
    rows = page.run("return [...document.querySelector('table#rows-findings').tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))")
    fired = [(t, r) for severity in ("error", "warning", "info") for t in report["trials"] for r in in_order(t["rules"])
             if r["status"] == "IssuesFound" and r["severity"] == severity]
    checks.expect(len(rows) == len(fired), "%s: %d rows for %d rules" % (name, len(rows), len(fired)))
    for row, (trial, rule) in zip(rows, fired):
        first = rule["first"]
        should = [rule["name"]] + [trial["name"]] * several + ["\u25b2 " + rule["severity"], "%d of %d" % (rule["findings_total"],
                  rule["datapoints"]), str(first["step"])]
        checks.expect(row[:len(should)] == should, "%s: row %s is not %s" % (name, row, should))
        # where it is known what the findings lead to, the card says what to do about that
        led = [c["advice"] for c in trial.get("causes", []) if c["explains"][0] == rule["name"] and c.get("advice")]
        checks.expect((led[0] if led else rule["recommendation"]) in text and rule["message"] in text, "%s: advice of %s" % (name, rule["name"]))
    for number, trial in enumerate(report["trials"]):
        checks.expect(trial["name"] in text, "%s: no trial %s" % (name, trial["name"]))
        for i, rule in enumerate(trial["rules"]):
            cards = page.run("return [...document.querySelectorAll('#%s')].map(c => c.textContent)" % card_of(number, i, rule["name"]))
            if rule["status"] in ("IssuesFound", "Error"):
                checks.expect(len(cards) == 1 and rule["name"] in cards[0], "%s: the card of %s: %d" % (name, rule["name"], len(cards)))
            elif rule["status"] == "NoData":
                checks.expect(rule["name"] in page.run("return document.querySelector('#untested').textContent"),
                              "%s: %s without data is not named" % (name, rule["name"]))


def check_phone(checks, page, name):
    """On a phone one row of links stands before the verdict, and nothing of the page lies beyond its side."""
    top, row, wide = page.run("return [document.querySelector('.verdict').getBoundingClientRect().top + scrollY,"
                              " document.querySelector('nav').getBoundingClientRect().height, document.documentElement.scrollWidth]")
    checks.expect(top < 160 and row < 60 and wide <= 400, "%s: the verdict at %d px under links %d px high, the page %d px wide" % (name, top, row, wide))


def check_order(checks, page, name):
    """What matters first comes first: verdict, what to do, the loss, findings; what is to be looked up is folded."""
    order = page.run("return [...document.querySelectorAll('.verdict, main > .advice, #loss, #findings, #untested, #trials, #run')]"
                     ".map(e => e.id && !e.id.startsWith('todo') ? e.id : e.className.split(' ')[0])")
    wanted = [w for w in ("verdict", "advice", "loss", "findings", "untested", "trials", "run") if w in order]
    seen = list(dict.fromkeys("findings" if o == "findings" else o for o in order))
    checks.expect(seen == wanted and {"verdict", "advice", "loss", "findings"} <= set(seen), "%s: the order is %s" % (name, seen))
    tops = page.run("return ['#loss figure', 'section#findings'].map(s => document.querySelector(s).getBoundingClientRect().top + scrollY)")
    checks.expect(tops[0] < 1000, "%s: the loss stands at %d px" % (name, tops[0]))
    drawn = page.run("return document.querySelectorAll('#loss .plot').length")
    checks.expect((drawn == 0) == (name == "linreg_nan"), "%s: %d curves are drawn, where there is something finite to draw alone" % (name, drawn))
    checks.expect(drawn > 0 or tops[1] < 600, "%s: without a curve the findings stand at %d px" % (name, tops[1]))
    open_ones = page.run("return [...document.querySelectorAll('#comparison, #trials, #parameters, #classes, #confusion, #run')]"
                         ".filter(s => s.querySelector('details') && s.querySelector('details').open).map(s => s.id)")
    checks.expect(open_ones == [], "%s: not folded: %s" % (name, open_ones))
    advice = page.run("return [...document.querySelectorAll('.advice')].map(a => a.textContent)")
    checks.expect(len(advice) == len(set(advice)), "%s: the same advice stands twice" % name)


def card_of(trial, number, name):
    """The id of a rule's card: its name, or what an id can have of it and the rule's number."""
    plain = re.match("[A-Za-z0-9]*", name)[0][:40]
    return "t%d-%s" % (trial, name) if plain == name and len(name) < 40 else "t%d-%s-r%d" % (trial, plain, number)


def check_script(checks, browser, path):
    """Tables sort and filter; a permanent link opens what it leads to; without script all is there."""
    page = browser.open(path, 1400)
    rows = "return [...document.querySelector('table#rows-findings').tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[%d].textContent)"
    names = page.run(rows % 0)
    if page.select("table#rows-findings.filter"):
        page.run("document.querySelector('table#rows-findings thead button').click()")
        checks.expect(page.run(rows % 0) == sorted(names), "sorted by name: %s" % page.run(rows % 0)[:5])
        page.run("let f = document.querySelector('section#findings .find'); f.value = arguments[0];"
                 "f.dispatchEvent(new Event('input'))", names[0].lower())
        left = page.run(rows % 0)
        checks.expect(left and len(left) < len(names) and names[0] in left, "filtered by %s: %s" % (names[0], left))
    hidden = page.run("let d = [...document.querySelectorAll('details:not([open]) article[id]')][0]; if (!d) return 'none';"
                      "location.hash = d.id; return d.id")
    page.run("return new Promise(done => setTimeout(done, 50))")
    shown = page.run("return arguments[0] == 'none' || document.getElementById(arguments[0]).checkVisibility()", hidden)
    checks.expect(shown, "the link to %s leads to a folded part" % hidden)


def check_aggregations(checks, page, report, name):
    for trial in report["trials"]:
        for aggregation in trial["aggregations"]:
            for label, count in aggregation.get("classes", {}).items():
                said = page.run("return [...document.querySelectorAll('.bars')].flatMap(t => [...t.tBodies[0].rows]).some(r => "
                                "r.cells[0].textContent.split(' ')[0] == arguments[0] && r.cells[1].textContent.includes(arguments[1]))",
                                label, "%s: %d " % (trial["name"], count) if len(report["trials"]) > 1 else "%d " % count)
                checks.expect(said, "%s: class %s of %s" % (name, label, trial["name"]))
            if aggregation.get("matrix"):
                cells = [[c or "" for c in row] for row in aggregation["matrix"]]
                wanted = [[str(c) for c in row] for row in cells]
                shown = page.run("return [...document.querySelectorAll('.heat')].map(t => [...t.tBodies[0].rows].map("
                                 "r => [...r.cells].slice(1).map(c => c.textContent)))")
                checks.expect(wanted in shown, "%s: matrix of %s" % (name, trial["name"]))


def png(data):
    """The pixels of a PNG file without filters: [height, width] or [height, width, 3]."""
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] != zlib.crc32(kind + body):
            raise ValueError("a chunk's checksum is wrong")
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    rows = numpy.frombuffer(zlib.decompress(packed), "u1").reshape(height, -1)
    if depth != 8 or colour not in (0, 2) or rows[:, 0].any():
        raise ValueError("not as it is written here")
    return rows[:, 1:].reshape((height, width) if colour == 0 else (height, width, 3))


def check_pictures(checks, page, report):
    """Which predictions are wrong, and their pixels, against numpy."""
    images = job_of(JOB)["images"]
    shown = page.run("return [...document.querySelectorAll('#images .trial')].map(t => [...t.querySelectorAll('figure')].map("
                     "f => [f.querySelector('img').src, f.textContent]))")
    said_of = [next(a for a in t["aggregations"] if a["kind"] == "wrong_predictions") for t in report["trials"]]
    with_pictures = [(p, t, a) for p, t, a in zip(STORY, report["trials"], said_of) if a["samples"]]
    checks.expect(len(shown) == len(with_pictures) == 5, "pictures of %d trials" % len(shown))
    for (path, trial, said), figures in zip(with_pictures, shown):
        wrong, samples = [], 0
        for (step, worker), saved in sorted(Trial(path).steps.items()):
            if saved.mode == images["mode"] and step >= images["start_step"]:
                labels, scores, inputs = (saved.tensors[images[k]][1] for k in ("labels", "predictions", "tensor"))
                samples += len(labels)
                wrong += [(step, worker, i, int(labels[i]), int(scores[i].argmax()), inputs[i][0])
                          for i in numpy.flatnonzero(labels != scores.argmax(1))]
        name = "pictures of %s" % trial["name"]
        checks.expect((said["wrong"], said["samples"]) == (len(wrong), samples), "%s: %s wrong" % (name, said["wrong"]))
        wrong = wrong[:images["most"]]
        listed = [(w["step"], w["worker"], w["sample"], w["label"], w["predicted"]) for w in said["wrong_predictions"]]
        checks.expect(listed == [w[:5] for w in wrong], "%s: report.json has %s" % (name, listed))
        checks.expect(len(figures) == len(wrong), "%s: %d figures" % (name, len(figures)))
        for (source, text), (step, worker, sample, label, predicted, pixels) in zip(figures, wrong):
            grey = numpy.clip(pixels.astype("f8") * (255 * images["std"]) + 255 * images["mean"], 0, 255)
            checks.expect((png(base64.b64decode(source.split(",")[1])) == (grey + .5).astype("u1")).all(), "%s: pixels" % name)
            words = "predicted %d %s" % (predicted, images["classes"][predicted]), "true %d " % label, "step %d " % step
            checks.expect(all(w in text for w in words) and "%s, sample %d" % (worker, sample) in text, "%s: %r" % (name, text))


def check_losses(checks, page, folder, report):
    """The numbers behind the charts against loss.csv."""
    losses = pandas.read_csv(folder / "loss.csv", float_precision="round_trip")
    charts = page.run("return [...document.querySelectorAll('#loss details:not(.numbers)')].map(t => [...t.querySelectorAll('figure')].map(f => ["
                      "f.querySelector('figcaption').textContent, [...f.querySelectorAll('tbody tr')].map(r => "
                      "[...r.cells].map(c => c.textContent))]))")
    with_losses = [t["name"] for t in report["trials"] if (losses.trial == t["name"]).any()]
    checks.expect(len(charts) == len(with_losses) > 0, "losses of %d trials" % len(charts))
    for trial, figures in zip(with_losses, charts):
        for tensor, rows in figures:
            if tensor in ("Learning rate", "Norm of the gradients"):
                continue
            mine = losses[(losses.trial == trial) & (losses.tensor == tensor)]
            known = {(m, s): "%.6g" % v for m, s, v in zip(mine["mode"], mine.step, mine.loss)}
            bad = [r for r in rows if known.get((r[0], int(r[1]))) != r[2]]
            checks.expect(rows and not bad, "losses of %s: %s" % (trial, bad[:3]))
            ends = {(m, s) for m, g in mine.groupby("mode") for s in (g.step.min(), g.step.max())}
            checks.expect(ends <= {(r[0], int(r[1])) for r in rows}, "losses of %s: first and last" % trial)
    text = page.run("return document.querySelector('#loss').textContent")
    checks.expect(re.search(r"EVAL: lowest \S+ at step \d+, last \S+, which is \S+\s% above it", text), "no word of training too long")


def check_comparison(checks, page, report):
    rows = page.run("return [...document.querySelector('table#rows-matrix').tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))")
    words = {"IssuesFound": "issues", "NoIssuesFound": "ok", "NoData": "no data", "Error": "error"}
    wanted = []
    for i, rule in enumerate(report["trials"][0]["rules"]):
        here = [t["rules"][i] for t in report["trials"]]
        wanted.append([rule["name"]] + [SHAPE[r["status"]] + " " + words[r["status"]] +
                                        (" from step %d" % r["first"]["step"] if r["first"] else "") for r in here])
    wanted = [w for w in wanted if any(not cell.endswith("no data") for cell in w[1:])]
    checks.expect(rows == wanted, "matrix of rules and trials: %s for %s" % (rows[:2], wanted[:2]))
    checks.expect("imbalance of labels in training" in page.run("return document.querySelector('#comparison').textContent"),
                  "imbalanced does not stand out")


def check_keyboard(checks, browser, path):
    page = browser.open(path, 1600)
    wanted = page.run("return [...document.querySelectorAll('a[href], summary, button, input, [tabindex=\"0\"]')]"
                      ".filter(e => e.checkVisibility()).length")
    reached, outlined = page.tab(wanted + 2)
    checks.expect(reached[0] == "A#main", "the first stop is %s" % reached[:1])
    checks.expect(len([r for r in reached if r != "BODY"]) == wanted, "%d of %d stops reached" % (len(reached), wanted))
    checks.expect({"SUMMARY", "A#findings", "A#confusion"} <= set(reached), "stops: %s" % sorted(set(reached))[:20])
    checks.expect(outlined == wanted, "only %d of %d stops show the focus" % (outlined, wanted))


def check_what_it_tells(checks, report):
    """The classes out of balance, the training that ran too long, and the wrong labels: each is told of the trial that has it."""
    comparison = report["comparison"]
    imbalance = {t["trial"]: t["imbalance"] for t in comparison["class_counts"][0]["trials"]}
    checks.expect(imbalance["imbalanced"] > 30 and imbalance["balanced"] < 2, "largest over smallest class: %s" % imbalance)
    checks.expect(("imbalanced", "imbalance of labels in training") in {(o["trial"], o["what"]) for o in comparison["outliers"]},
                  "outliers: %s" % comparison["outliers"])
    for name, where in (("trained too long", ["overfit"]), ("PredictionCollapse", [])):  # a collapse of a few steps that heals is none
        fired = [t["name"] for t in report["trials"] for r in t["rules"] if (r["name"], r["status"]) == (name, "IssuesFound")]
        checks.expect(fired == where, "%s: %s" % (name, fired))
    rises = [t for t in next(e for e in comparison["losses"] if e["mode"] == "EVAL")["trials"] if t["trial"] == "overfit"][0]
    checks.expect(rises["last"] > 2 * rises["best"] and rises["best_mode_step"] < rises["last_mode_step"],
                  "the loss of overfit in evaluation: %s" % rises)
    accuracy = {t["trial"]: t["accuracy"] for t in comparison["confusion"][0]["trials"]}
    checks.expect(accuracy["flip"] < accuracy["healthy"], "accuracy: %s" % accuracy)


def check_story(checks, browser, assay, folder, ranks):
    trials = [a for t in STORY for a in ("--trial", t)]
    pages = []
    for n in ranks:
        out = Path(folder) / ("story%d" % n)
        done = mpirun(n, [assay, "run", JOB, *trials, "--reports", "html,json,csv", "--out", out])
        path, report = page_and_report(checks, done, out, "story on %d" % n)
        pages.append(path)
        checks.expect(without_run(path) == without_run(pages[0]), "other bytes at %d ranks" % n)
    page = browser.open(pages[0])
    check_what_it_tells(checks, report)
    check_findings(checks, page, report, "story")
    check_order(checks, page, "story")
    check_aggregations(checks, page, report, "story")
    check_pictures(checks, page, report)
    check_losses(checks, page, out, report)
    check_comparison(checks, page, report)
    checks.expect("worker_2" in page.run("return document.querySelector('#completeness').textContent"), "the map names who is missing")
    silent = page.run("return [...document.querySelectorAll('svg[role=img]')].filter(s => !s.querySelector('title')).length")
    checks.expect(silent == 0, "%d pictures without a title" % silent)
    check_readable(checks, browser, pages[0], "story")
    check_keyboard(checks, browser, pages[0])
    check_script(checks, browser, pages[0])
    paper = browser.open(pages[0], 800, media="print")
    checks.expect(paper.widest() is None, "on paper it is %s pixels wide" % paper.widest())
    checks.expect(len(browser.pdf()) > 10000, "the page does not print")
    shown = paper.run("return [...document.querySelectorAll('details:not([open])')].filter(d => d.getBoundingClientRect().height > 0).length")
    checks.expect(shown == 0, "on paper %d folded parts take room" % shown)
    sheet = browser.open(pages[0], 700, scheme="dark", media="print")  # A4 between its margins, from a browser with a dark theme
    blocks = sheet.run("return [...document.querySelectorAll('table.stack tr')]"
                       ".filter(r => !['table-row', 'none'].includes(getComputedStyle(r).display)).length")
    bad = sheet.run("return getComputedStyle(document.documentElement).getPropertyValue('--bad').trim()")
    checks.expect((blocks, bad) == (0, "#b23c00"), "on paper %d rows are blocks, findings are %s" % (blocks, bad))
    phone = browser.open(pages[0], 420)
    phone.unfold()
    cells = phone.run("return [...document.querySelectorAll('section#findings .card td[data-head]')].map(c => [c.dataset.head, "
                      "c.getBoundingClientRect().right])")
    checks.expect({head for head, _ in cells} >= {"step", "workers", "value", "threshold", "tensor"} and
                  max(right for _, right in cells) <= 420, "at 420 pixels cells of the evidence are out of sight: %s" % cells[:7])
    drawn = page.run("return [...document.querySelectorAll('#loss .plot')].filter(p => p.querySelector('.pale')).map(p => "
                     "[p.querySelectorAll('.line').length - 1, (p.querySelector('.pale').getAttribute('d').match(/M/g) || []).length])")
    checks.expect(drawn and all(odd + others == len(report["trials"]) for odd, others in drawn), "the losses of all trials are drawn: %s" % drawn)


def check_one(checks, browser, assay, folder):
    """One run prints on four pages at most, and what follows from its first cause is folded under it."""
    for trial in ("dead_relu", "ddp_partial", "linreg_nan"):
        out = Path(folder) / trial
        done = run([assay, "run", "--trial", TRIALS / trial, "--reports", "html,json", "--out", out])
        path, report = page_and_report(checks, done, out, trial)
        page = browser.open(path, 700, media="print")
        pages = len(re.findall(rb"/Type\s*/Page[^s]", base64.b64decode(browser.pdf())))
        checks.expect(1 <= pages <= 4, "%s prints on %d pages" % (trial, pages))
        check_order(checks, browser.open(path, 1400), trial)
        check_phone(checks, browser.open(path, 400), trial)
    told = Path(folder) / "settings-trial"
    shutil.copytree(TRIALS / "linreg_nan", told)
    (told / "run").mkdir()
    for settings in ({"lr": 0.1, "<b>": "x"}, {"lr": 0.1, **{"x%d" % i: i for i in range(20)}}):
        (told / "run" / "worker_0.json").write_text(json.dumps({"schema": "assay-run/1", "worker": "worker_0", "rank": 0, "workers": 1, "config": settings}))
        run([assay, "run", told, "--reports", "html", "--out", Path(folder) / "settings"])
        top = (Path(folder) / "settings" / "report.html").read_text().split('id="loss"')[0]
        checks.expect(re.search(">lr</span></td><td[^>]*>0.1</td>", top) and "<b>" not in top, "settings on top: %s" % top[-1500:])
        checks.expect(("%d settings of the run" % len(settings) in top) == (len(settings) > 12), "many are folded, few are not: %s" % top[-1500:])
    page = browser.open(path, 1400)
    inner = page.run("return [...document.querySelectorAll('article details article')].map(a => a.id)")
    fired = [r["name"] for r in report["trials"][0]["rules"] if r["status"] == "IssuesFound"]
    cards = page.run("return [...document.querySelectorAll('section#findings article')].map(a => a.id)")
    checks.expect(sorted(cards) == sorted(card_of(0, 0, name) for name in fired), "each rule that fired has one card: %s, %s" % (cards, fired))
    checks.expect(len(inner) == len(fired) - 1 > 0, "what follows from NaN is not folded under it: %s of %s" % (inner, cards))


def shown(name):
    """A name as the page shows it: control characters and turns of direction visible, what is no UTF-8 replaced."""
    def visible(match):
        code = ord(match[0])
        return {10: "\\n", 9: "\\t", 13: "\\r"}.get(code, ("\\x%02x" if code < 256 else "\\u%04x") % code)
    name = hostile.as_reported(name)
    return re.sub("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]", visible, name)


def check_hostile(checks, browser, assay, folder):
    job = hostile.make(Path(folder), ["html"])
    done = run([assay, "run", job, "--out", Path(folder) / "hostile"])
    path, report = page_and_report(checks, done, Path(folder) / "hostile", "hostile")
    page = browser.open(path)
    check_harmless(checks, page, "hostile")
    names = page.run("return [...new Set([...document.querySelectorAll('.name')].map(e => e.textContent))]")
    for name in hostile.RULES:
        if len(shown(name)) <= 72:
            checks.expect(shown(name) in names, "hostile: the rule %r is not on the page" % shown(name))
    long = [e for e in names if e.startswith("long, <b>xxx") and e.endswith("xx|end</b>")]
    checks.expect(long and max(map(len, long)) <= 72, "hostile: the long name is %s" % [len(e) for e in long])
    stray = page.select("b, i, img[src=x], marquee")
    checks.expect(not stray, "hostile: %d elements of names" % len(stray))
    text = page.all_text()
    checks.expect(not re.search("[\u202a-\u202e\u2066-\u2069\x01-\x08]", text), "hostile: turns of direction on the page")
    for width in WIDTHS:
        page = browser.open(path, width)
        page.unfold()
        checks.expect(page.widest() is None, "hostile: %s pixels wide at %d" % (page.widest(), width))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    arguments = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        check_story(checks, browser, arguments.assay, folder, arguments.ranks)
        check_one(checks, browser, arguments.assay, folder)
        check_hostile(checks, browser, arguments.assay, folder)
    checks.done()


if __name__ == "__main__":
    main()
