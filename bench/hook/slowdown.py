"""slowdown.py - how much slower the PyTorch example trains when it is recorded every 1, 10 and 100 steps.

Usage: slowdown.py DIRECTORY [STEPS [ROUNDS]]     (with the library's folder in PYTHONPATH)
Prints one JSON object: seconds a step without the hook's calls, and the slow-down with it off and at each interval.
Rounds take turns, and the median is taken, so that a machine that changes its speed changes them all alike.
"""
import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs" / "examples"))
import train_pytorch  # noqa: E402


class NoHook:
    """In the place of a hook: nothing is registered at all."""

    def set_mode(self, mode):
        pass

    def save_scalar(self, name, value):
        pass


def seconds(directory, interval, steps):
    shutil.rmtree(directory, ignore_errors=True)
    torch.manual_seed(1)
    net, loss_fn, hook = train_pytorch.Net(), nn.CrossEntropyLoss(), NoHook()
    if interval is not None:
        os.environ["ASSAY_HOOK"] = "off" if interval == 0 else "on"
        hook = train_pytorch.make_hook(directory, interval or 1)
        hook.register_module(net)
        hook.register_loss(loss_fn)
    began = time.perf_counter()
    train_pytorch.train(net, loss_fn, hook, steps, torch.Generator().manual_seed(0), 1)
    if interval is not None:
        hook.close()
    taken = time.perf_counter() - began
    shutil.rmtree(directory, ignore_errors=True)
    return taken


def main():
    directory = os.path.join(sys.argv[1], "hook-slowdown")
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    torch.set_num_threads(1)
    seconds(directory, None, 50)  # warms up
    kinds = {"none": None, "off": 0, "100": 100, "10": 10, "1": 1}
    taken = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, interval in kinds.items():
            taken[kind].append(seconds(directory, interval, steps))
    base = statistics.median(taken["none"])
    slow_down = {kind: round(statistics.median(v) / base, 3) for kind, v in taken.items() if kind != "none"}
    print(json.dumps({"milliseconds_a_step": round(1e3 * base / steps, 3), "steps": steps, "rounds": rounds,
                      "slow_down": slow_down}))


if __name__ == "__main__":
    main()
