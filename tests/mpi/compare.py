#!/usr/bin/env python3
"""assay compare: the same bytes at any number of ranks; losses, classes, partings and outliers are those that numpy computes
of the recorded values; bands learned of good runs are silent on them and fire on bad ones; damaged files of bands are refused.

    compare.py --assay PROGRAM --ranks 1 2 3 7
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import logs  # noqa: E402
from launch import ROOT, TRIALS, Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of, report_of  # noqa: E402

NAMES = ["healthy", "flip", "ddp", "dead_relu", "zero_init"]
LOSS = "CrossEntropyLoss_output_0"
JOB = ROOT / "jobs" / "compare.json"


def close(a, b, tolerance=1e-9):
    return abs(float(a) - float(b)) <= tolerance * max(abs(float(a)), abs(float(b)), 1e-300)


def recorded(trial):
    """{(tensor, mode): {mode step: figures of all workers together}}"""
    found = {}
    for tensor, rows in json.loads((TRIALS / (trial + ".values.json")).read_text())["tensors"].items():
        steps = {}
        for row in rows:
            if row["mode"] != "GLOBAL" and "l2" in row and row.get("shape") is not None:
                steps.setdefault((row["mode"], row["step"]), []).append(row)
        for (mode, step), of in steps.items():
            count = numpy.array([numpy.prod(r["shape"], dtype=float) for r in of])
            found.setdefault((tensor, mode), {})[step] = {
                "norm": numpy.sqrt(numpy.mean([r["l2"] ** 2 for r in of])),
                "mean": sum(r["sum"] for r in of) / count.sum(),
                "magnitude": sum(r["l1"] for r in of) / count.sum(),
                "zeros": sum(r["zero"] for r in of) / count.sum(),
                "elements": count.sum(),
                "loss": numpy.mean([r["mean"] for r in of])}
    return found


def banded(figures, figure):
    """A figure as bands have it: the mean over the mean magnitude."""
    over = figures["magnitude"] if figure == "mean" else 1
    return figures[figure] / over if over else 0.0


def check_losses(checks, comparison, values):
    for mode in ("TRAIN", "EVAL"):
        loss = [e for e in comparison["losses"] if (e["tensor"], e["mode"]) == (LOSS, mode)][0]
        curves = {n: {s: f["loss"] for s, f in sorted(values[n][LOSS, mode].items())} for n in NAMES}
        start, end = max(min(c) for c in curves.values()), min(max(c) for c in curves.values())
        checks.expect((loss["from"], loss["to"]) == (start, end), "%s: all cover %s to %s: %s" % (mode, start, end, loss))
        shared = sorted(set.intersection(*(set(c) for c in curves.values())))
        checks.expect(loss["mode_steps"] == shared, "%s: common steps %s: %s" % (mode, shared, loss["mode_steps"]))
        checks.expect([t["trial"] for t in loss["trials"]] == NAMES, "%s: every trial has the loss" % mode)
        for trial in loss["trials"]:
            curve = curves[trial["trial"]]
            steps, losses = numpy.array(list(curve)), numpy.array(list(curve.values()))
            grid = numpy.union1d(steps[(steps > start) & (steps < end)], [start, end])
            area = numpy.trapz(numpy.interp(grid, steps, losses), grid)
            want = {"points": len(curve), "best": losses.min(), "best_mode_step": steps[losses.argmin()], "last": losses[-1],
                    "last_mode_step": steps[-1], "area": area}
            for key, value in want.items():
                what = "%s %s: %s is %s, not %s" % (trial["trial"], mode, key, trial[key], value)
                checks.expect(close(trial[key], value), what)
            fine = all(close(a, curve[s]) for a, s in zip(trial["values"], shared))
            checks.expect(fine, "%s: values at the common steps" % mode)


def check_classes(checks, comparison):
    counts, confusion = comparison["class_counts"][0], comparison["confusion"][0]
    every = set()
    for name in NAMES:
        every |= set(json.loads((TRIALS / (name + ".rules.json")).read_text())["aggregations"]["train_classes"]["classes"])
    classes = sorted(int(c) for c in every)
    checks.expect(counts["classes"] == classes, "classes: %s" % counts["classes"])
    for i, name in enumerate(NAMES):
        known = json.loads((TRIALS / (name + ".rules.json")).read_text())["aggregations"]
        want = [known["train_classes"]["classes"].get(str(c), 0) for c in classes]
        got = counts["trials"][i]
        checks.expect(got["trial"] == name and got["counts"] == want, "%s: counts %s, not %s" % (name, got, want))
        ratio = max(want) / min(want) if min(want) else float("inf")
        checks.expect(close(got["imbalance"], ratio) or float(got["imbalance"]) == ratio, "%s: imbalance %s" % (name, got))
        matrix = numpy.array(known["eval_confusion"]["matrix"], dtype=float)
        got = confusion["trials"][i]
        checks.expect(close(got["accuracy"], matrix.trace() / matrix.sum()), "%s: accuracy %s" % (name, got))
        for c, recall in zip(confusion["classes"], got["recall"]):
            support = matrix[c].sum() if c < len(matrix) else 0
            fine = recall is None if support == 0 else close(recall, matrix[c, c] / support) or recall == matrix[c, c] == 0
            checks.expect(fine, "%s: recall of %d is %s" % (name, c, recall))


def gap(a, b):
    scale = max(a["magnitude"], b["magnitude"])
    gaps = {"norm": abs(a["norm"] - b["norm"]) / max(a["norm"], b["norm"], 1e-300),
            "mean": abs(a["mean"] - b["mean"]) / max(scale, 1e-300),
            "magnitude": abs(a["magnitude"] - b["magnitude"]) / max(scale, 1e-300), "zeros": abs(a["zeros"] - b["zeros"])}
    return max(gaps.values())


def check_partings(checks, comparison, values, base, tolerance):
    for trial in comparison["trials"]:
        name = trial["name"]
        if name == base:
            checks.expect("tensors" not in trial, "the baseline is not compared with itself")
            continue
        want, started = {}, set()
        common = set(values[name]) & set(values[base])
        for key in sorted(common, key=lambda k: (k[0], k[1] == "EVAL")):
            both = set(values[name][key]) & set(values[base][key])
            if key[1] == "TRAIN" and 0 in both and gap(values[name][key][0], values[base][key][0]) > tolerance:
                started.add(key[0])
            if key[0] in started:
                continue
            for step in sorted(set(values[name][key]) & set(values[base][key])):
                if gap(values[name][key][step], values[base][key][step]) > tolerance:
                    want[key] = step
                    break
        found = len({(tensor, mode) for tensor, mode in common if tensor in started})
        checks.expect(trial["tensors"]["different_from_start"] == found, "%s: %d differ from the start, not %d" % (
            name, found, trial["tensors"]["different_from_start"]))
        got = {(t["tensor"], t["mode"]): t["mode_step"] for t in trial["tensors"]["first"]}
        values_only = {(t["tensor"], t["mode"]) for t in trial["tensors"]["first"] if t["parts"] == "value"}
        checks.expect(trial["tensors"]["parted"] == len(got), "%s: all that part are listed" % name)
        checks.expect({k: s for k, s in got.items() if k in values_only} == {k: s for k, s in want.items() if k in values_only},
                      "%s parts from %s elsewhere" % (name, base))
        checks.expect(set(got) >= set(want), "%s: %s part unnoticed" % (name, set(want) - set(got)))


def check_ranks(checks, assay, ranks, folder):
    trials = [TRIALS / n for n in NAMES]
    first = None
    for n in ranks:
        out = folder / ("ranks-%d" % n)
        done = mpirun(n, [assay, "compare", *trials, "--job", JOB, "--out", out, "--learn", folder / ("bands-%d" % n), "--quiet"])
        if not checks.expect(done.code == 0, "at %d ranks: %s" % (n, done)):
            return
        now = (body_of(out), (folder / ("bands-%d" % n)).read_bytes(), re.sub(r"\nRead .*", "", done.out, flags=re.S))
        first = first or now
        checks.expect(now == first, "at %d ranks the report, the bands or the text differ" % n)
    values = {n: recorded(n) for n in NAMES}
    comparison = report_of(folder / ("ranks-%d" % ranks[0]))["comparison"]
    check_losses(checks, comparison, values)
    check_classes(checks, comparison)
    check_partings(checks, comparison, values, "healthy", 0.01)
    groups = {frozenset(g["rules"]): g["trials"] for g in comparison["groups"]}
    report = report_of(folder / ("ranks-%d" % ranks[0]))
    for trial in report["trials"]:
        fired = [r for r in trial["rules"] if r["status"] == "IssuesFound"]
        checks.expect(trial["name"] in groups[frozenset(r["name"] for r in fired)], "%s is in its group" % trial["name"])
        one = [t for t in comparison["trials"] if t["name"] == trial["name"]][0]
        steps = [r["first"]["step"] for r in fired]
        earliest = min(steps) if steps else None
        checks.expect((one["first"] or {}).get("step") == earliest, "%s: its first finding" % trial["name"])
    checks.expect("Where tensors first part from the baseline" in done.out, "the text has the comparison")
    done = run([assay, "compare", *trials, "--baseline", "flip", "--out", folder / "flip", "--job", JOB, "--quiet"])
    check_partings(checks, report_of(folder / "flip")["comparison"], values, "flip", 0.01)
    twice = [TRIALS / "healthy", "again=%s/../trials/healthy" % TRIALS]
    done = run([assay, "compare", *twice, "--out", folder / "twice", "--quiet"])
    again = report_of(folder / "twice")["comparison"]["trials"][1]["tensors"]
    checks.expect(done.code == 0 and again["parted"] == 0 < again["compared"], "a trial does not part from itself: %s" % again)


def made_trial(folder, name, last=1.0, shape=(2, 3), dtype="float32"):
    made = Made(folder / name, collections={"losses": "^loss$"})
    for step in range(4):
        late = step >= 2
        made.step(step, "TRAIN", step, {"loss": numpy.float64(last if step == 3 else 9 - step),
                                        "w": numpy.full(shape if late else (2, 3), 2, dtype if step == 3 else "float32")})
    return made.end()


def check_made(checks, assay, ranks, folder):
    """Shapes, dtypes and outliers, where what must come out is plain."""
    lasts = [1.0, 1.1, 0.9, 1.05, 7.0, 1.0, numpy.nan]
    for i, last in enumerate(lasts):
        made_trial(folder / "made", "t%d" % i, last)
    made_trial(folder / "made", "t7", 1.0, shape=(6,))
    made_trial(folder / "made", "t8", 1.0, dtype="float64")
    (folder / "made" / "notes.txt").write_text("no trial")
    first = None
    for n in ranks:
        done = mpirun(n, [assay, "compare", str(folder / "made" / "t[0-9]*"), "--out", folder / "m", "--quiet"])
        checks.expect(done.code == 0, "a pattern at %d ranks: %s" % (n, done))
        first = first or body_of(folder / "m")
        checks.expect(body_of(folder / "m") == first, "a pattern at %d ranks: the report differs" % n)
    comparison = report_of(folder / "m")["comparison"]
    checks.expect([t["name"] for t in comparison["trials"]] == ["t%d" % i for i in range(9)], "the pattern's trials in order")
    parts = {t["name"]: [(p["tensor"], p["parts"], p["mode_step"], p["baseline"], p["value"]) for p in t["tensors"]["first"]
                         if p["tensor"] == "w"] for t in comparison["trials"][1:]}
    checks.expect(parts["t7"] == [("w", "shape", 2, [2, 3], [6])], "the shape that parts: %s" % parts["t7"])
    checks.expect(parts["t8"] == [("w", "dtype", 3, "float32", "float64")], "the dtype that parts: %s" % parts["t8"])
    checks.expect(not any(parts["t%d" % i] for i in range(1, 7)), "no other weight parts: %s" % parts)
    finite = numpy.array([x for x in lasts + [1.0, 1.0] if numpy.isfinite(x)])
    median = numpy.median(finite)
    mad = numpy.median(abs(finite - median))
    scale = numpy.log(finite)
    score = min(0.6745 * (7.0 - median) / mad, 0.6745 * (numpy.log(7.0) - numpy.median(scale)) / numpy.median(
        abs(scale - numpy.median(scale))))
    found = {(o["trial"], o["what"]): o for o in comparison["outliers"]}
    far = found.get(("t4", "last loss of loss, TRAIN"))
    checks.expect(far and close(far["score"], score) and close(far["median"], median), "the outlier %s, score %s" % (far, score))
    checks.expect(("t6", "last loss of loss, TRAIN") in found and found["t6", "last loss of loss, TRAIN"]["score"] == "inf" and
                  found["t6", "last loss of loss, TRAIN"]["value"] == "nan", "a loss that is NaN is an outlier: %s" % found)
    for trial in ("t0", "t1", "t3"):
        checks.expect(not [k for k in found if k[0] == trial], "%s is none" % trial)


def check_trial_lists(checks, assay, folder):
    made = folder / "made"
    (folder / "list").write_text("# good ones\n\n  %s/t0\r\nother=%s/t1\n%s/t[2-3]\n" % (made, made, made))
    done = run([assay, "compare", made / "t8", "--trials-from", folder / "list", "--baseline", "other", "--out", folder / "l",
                "--quiet"])
    comparison = report_of(folder / "l")["comparison"]
    checks.expect(done.code == 0 and [t["name"] for t in comparison["trials"]] == ["t8", "t0", "other", "t2", "t3"] and
                  comparison["baseline"] == "other", "a list of trials: %s" % done)
    job = {"trials": [str(made / "t[01]"), str(made / "t0")], "rules": [{"rule": "ExplodingTensor"}],
           "comparison": {"baseline": "t1"}}
    (folder / "job.json").write_text(json.dumps(job))
    done = run([assay, "run", folder / "job.json", "--out", folder / "j", "--quiet"])
    comparison = report_of(folder / "j")["comparison"]
    checks.expect(done.code == 0 and [t["name"] for t in comparison["trials"]] == ["t1", "t0"] and comparison["baseline"] == "t1",
                  "patterns in a job file, without the trials that it has anyway: %s" % comparison["trials"])
    (folder / "empty").write_text("# nothing\n")
    refused = [(["compare"], "no trials"), (["compare", made / "none*"], "matches no directory"),
               (["compare", "x=%s/t*" % made], "cannot all be called"), (["compare", made / "t0", "--baseline", "t9"], "t9"),
               (["compare", "--trials-from", folder / "empty"], "no trial in it"),
               (["compare", "--trials-from", folder / "nowhere"], "nowhere"),
               (["compare", made / "t0", made / "t0"], "listed twice"),
               (["compare", made / "notes.*"], "matches no directory"),
               (["compare", made / "t0", "--learn", folder / "x"], "at least 2 trials"),
               (["compare", made / "t0", made / "t1", "--learn", folder / "x", "--noise", "points=0"], "points=1..100"),
               (["compare", made / "t0", made / "t1", "--learn", folder / "x", "--noise", "share=0.1,far=2"], "far=2"),
               (["compare", made / "t0", "--noise", "factor=2"], "goes with --learn")]
    for command, text in refused:
        done = run([assay, *command, "--out", folder / "refused"])
        checks.expect(done.code == 2 and text in done.err, "%s: %s" % (command, done))
    checks.expect(not (folder / "x").exists() and not (folder / "refused").exists(), "what is refused writes nothing")
    for i in range(2):
        logs.csv(folder / ("runs/run-%d" % i), logs.curve(2))
    (folder / "runs/run-2").symlink_to("nowhere")
    done = run([assay, "compare", "x=%s" % (folder / "runs"), made / "t0", "--out", folder / "refused"])
    checks.expect(done.code == 2 and "cannot all be called" in done.err and "run-2" in done.err, "a run that cannot be looked at: %s" % done)
    shutil.rmtree(folder / "runs")  # a place with logs around them is asked for what is missing


def sealed(text):
    return text + ' "sha256": "%s"}\n' % hashlib.sha256(text.encode()).hexdigest()


def check_bands(checks, assay, ranks, folder):
    bands = folder / "bands.json"
    good = [TRIALS / n for n in ("healthy", "flip", "ddp")]
    done = run([assay, "compare", *good, "--learn", bands, "--out", folder / "g", "--quiet"])
    checks.expect(done.code == 0, "learning: %s" % done)
    for name, code in (("healthy", 0), ("dead_relu", 1), ("zero_init", 1)):
        for n in (ranks[0], ranks[-1]):
            done = mpirun(n, [assay, "compare", TRIALS / name, "--against", bands, "--fail-on", "warning", "--out", folder / "a",
                              "--job", folder / "quiet.json", "--quiet", "--allow-no-data"])
            report = report_of(folder / "a")["bands"]["trials"][0]
            checks.expect(done.code == code and (report["outside"] > 0) == (code == 1) and report["compared"] > 50,
                          "%s against the bands at %d ranks: %s\n%s" % (name, n, report["outside"], done))
    values = recorded("zero_init")
    learned = {(b["figure"], b["tensor"], b["mode"]): b for b in json.loads(bands.read_text())["bands"]}
    figures = [recorded(n.name) for n in good]
    for (figure, tensor, mode), band in list(learned.items())[::7]:
        for step, quantiles in zip(band["steps"], band["quantiles"]):
            of = [banded(g[tensor, mode][step], figure) for g in figures if step in g.get((tensor, mode), {})]
            want = numpy.quantile(of, [0, 0.05, 0.5, 0.95, 1])
            what = "%s %s %s: %s, not %s" % (figure, tensor, step, quantiles, want)
            if not checks.expect(numpy.allclose(quantiles, want, rtol=1e-9, atol=1e-12), what):
                break
    for one in report["first"][:20]:
        if one["kind"] != "value":
            continue
        value = banded(values[one["tensor"], one["mode"]][one["mode_step"]], one["figure"])
        checks.expect(numpy.isclose(one["value"], value) and not one["low"] <= value <= one["high"], "it is outside: %s" % one)
    done = run([assay, "compare", TRIALS / "zero_init", "--against", bands, "--out", folder / "a", "--quiet",
                "--job", folder / "quiet.json", "--fail-on", "error"])
    checks.expect(done.code == 0, "a warning is no error: %s" % done)
    check_hostile_bands(checks, assay, folder, bands.read_text())


def check_hostile_bands(checks, assay, folder, text):
    noise = '"noise": {"points": 3, "share": 0.05, "margin": 0.05, "factor": 1.5, "losses": 1, "gaps": 1, "tensors": 1, "tensor": 1}'
    head = '{"schema": "assay-bands/3", "trials": 2,\n %s,\n "bands": [' % noise
    one = '{"figure": "norm", "tensor": "w", "mode": "TRAIN", "runs": 2, "moved": 2, "steps": [0, 1], "quantiles": [[1,1,1,1,1], [1,2,3,4,5]]}'
    hostile = [(text[:-1], "cut short"), (text[: len(text) // 2], "cut short"), ("", "cut short"),
               (text.replace("0.1", "0.2", 1), "SHA-256"),
               (sealed("not json\n"), ""), (sealed("[1,\n"), ""), (sealed(head.replace("/3", "/2") + "],\n"), "learn the bands anew"),
               (sealed(head.replace("3,", "3.5,") + "],\n"), "noise: expected"),
               (sealed(head.replace("1.5", "0.5") + "],\n"), "noise: expected"),
               (sealed(head + one.replace('"runs": 2', '"runs": -2') + "],\n"), "runs"),
               (sealed(head.replace('"trials": 2,', '"trials": "x",') + "],\n"), "trials"), (sealed(head[:-1] + "3,\n"), "bands"),
               (sealed(head + one.replace("norm", "size") + "],\n"), "unknown figure"),
               (sealed(head + one.replace("TRAIN", "train") + "],\n"), "unknown mode"),
               (sealed(head + one.replace("[0, 1]", "[1, 1]") + "],\n"), "steps[1]"),
               (sealed(head + one.replace("[0, 1]", "[0]") + "],\n"), "as long as"),
               (sealed(head + one.replace("[0, 1]", "[]") + "],\n"), "steps"),
               (sealed(head + one.replace("2,3,4", "2,1,4") + "],\n"), "quantiles[1][2]"),
               (sealed(head + one.replace("1,1,1,1,1", "1,1,1,1") + "],\n"), "quantiles[0]"),
               (sealed(head + one.replace("4,5", "4,1e999") + "],\n"), "too large"),
               (sealed(head + one.replace('"w"', "3") + "],\n"), "have to be texts"),
               (sealed(head + one + "," + one + "],\n"), "in order"),
               (sealed(head + one.replace('"mode"', '"more"') + "],\n"), "more"), (sealed(head + "3],\n"), "bands[0]")]
    for i, (content, words) in enumerate(hostile):
        path = folder / ("hostile-%d.json" % i)
        path.write_text(content)
        done = run([assay, "compare", TRIALS / "healthy", "--against", path, "--out", folder / "h", "--job",
                    folder / "quiet.json"])
        told = path.name in done.err and words in done.err
        checks.expect(done.code == 2 and told, "hostile bands %d, %s: %s" % (i, words, done))
    checks.expect(not (folder / "h").exists(), "what is refused writes nothing")


def check_names_of_bands(checks, assay, folder):
    """A tensor whose name JSON cannot write has no band; the file is one that --against takes."""
    named = {os.fsdecode(name): numpy.arange(3.0) for name in (b"a\xff", b"a\xfe", "a\u00fc".encode(), b"w\"\\<")}
    trials = [Made(folder / ("named-%d" % t)).step(0, "TRAIN", 0, named).step(1, "TRAIN", 1, named).end() for t in range(2)]
    bands = folder / "names.json"
    done = run([assay, "compare", *trials, "--learn", bands, "--out", folder / "n", "--quiet"])
    learned = sorted({b["tensor"] for b in json.loads(bands.read_text())["bands"]})
    checks.expect(done.code == 0 and learned == ["a\u00fc", "w\"\\<"], "bands of strange names: %s, %s" % (learned, done))
    done = run([assay, "compare", trials[0], "--against", bands, "--out", folder / "n", "--fail-on", "warning", "--quiet"])
    checks.expect(done.code == 0 and report_of(folder / "n")["bands"]["trials"][0]["compared"] == 10, "against them: %s" % done)


def check_nothing_there(checks, assay, folder):
    """What could not be read or tested is said to be so in every form, and never called a pass."""
    empty = folder / "empty-trial"
    for part in ("index", "events", "collections"):
        (empty / part).mkdir(parents=True)
    whole, formats = TRIALS / "healthy", ["--reports", "json,html,markdown"]
    done = run([assay, "compare", folder / "nowhere", whole, empty, "--baseline", "nowhere", "--out", folder / "e", *formats])
    page = (folder / "e" / "report.html").read_text()
    checks.expect(done.code == 3 and "which could not be read: no tensor was compared" in done.out, "no baseline: %s" % done)
    for words in ("nowhere</span>: could not be read", "1 trial that could not be opened", "nothing was tested in empty-trial",
                  "which could not be read: no tensor was compared", "No worker wrote any step.",
                  "in which no rule had anything to test: nothing is known of them"):
        checks.expect(words in page, "the page of a comparison with nothing does not say %r" % words)
    checks.expect("no tensor parts" not in page and "Every worker wrote every step." not in page and
                  "1 other trial is whole." in page, "the page says too much")
    checks.expect(done.out.count("No worker wrote any step.") == 1, "the text of an empty trial: %s" % done)
    kinds = [(g["kind"], g["trials"]) for g in report_of(folder / "e")["comparison"]["groups"]]
    checks.expect(kinds[0] == ("unread", ["nowhere"]) and ("no data", ["empty-trial"]) in kinds and len(kinds) == 3,
                  "groups of those that say nothing: %s" % kinds)
    checks.expect("in which no rule had anything to test: nothing is known of them" in done.out, "said in the text: %s" % done)
    (folder / "none.json").write_text('{"rules": [{"rule": "DeadRelu", "parameters": {"tensor_regex": "none such"}}]}')
    done = run([assay, "run", folder / "none.json", "--trial", whole, "--out", folder / "e", "--quiet", *formats])
    told = "nothing was tested; 1 rule had no data"
    checks.expect(done.code == 1 and "<strong>%s</strong>" % told in (folder / "e" / "report.html").read_text() and
                  "## " + told in (folder / "e" / "report.md").read_text(), "no data: %s" % done)


def check_other_modes(checks, assay, folder):
    """A tensor that both have, though never at a common step, is not one that the other lacks."""
    one = Made(folder / "one").step(0, "TRAIN", 0, {"w": 1.0, "v": 1.0}).step(2, "EVAL", 0, {"w": 1.0, "u": 1.0}).end()
    two = Made(folder / "two").step(1, "TRAIN", 1, {"w": 1.0}).step(2, "EVAL", 0, {"w": 2.0}).end()
    run([assay, "compare", one, two, "--out", folder / "m", "--quiet"])
    tensors = report_of(folder / "m")["comparison"]["trials"][1]["tensors"]
    wanted = {"compared": 1, "parted": 1, "without_common_steps": 1, "only_here": 0, "only_in_baseline": 2}
    checks.expect(wanted.items() <= tensors.items(), "tensors at other steps: %s" % tensors)


def check_many_classes(checks, assay, folder):
    """More classes than stand beside one another: the rest is told, and counts for the imbalance."""
    trials = []
    for name, labels in (("few", [1, 1, 2]), ("many", range(5000))):
        made = Made(folder / name, collections={"losses": "^loss$"})
        made.step(0, "TRAIN", 0, {"labels": numpy.array(labels, dtype="int64")})
        trials.append(made.end())
    job = folder / "many.json"
    job.write_text('{"aggregations": [{"kind": "class_counts", "name": "c", "labels": "labels"}]}')
    done = run([assay, "compare", *trials, "--job", job, "--out", folder / "n"])
    counts = report_of(folder / "n")["comparison"]["class_counts"][0]
    checks.expect(counts["classes"] == list(range(4096)) and counts["classes_left_out"] == 904, "the classes beside one another: %s" % done)
    checks.expect([t["imbalance"] for t in counts["trials"]] == ["inf", 1], "imbalance over all: %s" % counts["trials"][0]["imbalance"])
    checks.expect([t["counts"][1] for t in counts["trials"]] == [2, 1] and "more classes" in done.out, "their counts: %s" % done)


def check_many_rules(checks, assay, folder):
    """Of more rules than a page has room for, those without data are no part of what is left out."""
    trials = [Made(folder / ("ruled-%d" % i)).step(0, "TRAIN", 0, {"w": 1.0 + i}).end() for i in range(9)]
    rules = [{"name": "r%d" % i, "rule": "ExplodingTensor"} for i in range(61)]
    rules += [{"name": "none %d" % i, "rule": "DeadRelu", "parameters": {"tensor_regex": "none such"}} for i in range(3)]
    job = folder / "ruled.json"
    job.write_text(json.dumps({"rules": rules}))
    done = run([assay, "compare", *trials, "--job", job, "--reports", "html", "--out", folder / "r", "--quiet"])
    page = (folder / "r" / "report.html").read_text()
    silent = re.findall(r"(\d+) rules had no data in any trial", page)
    fine = silent == ["3"] and ">r60<" in page and "... and 1 more rules; report.json has all of them." in done.out
    checks.expect(fine, "rules left out, rules without data: %s: %s" % (silent, done))


def check_extreme_losses(checks, assay, folder):
    """Losses at the ends of what a double holds are drawn within the chart."""
    inf, nan = numpy.inf, numpy.nan
    losses = [[nan, 1.0, inf, -inf, 0.5], [1e308, -1e308, 0.0, nan, 1.0], [5e-324, 1e308, 1.0, 2.0, 3.0], [inf] * 5,
              [5e-324, 0.0, 5e-324, 0.0, 1e-320], [1.7976931348623157e308] * 5, [-1.7976931348623157e308] * 5]
    trials = []
    for t, values in enumerate(losses):
        made = Made(folder / ("extreme-%d" % t), collections={"losses": "^loss$"})
        for step, value in enumerate(values):
            made.step(step, "TRAIN", step, {"loss": numpy.float64(value)})
        trials.append(made.end())
    job = folder / "extreme.json"
    job.write_text('{"rules": [{"rule": "ExplodingTensor"}], "aggregations": [{"kind": "loss_curve", "name": "curve"}]}')
    done = run([assay, "compare", *trials, "--job", job, "--reports", "html,json", "--out", folder / "x", "--quiet"])
    page = (folder / "x" / "report.html").read_text()
    paths = re.findall(' d="([^"]*)"', page)
    checks.expect(done.code == 0 and len(paths) > 20, "extreme losses: %s" % done)
    checks.expect(not [p for p in paths if re.search("nan|inf", p)], "a chart of extreme losses has points nowhere")
    lines = re.findall('class="line s[^"]*" d="([^"]*)"', page)
    heights = [float(y) for line in lines for y in re.findall(r"[ML]\S+ ([-\d.e+]+)", line)]
    checks.expect(heights and min(heights) >= 0 and max(heights) <= 400, "extreme losses leave their chart: %s" % heights)
    bands = folder / "extreme-bands.json"
    run([assay, "compare", *trials, "--learn", bands, "--out", folder / "x", "--quiet"])
    done = run([assay, "compare", trials[2], "--against", bands, "--out", folder / "x", "--quiet"])
    checks.expect(done.code == 0, "bands of extreme losses: %s" % done)
    done = run([assay, "run", job, "--trial", trials[0], "--out", folder / "x"])
    checks.expect(re.search(r"TRAIN loss +5 +nan +-inf +inf +0\.5\n", done.out), "the least and most of losses that begin with NaN: %s" % done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", nargs="+", type=int, required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "quiet.json").write_text('{"rules": [{"rule": "ExplodingTensor"}]}')
        check_ranks(checks, args.assay, args.ranks, folder)
        check_made(checks, args.assay, args.ranks, folder)
        check_trial_lists(checks, args.assay, folder)
        check_bands(checks, args.assay, args.ranks, folder)
        for check in (check_names_of_bands, check_nothing_there, check_other_modes, check_many_classes,
                      check_many_rules, check_extreme_losses):
            check(checks, args.assay, folder)
    checks.done()


if __name__ == "__main__":
    main()
