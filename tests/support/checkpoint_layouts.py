"""Sound checkpoints in every layout, from which those of damaged_checkpoints.py are made.

    for name, save in LAYOUTS.items(): save(root, step, tensors(step))
    spread(work, layout): a series of them
"""
import json
from collections import OrderedDict

import numpy
import torch

from checkpoints import save_dcp, save_npz, save_pieces, save_safetensors, save_sharded, save_zero

SOUND, SUSPECT, DAMAGED, INCOMPLETE, CODE, UNREAD = 0, 1, 3, 5, 6, 7
STEPS = (100, 200)


def tensors(step):
    """A small model: weights and biases, and what has neither in its name."""
    rng = numpy.random.default_rng(step)
    made = {"embed.weight": (16, 8), "layers.0.fc.weight": (24, 8), "layers.0.fc.bias": (24,), "layers.1.fc.weight": (24, 24),
            "layers.1.gamma": (24,), "pos_embed": (1, 16, 8), "running_var": (24,), "experts.w1": (4, 8, 8)}
    return {name: rng.normal(1, 0.5, shape).astype("float32") for name, shape in made.items()}


def as_torch(values):
    return OrderedDict((name, torch.from_numpy(numpy.array(value))) for name, value in values.items())


def adam(values, seed=1):
    """torch's own state of Adam after two steps."""
    parameters = [torch.nn.Parameter(value) for name, value in as_torch(values).items() if "running" not in name]
    optimizer, make = torch.optim.AdamW(parameters, lr=1e-3), torch.Generator().manual_seed(seed)
    for _ in range(2):
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=make)
        optimizer.step()
    return optimizer.state_dict()


def put(path, saved):
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(saved, path)


def lightning(root, step, values):
    put(root / ("epoch=1-step=%d.ckpt" % step), {
        "epoch": 1, "global_step": step, "pytorch-lightning_version": "2.1.0", "state_dict": as_torch(values), "loops": {},
        "callbacks": {"ModelCheckpoint{'monitor': None, 'mode': 'min'}": {
            "best_model_score": None, "best_k_models": {}, "kth_best_model_path": "", "kth_value": torch.tensor(float("inf"))}},
        "optimizer_states": [adam(values)], "lr_schedulers": []})


def hugging_face(root, step, values):
    folder = root / ("checkpoint-%d" % step)
    save_safetensors(folder / "model.safetensors", values, {"format": "pt"})
    put(folder / "optimizer.pt", adam(values, step))
    put(folder / "scheduler.pt", {"base_lrs": [1e-3], "last_epoch": step, "_step_count": step + 1, "_last_lr": [1e-3]})
    put(folder / "training_args.bin", {"output_dir": "run", "learning_rate": 1e-3})
    put(folder / "rng_state.pth", {"python": (3, (1, 2, 3), None), "numpy": ("MT19937", numpy.arange(4, dtype="uint32"), 4, 0, 0.0),
                                   "cpu": torch.get_rng_state()})
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": step, "log_history": [{"step": at, name: 2.5} for at in (step // 2, step) for name in ("loss", "eval_loss")]}))
    (folder / "config.json").write_text(json.dumps({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"}))


def fsdp(root, step, values):
    """What Accelerate leaves of FSDP: a distributed checkpoint of the model and one of the optimizer."""
    folder = root / ("checkpoint-%d" % step)
    save_dcp(folder / "pytorch_model_fsdp_0", as_torch(values), {}, 2)
    put(folder / "scheduler.bin", {"last_epoch": step})


def torch_dist(root, step, values):
    folder = root / ("iter_%07d" % step)
    save_dcp(folder, as_torch(values), {}, 2)
    (folder / "metadata.json").write_text(json.dumps({"sharded_backend": "torch_dist", "sharded_backend_version": 1,
                                                      "common_backend": "torch", "common_backend_version": 1}))
    put(folder / "common.pt", {"iteration": step, "checkpoint_version": 3.0})
    (root / "latest_checkpointed_iteration.txt").write_text(str(step))


def zero(stage):
    def save(root, step, values):
        folder = root / ("global_step%d" % step)
        trained = {name: value for name, value in values.items() if "running" not in name}
        moments = {"exp_avg": {name: value * numpy.float32(0.01) for name, value in trained.items()},
                   "exp_avg_sq": {name: value * value for name, value in trained.items()}}
        save_zero(folder, stage, [trained], moments, 2, {"running_var": values["running_var"]})
        (root / "latest").write_text(folder.name)
    return save


def ranks(root, step, values):
    for rank in range(4):
        put(root / ("step_%d" % step) / ("rank_%d" % rank) / "model.pt", {"model": as_torch(values)})


LAYOUTS = {
    "single": lambda root, step, values: save_safetensors(root / ("model_%d.safetensors" % step), values),
    "torch": lambda root, step, values: put(root / ("ckpt_%d.pt" % step), {"model": as_torch(values), "optimizer": adam(values), "step": step}),
    "npz": lambda root, step, values: save_npz(root / ("step_%d.npz" % step), values),
    "sharded": lambda root, step, values: save_sharded(root / ("checkpoint-%d" % step), values, 3),
    "pieces": lambda root, step, values: save_pieces(root / ("step_%d" % step), {n: v for n, v in values.items() if v.shape[0] > 1}, 2),
    "dcp": lambda root, step, values: save_dcp(root / ("step-%d" % step), as_torch(values), {}, 3),
    "fsdp": fsdp, "torch_dist": torch_dist, "zero1": zero(1), "zero2": zero(2), "zero3": zero(3),
    "lightning": lightning, "hugging_face": hugging_face, "ranks": ranks,
}


def legacy(root, step, values):
    path = root / ("model_%d.pth" % step)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"state_dict": as_torch(values), "optimizer": adam(values), "epoch": step}, path, _use_new_zipfile_serialization=False)


LAYOUTS["legacy"] = legacy


class Case:
    def __init__(self, name, path, code, says=None, options=()):
        self.name, self.path, self.code, self.says, self.options = name, path, code, says, list(options)


def spread(work, layout, change=None, name=None, steps=STEPS):
    """A series in a layout; change(values, step) may alter what is saved."""
    root = work / (name or layout)
    root.mkdir(parents=True)
    for step in steps:
        values = tensors(step)
        if change:
            change(values, step)
        LAYOUTS[layout](root, step, values)
    return root


def newest(root):
    """The files of the newest checkpoint, the largest first."""
    own = [p for p in root.rglob("*") if p.is_file() and str(STEPS[-1]) in str(p.relative_to(root))]
    return sorted(own, key=lambda p: (-p.stat().st_size, str(p)))
