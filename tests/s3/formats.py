#!/usr/bin/env python3
"""Every kind of trial that S3 can hold, at any number of ranks: packed trials, which are read by ranges, alone and several in a file;
series of checkpoints; a recording of .npy files; profiler data. The report is that of the files in a directory, and Python reads the same
values, several threads at once.

    formats.py --assay PROGRAM --ranks 1 3 ... [--no-pack] [--library FILE]
"""
import json
import shutil
import sys
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import s3  # noqa: E402
import s3_suite  # noqa: E402
from checkpoints import save_dcp, save_npz, save_safetensors, save_sharded  # noqa: E402
from launch import ROOT, TRIALS, run  # noqa: E402
from reports import body_of  # noqa: E402
from s3_server import Server  # noqa: E402
from s3_suite import launch  # noqa: E402

STEPS = (10, 20, 30)
RULES = {"rules": [{"rule": "ExplodingTensor"}, {"rule": "AllZero", "parameters": {"tensor_regex": ".*"}}]}


def model(step):
    rng = numpy.random.default_rng(step)
    tensors = {"fc.weight": rng.normal(0, 1, (300, 50)).astype("float32"), "fc.bias": numpy.zeros(6, "float32")}
    if step == STEPS[-1]:
        tensors["fc.weight"][2, 3] = numpy.nan
    return tensors


def as_torch(tensors):
    return {name: torch.from_numpy(value.copy()) for name, value in tensors.items()}


def save_torch(path, tensors):
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(as_torch(tensors), path)


def save_npy(directory, tensors):
    directory.mkdir(parents=True)
    for name, value in tensors.items():
        numpy.save(directory / (name + ".npy"), value)


SERIES = {
    "safetensors": lambda root, step: save_safetensors(root / ("step-%04d.safetensors" % step), model(step)),
    "sharded": lambda root, step: save_sharded(root / ("checkpoint-%d" % step), model(step), 3),
    "zip": lambda root, step: save_torch(root / ("model_%d.pt" % step), model(step)),
    "npz": lambda root, step: save_npz(root / ("%d.npz" % step), model(step), step == 20),
    "dcp": lambda root, step: save_dcp(root / ("step%d" % step), as_torch(model(step)), {}, 2),
    "npy": lambda root, step: save_npy(root / ("step_%d" % step), model(step)),
}


# Threads that read a trial of their own each, and compare it with the one in the directory; then a child of the process, as data loaders fork
# them, reads on.
READER = """
import os, sys, threading, numpy, assay

def values(place, trial=None):
    trial = trial or assay.open(place)
    return {(name, step): trial.tensor(name).value(step) for name in trial.tensor_names() for step in trial.tensor(name).steps()}

wanted, found = values(sys.argv[1]), []
threads = [threading.Thread(target=lambda: found.append(values(sys.argv[2]))) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert wanted and len(found) == 4

def same(other):
    return wanted.keys() == other.keys() and all(numpy.array_equal(wanted[k], other[k], equal_nan=True) for k in wanted)

assert all(map(same, found))
trial = assay.open(sys.argv[2])
child = os.fork()
if child == 0:
    os._exit(0 if same(values("", trial)) and same(values(sys.argv[2])) else 1)
assert os.waitpid(child, 0)[1] == 0 and same(values("", trial))
print(len(wanted))
"""

# A thread waits for answers nearly all the time, with S3's lock held. No child that is forked in between keeps that for ever.
FORKER = """
import os, sys, threading, time, assay

def read(trial):
    return [trial.tensor(name).value(step).sum() for name in trial.tensor_names()[:4] for step in trial.tensor(name).steps()]

def read_on():
    while not ended.is_set():
        read(assay.open(sys.argv[1]))

trial, ended, children = assay.open(sys.argv[1]), threading.Event(), []
thread = threading.Thread(target=read_on)
thread.start()
for _ in range(8):
    time.sleep(0.03)
    children.append(os.fork())
    if children[-1] == 0:
        read(trial)
        os._exit(0)
ended.set()
thread.join()
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""


class Suite(s3_suite.Suite):
    def __init__(self, options):
        super().__init__(options)
        self.job = self.file("job.json", json.dumps(RULES))

    def run(self, *argv, ranks=1, **more):
        return launch(ranks, [self.assay, *argv], s3.environment(self.server.port, self.server.key, self.server.secret, **more))

    def body(self, place, *job, ranks=1):
        out = self.room / "report"
        shutil.rmtree(out, ignore_errors=True)
        done = self.run("run", *job, "T=%s" % place, "--out", out, ranks=ranks)
        body = body_of(out)
        return done, body and body.replace(b"'" + str(place).encode() + b"'", b"PATH").replace(str(place).encode(), b"PATH")

    def same(self, what, here, there, *job):
        wanted, report = self.body(here, *job)
        for ranks in self.ranks:
            done, body = self.body(there, *job, ranks=ranks)
            self.checks.expect(wanted.code == done.code and report and body == report, "%s at %d ranks: %s" % (what, ranks, done))

    def check_series(self):
        for name, save in SERIES.items():
            root = self.room / name
            for step in STEPS:
                save(root, step)
            self.server.put_tree("runs", name + "/", root)
            self.same(name, root, "s3://runs/" + name, self.job)
            listed = self.run("ls", "s3://runs/" + name)
            self.checks.expect(listed.code == 0 and "30" in listed.out, "ls of %s: %s" % (name, listed))

    def check_shared_index(self):
        """Ranks that compare checkpoints share the reading of their index: several ask for as many ranges of files as one does, but for
        the few of a file that two of them read."""
        for name in "ab":
            for step in range(40):
                save_safetensors(self.room / name / ("step-%d.safetensors" % step), {"w": numpy.full(64, step, "float32")})
            self.server.put_tree("runs", "index/%s/" % name, self.room / name)
        counts = []
        for ranks in self.ranks:
            before = len(self.server.requests)
            done = self.run("compare", "s3://runs/index/a", "s3://runs/index/b", ranks=ranks)
            counts.append(sum(".safetensors" in path for _, path, _ in self.server.requests[before:]))
            self.checks.expect(done.code == 0 and "equal: 40 tensors" in done.out, "compare at %d ranks: %s" % (ranks, done))
        self.checks.expect(counts[0] >= 80 and max(counts) <= counts[0] + 8 * len(self.ranks), "requests at %s ranks: %s" % (self.ranks, counts))

    def check_events(self):
        """Profiler data, which has no tensors beside it."""
        tree = ROOT / "tests" / "data" / "events" / "profiler"
        self.server.put_tree("runs", "events/", tree)
        self.same("profiler data", tree, "s3://runs/events")

    def check_python(self):
        self.server.put_tree("runs", "healthy/", TRIALS / "healthy")
        env = {**s3.environment(self.server.port, self.server.key, self.server.secret), "ASSAY_LIBRARY": self.options.library,
               "PYTHONPATH": str(ROOT / "src" / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = run([sys.executable, "-c", READER, TRIALS / "healthy", "s3://runs/healthy"], env)
        self.checks.expect(done.code == 0 and int(done.out) > 100, "Python: %s" % done)
        with Server(delay=0.01) as server:
            server.put_tree("runs", "healthy/", TRIALS / "healthy")
            done = run([sys.executable, "-c", FORKER, "s3://runs/healthy"], {**env, **s3.environment(server.port, server.key, server.secret)}, timeout=60)
            self.checks.expect(done.code == 0, "a child that was forked while S3's lock was held: %s" % done)

    def check_packed(self):
        one, two = self.room / "one.h5", self.room / "two.h5"
        for file, trials in ((one, ["ddp"]), (two, ["healthy", "reductions"])):
            done = self.run("pack", *(TRIALS / name for name in trials), "-o", file)
            self.checks.expect(done.code == 0, "pack: %s" % done)
            self.server.put("runs", "packed/" + file.name, file.read_bytes())
        self.same("a packed trial", one, "s3://runs/packed/one.h5")
        self.same("one of several", "%s/reductions" % two, "s3://runs/packed/two.h5/reductions")
        for command in (["ls"], ["ls", "--json"], ["show"], ["check", "--trial"]):
            here, there = (self.run(*command, place) for place in (one, "s3://runs/packed/one.h5"))
            same = there.out.replace("s3://runs/packed/one.h5", str(one)) == here.out
            self.checks.expect(there.code == here.code and same, "%s: %s" % (command, there))
        unpacked = self.room / "unpacked"
        done = self.run("unpack", "s3://runs/packed/one.h5", "-o", unpacked, ranks=self.ranks[-1])
        files = {p.relative_to(unpacked) for p in unpacked.rglob("*") if p.is_file()} if done.code == 0 else set()
        wanted = {p.relative_to(TRIALS / "ddp") for p in (TRIALS / "ddp").rglob("*") if p.is_file()}
        self.checks.expect(files == wanted and all((unpacked / p).read_bytes() == (TRIALS / "ddp" / p).read_bytes() for p in wanted),
                           "unpack: %s" % done)
        done = self.run("watch", "s3://runs/packed/one.h5", "--out", self.room / "watched")
        self.checks.expect(done.code == 0 and body_of(self.room / "watched"), "watch: %s" % done)
        # A pattern finds packed trials beside directories, and what follows a pattern has to be there.
        self.server.put_tree("runs", "packed/linreg/", TRIALS / "linreg_nan")
        self.server.put("runs", "packed/notes.txt", b"no trial")
        self.server.put("runs", "packed/deep/one.h5", one.read_bytes())
        for pattern, found in (("s3://runs/packed/[lo]*", ["linreg", "one"]), ("s3://runs/pack?d/*/one.h5", ["one"])):
            out = self.room / "compared"
            done = self.run("compare", pattern, "--out", out)
            names = [t["name"] for t in json.loads((out / "report.json").read_text())["trials"]] if done.code in (0, 1, 3) else []
            self.checks.expect([name.removesuffix(".h5") for name in names] == found, "%s: %s %s" % (pattern, names, done))
        self.check_packed_faults(one)

    def check_packed_faults(self, one):
        bytes_ = one.read_bytes()
        for what, content, words in (("cut", bytes_[:-4000], ["cut short"]), ("none", b"no HDF5 at all", ["no HDF5 file"]),
                                     ("empty", b"", ["damaged"])):
            self.server.put("runs", "bad/%s.h5" % what, content)
            done = self.run("run", "s3://runs/bad/%s.h5" % what, "--out", self.room / "bad")
            self.checks.expect(done.code == 2 and all(word in done.err for word in words) and "s3://runs/bad/" in done.err,
                               "%s: %s" % (what, done))
        done = self.run("ls", "s3://runs/bad/missing.h5")
        self.checks.expect(done.code == 2 and "no object lies there" in done.err, "missing: %s" % done)
        # A directory may be called as packed trials are, and a file's content may change while it is read.
        self.server.put_tree("runs", "called.h5/", TRIALS / "linreg_nan")
        self.same("a directory of that name", TRIALS / "linreg_nan", "s3://runs/called.h5")
        gets = [path for method, path, _ in self.server.requests if "packed/one.h5" in path]
        self.checks.expect(gets and all(headers.get("Range") for _, path, headers in self.server.requests if "packed/one.h5" in path
                                        and "list-type" not in path), "a packed trial was not read by ranges")

    def all(self):
        with Server() as self.server:
            self.server.buckets["runs"] = {}
            self.check_series()
            self.check_shared_index()
            self.check_events()
            if self.options.library != "none":
                self.check_python()
            if not self.options.no_pack:
                self.check_packed()


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite, "--no-pack", library=None)
