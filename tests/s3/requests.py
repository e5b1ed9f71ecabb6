#!/usr/bin/env python3
"""How many requests a trial in S3 takes: one listing for each 1000 objects, up to 30 000, whatever the trial's layout; one GET for each
object that is needed, however often the engine looks into it.

    requests.py --assay PROGRAM --ranks 1 3 ...
"""
import io
import json
import sys
from collections import Counter
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import s3  # noqa: E402
import s3_suite  # noqa: E402
from checkpoints import safetensors_bytes  # noqa: E402
from s3_server import Server  # noqa: E402
from s3_suite import launch  # noqa: E402


def put_checkpoints(server, steps, shards):
    """A directory for each step, as trainers of Hugging Face leave it: shards, their map, and a log."""
    for step in range(10, 10 * steps + 1, 10):
        names = ["model-%05d-of-%05d.safetensors" % (k + 1, shards) for k in range(shards)]
        for k, name in enumerate(names):
            server.put("runs", "t/checkpoint-%d/%s" % (step, name), safetensors_bytes({"w%d" % k: numpy.full(4, step, "float32")}))
        where = {"metadata": {}, "weight_map": {"w%d" % k: name for k, name in enumerate(names)}}
        server.put("runs", "t/checkpoint-%d/model.safetensors.index.json" % step, json.dumps(where).encode())
        state = {"global_step": step, "log_history": [{"step": step, "loss": 1 / step}]}
        server.put("runs", "t/checkpoint-%d/trainer_state.json" % step, json.dumps(state).encode())


def put_files(server, steps):
    """Checkpoints of one file each, beside one another."""
    for step in range(steps):
        server.put("runs", "t/step-%d.safetensors" % step, safetensors_bytes({"w": numpy.full(4, step + 1, "float32")}))


def put_arrays(server, steps, arrays):
    out = io.BytesIO()
    numpy.save(out, numpy.ones(4, "float32"))
    for step in range(steps):
        for k in range(arrays):
            server.put("runs", "t/step_%d/w%d.npy" % (step, k), out.getvalue())


def put_all(server):
    """What a job leaves in one place: a recording, checkpoints, and what its ranks wrote."""
    server.put_steps("runs", "t/", 300, 2).end()
    put_checkpoints(server, 3, 4)
    for rank in range(40):
        server.put("runs", "t/logs/rank%d.out" % rank, b"step 1 loss 0.5\n" * 10)


LAYOUTS = {
    "2400 objects of one worker": lambda server: server.put_steps("runs", "t/", 1199).end(),
    "many workers": lambda server: server.put_steps("runs", "t/", 20, 64).end(),
    "checkpoints of shards": lambda server: put_checkpoints(server, 60, 20),
    "checkpoints of one file each": lambda server: put_files(server, 300),
    "arrays": lambda server: put_arrays(server, 50, 40),
    "a recording, checkpoints and logs": put_all,
}


class Suite(s3_suite.Suite):
    def run(self, server, ranks, command=None):
        """The run, the paths of its listings, and how often each object was read."""
        before = len(server.requests)
        argv = [self.assay, "run", "s3://runs/t", "--out", self.room / "report", "--overwrite", "--allow-no-data"]
        argv = [self.assay, command, "s3://runs/t"] if command else argv
        done = launch(ranks, argv, s3.environment(server.port, server.key, server.secret), timeout=600)
        paths = [path for _, path, _ in server.requests[before:]]
        lists = [path for path in paths if "list-type=2" in path]
        self.checks.expect(done.code in ((0, 3) if command else (0, 1)), "%s" % done)
        return done, lists, Counter(path for path in paths if "list-type=2" not in path)

    def check_layouts(self):
        for name, put in LAYOUTS.items():
            with Server() as server:
                put(server)
                objects = len(server.buckets["runs"])
                for ranks in self.ranks:
                    done, lists, gets = self.run(server, ranks)
                    print("%s, %d ranks: %d objects, %d listings, %d GETs" % (name, ranks, objects, len(lists), sum(gets.values())), flush=True)
                    self.checks.expect(len(lists) == -(-objects // 1000), "%s: %d objects: %s" % (name, objects, lists))
                    often = max(gets.values())
                    self.checks.expect(ranks > 1 or often == 1, "%s: an object is read %d times" % (name, often))
                    for command in ("verify", "why"):  # they open the place several times
                        done, lists, _ = self.run(server, ranks, command)
                        print("%s: %d listings" % (command, len(lists)), flush=True)
                        self.checks.expect(len(lists) == -(-objects // 1000), "%s, %s, %d ranks: %d objects: %s" % (name, command, ranks, objects, lists))

    def check_many(self):
        """11 pages are 11 listings. More than 30, here of 100 objects, are given up, and each directory is listed alone, which is one for each page of its names."""
        with Server() as server:
            server.put_steps("runs", "t/", 300, 18).end()
            objects = len(server.buckets["runs"])
            for command in (None, "verify", "why"):
                done, lists, _ = self.run(server, self.ranks[0], command)
                self.checks.expect(len(lists) == -(-objects // 1000), "%d objects: %s: %s" % (objects, lists, done))
        with Server() as server:
            server.most_keys = 100
            server.put_steps("runs", "t/", 300, 6).end()  # 1800 objects of index/, as many of events/
            for command, most in ((None, 32), ("verify", 90), ("why", 32)):
                done, lists, _ = self.run(server, self.ranks[0], command)
                deep = [path for path in lists if path.endswith("prefix=t%2F") and "delimiter" not in path]
                self.checks.expect(len(deep) == 30 and len(lists) <= 30 + most, "%d, %d of the whole: %s" % (len(lists), len(deep), done))

    def check_runs(self):
        """A place with several runs: the message says what to give, and that is taken."""
        with Server() as server:
            for run in ("one", "two"):
                server.put("runs", "t/%s/metrics.csv" % run, b"step,loss\n1,0.5\n2,0.4\n3,0.3\n")
            env = s3.environment(server.port, server.key, server.secret)
            done = launch(1, [self.assay, "run", "s3://runs/t"], env)
            self.checks.expect(done.code == 2 and "s3://runs/t/NAME, or 's3://runs/t/*' for all of them" in done.err, "%s" % done)
            done = launch(1, [self.assay, "run", "s3://runs/t/*", "--out", self.room / "runs"], env)
            self.checks.expect(done.code == 0 and "2 trials" in done.out, "%s" % done)

    def check_one_object(self):
        """An object is a trial as a file is one; what lies beside it, or begins with its name, is not read. Nor does `why` of a job miss it."""
        with Server() as server:
            for name, loss in (("metrics.csv", 0.25), ("metrics.csv.old", 0.5), ("more.csv", 0.75)):
                server.put("runs", "job/metrics/" + name, b"step,loss\n" + b"".join(b"%d,%g\n" % (i, loss) for i in range(20)))
            server.put("runs", "job/slurm-7.out", b"step 1 loss 0.5\ntraining done\n")
            env = s3.environment(server.port, server.key, server.secret)
            file = self.room / "metrics.csv"
            file.write_bytes(b"step,loss\n" + b"".join(b"%d,0.25\n" % i for i in range(20)))
            here = launch(1, [self.assay, "run", file, "--out", self.room / "file", "--digest"], env)
            for ranks in self.ranks:
                done = launch(ranks, [self.assay, "run", "s3://runs/job/metrics/metrics.csv", "--out", self.room / ("object-%d" % ranks), "--digest"], env)
                wanted = here.out.split("\n")[0]
                self.checks.expect(done.code == 0 and done.out.split("\n")[0] == wanted and wanted, "%d ranks: %s, in place of %s" % (ranks, done, here))
                self.checks.expect("metrics.csv/metrics.csv" not in done.out + done.err, "%s" % done)
                done = launch(ranks, [self.assay, "why", "s3://runs/job"], env)
                self.checks.expect(done.code == 0 and "could be read" not in done.out and "metrics/metrics.csv: nothing wrong" in done.out, "%s" % done)
            done = launch(1, [self.assay, "run", "s3://runs/job/metrics/none.csv"], env)
            self.checks.expect(done.code != 0 and "no object lies there" in done.err, "%s" % done)

    def all(self):
        self.check_runs()
        self.check_one_object()
        self.check_layouts()
        self.check_many()


if __name__ == "__main__":
    s3_suite.main(__doc__, Suite)
