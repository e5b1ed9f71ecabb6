"""subjects.py - the commands that walk.py goes through, and the trials that they work on.

    for name, argv, parallel in commands(Subjects(folder, assay, reader), hdf5, SETS): ...

OUT in argv is replaced by the place for output; `parallel` says whether the command goes on several ranks. An argv that begins with a
path is a program of its own. What a command has in its environment is in Subjects.environment, by its name.
"""
import json
import os
import shutil
import sys
from pathlib import Path

import numpy

import s3
from checkpoints import save_safetensors, save_sharded
from launch import ROOT, TRIALS, run
from made import Made
from s3_server import Server

FORMS = "json,text,csv,junit,markdown,tensorboard,html"
DATA = ROOT / "tests" / "data"
RULE = """import assay


class AboveNothing(assay.Rule):
    \"\"\"A weight has an element above zero.\"\"\"

    def at_step(self, view):
        return view.where(view.max > 0, view.max, 0)
"""
CHECKPOINTS, PROFILER, NPY, RECORDED = (DATA / p for p in ("formats/checkpoint", "events/profiler", "formats/npy", "formats/smdebug"))
JOB = {"rules": [{"rule": "ExplodingTensor"}, {"rule": "ReplicaDivergence"}, {"rule": "CheckpointStructure"}, {"rule": "MissingWorker"},
                 {"rule": "UnchangedTensor", "parameters": {"tensor_regex": ".*", "num_steps": 2}}],
       "aggregations": [{"kind": "class_counts", "name": "n", "labels_regex": "count"}]}


class Subjects:
    """Makes what the repository has no small sample of."""

    def __init__(self, folder, assay, reader=None):
        self.folder, self.reader = Path(folder), reader
        self.environment = {}
        self.job = self.folder / "job.json"
        self.job.write_text(json.dumps(JOB))
        self.report = self.folder / "nights" / "1"
        made = run([assay, "run", TRIALS / "linreg_nan", "--quiet", "--out", self.report])
        again = run([assay, "run", TRIALS / "healthy", "--quiet", "--out", self.folder / "nights" / "2"])
        if made.code not in (0, 1, 3) or again.code not in (0, 1, 3):
            raise SystemExit("without faults: %s %s" % (made, again))
        self.pieces, self.whole = self.folder / "pieces", self.folder / "whole"
        for step in (1, 2):
            value = numpy.arange(24, dtype="float32").reshape(4, 6) + step
            norm = numpy.arange(6, dtype="float32")
            for rank in range(4):
                save_safetensors(self.pieces / ("step-%d" % step) / ("rank_%d" % rank) / "model.safetensors",
                                 {"fc.weight": numpy.split(value, 2)[rank % 2], "norm.weight": norm + (rank == 3)})
            save_sharded(self.whole / ("checkpoint-%d" % step), {"fc.weight": value, "norm.weight": norm}, 2)
        (self.pieces / "topology.json").write_text(json.dumps({
            "schema": "assay-topology/1", "meshes": {"dense": {"axes": [["dp", 2], ["tp", 2]]}},
            "tensors": [{"match": "fc", "split": {"tp": {"axis": 0}}, "replicate": ["dp"]}, {"match": "norm", "replicate": ["dp", "tp"]}]}))


def recorded(s, hdf5):
    small, other, partial = TRIALS / "linreg_nan", TRIALS / "flip", TRIALS / "ddp_partial"
    yield "run", ["run", small, "--reports", FORMS, "--quiet", "--out", "OUT"], True
    yield "run partial", ["run", partial, "--reports", FORMS, "--quiet", "--out", "OUT", "--steps", "0:40"], True
    yield "compare", ["compare", "a=%s" % small, "b=%s" % other, "--reports", FORMS, "--quiet", "--out", "OUT", "--steps", "0:40"], True
    yield "watch", ["watch", small, "--reports", "json,text", "--quiet", "--out", "OUT"], True
    yield "ls", ["ls", partial], False
    yield "ls json", ["ls", partial, "--json"], False
    yield "show", ["show", small, "--regex", "bias|weight"], False
    yield "show values", ["show", small, "--regex", "weight", "--step", "0", "--values"], False
    yield "show csv", ["show", small, "--regex", "weight", "--csv"], False
    yield "show drawn", ["show", small, "--regex", "weight", "--draw", "always"], False
    yield "show report", ["show", s.report / "report.json", "--draw", "always"], False
    yield "rules", ["rules"], False
    yield "check", ["check", TRIALS / "suite.json"], False
    packed = DATA / "packed" / "small.h5"
    yield "run packed", ["run", packed, "--reports", "json,text", "--quiet", "--out", "OUT"], True
    yield "unpack", ["unpack", packed, "-o", "OUT"], True
    if hdf5:
        yield "pack", ["pack", small, "-o", "OUT/packed.h5"], True
        yield "stats hdf5", ["stats", small, "-o", "OUT/stats.h5"], True
        yield "run hdf5", ["run", small, "--reports", "hdf5,json", "--quiet", "--out", "OUT"], True
    yield "stats", ["stats", small, "-o", "OUT/stats.csv"], True
    yield "run checkpoint", ["run", small, "--quiet", "--out", "OUT", "--checkpoint", "OUT/state", "--checkpoint-every", "0.0001"], True


def others(s, hdf5):
    """Trees of files, checkpoints, profiler data, topologies, many reports."""
    yield "run npy", ["run", s.job, "--trial", NPY, "--reports", "json,text", "--quiet", "--out", "OUT"], True
    yield "run series", ["run", s.job, "--trial", CHECKPOINTS, "--reports", FORMS, "--quiet", "--out", "OUT"], True
    yield "verify series", ["verify", CHECKPOINTS], True
    yield "verify json", ["verify", s.whole, "--json"], True
    yield "ls series", ["ls", CHECKPOINTS, "--all"], False
    yield "show series", ["show", CHECKPOINTS, "--regex", ".", "--csv"], False
    yield "stats series", ["stats", CHECKPOINTS, "-o", "OUT/stats.csv"], True
    yield "run pieces", ["run", s.job, "--trial", s.pieces, "--reports", FORMS, "--quiet", "--out", "OUT"], True
    yield "topology", ["topology", s.pieces], False
    yield "topology preset", ["topology", s.pieces, "--preset", "hf-tp", "--axes", "dp=2,tp=2"], False
    yield "show pieces", ["show", s.pieces, "--regex", ".", "--csv"], False
    yield "run profiler", ["run", PROFILER, "--reports", FORMS, "--quiet", "--out", "OUT"], True
    yield "ls profiler", ["ls", PROFILER], False
    yield "show metric", ["show", PROFILER, "--metric", "cpu", "--csv"], False
    yield "stats metrics", ["stats", PROFILER, "--metrics", "-o", "OUT/metrics.csv"], True
    yield "history", ["history", s.report, s.folder / "nights" / "2"], False
    yield "history json", ["history", s.report, s.folder / "nights" / "2", "--json"], False
    if hdf5:
        yield "pack series", ["pack", CHECKPOINTS, "-o", "OUT/packed.h5"], True
    if s.reader:
        for name, trial in (("recorded", RECORDED), ("series", CHECKPOINTS), ("pieces", s.pieces)):
            yield "libassay " + name, [Path(s.reader), trial], False


def further(s, hdf5):
    """Two trials tensor by tensor, steps that move between ranks, rules in Python, process groups, S3."""
    yield "compare tensors", ["compare", s.whole, s.pieces, "--tensors", "--quiet"], True
    yield "compare tensors json", ["compare", s.pieces, s.whole, "--json", "--quiet"], True
    for trial in (s.whole, TRIALS / "linreg_nan"):
        shutil.copytree(trial, s.folder / "again" / trial.name)
        yield "compare %s again" % trial.name, ["compare", trial, s.folder / "again" / trial.name, "--tensors", "--quiet"], True
    yield "compare checkpoints", ["compare", s.whole, s.folder / "again" / s.whole.name, "--quiet"], True
    rng = numpy.random.default_rng(1)
    long = Made(s.folder / "long", collections={"weights": "weight"})
    for step in range(80):
        long.step(step, "TRAIN", step, {"fc.weight": rng.normal(0, 1, 3000).astype("float32"), "loss": 1 / (step + 1)})
    long.end()
    s.environment["run moved"] = {"ASSAY_FAULT": "slow:10@rank0"}
    yield "run moved", ["run", s.job, "--trial", long.folder, "--reports", "json,text", "--quiet", "--out", "OUT"], True
    (s.folder / "rule.py").write_text(RULE)
    (s.folder / "python.json").write_text(json.dumps({"rules": [{"python": str(s.folder / "rule.py") + ":AboveNothing"}]}))
    s.environment["run python"] = {"PATH": "%s:%s" % (Path(sys.executable).parent, os.environ["PATH"])}  # a python3 that has numpy
    yield "run python", ["run", s.folder / "python.json", "--trial", TRIALS / "linreg_nan", "--steps", "0:20", "--reports", "json,text",
                         "--quiet", "--out", "OUT"], True
    for rank in range(4):
        groups = {"TENSOR_MODEL_PARALLEL_GROUP": [rank // 2 * 2, rank // 2 * 2 + 1], "DATA_PARALLEL_GROUP": [rank % 2, rank % 2 + 2]}
        config = {str(i): {"name": str(i), "desc": name, "ranks": str(ranks)} for i, (name, ranks) in enumerate(groups.items())}
        dump = s.folder / "dumps" / ("nccl_trace_rank_%d" % rank)
        dump.parent.mkdir(exist_ok=True)
        dump.write_text(json.dumps({"version": "2.9", "pg_config": config, "pg_status": {}, "entries": []}))
    yield "topology groups", ["topology", s.pieces, "--groups", s.folder / "dumps"], False
    shutil.copytree(s.pieces, s.folder / "bare" / "run")
    (s.folder / "bare" / "run" / "topology.json").unlink()
    shutil.copytree(s.folder / "dumps", s.folder / "bare" / "nccl_dumps")
    yield "topology beside", ["topology", s.folder / "bare" / "run"], False
    with Server() as server:
        server.client.make_bucket("b")
        for name, trial in (("small", TRIALS / "linreg_nan"), ("pieces", s.pieces)):
            server.put_tree("b", name + "/", trial)
        for name, argv, parallel in (
                ("run s3", ["run", s.job, "--trial", "s3://b/small", "--steps", "0:10", "--reports", "json,text", "--quiet", "--out", "OUT"], True),
                ("verify s3", ["verify", "s3://b/pieces"], True),
                ("ls s3", ["ls", "s3://b/pieces", "--all"], False),
                ("show s3", ["show", "s3://b/pieces", "--regex", ".", "--csv"], False),
                ("compare s3", ["compare", "s3://b/pieces", s.pieces, "--quiet"], True)):
            s.environment[name] = s3.environment(server.port, server.key, server.secret)
            yield name, argv, parallel


SETS = {"recorded": recorded, "others": others, "further": further}


def commands(s, hdf5, sets):
    for name in sets:
        yield from SETS[name](s, hdf5)
