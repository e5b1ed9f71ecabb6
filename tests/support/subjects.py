"""subjects.py - the commands that walk.py goes through, and the trials that they work on.

    for name, argv, parallel in commands(Subjects(folder, assay, reader), hdf5, SETS): ...

OUT in argv is replaced by the place for output; `parallel` says whether the command goes on several ranks. An argv that begins with a
path is a program of its own.
"""
import json
from pathlib import Path

import numpy

from checkpoints import save_safetensors, save_sharded
from launch import ROOT, TRIALS, run

FORMS = "json,text,csv,junit,markdown,tensorboard,html"
DATA = ROOT / "tests" / "data"
CHECKPOINTS, PROFILER, NPY, RECORDED = (DATA / p for p in ("formats/checkpoint", "events/profiler", "formats/npy", "formats/smdebug"))
JOB = {"rules": [{"rule": "ExplodingTensor"}, {"rule": "ReplicaDivergence"}, {"rule": "CheckpointStructure"}, {"rule": "MissingWorker"},
                 {"rule": "UnchangedTensor", "parameters": {"tensor_regex": ".*", "num_steps": 1}}],
       "aggregations": [{"kind": "class_counts", "name": "n", "labels_regex": "count"}]}


class Subjects:
    """Makes what the repository has no small sample of."""

    def __init__(self, folder, assay, reader=None):
        self.folder, self.reader = Path(folder), reader
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
    yield "run", ["run", small, "--format", FORMS, "--quiet", "--out", "OUT"], True
    yield "run partial", ["run", partial, "--format", FORMS, "--quiet", "--out", "OUT", "--steps", "0:40"], True
    yield "compare", ["compare", "a=%s" % small, "b=%s" % other, "--format", FORMS, "--quiet", "--out", "OUT", "--steps", "0:40"], True
    yield "watch", ["watch", small, "--format", "json,text", "--quiet", "--out", "OUT"], True
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
    yield "run packed", ["run", packed, "--format", "json,text", "--quiet", "--out", "OUT"], True
    yield "unpack", ["unpack", packed, "-o", "OUT"], True
    if hdf5:
        yield "pack", ["pack", small, "-o", "OUT/packed.h5"], True
        yield "stats hdf5", ["stats", small, "-o", "OUT/stats.h5"], True
        yield "run hdf5", ["run", small, "--format", "hdf5,json", "--quiet", "--out", "OUT"], True
    yield "stats", ["stats", small, "-o", "OUT/stats.csv"], True
    yield "run checkpoint", ["run", small, "--quiet", "--out", "OUT", "--checkpoint", "OUT/state", "--checkpoint-every", "0.0001"], True


def others(s, hdf5):
    """Trees of files, checkpoints, profiler data, topologies, many reports."""
    yield "run npy", ["run", s.job, "--trial", NPY, "--format", "json,text", "--quiet", "--out", "OUT"], True
    yield "run series", ["run", s.job, "--trial", CHECKPOINTS, "--format", FORMS, "--quiet", "--out", "OUT"], True
    yield "verify series", ["verify", CHECKPOINTS], True
    yield "verify json", ["verify", s.whole, "--json"], True
    yield "ls series", ["ls", CHECKPOINTS, "--all"], False
    yield "show series", ["show", CHECKPOINTS, "--regex", ".", "--csv"], False
    yield "stats series", ["stats", CHECKPOINTS, "-o", "OUT/stats.csv"], True
    yield "run pieces", ["run", s.job, "--trial", s.pieces, "--format", FORMS, "--quiet", "--out", "OUT"], True
    yield "topology", ["topology", s.pieces], False
    yield "topology preset", ["topology", s.pieces, "--preset", "hf-tp", "--axes", "dp=2,tp=2"], False
    yield "show pieces", ["show", s.pieces, "--regex", ".", "--csv"], False
    yield "run profiler", ["run", PROFILER, "--format", FORMS, "--quiet", "--out", "OUT"], True
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


SETS = {"recorded": recorded, "others": others}


def commands(s, hdf5, sets):
    for name in sets:
        yield from SETS[name](s, hdf5)
