#!/usr/bin/env python3
"""Laws of computation of modules that the trial says, and of weights with names of their own: healthy ones fire nothing, one number that is off is named.

    known_modules.py --assay PROGRAM --ranks 1 3 7 -- [CASE]...
"""
import json
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, holds, main, rule  # noqa: E402
from made import Made, windows  # noqa: E402

SINGLE = numpy.float32

POOLINGS = {"relu": "torch.ReLU inplace=false", "bn": "torch.BatchNorm2d eps=1e-05", "conv": "torch.Conv2d stride=1,1 padding=0,0 dilation=1,1 groups=1 padding_mode=zeros",
            "maxpool": "torch.MaxPool2d stride=2 padding=1 dilation=1 kernel_size=3 ceil_mode=false",
            "widepool": "torch.AvgPool2d stride=17,17 padding=8 kernel_size=17,17 ceil_mode=false count_include_pad=false"}


def said_images(folder, said, fault=None):
    """Images, whose rows mean nothing to their modules: a pooling whose windows nobody would try, one that takes a copy, and the sum of two tensors."""
    made, random = Made(folder), numpy.random.default_rng(17)
    for step in range(8):
        x, other = (random.normal(size=(3, 2, 40, 40)).astype(SINGLE) for _ in range(2))
        t = {"relu_input_0": x, "relu_output_0": numpy.maximum(x, 0), "conv_output_0": other, "widepool_input_0": x}
        t["maxpool_input_0"], t["bn_input_0"] = t["relu_output_0"].copy(), t["relu_output_0"] + other
        t["maxpool_output_0"] = windows(t["maxpool_input_0"], 3, 2, 1, numpy.max, -numpy.inf)
        t["widepool_output_0"] = windows(x, 17, 17, 8, numpy.sum, 0) / windows(numpy.ones_like(x), 17, 17, 8, numpy.sum, 0)
        t = {name: numpy.array(value, SINGLE) for name, value in t.items()}
        if fault and step == 5:
            fault(t)
        made.step(step, "TRAIN", step, t)
    made.put("run/worker_0.json", json.dumps({"schema": "assay-run/1", "modules": said}).encode())
    return made.end()


@case
def poolings_that_are_said(folder):
    return said_images(folder, POOLINGS), [rule("laws", "LawViolated", holds(pooling=2, sums=4))]


@case
def poolings_that_are_said_wrongly(folder):
    """Another kernel, dilation, and numbers that are none: no law, and no finding."""
    said = dict(POOLINGS, maxpool=POOLINGS["maxpool"].replace("dilation=1", "dilation=2"), widepool=POOLINGS["widepool"].replace("padding=8", "padding=1e300,nan"))
    return said_images(folder, said), [rule("laws", "LawViolated", lambda e: e["findings_total"] == 0 and "'pooling' holds of 1 tensor" in e["message"])]


@case
def poolings_that_are_off(folder):
    """All of one pooling's elements are wrong, one of the other's, one of a copy and one of a sum."""
    def fault(t):
        t["widepool_output_0"] *= SINGLE(1.5)
        t["maxpool_output_0"][1, 1, 7, 3] += SINGLE(1e-6)
        t["bn_input_0"][2, 1, 39, 39] += SINGLE(1)
    return said_images(folder, POOLINGS, fault), [rule("laws", "LawViolated", lambda e: {(f["step"], f["tensor"], f["test"]) for f in e["findings"]} == {
        (5, "widepool_output_0", "pooling"), (5, "maxpool_output_0", "pooling"), (5, "bn_input_0", "sums")})]


def recurrent(folder, fault=None):
    """Weights of recurrent layers have names of their own."""
    made, random = Made(folder), numpy.random.default_rng(21)
    names = {"Net_gru.weight_ih_l0": (12, 5), "Net_gru.bias_hh_l0_reverse": (12,), "Net_gru.weight_hh_l11": (12, 4), "Net_fc.weight": (3, 4)}
    weights = {name: random.normal(size=shape).astype(SINGLE) for name, shape in names.items()}
    for step in range(9):
        gradients = {"gradient/" + name: random.normal(size=w.shape).astype(SINGLE) for name, w in weights.items()}
        made.step(step, "TRAIN", step, {**weights, **gradients})
        weights = {name: w - SINGLE(0.1) * gradients["gradient/" + name] for name, w in weights.items()}
        if fault and step == 5:
            fault(weights)
    return made.end()


@case
def recurrent_layers(folder):
    return recurrent(folder), [rule("laws", "LawViolated", holds(update=4))]


@case
def recurrent_layers_that_are_off(folder):
    def fault(weights):
        weights["Net_gru.bias_hh_l0_reverse"][3] += SINGLE(1e-3)
    return recurrent(folder, fault), [rule("laws", "LawViolated", lambda e: [(f["step"], f["tensor"], f["test"]) for f in e["findings"]] == [
        (6, "Net_gru.bias_hh_l0_reverse", "update")])]


def norm_of_ones_own(folder, said):
    made, random = Made(folder), numpy.random.default_rng(23)
    weight, bias = random.normal(size=16).astype(SINGLE), random.normal(size=16).astype(SINGLE)
    for step in range(8):
        x = random.normal(size=(24, 16)).astype(SINGLE)
        y = (x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + 1e-5) * weight + bias
        made.step(step, "TRAIN", step, {"norm_input_0": x, "norm_output_0": y.astype(SINGLE), "Net_norm.weight": weight, "Net_norm.bias": bias,
                                        "relu_input_0": x - SINGLE(1), "relu_output_0": numpy.maximum(x - SINGLE(1), 0)})
    made.put("run/worker_0.json", json.dumps({"schema": "assay-run/1", "modules": said}).encode())
    return made.end()


@case
def norms_of_ones_own(folder):
    """A module that nobody knows may be a norm."""
    return norm_of_ones_own(folder, {"relu": POOLINGS["relu"]}), [rule("laws", "LawViolated", holds(normalisation=1, activation=1))]


@case
def norms_with_modules(folder):
    """One that is made of others is taken for none."""
    said = {"relu": POOLINGS["relu"], "norm.scale": "torch.Identity"}
    return norm_of_ones_own(folder, said), [rule("laws", "LawViolated", lambda e: holds(activation=1)(e) and "normalisation" not in e["message"])]


if __name__ == "__main__":
    main()
