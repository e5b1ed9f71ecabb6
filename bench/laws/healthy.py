"""healthy.py - trainings of kinds that the laws of computation may take for broken: what is wrong in none of them must not be said.

    healthy.py --build BUILD --results FILE [--kinds NAME ...] [--record all laws auto] [--precision float32 bfloat16] [--steps 30] [--seed 0]

A kind is a function of kinds_*.py, named after what is unusual in it: layers, losses, optimizers, what a loop does between them. Each is recorded
with everything, with projections of every step (laws="all"), and by auto(laws="all"), and LawViolated has to stay silent. A line of FILE is
a training: its alarms, the first of them, and how many tensors each law was tested on.
"""
import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src/python"), str(Path(__file__).parent)]

import torch  # noqa: E402
from torch import distributed, multiprocessing, nn  # noqa: E402

import kinds_layers  # noqa: E402, F401
import kinds_loops  # noqa: E402, F401
from kinds import KINDS  # noqa: E402


def train(directory, name, record, precision, steps, seed, rank=0):
    import assay_hook
    from assay_hook import SaveConfig, modes
    import trainings
    torch.manual_seed(seed)
    loop = KINDS[name]()
    net = loop.net
    if any(isinstance(p, nn.parameter.UninitializedParameter) for p in net.parameters()):
        net(loop.data()[0])
    net = net.bfloat16() if precision == "bfloat16" else net
    torch.manual_seed(seed + 1 + rank)
    loss = loop.loss()
    wrapped = loop.wrap(net) if loop.workers > 1 else net
    optimizer = loop.optimizer(net)
    if record == "auto":
        hook = assay_hook.auto(directory, net, loss, optimizer, budget=None, laws="all", rank_and_workers=(rank, loop.workers))
    else:
        hook = assay_hook.Hook(directory, save_config=SaveConfig(save_interval=1), rank_and_workers=(rank, loop.workers), include_workers="all", **trainings.RECORDS[record])
        hook.register_module(wrapped)
        hook.register_loss(loss)
        hook.set_mode(modes.TRAIN)
        hook.register_optimizer(optimizer)
    loop.begin(net, optimizer)
    if record == "all":
        scores = loop.scores

        def saving(net_, x):
            out = scores(net_, x)
            trainings.save_state(hook, net, optimizer)
            return out
        loop.scores = saving
    if hasattr(loop, "run"):
        loop.run(wrapped, optimizer, loss, steps, rank)
    else:
        for step in range(steps):
            x, y = loop.data_of(rank) if hasattr(loop, "data_of") else loop.data()
            x = x.bfloat16() if precision == "bfloat16" and x.is_floating_point() else x
            loop.step(wrapped, optimizer, loss, step, x, y)
    hook.close()


def worker(rank, workers, meeting, arguments):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group("gloo", init_method="file://%s/store" % meeting, rank=rank, world_size=workers)
    train(*arguments, rank=rank)


def run(name, record, precision, options, work):
    from faults import judged
    loop, trial = KINDS[name](), work / "trial"
    if precision != "float32" and getattr(loop, "only", precision) != precision:
        return None
    shutil.rmtree(trial, ignore_errors=True)
    arguments = (str(trial), name, record, precision, options.steps, options.seed)
    with tempfile.TemporaryDirectory() as meeting:
        context = multiprocessing.get_context("fork")
        processes = [context.Process(target=worker, args=(r, loop.workers, meeting, arguments)) for r in range(loop.workers)] if loop.workers > 1 else [
            context.Process(target=train, args=arguments)]
        [p.start() for p in processes]
        [p.join() for p in processes]
    line = {"kind": name, "record": record, "precision": precision}
    if any(p.exitcode for p in processes):
        return {**line, "failed": True}
    rule = judged(options.build.resolve(), trial, work, work / "job.json")["LawViolated"]
    return {**line, "alarms": len({f["step"] for f in rule["findings"]}), "first": rule["findings"][:3], "holds": re.findall(r"law '(\w+)' holds of (\d+)", rule["message"])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--kinds", nargs="*")
    parser.add_argument("--record", nargs="*", default=["all", "laws", "auto"])
    parser.add_argument("--precision", nargs="*", default=["float32", "bfloat16"])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ.setdefault("ASSAY_HOOK_LIBRARY", str(options.build.resolve() / "src/hook/libassay_hook.so"))
    torch.set_num_threads(1)
    work = Path(tempfile.mkdtemp(prefix="assay-healthy-"))
    (work / "job.json").write_text(json.dumps({"output": {"max_findings": 100000}, "rules": [{"rule": "LawViolated"}]}))
    try:
        with open(options.results, "a", encoding="utf-8") as file:
            for name in options.kinds or KINDS:
                for precision in options.precision:
                    for record in options.record:
                        try:
                            line = run(name, record, precision, options, work)
                        except Exception:  # of one kind: the others go on
                            traceback.print_exc()
                            line = {"kind": name, "record": record, "precision": precision, "failed": True}
                        if line:
                            print(json.dumps(line), file=file, flush=True)
                            if line.get("alarms") or line.get("failed"):
                                print(json.dumps(line), flush=True)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
