#!/usr/bin/env python3
"""One byte of a trial is another one: the report is the same, or names a problem, or no tensor has another name, step, worker or shape.

    flips.py --assay PROGRAM [--apart N] [--ranks N] [--only NAME...]

A small trial of each format; of each of its files every N-th byte is changed in two ways, a bit flipped and a byte written over, and
`assay run`, `assay stats` and `assay ls` look at the trial. Allowed ends:
  equal      report.json but for `run`, the figures of all tensors, and their names and shapes, are those of the sound trial
  named      a problem more, a finding of CheckpointStructure more, a rule in error, or exit 2 or 4 with a message
  value      only figures differ, and the report says how many bytes have no checksum
  unguarded  names, shapes or places differ, in a file that has no checksum over them (UNGUARDED says which) in a trial whose report
             says so: they are counted
Everything else is a failure: a wrong answer without a word. With --ranks, some changes of each format are also looked at by so many
ranks: exit code and report are the same.
"""
import argparse
import csv
import gzip
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoints import save_dcp, save_npz, save_pieces, save_safetensors, save_sharded, save_zero, split_metadata  # noqa: E402
from launch import ROOT, Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of  # noqa: E402

RULES = [{"rule": "ExplodingTensor"}, {"rule": "AllZero", "parameters": {"tensor_regex": ".*"}}, {"rule": "CheckpointStructure"},
         {"rule": "ReplicaDivergence"}, {"rule": "MissingWorker"}]
STEPS = (1, 2)
ON_RANKS = 6  # changes of a format
FIGURES = {"nan", "pos_inf", "neg_inf", "zeros", "min", "max", "mean", "std", "variance", "sum", "l1", "l2", "abs_mean", "abs_max",
           "wall_time", "time_us", "value"}


def tensors(step):
    rng = numpy.random.default_rng(step)
    return {"fc.weight": rng.normal(0, 1, (2, 3)).astype("float32"), "fc.bias": rng.normal(0, 1, 2).astype("float32"),
            "count": numpy.array(step, "int64")}


def as_torch(values):
    import torch
    return {name: torch.from_numpy(numpy.array(value)) for name, value in values.items()}


def save_torch(path, saved):
    import torch
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(saved, path)


# ---- a small trial of each format ----

def smdebug(root):
    made = Made(root, 2, {"weights": "weight"})
    for step in STEPS:
        made.step(step, "TRAIN", step, {w: tensors(step + i) for i, w in enumerate(made.workers)})
    made.end()


def npy(root):
    for step in STEPS:
        for rank in range(2):
            place = root / ("step_%d" % step) / ("worker_%d" % rank)
            place.mkdir(parents=True)
            for name, value in tensors(step).items():
                numpy.save(place / (name + ".npy"), value)


def megatron(root):
    import types
    for step in STEPS:
        for rank in range(2):
            arguments = types.SimpleNamespace(tensor_model_parallel_size=2, pipeline_model_parallel_size=1, swiglu=False)
            layers = {"decoder.layers.0.mlp.linear_fc2.weight": tensors(step)["fc.weight"] + rank,
                      "decoder.layers.0.input_layernorm.weight": tensors(step)["fc.bias"]}
            save_torch(root / ("iter_%07d" % step) / ("mp_rank_%02d" % rank) / "model_optim_rng.pt",
                       {"args": arguments, "model": as_torch(layers), "iteration": step})
    (root / "latest_checkpointed_iteration.txt").write_text(str(STEPS[-1]))


def deepspeed(root):
    for step in STEPS:
        own = tensors(step)
        groups = [{"fc.weight": own["fc.weight"]}, {"fc.bias": own["fc.bias"]}]
        moments = {"exp_avg": {n: v for g in groups for n, v in g.items()}, "exp_avg_sq": {n: v * v for g in groups for n, v in g.items()}}
        save_zero(root / ("global_step%d" % step), 1, groups, moments, 2)
    (root / "latest").write_text("global_step%d" % STEPS[-1])


def uncoordinated(root):
    dcp(root)
    for step in STEPS:
        split_metadata(root / ("step%d" % step), 2)


def dcp(root):
    for step in STEPS:
        save_dcp(root / ("step%d" % step), as_torch(tensors(step)), {}, 2)


def profiler(root):
    shutil.copytree(ROOT / "tests" / "data" / "events" / "profiler", root, dirs_exist_ok=True)
    for path in [p for p in root.rglob("*") if p.suffix in (".json", ".tmp")]:
        path.chmod(0o644)
        lines = path.read_text().splitlines(True)
        path.write_text("".join(lines[:14]))
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def packed_profiler(root):
    profiler(root)
    for path in [p for p in root.rglob("*.json")]:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()


def topology(root):
    for step in STEPS:
        for rank in range(2):
            own = {"fc.weight": tensors(step)["fc.weight"] + rank, "norm.weight": tensors(step)["fc.bias"]}
            save_safetensors(root / ("step-%d" % step) / ("rank_%d" % rank) / "model.safetensors", own)
    (root / "topology.json").write_text(json.dumps({
        "schema": "assay-topology/1", "meshes": {"dense": {"axes": [["dp", 1], ["tp", 2]]}},
        "tensors": [{"match": "fc", "split": {"tp": {"axis": 0}}, "replicate": ["dp"]}, {"match": "norm", "replicate": ["dp", "tp"]}]}))


HOOK = """
import sys, numpy, assay_hook
hooks = [assay_hook.Hook(sys.argv[1], save_config=assay_hook.SaveConfig(save_interval=1), include_regex=["^fc", "^whole"],
                         include_workers="all", checksum="crc32c", rank_and_workers=(worker, 2), run_facts=False,
                         include_collections=[assay_hook.Collection("weights", record="digest"),
                                              assay_hook.Collection("gradients", record="statistics")]) for worker in range(2)]
for step in range(2):
    for worker, hook in enumerate(hooks):
        if step == 0:
            hook.set_topology({"tp": (2, worker)}, tensors=[{"match": "whole|grad|norm", "own": ["tp"]}])
        own = numpy.random.default_rng(step).normal(0, 1, (4, 3)).astype("float32")
        hook.step()
        hook.save_tensor("fc", own[2 * worker:2 * worker + 2], layout=assay_hook.Layout((4, 3), (2 * worker, 0), 0))
        hook.save_tensor("whole", own[0])
        hook.save_tensor("norm.weight", own[1], "weights")
        hook.save_tensor("gradient/norm.weight", own[2], "gradients")
for hook in hooks:
    hook.close()
"""


def hook(root):
    """Pieces of a tensor, digests and statistics, as the recording library writes them."""
    done = run([sys.executable, "-c", HOOK, root])
    if done.code != 0:
        raise SystemExit("the recording library's Python file and its library have to be in PYTHONPATH: %s" % done)


SAMPLES = {
    "hook": hook, "smdebug": smdebug, "npy": npy, "megatron": megatron, "deepspeed": deepspeed, "dcp": dcp, "uncoordinated": uncoordinated,
    "profiler": profiler, "packed_profiler": packed_profiler, "topology": topology,
    "safetensors": lambda root: [save_safetensors(root / ("step-%d.safetensors" % s), tensors(s)) for s in STEPS],
    "sharded": lambda root: [save_sharded(root / ("checkpoint-%d" % s), tensors(s), 2) for s in STEPS],
    "pieces": lambda root: [save_pieces(root / ("step_%d" % s), tensors(s), 2) for s in STEPS],
    "npz": lambda root: [save_npz(root / ("%d.npz" % s), tensors(s), s == 2) for s in STEPS],
    "torch": lambda root: [save_torch(root / ("ckpt_%d.pt" % s), {"model": as_torch(tensors(s)), "epoch": s}) for s in STEPS],
}

# Files that no checksum guards, by sample: what they say of names and places is believed where nothing else contradicts it.
UNGUARDED = {"profiler": ".json", "topology": "topology.json"}


def report_on(ranks, args, trial, out, job):
    shutil.rmtree(out, ignore_errors=True)
    command = [args.assay, "run", job, "--trial", trial, "--out", out, "--quiet", "--reports", "json"]
    return mpirun(ranks, command, timeout=60) if ranks > 1 else run(command, timeout=60)


class Look:
    """What assay says of a trial."""

    def __init__(self, args, trial, out, job):
        done = report_on(1, args, trial, out, job)
        self.code, self.run_code, self.err, self.hung = done.code, done.code, done.err, done.hung
        self.body = body_of(out)
        report = json.loads((out / "report.json").read_bytes()) if self.body else {"trials": []}
        self.trial = report["trials"][0] if report["trials"] else {"problems": [], "rules": []}
        self.problems = Counter(json.dumps(p, sort_keys=True) for p in self.trial["problems"])
        self.structure = Counter(json.dumps(f, sort_keys=True) for r in self.trial["rules"] if r["rule"] == "CheckpointStructure"
                                 for f in r["findings"])
        self.errors = [r["name"] for r in self.trial["rules"] if r["status"] == "Error"]
        self.unguarded = report.get("run", {}).get("bytes_without_checksum", 0)
        table = out / "stats.csv"
        done = run([args.assay, "stats", trial, "-o", table, "--quiet", *(["--metrics"] if "profile" in self.trial else [])], timeout=60)
        self.hung = self.hung or done.hung
        self.code = max(self.code, done.code) if None not in (self.code, done.code) and min(self.code, done.code) >= 0 else None
        self.rows = list(csv.DictReader(open(table, newline="", errors="surrogateescape"))) if table.exists() else []
        self.keys = Counter(tuple((k, v) for k, v in row.items() if k not in FIGURES) for row in self.rows)
        done = run([args.assay, "ls", trial, "--json"], timeout=60)
        self.hung = self.hung or done.hung
        listed = json.loads(done.out).get("tensors", []) if done.code in (0, 3) else []
        self.keys.update(("shape", t["name"], str(t.get("shape")), str(t.get("dtype"))) for t in listed)

    def told(self, sound):
        if self.code in (2, 4):
            return bool(self.err.strip())
        return bool(self.problems - sound.problems or self.structure - sound.structure or set(self.errors) - set(sound.errors))


def changes(data, at, dice):
    yield data[at] ^ 1 << dice.randrange(8)
    yield (data[at] + dice.randrange(1, 255)) % 256


def judge(now, sound):
    if now.hung or now.code is None or not 0 <= now.code <= 4:
        return "crash"
    if now.told(sound):
        return "named"
    if now.body == sound.body and now.rows == sound.rows and now.keys == sound.keys:
        return "equal"
    if now.keys == sound.keys:
        return "value" if sound.unguarded > 0 else "other value"
    return "other"


def attack(args, name, place, checks):
    trial, job, out = place / name, place / "job.json", place / "out"
    trial.mkdir()
    SAMPLES[name](trial)
    job.write_text(json.dumps({"rules": RULES}))
    sound, again = Look(args, trial, out, job), Look(args, trial, out, job)
    if not checks.expect(sound.code in (0, 1) and sound.rows and (sound.body, sound.rows) == (again.body, again.rows),
                         "%s: the sound trial: exit %s, %s %s" % (name, sound.code, sound.err, sound.trial["problems"])):
        return
    dice, counts, first = random.Random(name), Counter(), dice_start(args, name)
    files = sorted(p for p in trial.rglob("*") if p.is_file())
    every = max(1, 2 * sum(p.stat().st_size for p in files) // args.apart // ON_RANKS)
    for path in files:
        data = path.read_bytes()
        for at in range(first % args.apart, len(data), args.apart):
            for byte in changes(data, at, dice):
                path.write_bytes(data[:at] + bytes([byte]) + data[at + 1:])
                now = Look(args, trial, out, job)
                end = judge(now, sound)
                file = str(path.relative_to(trial))
                in_its_file = sound.unguarded > 0 and file.endswith(UNGUARDED.get(name, "\0"))
                if end == "other" and in_its_file:
                    end = "unguarded"
                if args.ranks > 1 and counts.total() % every == 0:
                    done = report_on(args.ranks, args, trial, place / "ranks", job)
                    checks.expect((done.code, body_of(place / "ranks")) == (now.run_code, now.body),
                                  "%s: %s, byte %d: another report on %d ranks: %s" % (name, file, at, args.ranks, done))
                counts[end] += 1
                lost, new = list((sound.keys - now.keys)), list((now.keys - sound.keys))
                checks.expect(end not in ("crash", "other", "other value"), "%s: %s, byte %d of %d: %#x for %#x (%r): %s, exit %s: %s %s" % (
                    name, file, at, len(data), byte, data[at], data[max(0, at - 24):at + 8], end, now.code,
                    lost[:1], new[:1]))
        first += len(data)
        path.write_bytes(data)
    print("%-16s %s" % (name, dict(sorted(counts.items()))), flush=True)
    shutil.rmtree(trial)


def dice_start(args, name):
    """Where the first change is: another place for each format and stride."""
    return random.Random("%s %d" % (name, args.apart)).randrange(args.apart)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--apart", type=int, default=1, help="every N-th byte")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=list(SAMPLES))
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="assay-flips-") as place:
        for name in args.only:
            attack(args, name, Path(place), checks)
    checks.done()


if __name__ == "__main__":
    main()
