#!/usr/bin/env python3
"""Checkpoints cut short: a small one of every layout, each of its files cut at nearly every byte. A cut is named, what can still be read is
what it was, and where files stand by themselves the other files' tensors are all there.

    cuts.py --assay PROGRAM -- CUTS          CUTS is the program of cuts.c
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoints import save_dcp, save_npz, save_pieces, save_safetensors, save_sharded, save_zero, split_metadata  # noqa: E402
from launch import Checks, environment  # noqa: E402

VALUE = {"fc1.weight": numpy.arange(6, dtype="float32").reshape(3, 2) / 7, "fc1.bias": numpy.arange(3, dtype="float16"),
         "count": numpy.array(5, "int64")}


def tensors():
    return {name: torch.from_numpy(numpy.array(value)) for name, value in VALUE.items()}


def save_torch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    net = torch.nn.Linear(2, 1)
    adam = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 2)).sum().backward()
    adam.step()
    torch.save({"model": dict(net.state_dict(), **tensors()), "optimizer": adam.state_dict(), "epoch": 3}, path)


def save_megatron(root):
    for rank in ("mp_rank_00", "mp_rank_01"):
        (root / rank).mkdir(parents=True)
        torch.save({"model": tensors(), "iteration": 4, "checkpoint_version": 3.0}, root / rank / "model_optim_rng.pt")


def save_deepspeed(root, stage):
    whole = {"a.weight": numpy.arange(10, dtype="float32").reshape(5, 2)}
    save_zero(root, stage, [whole], {"exp_avg": whole, "exp_avg_sq": whole}, 2, {"freq": numpy.arange(2, dtype="float32")}, torch.float16)


def save_alone(root):
    save_dcp(root, tensors(), {}, 2)
    split_metadata(root, 2)


# Where "+" stands before a layout each of its files stands by itself, but for what an index names.
LAYOUTS = {
    "+safetensors": lambda root: save_safetensors(root / "model.safetensors", VALUE),
    "+shards": lambda root: save_sharded(root, VALUE, 2),
    "+stored": lambda root: save_npz(root / "model.npz", VALUE),
    "+deflated": lambda root: save_npz(root / "model.npz", VALUE, True),
    "+torch": lambda root: save_torch(root / "model.pt"),
    "+megatron": lambda root: save_megatron(root),
    "pieces": lambda root: save_pieces(root, {name: v for name, v in VALUE.items() if v.ndim}, 2),
    "dcp": lambda root: save_dcp(root, tensors(), {}, 2),
    "alone": save_alone,
    "zero 1": lambda root: save_deepspeed(root, 1),
    "zero 3": lambda root: save_deepspeed(root, 3),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", type=Path, required=True)
    parser.add_argument("cuts", type=Path)
    args, checks = parser.parse_args(), Checks()
    with tempfile.TemporaryDirectory(prefix="assay-cuts-") as work:
        for layout, save in LAYOUTS.items():
            trial = Path(work) / layout.strip("+").replace(" ", "-")
            (trial / "step_10").mkdir(parents=True) if not layout.startswith(("dcp", "alone")) else trial.mkdir()
            save(trial / "step_10")
            files = sorted(str(p.relative_to(trial)) for p in trial.rglob("*") if p.is_file())
            mark = ["+" if layout.startswith("+") and not f.endswith(".index.json") else "" for f in files]
            done = subprocess.run([args.cuts, trial] + [m + f for m, f in zip(mark, files)], capture_output=True, text=True, env=environment())
            checks.expect(done.returncode == 0, "%s: %s %s" % (layout, done.stdout, done.stderr[:600]))
            print(layout.strip("+"), done.stdout.strip())
    checks.done()


if __name__ == "__main__":
    main()
