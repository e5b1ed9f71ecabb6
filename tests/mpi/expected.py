#!/usr/bin/env python3
"""Series of checkpoints against what another implementation makes of them: names, dtypes, shapes, every byte, figures, problems; and the
report is the same bytes at any number of ranks.

    expected.py --assay PROGRAM --ranks 1 2 3 ... -- ELEMENTS

The series and their *.expected.json are not part of the sources: ASSAY_CHECKPOINTS names their folder, else they lie in ../shared/checkpoints
beside the sources. Without them there is no such test. ELEMENTS is the program of elements.c.
"""
import argparse
import csv
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, Checks, environment, mpirun, run  # noqa: E402
from reports import body_of  # noqa: E402

BITS = {"float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn": 4}
RULES = [{"rule": "ExplodingTensor"}, {"rule": "MissingWorker"}, {"rule": "WeightUpdateRatio"},
         {"rule": "UnchangedTensor", "parameters": {"collection_names": "weights,biases", "num_steps": 2}}]


def packed(dtype, values):
    """Elements as files have them: those of less than a byte behind one another."""
    bits = BITS.get(dtype)
    if not bits:
        return values.tobytes()
    planes = numpy.unpackbits(numpy.frombuffer(values.tobytes(), "uint8")[:, None], axis=1, bitorder="little")[:, :bits]
    return numpy.packbits(planes.ravel(), bitorder="little").tobytes()


class Elements:
    """step -> worker -> tensor -> (dtype, array of elements of their size)."""

    def __init__(self, program, trial, work):
        out = work / "elements"
        done = subprocess.run([program, trial, out], capture_output=True, text=True, env=environment())
        data, self.of = out.read_bytes(), {}
        for line in done.stdout.splitlines():
            row = json.loads(line)
            bytes_ = numpy.frombuffer(data, "uint8", row["bytes"], row["at"])
            count = math.prod(row["shape"])
            width = row["bytes"] // count if count else 1
            array = bytes_.view("V%d" % width).reshape(row["shape"])
            self.of.setdefault(row["step"], {}).setdefault(row["worker"], {})[row["tensor"]] = (row["dtype"], array)


def number(value):
    return float(value) if value is not None else float("nan")


class Test:
    def __init__(self, args, root, work):
        self.args, self.root, self.work, self.checks = args, root, work, Checks()
        self.tensors = 0

    def is_wanted(self, what, dtype, array, wanted):
        self.tensors += 1
        shape = list(array.shape)
        digest = hashlib.sha256(packed(dtype, numpy.ascontiguousarray(array))).hexdigest()
        self.checks.expect((dtype, shape, digest) == (wanted["dtype"], wanted["shape"], wanted["sha256"]),
                           "%s is %s %s with the digest %s, not %s" % (what, dtype, shape, digest[:12], {k: wanted[k] for k in ("dtype", "shape", "sha256")}))

    def check_one_worker(self, name, expected, elements, unread):
        worker = expected["workers"][0]
        for step, wanted in expected["tensors"].items():
            mine = elements.of.get(int(step), {}).get(worker, {})
            extra = set(mine) - set(wanted) - set(expected.get("aliases", {})) - unread
            self.checks.expect(not extra and set(wanted) <= set(mine), "%s, step %s: more: %s, missing: %s" % (
                name, step, sorted(extra)[:3], sorted(set(wanted) - set(mine))[:3]))
            for tensor in set(wanted) & set(mine):
                self.is_wanted("%s, step %s, %s" % (name, step, tensor), *mine[tensor], wanted[tensor])

    def check_workers(self, name, expected, elements):
        """Tensors are put together of what several workers have: each copy is its lowest worker's."""
        for step, wanted in expected["tensors"].items():
            have = {}
            for worker, tensors in elements.of.get(int(step), {}).items():
                for tensor, value in tensors.items():
                    have.setdefault(tensor, {})[worker] = value
            extra = set(have) - set(wanted) - set(expected.get("aliases", {}))
            self.checks.expect(not extra, "%s, step %s: more: %s" % (name, step, sorted(extra)[:3]))
            for tensor, about in wanted.items():
                what, mine = "%s, step %s, %s" % (name, step, tensor), have.get(tensor, {})
                copies = dict(about.get("by_worker", {}))
                if "sha256" in about:
                    copies[about.get("workers", sorted(mine) or ["nobody"])[0]] = about
                for other in about.get("others", []):
                    copies[other["workers"][0]] = dict(about, sha256=other["sha256"])
                for worker, one in copies.items():
                    self.checks.expect(worker in mine, "%s of %s is not there" % (what, worker))
                    if worker in mine:
                        self.is_wanted(what + " of " + worker, *mine[worker], one)
                self.checks.expect(not about.get("incomplete") or not mine, "%s is there, and incomplete" % what)
                self.checks.expect("copies" not in about or len(mine) == about["copies"], "%s: %d copies" % (what, len(mine)))

    def check_verdicts(self, name, expected, trial):
        """What every rule tested, and what it found; of MissingWorker the test that is by step."""
        out = self.work / "verdicts"
        shutil.rmtree(out, ignore_errors=True)
        done = mpirun(1, [self.args.assay, "run", self.root / "job.json", "--trial", trial, "--out", out, "--quiet"])
        path = out / "report.json"
        if not self.checks.expect(path.exists(), "%s: %s" % (name, done)):
            return
        rules = json.loads(path.read_text())["trials"][0]["rules"]
        tested = {r["rule"]: r["datapoints"] for r in rules if r["datapoints"] and r["rule"] != "MissingWorker"}
        wanted = {rule: count for rule, count in expected["datapoints"].items() if rule != "MissingWorker"}
        self.checks.expect(tested == wanted, "%s: datapoints %s, not %s" % (name, tested, wanted))
        keys = ("step", "tensor", "worker")
        found = sorted([r["rule"]] + [str(f.get(k, "")) for k in keys] for r in rules for f in r["findings"])
        listed = sorted([f["rule"]] + [str(f[k]) for k in keys] for f in expected["findings"])
        self.checks.expect(found == listed, "%s: findings %s, not %s" % (name, found[:5], listed[:5]))
        given = run([self.args.assay, "topology", trial])
        if "topology" in expected:
            self.checks.expect(given.code == 0 and json.loads(given.out) == expected["topology"], "%s: its topology is %s" % (name, given))

    def check_figures(self, name, expected, trial):
        table = self.work / "stats.csv"
        done = mpirun(1, [self.args.assay, "stats", trial, "--out", table, "--quiet"])
        rows = {(int(r["step"]), r["tensor"]): r for r in csv.DictReader(table.open())} if table.exists() else {}
        self.checks.expect(rows, "%s: no figures: %s" % (name, done.err[:300]))
        for step, wanted in expected["tensors"].items():
            for tensor, about in wanted.items():
                row = rows.get((int(step), tensor), {})
                good = row and all(int(row[mine]) == about[theirs] for mine, theirs in (("elements", "count"), ("nan", "nan"), ("zeros", "zeros")))
                good = good and int(row["pos_inf"]) + int(row["neg_inf"]) == about["inf"]
                for figure in ("min", "max", "mean", "std", "l1", "l2"):
                    if not good:
                        break
                    told, true = number(row[figure] or None), number(about[figure])
                    scale = max(abs(true), number(about["l1"]) / about["count"] if about["count"] and figure == "mean" else 0)
                    good = told == true or (math.isnan(told) and math.isnan(true)) or (
                        (figure not in ("min", "max") or about["dtype"].startswith("complex")) and abs(told - true) <= 1e-12 * scale)
                self.checks.expect(good, "%s, step %s, %s: %s is not %s" % (name, step, tensor, row, about))
        table.unlink(missing_ok=True)

    def check_series(self, name):
        expected, trial = json.loads((self.root / (name + ".expected.json")).read_text()), self.root / name
        elements = Elements(self.args.elements, trial, self.work)
        if len(expected["workers"]) > 1:
            self.check_workers(name, expected, elements)
            self.check_verdicts(name, expected, trial)
        else:
            unread = {t for names in expected.get("unreadable", {}).values() for t in names}
            self.check_one_worker(name, expected, elements, unread)
            self.check_figures(name, expected, trial)
        return expected

    def check_reports(self, names, expected):
        """One run over all series, at every number of ranks; and the problems that it names."""
        job = self.work / "job.json"
        job.write_text(json.dumps({"rules": RULES}))
        bodies, report = set(), None
        for ranks in self.args.ranks:
            out = self.work / "out"
            shutil.rmtree(out, ignore_errors=True)
            done = mpirun(ranks, [self.args.assay, "run", job, "--out", out, "--quiet"] + [a for n in names for a in ("--trial", self.root / n)])
            self.checks.expect((out / "report.json").exists(), "%d ranks: %s" % (ranks, done))
            report = (out / "report.json").read_bytes()
            bodies.add(body_of(report))
        self.checks.expect(len(bodies) == 1, "the reports of %s ranks differ" % self.args.ranks)
        for trial in json.loads(report)["trials"]:
            name = Path(trial["path"]).name
            mine = sorted((p["kind"], p.get("file")) for p in trial["problems"])
            wanted = sorted((p["kind"], p["file"]) for p in expected[name]["problems"])
            self.checks.expect(mine == wanted, "%s: its problems are %s, not %s" % (name, mine, wanted))

    def check_wrong_topologies(self):
        for path in sorted((self.root / "hostile" / "topology").glob("*.json")):
            done = run([self.args.assay, "topology", self.root / "tp2", "--topology", path])
            self.checks.expect(done.code == 2 and done.err.count("error:") == 1 and path.name in done.err, "%s: %s" % (path.name, done))

    def check_hostile(self):
        """Files made to deceive: the problems are those they were made for, and nothing of them runs."""
        if not (self.root / "hostile").exists():
            return
        mark = Path(tempfile.gettempdir()) / "assay_was_here"
        wanted = {n: sorted(e["problems"]) for n, e in json.loads((self.root / "hostile.expected.json").read_text()).items()
                  if not n.startswith("topology") and n != "loop"}  # its links do not survive every copy
        wanted["pt_torchscript.pt"] = []  # the tensors of TorchScript are read, without its code
        job = self.work / "hostile.json"
        job.write_text(json.dumps({"rules": RULES[:1]}))
        out = self.work / "hostile-out"
        for ranks in (1, self.args.ranks[-1]):
            shutil.rmtree(out, ignore_errors=True)
            done = mpirun(ranks, [self.args.assay, "run", job, "--memory", "256M", "--out", out, "--quiet"] +
                          [a for n in sorted(wanted) for a in ("--trial", self.root / "hostile" / n)])
            self.checks.expect((out / "report.json").exists(), "hostile, %d ranks: %s" % (ranks, done))
            if (out / "report.json").exists():
                for trial in json.loads((out / "report.json").read_text())["trials"]:
                    name = Path(trial["path"]).name
                    kinds = sorted({p["kind"] for p in trial["problems"]})
                    self.checks.expect(kinds == wanted[name], "hostile %s: %s, not %s" % (name, kinds, wanted[name]))
        self.checks.expect(not mark.exists(), "a function of a pickle was called")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("elements", type=Path)
    args = parser.parse_args()
    root = Path(os.environ.get("ASSAY_CHECKPOINTS") or ROOT.parent / "shared" / "checkpoints")
    if not list(root.glob("*.expected.json")):
        print("there are no series with *.expected.json in %s (ASSAY_CHECKPOINTS names another folder)" % root)
        sys.exit(1)
    names = sorted(p.name[:-len(".expected.json")] for p in root.glob("*.expected.json") if p.name != "hostile.expected.json")
    with tempfile.TemporaryDirectory(prefix="assay-expected-") as work:
        test = Test(args, root, Path(work))
        expected = {name: test.check_series(name) for name in names}
        test.check_reports(names, expected)
        test.check_hostile()
        test.check_wrong_topologies()
    print("%d series, %d tensors by their bytes" % (len(names), test.tensors))
    test.checks.done()


if __name__ == "__main__":
    main()
