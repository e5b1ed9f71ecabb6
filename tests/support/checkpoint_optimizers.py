"""Checkpoints whose optimizer is not that of their model: state of a parameter more or fewer, or without any tensor; used by damaged_checkpoints.py."""
import copy

import numpy
import torch

from checkpoint_layouts import SOUND, STEPS, SUSPECT, UNREAD, Case, put, spread
from checkpoints import save_safetensors

HAVE = "200: .*the optimizer has state of parameters that the model does not have"
FILES = {"hugging_face": "checkpoint-%d/optimizer.pt", "torch": "ckpt_%d.pt", "lightning": "epoch=1-step=%d.ckpt", "legacy": "model_%d.pth"}


def more_state(state, count):
    state["state"][count] = copy.deepcopy(state["state"][count - 1])


def more(state, count):
    more_state(state, count)
    state["param_groups"][0]["params"].append(count)


def fewer(state, count):
    del state["state"][count - 1]


def other_shape(state, count):
    for key in ("exp_avg", "exp_avg_sq"):
        state["state"][2][key] = torch.ones(7, 3)


def change(root, layout, step, what):
    path = root / (FILES[layout] % step)
    saved = torch.load(path, weights_only=False)
    state = saved["optimizer_states"][0] if layout == "lightning" else saved if layout == "hugging_face" else saved["optimizer"]
    what(state, len(state["state"]))
    if layout == "legacy":
        torch.save(saved, path, _use_new_zipfile_serialization=False)
    else:
        put(path, saved)


def optimizers(work):
    for layout in FILES:
        for what, says in ((more, "200: "), (more_state, HAVE), (fewer, "200: .*it was there at the step before"), (other_shape, "200: ")):
            root = spread(work, layout, name="%s-%s" % (layout, what.__name__))
            change(root, layout, STEPS[-1], what)
            for options in ([], ["--last"]):
                yield Case("%s: %s in the optimizer" % (layout, what.__name__), root, SUSPECT, "resume from .*100[^;]*; " + says, options)
        for what in (more, more_state, other_shape):
            root = spread(work, layout, name="%s-%s-alone" % (layout, what.__name__), steps=STEPS[-1:])
            change(root, layout, STEPS[-1], what)
            yield Case("%s: %s in the only optimizer" % (layout, what.__name__), root, SUSPECT, HAVE)
        for what in (more, fewer):
            root = spread(work, layout, name="%s-%s-always" % (layout, what.__name__))
            for step in STEPS:  # the training has more than it saves, or what no gradient reaches
                change(root, layout, step, what)
            yield Case("%s: %s in every optimizer" % (layout, what.__name__), root, SOUND, "resume from .*200")


def empty(work):
    """A header or an archive that says that there is no tensor."""
    save_safetensors(work / "safetensors" / "model.safetensors", {})
    put(work / "torch" / "model.pt", {"model": {}, "step": 5})
    (work / "npz").mkdir()
    numpy.savez(work / "npz" / "step_1.npz")
    for name in ("safetensors", "torch", "npz"):
        for options in ([], ["--last"]):
            yield Case("no tensor in " + name, work / name, UNREAD, "not read.*there is no tensor in it", options)
