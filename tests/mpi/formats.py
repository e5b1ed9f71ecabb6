#!/usr/bin/env python3
"""The seam of formats carries what other formats need: formats of tests/formats, which only a program of the tests knows, go
through every command as they are, on 1 and more ranks, and nothing above the list of formats is compiled otherwise.

blocks: records without a frame, of which the index has dtype and shape; several tensors in a file, several files a step; strided,
compressed and put together from pieces of several files; numbers that only the index has; steps that are checkpoints.
lines: scalars without a file of their own, one file for all steps, which grows; training and validation at one step.
Both have the verdicts of the same values recorded by the recording library, alone and below one root with another format.

    formats.py --assay PROGRAM --ranks 1 2 3 ... -- PROGRAM_WITH_THOSE_FORMATS [no-pack]
"""
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from blocks import Blocks  # noqa: E402
from launch import Checks, environment, mpirun  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of, report_of  # noqa: E402

STEPS, WORKERS = range(0, 90, 10), ("worker_0", "worker_1")
RULES = [("update", "WeightUpdateRatio", {"large_threshold": 1e-9}),
         ("exploding", "ExplodingTensor", {"tensor_regex": "."}),
         ("unchanged", "UnchangedTensor", {"collection_names": "weights", "num_steps": 2}),
         ("replicas", "ReplicaDivergence", {}),
         ("loss", "LossNotDecreasing", {"tensor_regex": "^loss$", "num_steps": 1, "diff_percent": 50}),
         ("validation", "LossNotDecreasing", {"tensor_regex": "^val_loss$", "num_steps": 1, "diff_percent": 50, "mode": "EVAL"})]
COLLECTIONS = {"weights": "^(?!gradient|optimizer/|ema/|state/).*weight", "losses": "^loss$",
               "biases": "^(?!gradient|optimizer/|ema/|state/).*bias"}


def values(rng, step, worker):
    """Large ones, so that a content goes by in pieces; the second worker has a NaN and another head at one step."""
    weight = rng.normal(0, 1, (260, 300)).astype("float32") if step != 40 else numpy.full((260, 300), 2, "float32")
    head = numpy.full((6, 8), step if worker == "worker_0" or step < 60 else step + 1, "float64")
    bias = rng.normal(0, 1, (3, 4)).astype("float32")
    if step == 70 and worker == "worker_1":
        bias[2, 3] = numpy.nan
    return {"net.weight": weight, "optimizer/net.weight/exp_avg": weight * 3, "head.weight": head, "net.bias": bias,
            "loss": numpy.float64(4.0 / (1 + step % 50))}


def make_blocks(folder, recorded):
    rng, blocks, made = numpy.random.default_rng(11), Blocks(folder), Made(recorded, 2, COLLECTIONS)
    for step in STEPS:
        saved = {}
        for worker in WORKERS:
            mine = saved[worker] = values(rng, step, worker)
            first, second = ("block-%d/%s-%d.data" % (step, worker, k) for k in (1, 2))
            blocks.plain(step, worker, "net.weight", mine["net.weight"], first)
            blocks.deflated(step, worker, "optimizer/net.weight/exp_avg", mine["optimizer/net.weight/exp_avg"], second)
            blocks.pieces(step, worker, "head.weight", mine["head.weight"], step // 10 % 2, [2, 5], [first, second, first])
            blocks.strided(step, worker, "net.bias", mine["net.bias"], second)
            blocks.value(step, worker, "loss", mine["loss"])
        made.step(step, "TRAIN", step, saved)
    made.end()
    return blocks.write()


def make_lines(folder, recorded, ends=True):
    made = Made(recorded, 2, COLLECTIONS)
    folder.mkdir(parents=True)
    for step in range(40):
        saved = {w: {"loss": 4.0 / (1 + step) if step < 20 else numpy.float64(step), "norm.weight": 1.5 + step % 3}
                 for w in WORKERS}
        made.step(4 * step, "TRAIN", 4 * step, saved)
        validation = {w: {"val_loss": 5.0 / (1 + step) if step < 30 else numpy.float64(step)} for w in WORKERS if step % 4 == 0}
        if validation:
            made.step(4 * step + 1, "EVAL", 4 * step, validation)
        for worker in WORKERS:
            with open(folder / (worker + ".lines"), "a") as out:
                for mode, of in (("TRAIN", saved), ("EVAL", validation)):
                    out.writelines("%d %s %s %r\n" % (4 * step, mode, name, float(value)) for name, value in of.get(worker, {}).items())
    made.end()
    if ends:
        (folder / "lines.end").touch()
    return folder


class Test:
    def __init__(self, args, checks, where):
        self.args, self.checks, self.where = args, checks, where
        self.job = where / "job.json"
        self.job.write_text(json.dumps({"rules": [{"name": n, "rule": r, "parameters": p} for n, r, p in RULES]}))

    def run(self, trial, what, code=0):
        """The report of all numbers of ranks, which is the same."""
        bodies = set()
        for ranks in self.args.ranks:
            shutil.rmtree(self.where / "out", True)
            done = mpirun(ranks, [self.args.formats, "run", self.job, "--trial", trial, "--out", self.where / "out", "--quiet"])
            self.checks.expect(done.code == code, "%s, %d ranks: %s" % (what, ranks, done))
            bodies.add(body_of(self.where / "out"))
        self.checks.expect(len(bodies) == 1, "%s: the reports differ" % what)
        return report_of(self.where / "out")["trials"][0]

    def same(self, trial, recorded, what):
        """The trial has the verdicts of the recorded one, and there is something to be found."""
        a, b = self.run(trial, what), self.run(recorded, what + ", recorded")
        for one in (a, b):
            for rule in one["rules"]:
                for finding in rule.get("findings", []):
                    finding.pop("wall_time", None)
        rules = [json.loads(json.dumps(t["rules"]).replace(t["path"], "TRIAL")) for t in (a, b)]
        self.checks.expect(rules[0] == rules[1], "%s has the verdicts of the recorded trial:\n%s\n%s" % (what, *rules))
        self.checks.expect(sum(r["findings_total"] > 0 for r in a["rules"]) >= 1, "%s: there is something to be found" % what)
        return a

    def commands(self, trial, recorded, what):
        assay, ranks, where = self.args.formats, self.args.ranks[-1], self.where
        done = mpirun(1, [assay, "ls", trial, "--json"])
        self.checks.expect(done.code == 0 and json.loads(done.out), "%s, ls: %s" % (what, done))
        done = mpirun(ranks, [assay, "compare", trial, recorded, "--job", self.job, "--out", where / "compared"])
        self.checks.expect(done.code == 0, "%s, compare: %s" % (what, done))
        both = []
        for one in (trial, recorded):
            done = mpirun(ranks, [assay, "stats", one, "--out", where / "stats.csv"])
            self.checks.expect(done.code == 0, "%s, stats: %s" % (what, done))
            both.append((where / "stats.csv").read_text())
        watched = where / "watched"
        shutil.rmtree(watched, True)
        done = mpirun(1, [assay, "watch", self.job, "--trial", trial, "--every", "0.1", "--out", watched], timeout=60)
        report = self.run(trial, what)
        self.checks.expect(done.code == 0 and report_of(watched)["trials"][0]["rules"] == report["rules"], "%s, watch: %s" % (what, done))
        if self.args.no_pack:
            return
        packed = where / "packed.h5"
        packed.unlink(missing_ok=True)
        done = mpirun(ranks, [assay, "pack", trial, "--verify", "--out", packed, "--quiet"])
        self.checks.expect(done.code == 0, "%s, pack: %s" % (what, done))
        again = self.run(packed, what + ", packed")
        self.checks.expect([r["findings_total"] for r in again["rules"]] == [r["findings_total"] for r in report["rules"]],
                           "%s: packed, it has the same verdicts" % what)


def check_show(test, trial):
    """Elements of every kind of record, as they were written."""
    rng = numpy.random.default_rng(11)
    want = {(s, w): values(rng, s, w) for s in STEPS for w in WORKERS}
    for name in ("head.weight", "net.bias", "loss"):
        done = mpirun(1, [test.args.formats, "show", trial, name, "--values", "--json"])
        rows = json.loads(done.out)["rows"] if done.code == 0 else []
        test.checks.expect(len(rows) == len(want), "%s: %s" % (name, done))
        for row in rows:
            value = want[row["step"], row["worker"]][name]
            have = numpy.array(row["values"], "float64").astype(value.dtype)
            test.checks.expect(row["shape"] == list(value.shape) and numpy.array_equal(have.ravel(), numpy.ravel(value), equal_nan=True),
                               "%s: %s is to be %s" % (name, row, value))


def check_damage(test, trial):
    """A piece whose file is gone, a stream that is damaged: named, and the rest counts."""
    broken = test.where / "broken"
    shutil.copytree(trial, broken)
    (broken / "block-20" / "worker_1-2.data").unlink()
    path = broken / "block-30" / "worker_0-2.data"
    data = bytearray(path.read_bytes())
    data[200] ^= 0xff
    path.write_bytes(data)
    report = test.run(broken, "a damaged trial", 3)
    files = {p["file"] for p in report["problems"]}
    test.checks.expect(files == {"block-20/worker_1-1.data", "block-20/worker_1-2.data", "block-30/worker_0-2.data",
                                 "block-30/worker_1-1.data"}, "what is damaged is named: %s" % report["problems"])
    missing = [p for p in report["problems"] if p["kind"] == "missing-event-file"]
    test.checks.expect(len(missing) == 1, "a file that is missing is named once: %s" % missing)


def check_together(test, blocks):
    """Three formats below one root, some of them at the same steps of the same workers: every rule sees all tensors."""
    root, alone = test.where / "together", test.where / "alone"
    made = [Made(folder, 2, COLLECTIONS) for folder in (root, alone)]
    for step in STEPS:
        extra = {w: {"extra.weight": numpy.full((2, 3), 1.0 + step // 20)} for w in WORKERS}
        saved = {w: dict(values(numpy.random.default_rng(step), step, w), **extra[w]) for w in WORKERS}
        made[0].step(step, "TRAIN", step, extra)
        made[1].step(step, "TRAIN", step, saved)
    blocks = Blocks(root)
    for step in STEPS:
        for worker in WORKERS:
            mine = values(numpy.random.default_rng(step), step, worker)
            for name in ("net.weight", "optimizer/net.weight/exp_avg"):
                blocks.plain(step, worker, name, mine[name], "block-%d/%s.data" % (step, worker))
            for name in ("head.weight", "net.bias"):
                path = root / ("step_%d" % step) / worker / (name + ".npy")
                path.parent.mkdir(parents=True, exist_ok=True)
                numpy.save(path, mine[name])
            blocks.value(step, worker, "loss", mine["loss"])
    blocks.write()
    for one in made:
        one.end()
    test.same(root, alone, "three formats below one root")
    test.commands(root, alone, "three formats below one root")
    done = mpirun(1, [test.args.formats, "ls", root, "--json"])
    listed = {t["name"] for t in json.loads(done.out)["tensors"]} if done.code == 0 else set()
    test.checks.expect(listed == set(values(numpy.random.default_rng(0), 0, WORKERS[0])) | {"extra.weight"}, "ls: %s" % listed)


def check_modes(test):
    """Training and validation have the same numbers in one format, beside another one in which a number is one step: what is
    of the same mode belongs together, and neither the one nor the other is lost."""
    root, alone = test.where / "modes", test.where / "modes.recorded"
    made = [Made(folder, 1, COLLECTIONS) for folder in (root, alone)]
    for step in range(0, 300, 10):
        mode, other = ("TRAIN", "EVAL") if step % 20 == 0 else ("EVAL", "TRAIN")
        weight = {"head.weight": numpy.full((2, 3), 1.0 + step // 40)}
        lines = {"TRAIN": {"loss": 4.0 + step}, "EVAL": {"val_loss": 9.0 - step // 100, "head.weight": numpy.float64(step)}}
        if mode == "EVAL":
            del lines["EVAL"]["head.weight"]
        made[0].step(step, mode, step, {"worker_0": weight})
        made[1].step(step, mode, step, {"worker_0": dict(weight, **lines[mode])})
        made[1].step(step + 1, other, step, {"worker_0": lines[other]})
        with open(root / "worker_0.lines", "a") as out:
            for name in ("TRAIN", "EVAL"):
                out.writelines("%d %s %s %r\n" % (step, name, tensor, float(value)) for tensor, value in lines[name].items())
    for one in made:
        one.end()
    report = test.same(root, alone, "two modes at one number")
    test.checks.expect(report["problems"] == [] and report["modes"]["TRAIN"]["steps"] == report["modes"]["EVAL"]["steps"] == 30,
                       "all steps of both modes: %s" % report["modes"])
    listed = [json.loads(mpirun(1, [test.args.formats, "ls", folder, "--json"]).out) for folder in (root, alone)]
    test.checks.expect(listed[0]["steps"] == listed[1]["steps"], "ls: %s" % [one["steps"] for one in listed])
    shown = [mpirun(1, [test.args.formats, "show", folder, "head.weight", "--values", "--json"]) for folder in (root, alone)]
    rows = [[{k: row[k] for k in ("step", "mode", "shape", "values")} for row in json.loads(done.out)["rows"]] for done in shown]
    test.checks.expect(rows[0] == rows[1] and len(rows[0]) == 45, "show: %s" % rows[0])
    watched = test.where / "modes.out"
    done = mpirun(1, [test.args.formats, "watch", test.job, "--trial", root, "--every", "0.1", "--out", watched], timeout=60)
    test.checks.expect(done.code == 0 and report_of(watched)["trials"][0]["rules"] == report["rules"], "watch: %s" % done)


def check_growing(test):
    """A file for all steps that grows while it is watched: a step counts when the worker has gone on."""
    trial, recorded = test.where / "growing", test.where / "grown"
    make_lines(trial, recorded, ends=False)
    lines = {w: (trial / (w + ".lines")).read_text().splitlines(keepends=True) for w in WORKERS}
    for worker in WORKERS:
        (trial / (worker + ".lines")).write_text("".join(lines[worker][:30]))
    watched = test.where / "growing.out"
    argv = [test.args.formats, "watch", test.job, "--trial", trial, "--every", "0.1", "--out", watched]
    with open(test.where / "growing.log", "w") as log:
        process = subprocess.Popen([str(a) for a in argv], stdout=log, stderr=log, env=environment())
    try:
        for at in range(30, 80, 10):
            for worker in WORKERS:
                with open(trial / (worker + ".lines"), "a") as out:
                    text = "".join(lines[worker][at:at + 10])
                    out.write(text[:-3])
                    out.flush()
                    time.sleep(0.2)
                    out.write(text[-3:])
        (trial / "lines.end").touch()
        code = process.wait(60)
    finally:
        process.kill()
        process.wait()
    test.checks.expect(code == 0, "watching what grows: %s" % (test.where / "growing.log").read_text())
    report = test.run(trial, "what has grown")
    test.checks.expect(report_of(watched)["trials"][0]["rules"] == report["rules"], "watched, it has the same verdicts in the end")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("formats")
    parser.add_argument("no_pack", nargs="?")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        test = Test(args, checks, where)
        blocks = make_blocks(where / "blocks", where / "blocks.recorded")
        test.same(blocks, where / "blocks.recorded", "blocks")
        test.commands(blocks, where / "blocks.recorded", "blocks")
        check_show(test, blocks)
        check_damage(test, blocks)
        check_together(test, blocks)
        lines = make_lines(where / "lines", where / "lines.recorded")
        report = test.same(lines, where / "lines.recorded", "lines")
        validation = {r["name"]: r for r in report["rules"]}["validation"]
        checks.expect(validation["datapoints"] > 0 and validation["findings_total"] > 0, "validation at the steps of training: %s" % validation)
        test.commands(lines, where / "lines.recorded", "lines")
        check_modes(test)
        check_growing(test)
        done = mpirun(1, [args.assay, "ls", blocks])
        checks.expect(done.code != 0 and "not a trial" in done.err, "users have no such format: %s" % done)
    checks.done()


if __name__ == "__main__":
    main()
