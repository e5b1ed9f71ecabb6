#!/usr/bin/env python3
"""results.h5 and the tables of `assay stats`: the same bytes at any number of ranks, read by h5py and pandas as the docs show,
equal to report.json where both say something, and to numpy's figures of the recorded values.

    results.py --assay PROGRAM --ranks 1 3 4 -- TRIAL...
"""
import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, SUITE, TRIALS, Checks, mpirun, run  # noqa: E402

CODE = {"ddp": 0, "reductions": 0, "xgboost": 0}


def same(a, b):
    """Equal but for the last digits; what report.json writes as text are the numbers that JSON has not."""
    a, b = float(a), float(b)
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-12)


def check_findings(checks, results, report):
    table = results["findings"]
    for rule in report["rules"]:
        rows = table[table["rule"] == rule["name"]]
        want = rule["findings"]
        if not checks.expect(len(rows) == len(want), "%s: %d findings for %d" % (rule["name"], len(rows), len(want))):
            continue
        for got, finding in zip(rows.itertuples(), want):
            fine = (got.step == finding["step"] and got.worker == finding["worker"] and got.tensor == finding["tensor"] and
                    got.mode == finding["mode"] and got.time_us == -1 and same(got.value, finding["value"]) and same(got.threshold, finding["threshold"]))
            if not checks.expect(fine, "%s: %s is not %s" % (rule["name"], got, finding)):
                break


def check_counts(checks, results, report):
    for aggregation in report["aggregations"]:
        name, kind = aggregation["name"], "confusion" if "matrix" in aggregation else "class_counts"
        total, steps = results[kind + "_total"], results[kind]
        total, steps = total[total["aggregation"] == name], steps[steps["aggregation"] == name]
        key = ["label", "prediction"] if kind == "confusion" else ["class"]
        if kind == "confusion":
            want = {(i, j): n for i, row in enumerate(aggregation["matrix"]) for j, n in enumerate(row) if n}
        else:
            want = {(int(label),): n for label, n in aggregation.get("classes", {}).items()}
        got = {tuple(row[:-1]): row[-1] for row in total[key + ["count"]].itertuples(index=False, name=None)}
        checks.expect(got == want, "%s: totals %s are not %s" % (name, got, want))
        added = {k if isinstance(k, tuple) else (k,): n for k, n in steps.groupby(key)["count"].sum().items()}
        checks.expect(added == want, "%s: the steps add up to %s, not %s" % (name, added, want))
        checks.expect(not want or steps["step"].nunique() > 1, "%s: there are several steps" % name)


def check_statistics(checks, table, name):
    """Against numpy's figures of the recorded values, as far as they go."""
    rows = {(r.tensor, r.worker, r.mode, r.mode_step): r for r in table.itertuples()}
    checks.expect(len(rows) == len(table) > 0, "a row for each tensor, worker and step")
    compared, wrong = 0, []
    for tensor, records in json.loads((TRIALS / (name + ".values.json")).read_text())["tensors"].items():
        for record in records:
            row = rows.get((tensor, record["worker"], record["mode"], record["step"]))
            if row is None or row.source != "assay" or "l2" not in record or row.dtype != record["dtype"]:
                wrong += [(tensor, record)] if row is None else []
                continue
            for figure in ("min", "max", "mean", "sum", "std", "abs_mean", "l1", "l2"):
                a, b = float(record[figure]), float(getattr(row, figure))
                slack = 1e-15 * (row.l1 if figure == "sum" else row.abs_mean)
                compared += 1
                if not (a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + slack):
                    wrong.append((tensor, record, figure, b))
    checks.expect(not wrong and (compared > 100 or name == "reductions"), "%d figures compared; wrong: %s" % (compared, wrong[:3]))


def document_reads(checks, path, folder):
    """The first example of the docs, run as it stands."""
    text = (ROOT / "docs" / "results-hdf5.md").read_text()
    example = re.search(r"```python\n(.*?)```", text, re.S)[1]
    checks.expect(example.count("\n") <= 3, "it takes three lines: %s" % example)
    done = run([sys.executable, "-c", example + "\nprint(len(table), list(table.columns))"], cwd=folder)
    checks.expect(done.code == 0 and "'tensor'" in done.out and "'mean'" in done.out, "the docs' example: %s" % done)
    shown = subprocess.run(["h5dump", "-H", str(path)], capture_output=True, text=True)
    names = ("statistics", "findings", "class_counts", "confusion", "wall_time", "tensor", "unit of wall_time", "job")
    checks.expect(shown.returncode == 0 and all('"%s"' % n in shown.stdout for n in names), "h5dump shows names: %s" % shown)


def read(path):
    """Every table as pandas has it, with text as text."""
    import h5py
    import pandas
    with h5py.File(path) as file:
        tables = {name: pandas.DataFrame(file[name][:]) for name in file}
        attributes = dict(file.attrs)
    for table in tables.values():
        for column in table.columns:
            if table[column].dtype == object:
                table[column] = table[column].str.decode("utf-8")
    return tables, attributes


def check_trial(checks, assay, name, ranks, folder):
    import pandas
    first = {}
    for n in ranks:
        done = mpirun(n, [assay, "run", SUITE, "--trial", TRIALS / name, "--reports", "json,hdf5", "--out", "out", "--quiet"], cwd=folder)
        checks.expect(done.code == CODE[name], "run at %d ranks: %s" % (n, done))
        for command in (["stats", TRIALS / name, "-o", "stats.h5"], ["stats", TRIALS / name, "-o", "stats.csv"], ["stats", TRIALS / name, "-o", "stats.jsonl"]):
            done = mpirun(n, [assay] + command, cwd=folder)
            checks.expect(done.code == 0, "stats at %d ranks: %s" % (n, done))
        now = {p: (folder / p).read_bytes() for p in ("out/results.h5", "stats.h5", "stats.csv", "stats.jsonl")}
        for form, file in (("csv", "stats.csv"), ("json", "stats.jsonl")):
            done = mpirun(n, [assay, "stats", TRIALS / name, "--format", form], cwd=folder)
            checks.expect(done.code == 0 and done.out.encode() == now[file], "%s: stats --format %s at %d ranks prints another table than %s" % (name, form, n, file))
        first = first or now
        for path in now:
            checks.expect(now[path] == first[path], "%s: %s differs at %d ranks" % (name, path, n))
    done = mpirun(1, [assay, "run", SUITE, "--trial", TRIALS / name, "--reports", "hdf5", "--out", "half", "--checkpoint", "c", "--resume"],
                  cwd=folder)
    checks.expect(done.code == 2 and "leave out --resume" in done.err, "a resumed run has not all rows: %s" % done)
    results, attributes = read(folder / "out" / "results.h5")
    report = json.loads((folder / "out" / "report.json").read_text())["trials"][0]
    checks.expect(attributes["complete"] == 1 and attributes["job"].decode() == SUITE.read_text() if isinstance(attributes["job"], bytes)
                  else attributes["job"] == SUITE.read_text(), "the job is an attribute")
    check_findings(checks, results, report)
    check_counts(checks, results, report)
    document_reads(checks, folder / "out" / "results.h5", folder / "out")
    stats = read(folder / "stats.h5")[0]["statistics"]
    text = pandas.read_csv(folder / "stats.csv", keep_default_na=False, na_values={c: ["nan"] for c in stats.columns if stats[c].dtype == float})
    checks.expect(list(text.columns) == list(stats.columns) and len(text) == len(stats), "stats.csv has the same columns and rows")
    for column in stats.columns:
        equal = all(same(a, b) for a, b in zip(stats[column], text[column])) if stats[column].dtype == float else \
            (stats[column] == text[column]).all()
        checks.expect(equal, "stats.csv: column %s is another" % column)
    check_statistics(checks, stats, name)
    check_figures(checks, assay, name, stats, folder)


def check_times(checks, assay, ranks, folder):
    """Findings of a rule over profiler data have times; their machines and GPUs have whole names, though no tensor or worker has them."""
    job, seen = folder / "job.json", set()
    job.write_text(json.dumps({"rules": [{"rule": "LowGPUUtilization", "parameters": {"patience": 0}}]}))
    for n in ranks:
        done = mpirun(n, [assay, "run", job, "--trial", ROOT / "tests" / "data" / "events" / "profiler", "--reports", "json,hdf5",
                          "--out", "times"], cwd=folder)
        checks.expect(done.code in (0, 1, 3), "a trial without tensors at %d ranks: %s" % (n, done))
        seen.add((folder / "times" / "results.h5").read_bytes())
    checks.expect(len(seen) == 1, "findings in time differ between ranks")
    table = read(folder / "times" / "results.h5")[0]["findings"]
    want = json.loads((folder / "times" / "report.json").read_text())["trials"][0]["rules"][0]["findings"]
    got = [(row.step, row.mode_step, row.time_us, row.worker, row.tensor, row.value) for row in table.itertuples()]
    checks.expect(want and got == [(-1, -1, f["time_us"], f["worker"], f["unit"], f["value"]) for f in want], "in time: %s" % got)


def check_figures(checks, assay, name, stats, folder):
    """Mean and sum times count agree with each other; where values are finite, so do the bounds."""
    raw = stats[(stats["source"] == "assay") & (stats["elements"] > 0) & (stats["nan"] == 0) & stats["mean"].notna()]
    checks.expect(name == "reductions" or len(raw) > 0, "there are raw tensors")
    finite = raw[(raw["pos_inf"] == 0) & (raw["neg_inf"] == 0)]
    fine = ((finite["mean"] * finite["elements"] - finite["sum"]).abs() <= 1e-9 * (1 + finite["l1"])).all()
    fine &= ((finite["min"] <= finite["mean"] + 1e-9 * finite["abs_max"]) & (finite["mean"] <= finite["max"] + 1e-9 * finite["abs_max"])).all()
    fine &= ((finite["std"] ** 2 - finite["variance"]).abs() <= 1e-9 * (1e-300 + finite["variance"])).all()
    checks.expect(fine, "figures agree with one another")
    saved = stats[stats["source"] == "training"]
    checks.expect((len(saved) > 0) == (name == "reductions"), "saved reductions are told apart")
    done = mpirun(1, [assay, "ls", "--json", TRIALS / name], cwd=folder)
    tensors = {t["name"] if isinstance(t, dict) else t for t in json.loads(done.out).get("tensors", [])}
    checks.expect(tensors and set(stats["tensor"]) == tensors, "every tensor has a row: %s" % (tensors ^ set(stats["tensor"])))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("trials", nargs="+")
    args = parser.parse_args()
    checks = Checks()
    for name in args.trials:
        with tempfile.TemporaryDirectory() as folder:
            check_trial(checks, args.assay, name, args.ranks, Path(folder))
            if name == "ddp":
                check_times(checks, args.assay, args.ranks, Path(folder))
    checks.done()


if __name__ == "__main__":
    main()
