#!/usr/bin/env python3
"""Checkpoints of DeepSpeed: partitions of ZeRO put together again, universal checkpoints, layers and experts in files of their own, at any
number of ranks; lost and short partitions.

    deepspeed.py --assay PROGRAM --ranks 1 2 3 ...
"""
import sys
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoint_trials import check_all, kinds, save_torch  # noqa: E402
from checkpoints import save_zero  # noqa: E402


def check_deepspeed(test):
    """ZeRO 1 and 3 over several ranks: parameters put together again, padding left out; a partition that is lost, or too short."""
    rng = numpy.random.default_rng(1)
    groups = [{"a.weight": rng.normal(0, 1, (5, 3)).astype("float32"), "b.weight": rng.normal(0, 1, (4, 4, 2)).astype("float32")},
              {"a.bias": rng.normal(0, 1, 5).astype("float32"), "scale": numpy.array(2.5, "float32")}]
    whole = {name: value for group in groups for name, value in group.items()}
    moments = {"exp_avg": {n: (v * 0.5).astype("float32") for n, v in whole.items()}, "exp_avg_sq": {n: v * v for n, v in whole.items()}}
    buffers = {"freq": numpy.arange(3, dtype="float32")}
    for stage, ranks in ((1, 1), (2, 3), (3, 2), (3, 4)):
        root = test.work / ("zero %d over %d" % (stage, ranks))
        for step in (5, 6):
            save_zero(root / ("global_step%d" % step), stage, groups, moments, ranks, buffers, torch.bfloat16 if stage == 2 else torch.float16)
        (root / "latest").write_text("global_step6")
        half = {n: (torch.from_numpy(v).to(torch.bfloat16).float().numpy() if stage == 2 else v.astype("float16")) for n, v in whole.items()}
        wanted = dict(half, **{"optimizer/%s/fp32" % n: v for n, v in whole.items()}) if stage < 3 else dict(whole)
        wanted.update({"optimizer/%s/%s" % (n, key): v for key, values in moments.items() for n, v in values.items()})
        wanted.update({"optimizer/%s/step" % n: numpy.array(7, "float32") for n in whole}, **buffers)
        wanted = {(step, "worker_0", name): value for step in (5, 6) for name, value in wanted.items()}
        test.same(root, root.name)
        test.values(root, root.name, wanted)
        name = "zero_pp_rank_%d_mp_rank_00_optim_states.pt" % (ranks - 1)
        path = root / "global_step6" / (("bf16_" if stage == 2 else "") + name)
        saved = torch.load(path)
        kept = saved["optimizer_state_dict"]
        states = (kept["optimizer_state_dict"] if stage == 3 else kept["base_optimizer_state"])["state"]
        states[0]["exp_avg"] = states[0]["exp_avg"][:-7]
        torch.save(saved, path)
        report = test.same(root, root.name + ", a short partition", 3)
        short = [k for k in kinds(report) if k != "damaged-record"]  # the model's file is that of the step before, beside moments that are not
        test.checks.expect(short == ["incomplete-tensor"], "%s, a short partition: %s" % (root.name, kinds(report)))
        test.values(root, root.name, {k: v for k, v in wanted.items() if k[0] == 5 or not (k[2].endswith("weight/exp_avg"))})
        if ranks > 1:
            path.unlink()
            report = test.same(root, root.name + ", a lost partition", 3)
            test.checks.expect(kinds(report) == ["missing-shard"], "%s, a lost partition: %s" % (root.name, kinds(report)))
            left = {"freq"} if stage == 3 else set(half) | {"freq"}
            test.values(root, root.name, {k: v for k, v in wanted.items() if k[0] == 5 or k[2] in left})


def check_universal(test):
    """What DeepSpeed's ds_to_universal writes: a file for each thing kept of a parameter."""
    root, value = test.work / "universal", torch.arange(6.).reshape(2, 3)
    tag = root / "global_step4_universal"
    save_torch(tag / "mp_rank_00_model_states.pt", {"module": {"fc.weight": value.half()}, "optimizer": None})
    save_torch(tag / "zero" / "fc.weight" / "fp32.pt", {"param": value, "cat_dim": 0})
    save_torch(tag / "zero" / "fc.weight" / "exp_avg.pt", value * 2)
    save_torch(tag / "zero" / "optimizer_state.pt", {"loss_scale": 1})
    test.same(root, "universal")
    test.values(root, "universal", {(4, "worker_0", name): v.numpy() for name, v in {
        "fc.weight": value.half(), "optimizer/fc.weight/fp32": value, "optimizer/fc.weight/exp_avg": value * 2}.items()})


def check_pipeline(test):
    """Layers and experts in files of their own, for two tensor-parallel ranks: a worker each."""
    root, wanted = test.work / "pipeline", {}
    for rank in range(2):
        tag = root / "global_step8"
        save_torch(tag / ("mp_rank_%02d_model_states.pt" % rank), {"module": None, "param_shapes": None})
        save_torch(tag / ("layer_03-model_%02d-model_states.pt" % rank), {"mlp.weight": torch.full((2, 2), 3. + rank)})
        save_torch(tag / ("layer_0_expert_1_mp_rank_%02d_model_states.pt" % rank), {"experts.1.weight": torch.full((3,), 5. + rank)})
        wanted.update({(8, "mp_rank_%02d" % rank, "layer_03.mlp.weight"): numpy.full((2, 2), 3. + rank),
                       (8, "mp_rank_%02d" % rank, "experts.1.weight"): numpy.full(3, 5. + rank)})
    test.same(root, "pipeline")
    test.values(root, "pipeline", wanted)
    for rank in range(2):  # no tensor is in it, and a training resumes from it
        file = root / "global_step8" / ("mp_rank_%02d_model_states.pt" % rank)
        aside = file.rename(test.work / file.name)
        report = test.same(root, "pipeline without rank %d" % rank, 3)
        test.checks.expect(report and kinds(report) == ["missing-shard"], "pipeline without rank %d: %s" % (rank, report and kinds(report)))
        aside.rename(file)


if __name__ == "__main__":
    check_all((check_deepspeed, check_universal, check_pipeline))
