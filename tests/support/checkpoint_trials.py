"""What tests of checkpoints as trials share: runs at several numbers of ranks, the values that were saved, the problems that are named.

    from checkpoint_trials import check_all, kinds, save_torch, statistics, verdicts
"""
import argparse
import csv
import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy
import torch

from launch import Checks, mpirun
from reports import body_of

RULES = [("exploding", "ExplodingTensor", {}), ("zero", "AllZero", {"tensor_regex": ".*"}),
         ("unchanged", "UnchangedTensor", {"collection_names": "weights", "num_steps": 2}),
         ("update", "WeightUpdateRatio", {"large_threshold": 1e9}), ("structure", "CheckpointStructure", {}),
         ("replicas", "ReplicaDivergence", {})]


def save_torch(path, saved):
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(saved, path)


def statistics(assay, trial):
    """(step, worker, tensor) -> the row of `assay stats`."""
    with tempfile.TemporaryDirectory() as place:
        done = mpirun(1, [assay, "stats", trial, "--out", place + "/stats.csv", "--quiet"])
        rows = csv.DictReader(open(place + "/stats.csv")) if os.path.exists(place + "/stats.csv") else []
        return {(int(r["step"]), r["worker"], r["tensor"]): r for r in rows}, done


def verdicts(report):
    """What the rules say, but for the place of the trial."""
    trial = json.loads(report)["trials"][0]
    return json.loads(json.dumps(trial["rules"]).replace(trial["path"], "TRIAL").replace(trial["name"], "TRIAL"))


def structure(report):
    """The findings of CheckpointStructure."""
    return [f for r in json.loads(report or '{"trials": [{"rules": []}]}')["trials"][0]["rules"]
            if r["rule"] == "CheckpointStructure" for f in r["findings"]]


def kinds(report):
    return sorted({p["kind"] for p in json.loads(report)["trials"][0]["problems"]})


class Test:
    def __init__(self, args, work):
        self.args, self.work, self.checks = args, work, Checks()
        self.job = work / "job.json"
        self.job.write_text(json.dumps({"rules": [{"name": n, "rule": r, "parameters": p} for n, r, p in RULES]}))

    def run(self, trial, ranks, name, code, *options):
        out = self.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        done = mpirun(ranks, [self.args.assay, "run", self.job, "--trial", trial, "--out", out, "--quiet"] + list(options))
        self.checks.expect(done.code == code, "%s, %d ranks: exit %d, not %d\n%s" % (name, ranks, done.code, code, done.err))
        path = out / "report.json"
        return path.read_text() if path.exists() else None

    def same(self, trial, name, code=0):
        """The report at every number of ranks, and with little memory: the same bytes. Returns it."""
        reports = [body_of((self.run(trial, n, name, code) or "{}").encode()) for n in self.args.ranks]
        self.checks.expect(len(set(map(str, reports))) == 1, "%s: the reports differ" % name)
        return self.run(trial, 1, name, code)

    def values(self, trial, name, wanted):
        rows, done = statistics(self.args.assay, trial)
        self.checks.expect(set(rows) == set(wanted), "%s: there are %s\n%s" % (name, sorted(set(rows) ^ set(wanted))[:4], done.err))
        for key, value in wanted.items():
            row = rows.get(key)
            wide = numpy.abs(value.astype("complex128")) if numpy.iscomplexobj(value) else value.astype("float64")
            good = row and int(row["elements"]) == value.size and int(row["nan"]) == numpy.isnan(wide).sum()
            for field, of in (("min", numpy.min), ("max", numpy.max), ("sum", numpy.sum), ("l2", lambda v: numpy.sqrt((v * v).sum()))):
                told = float(row[field]) if good and row[field] not in ("", "nan", "null") else numpy.nan
                with numpy.errstate(invalid="ignore"):
                    good = good and numpy.allclose(told, of(wide), rtol=1e-12, equal_nan=True)
            self.checks.expect(good, "%s: %s is %s" % (name, key, row))


def check_all(checks):
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("no_pack", nargs="?", choices=["no-pack"])
    with tempfile.TemporaryDirectory(prefix="assay-series-") as work:
        test = Test(parser.parse_args(), Path(work))
        for check in checks:
            check(test)
    test.checks.done()
