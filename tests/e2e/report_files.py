#!/usr/bin/env python3
"""What stands in the files of a report: units of values in every form, the recipe of docs/report-forms.md for CSV, histograms of
tensors; and which files a report leaves in its directory.

    report_files.py --assay PROGRAM --ranks 1 3
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import threading
from pathlib import Path

import numpy
import pandas

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402

FORMS = "json,text,html,csv,junit,markdown"
EVENTS = "events.out.tfevents.0.assay"


def check_units(assay, checks, folder):
    """Every form says what a value counts: 2 NaN elements, 3 of 8 workers."""
    bad = numpy.array([1, numpy.nan, numpy.nan, 2], numpy.float32)
    mixed = numpy.array([numpy.inf, numpy.nan, 0, 2], numpy.float32)
    made = Made(folder / "trial", workers=8)
    for worker in made.workers[5:]:  # of which nothing is known but that there should be so many
        (made.folder / "collections" / "000000000" / (worker + "_collections.json")).unlink()
    for step in range(2):
        made.step(step, "TRAIN", step, {"worker_%d" % w: {"x": bad if w else mixed, "y": bad[:2]} for w in range(5)})
    made.end()
    (folder / "job.json").write_text(json.dumps({
        "trials": [str(folder / "trial")], "rules": [{"rule": "ExplodingTensor"}, {"rule": "MissingWorker"}]}))
    out = folder / "out"
    done = run([assay, "run", folder / "job.json", "--out", out, "--reports", FORMS, "--quiet"])
    if not checks.expect(done.code == 0, "units: %s" % done):
        return
    report = json.loads((out / "report.json").read_text())
    units = {(r["rule"], f["value"], f.get("value_unit")) for t in report["trials"] for r in t["rules"] for f in r["findings"]}
    checks.expect({("ExplodingTensor", 2, "NaN elements"), ("ExplodingTensor", 2, "NaN or infinite elements"),
                   ("ExplodingTensor", 1, "NaN elements"), ("MissingWorker", 3, "of 8 workers")} <= units, "units: %s" % units)
    checks.expect(all(unit for _, _, unit in units), "units: a value without: %s" % units)
    for file in ("report.txt", "report.html", "report.md"):
        text = (out / file).read_text()
        for said in ("2 NaN elements", "2 NaN or infinite elements", "3 of 8 workers"):
            checks.expect(said in text, "units: %s has no %r" % (file, said))
    checks.expect(re.search(r" 1 NaN element +0", (out / "report.txt").read_text()), "units: one is one in report.txt")
    checks.expect("value 2 NaN or infinite elements, threshold 0" in (out / "junit.xml").read_text(), "units: junit.xml")
    frame = pandas.read_csv(out / "findings.csv")
    checks.expect({"NaN elements", "of 8 workers"} <= set(frame.value_unit), "units: findings.csv: %s" % set(frame.value_unit))


def check_recipe(assay, checks, folder):
    """The recipe of docs/report-forms.md gives the numbers of report.json: several losses, modes, trials, and aggregations."""
    trials = [("first", 3), ("second", 5)]
    for name, right in trials:
        made = Made(folder / name, workers=2, collections={"losses": "loss"})
        for step in range(4):
            labels = numpy.array([0, 1, 2, 2, 1, 0], numpy.int64)
            guesses = numpy.where(numpy.arange(6) < right, labels, 0)
            mode = "EVAL" if step == 3 else "TRAIN"
            made.step(step, mode, step % 3, {w: {"loss_a": 1.0 + step, "loss_b": 10.0 + step, "labels": labels, "predictions": guesses}
                                             for w in ("worker_0", "worker_1")})
        made.end()
    confusion = [{"name": name, "kind": "confusion", "labels": "labels", "predictions": "predictions", "mode": mode}
                 for name, mode in (("confusion", "TRAIN"), ("at the end", "EVAL"))]
    (folder / "job.json").write_text(json.dumps({"trials": [str(folder / n) for n, _ in trials], "rules": [], "aggregations": confusion}))
    done = run([assay, "run", folder / "job.json", "--out", folder / "out", "--reports", "json,csv", "--quiet"])
    if not checks.expect(done.code == 0, "recipe: %s" % done):
        return
    recipe = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "report-forms.md").read_text(), re.S)[1]
    names = {"pandas": pandas}
    here = os.getcwd()
    os.chdir(folder / "out")
    try:
        exec(recipe.replace('"ddp"', '"first"'), names)
    finally:
        os.chdir(here)
    loss, matrix = names["loss"], names["matrix"]
    for name, _ in trials:
        for step in range(4):
            for tensor, start in (("loss_a", 1.0), ("loss_b", 10.0)):
                got = loss.loc[step, (name, tensor, "EVAL" if step == 3 else "TRAIN")]
                checks.expect(got == start + step, "recipe: the %s of %s at step %d is %s" % (tensor, name, step, got))
    for trial in json.loads((folder / "out" / "report.json").read_text())["trials"]:
        for aggregation in trial["aggregations"]:
            got = matrix.loc[trial["name"], aggregation["name"]].values.tolist()
            checks.expect(got == aggregation["matrix"] and sum(map(sum, got)) == aggregation["samples"],
                          "recipe: %s of %s: %s is not %s" % (aggregation["name"], trial["name"], got, aggregation["matrix"]))


def check_stale(assay, checks, folder):
    """What an earlier report in the directory wrote and this one does not is removed, and nothing else."""
    first = Made(folder / "a").step(0, "TRAIN", 0, {"loss": 1.0}).end()
    second = Made(folder / "b").step(0, "TRAIN", 0, {"loss": 1.0}).end()
    out = folder / "out"

    def report(formats, *trials):
        done = run([assay, "run", *trials, "--out", out, "--reports", formats])
        checks.expect(done.code in (0, 1), "stale: %s" % done)
        return {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}, done

    tables = {n + ".csv" for n in ("verdict", "findings", "class_counts", "confusion", "loss")}
    runs = {"tensorboard/%s/%s" % (t, EVENTS) for t in "ab"}
    (out / "tensorboard").mkdir(parents=True)
    mine = {"notes.txt", "junit.xml", "tensorboard/mine"}
    for name in mine:
        (out / name).write_text("not of assay")
    files, _ = report("json,text,html,csv,markdown,tensorboard", first, second)
    checks.expect(files == mine | tables | runs | {"report.json", "report.txt", "report.html", "report.md", ".assay-files"},
                  "stale: the first report: %s" % sorted(files))
    (out / "report.md").write_text("a note of mine\n" + (out / "report.md").read_text())
    files, done = report("json,tensorboard", second)
    checks.expect(files == mine | {"report.json", "report.md", ".assay-files", "tensorboard/b/" + EVENTS},
                  "stale: the second report: %s" % sorted(files))
    checks.expect(not (out / "tensorboard" / "a").exists() and "report.md: kept" in done.err, "stale: %s" % done)
    files, _ = report("text", second)
    checks.expect(files == mine | {"report.txt", "report.md", ".assay-files"}, "stale: the third report: %s" % sorted(files))
    _, done = report("text,markdown", second)
    told = re.findall(r"(\S+): replaced, though no report left it there", done.err)
    checks.expect(told == [str(out / "report.md")], "stale: what is written over: %s" % done)
    outside = folder / "outside.txt"
    outside.write_text("x")
    wanted = hashlib.sha256(b"x").hexdigest()
    (out / "link").symlink_to(outside)
    (out / "elsewhere").symlink_to(folder, target_is_directory=True)
    names = ("../outside.txt", "link", "a/../../outside.txt", str(outside), "elsewhere/outside.txt")
    (out / ".assay-files").write_text("assay-files/1\n" + "".join("%s %s\n" % (how, n) for n in names for how in ("sha256 " + wanted, "bytes 1")))
    report("text", second)
    checks.expect(outside.exists() and (out / "link").is_symlink(), "stale: a list that names files outside")


def check_histograms(assay, checks, folder, ranks):
    """Quantiles over the steps, against numpy: of one worker, of equal ones, and of those that differ, taken together."""
    random = numpy.random.default_rng(22)
    made, alone = Made(folder / "trial", workers=2), []
    for step in range(7):
        same = random.normal(step, 1, 501).astype(numpy.float32)
        alone.append(numpy.append(random.normal(0, 1, 99), [numpy.nan] * (step % 2)))
        odd = numpy.array([-numpy.inf, 1, 2, 3, numpy.inf])
        made.step(step, "TRAIN", step, {"worker_0": {"same": same, "apart": numpy.arange(101.0), "alone": alone[-1], "odd": odd},
                                        "worker_1": {"same": same, "apart": 100 + numpy.arange(101.0)}})
    made.end()
    job = folder / "job.json"
    job.write_text(json.dumps({"trials": [str(folder / "trial")], "rules": [], "histograms": {"tensor_regex": "^"}}))
    bodies = set()
    for n in ranks:
        out = folder / ("out-%d" % n)
        done = mpirun(n, [assay, "run", job, "--out", out, "--reports", "json,html", "--quiet"])
        checks.expect(done.code == 0 or "no rules" in done.out, "histograms: %s" % done)
        bodies.add((out / "report.json").read_text().partition('"run":')[0])
    checks.expect(len(bodies) == 1, "histograms: other bytes at other ranks")
    result = json.loads((out / "report.json").read_text())["trials"][0]["aggregations"][0]
    levels, found = result["levels"], {h["tensor"]: h for h in result["histograms"]}
    checks.expect(set(found) == {"same", "apart", "alone", "odd"} and len(levels) == 17, "histograms: %s" % list(found))
    for step in range(7):
        at = {name: h["quantiles"][step] for name, h in found.items()}
        checks.expect(numpy.allclose(at["alone"], numpy.nanquantile(alone[step], levels), rtol=1e-14, atol=0), "one worker: %s" % at["alone"])
        checks.expect(numpy.allclose(at["apart"], numpy.multiply(levels, 200), rtol=1e-12, atol=0), "two workers: %s" % at["apart"])
        checks.expect(at["odd"][0] == "-inf" and at["odd"][8] == 2 and at["odd"][-1] == "inf", "infinite elements: %s" % at["odd"])
    checks.expect(found["same"]["elements"] == [1002] * 7 and found["alone"]["elements"] == [99] * 7, "elements: %s" % found["same"]["elements"])
    checks.expect(abs(found["same"]["quantiles"][3][8] - 3) < 0.2, "equal workers: %s" % found["same"]["quantiles"][3])
    page = (out / "report.html").read_text()
    checks.expect(page.count("<figcaption>Histograms</figcaption>") == 4 and page.count("<figcaption>Quantiles</figcaption>") == 4,
                  "histograms: not all are drawn")
    shown = run([assay, "show", out / "report.json"]).out
    checks.expect(re.search(r"apart +TRAIN +6 +0 +10 +100 +190 +200", shown), "assay show: %s" % shown)


def check_printed(assay, checks, folder, ranks):
    """--json prints what report.json has: the same bytes up to "run", for one trial and for a comparison, and nothing beside it."""
    trials = [ROOT / "tests" / "data" / "trials" / name for name in ("linreg_nan", "healthy")]
    for command, given in (("run", trials[:1]), ("compare", trials)):
        bodies = set()
        for n in ranks:
            out = folder / ("printed-%s-%d" % (command, n))
            done = mpirun(n, [assay, command, *given, "--json", "--out", out])
            bodies.add(done.out.partition('\n "run":')[0])
            checks.expect(done.code == 0 and json.loads(done.out)["run"]["ranks"] == n, "%s --json: %s" % (command, done))
            checks.expect((out / "report.json").read_text().startswith(done.out.partition('\n "run":')[0]), "%s --json is another report" % command)
        checks.expect(len(bodies) == 1, "%s --json: other bytes at other ranks" % command)
    done = run([assay, "run", trials[0], "--json"], cwd=folder)
    checks.expect(json.loads(done.out)["verdict"] and "The report is in assay-report/" in done.err, "--json without --out: %s" % done)


def check_removed(assay, checks, folder, ranks):
    """The directory is removed again and again while the report is written: a message and exit 4, or the run's own end."""
    trial = ROOT / "tests" / "data" / "trials" / "linreg_nan"
    for n in ranks:
        out = folder / ("removed-%d" % n)
        command = [assay, "run", trial, "--out", out, "--reports", FORMS, "--quiet"]
        code, stop = mpirun(n, command).code, threading.Event()

        def remove(out=out, stop=stop):
            while not stop.wait(0.001):
                shutil.rmtree(out, ignore_errors=True)

        remover = threading.Thread(target=remove)
        remover.start()
        ends = [mpirun(n, command) for _ in range(6)]
        stop.set()
        remover.join()
        checks.expect(all(done.code == code or done.code == 4 and str(out) in done.err for done in ends), "removed, %d ranks: %s" % (n, ends))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    args = parser.parse_args()
    checks = Checks()
    for check in (check_units, check_recipe, check_stale):
        with tempfile.TemporaryDirectory() as folder:
            check(args.assay, checks, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        check_printed(args.assay, checks, Path(folder), args.ranks)
        check_removed(args.assay, checks, Path(folder), args.ranks)
        check_histograms(args.assay, checks, Path(folder), args.ranks)
    checks.done()


if __name__ == "__main__":
    main()
