#!/usr/bin/env python3
"""Laws of computation on trainings made by numpy in single precision: healthy ones fire nothing, one number that is off is named.

    known_laws.py --assay PROGRAM --ranks 1 3 7 -- [CASE]...
"""
import json
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, holds, main, rule  # noqa: E402
from law_training import SINGLE, STEPS, Training, first, quiet  # noqa: E402
from made import Made, windows  # noqa: E402


@case
def healthy_adam(folder):
    return Training().write(folder), [rule("laws", "LawViolated", quiet(250))]


@case
def healthy_where_weights_alone_decay(folder):
    return Training("adam, weights decay").write(folder), [rule("laws", "LawViolated", quiet(250))]


@case
def one_bias_where_weights_alone_decay(folder):
    def drift(step, worker, weights, state):
        if step == 6 and worker == 1:
            weights["Net_fc2.bias"][3] += SINGLE(1e-4)
    found = first(step=7, worker="worker_1", tensor="Net_fc2.bias", test="update")
    return Training("adam, weights decay", drift=drift).write(folder), [rule("laws", "LawViolated", found)]


@case
def worker_that_ends_first(folder):
    return Training(end=STEPS - 3).write(folder), [rule("laws", "LawViolated", quiet(200))]


@case
def norm_of_batches_in_eval(folder):
    """From a step on it takes its running figures, which stand from there on."""
    figures = {}

    def fault(t):
        if not figures:  # the last step at which they move
            figures.update({name: t["bn." + name] for name in ("running_mean", "running_var")})
            return
        shape = (1, 8, 1, 1)
        mean, variance, w, b = (a.reshape(shape) for a in (figures["running_mean"], figures["running_var"], t["Net_bn.weight"], t["Net_bn.bias"]))
        t["bn_output_0"] = ((t["bn_input_0"] - mean) / numpy.sqrt(variance + SINGLE(1e-5)) * w + b).astype(SINGLE)
        t.update({"bn." + name: value for name, value in figures.items()})
    return layers(folder, fault, since=3), [rule("laws", "LawViolated", quiet(30))]


@case
def healthy_sgd(folder):
    return Training("sgd").write(folder), [rule("laws", "LawViolated", quiet(150))]


@case
def healthy_momentum(folder):
    return Training("momentum").write(folder), [rule("laws", "LawViolated", quiet(200))]


@case
def factors_of_tf32(folder):
    return Training(factors=of_tf32).write(folder), [rule("laws", "LawViolated", quiet(250))]


def of_tf32(x):
    bits = numpy.ascontiguousarray(x).view(numpy.int32)
    return ((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fff).view(SINGLE)


def plus(rows):
    """1 for each row whose sign is plus in a sketch (assay_sketch_sign()), else 0."""
    mask, signs = (1 << 64) - 1, []
    for i in range(1, rows // 64 + 2):
        x = i * 0x9e3779b97f4a7c15 & mask
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & mask
        x = (x ^ x >> 27) * 0x94d049bb133111eb & mask
        signs += [1 - ((x ^ x >> 31) >> k & 1) for k in range(64)]
    return numpy.array(signs[:rows])


def rows_alike(folder, fault=None):
    """Rows that are one, or zero where their sign in a sketch is minus: their factors round alike, and do not cancel."""
    made, random = Made(folder), numpy.random.default_rng(3)
    weight = random.normal(size=(64, 48)).astype(SINGLE)
    for step in range(12):
        x = (random.normal(size=48) * plus(3000)[:, None]).astype(SINGLE)
        y = of_tf32(x) @ of_tf32(weight).T
        if fault and step == 7:
            fault(y)
        made.step(step, "TRAIN", step, {"worker_0": {"fc_input_0": x, "fc_output_0": y, "Net_fc.weight": weight}})
    return made.end()


@case
def factors_of_rows_that_are_alike(folder):
    return rows_alike(folder), [rule("laws", "LawViolated", holds(linear=1))]


@case
def one_of_rows_that_are_alike(folder):
    def fault(y):
        y[1500, 7] += SINGLE(1.45)  # below the bound of bfloat16, of which nothing has to be said here
    return rows_alike(folder, fault), [rule("laws", "LawViolated", first(step=7, tensor="fc_output_0", test="linear"))]


@case
def one_output(folder):
    """One element of a product is off by a thousandth of itself, on one worker."""
    def fault(step, worker, t):
        if step >= 8 and worker == 1:
            t["fc1_output_0"][3, 17] *= SINGLE(1.001)
            t["relu_input_0"], t["relu_output_0"] = t["fc1_output_0"], numpy.maximum(t["fc1_output_0"], 0)
    found = first(step=8, worker="worker_1", tensor="fc1_output_0", test="linear",
                  note="in 1 of 20 parts of its rows and 1 of 32 of its columns, worst in row 3, column 17")
    return Training(fault=fault).write(folder), [rule("laws", "LawViolated", found)]


@case
def one_activation(folder):
    def fault(step, worker, t):
        if step == 5 and worker == 0:
            t["relu_output_0"][0, 0] += SINGLE(1e-3)
    found = first(step=5, worker="worker_0", tensor="relu_output_0", test="activation",
                  note="1 of 660 elements differs from relu(input), the worst is element 0, by ")
    return Training(fault=fault).write(folder), [rule("laws", "LawViolated", found)]


@case
def one_weight(folder):
    def drift(step, worker, weights, state):
        if step == 6 and worker == 1:
            weights["Net_fc2.weight"][2, 7] += SINGLE(1e-4)
    found = first(step=7, worker="worker_1", tensor="Net_fc2.weight", test="update")
    return Training("sgd", drift=drift).write(folder), [rule("laws", "LawViolated", found)]


@case
def one_moment(folder):
    def drift(step, worker, weights, state):
        if step == 6 and worker == 0:
            state["Net_fc1.weight"]["exp_avg_sq"][2, 7] *= SINGLE(2)
    found = first(step=7, worker="worker_0", tensor="optimizer/fc1.weight/exp_avg_sq", test="moments")
    return Training(drift=drift).write(folder), [rule("laws", "LawViolated", lambda e: found(e) and not any(
        f["test"] == "update" for f in e["findings"] if f["step"] == 7))]  # the update that it has made says no more


def one_of_another_moment(optimizer, key):
    def make(folder):
        def drift(step, worker, weights, state):
            if step == 6 and worker == 0:
                state["Net_fc1.weight"][key][2, 7] *= SINGLE(2)
        found = first(step=7, worker="worker_0", tensor="optimizer/fc1.weight/" + key, test="moments")
        return Training(optimizer, drift=drift).write(folder), [rule("laws", "LawViolated", lambda e: found(e) and not any(
            f["test"] == "update" for f in e["findings"] if f["step"] == 7))]
    make.__name__ = "one_" + key
    case(make)


one_of_another_moment("adam", "exp_avg")
one_of_another_moment("momentum", "momentum_buffer")


def layers(folder, fault=None, since=None):
    """A convolution with a stride, norms of layers and of batches, and a loss whose labels are left out now and then."""
    made, random = Made(folder), numpy.random.default_rng(5)

    def normal(*shape, scale=1.0):
        return (random.normal(size=shape) * scale).astype(SINGLE)
    kernel, bias, w, b = normal(8, 3, 3, 3, scale=0.3), normal(8), 1 + normal(8, scale=0.1), normal(8)
    v, c = 1 + normal(8, scale=0.1), normal(8)
    running, ema = [numpy.zeros(8, SINGLE), numpy.ones(8, SINGLE)], {"weight": kernel, "bias": bias}
    for step in range(8):
        kernel, bias = kernel + normal(8, 3, 3, 3, scale=0.01), bias + normal(8, scale=0.01)
        ema = {name: SINGLE(0.99) * ema[name] + SINGLE(0.01) * x for name, x in (("weight", kernel), ("bias", bias))}
        x = normal(6, 3, 9, 8)
        padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        y = numpy.zeros((6, 8, 5, 4), SINGLE)
        for row in range(5):
            for column in range(4):
                part = padded[:, :, 2 * row:2 * row + 3, 2 * column:2 * column + 3]
                y[:, :, row, column] = numpy.einsum("nchw,ochw->no", part, kernel) + bias
        mean, variance = y.mean((0, 2, 3), dtype=numpy.float64), y.var((0, 2, 3), dtype=numpy.float64)
        batch = ((y - mean[None, :, None, None]) / numpy.sqrt(variance + 1e-5)[None, :, None, None] * w[None, :, None, None] + b[None, :, None, None])
        count = y.size / 8
        running = [SINGLE(0.9) * a + SINGLE(0.1) * b.astype(SINGLE) for a, b in zip(running, (mean, variance * count / (count - 1)))]
        z = normal(40, 8) + SINGLE(3)
        layer = (z - z.mean(1, keepdims=True)) / numpy.sqrt(z.var(1, keepdims=True) + 1e-5) * v + c
        scores, labels = normal(12, 7), random.integers(0, 7, 12)
        labels[step] = -100
        kept = labels >= 0
        loss = numpy.mean(numpy.log(numpy.exp(scores).sum(1))[kept] - scores[kept, labels[kept]])
        t = {"Net_conv.weight": kernel, "Net_conv.bias": bias, "conv_input_0": x, "conv_output_0": y, "Net_bn.weight": w, "Net_bn.bias": b,
             "bn_input_0": y, "bn_output_0": batch, "Net_norm.weight": v, "Net_norm.bias": c, "norm_input_0": z, "norm_output_0": layer,
             "bn.running_mean": running[0], "bn.running_var": running[1], "ema/Net_conv.weight": ema["weight"], "ema/Net_conv.bias": ema["bias"],
             "CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_output_0": loss}
        t = {name: numpy.array(value, SINGLE) for name, value in t.items()}
        t["CrossEntropyLoss_input_1"] = labels.astype(numpy.int64)
        if fault and (step == 5 if since is None else step >= since):
            fault(t)
        made.step(step, "TRAIN", step, t)
    return made.end()


@case
def healthy_layers(folder):
    return layers(folder), [rule("laws", "LawViolated", quiet(32))]


@case
def one_pixel(folder):
    def fault(t):
        t["conv_output_0"][4, 2, 3, 1] += SINGLE(0.01)
    return layers(folder, fault), [rule("laws", "LawViolated", lambda e: {(f["step"], f["tensor"], f["test"]) for f in e["findings"]} == {
        (5, "conv_output_0", "linear"), (5, "bn_input_0", "sums")})]


@case
def averages_that_are_off(folder):
    """One number of an average of weights, and one of a running mean."""
    def fault(t):
        t["ema/Net_conv.weight"][1, 2, 0, 1] += SINGLE(1e-4)
        t["bn.running_var"][2] += SINGLE(1e-2)
    expected = {("ema/Net_conv.weight", "average"), ("bn.running_var", "average")}
    return layers(folder, fault), [rule("laws", "LawViolated", lambda e: {f["step"] for f in e["findings"]} == {5, 6} and {
        (f["tensor"], f["test"]) for f in e["findings"] if f["step"] == 5} == expected)]


@case
def running_figures_of_worker_0(folder):
    """Two workers of DistributedDataParallel, which gives worker_0's running figures to the other one before each pass."""
    made, random = Made(folder, workers=2), numpy.random.default_rng(9)
    running = [numpy.zeros(8, SINGLE), numpy.ones(8, SINGLE)]
    for step in range(8):
        tensors, before = {}, running
        for worker in ("worker_0", "worker_1"):
            x = random.normal(size=(6, 8, 5, 4)).astype(SINGLE)
            count = x.size / 8
            figures = x.mean((0, 2, 3), dtype=numpy.float64), x.var((0, 2, 3), dtype=numpy.float64) * count / (count - 1)
            after = [SINGLE(0.9) * a + SINGLE(0.1) * b.astype(SINGLE) for a, b in zip(before, figures)]
            running = after if worker == "worker_0" else running
            tensors[worker] = {"bn_input_0": x, "bn_output_0": x, "bn.running_mean": after[0], "bn.running_var": after[1]}
        made.step(step, "TRAIN", step, tensors)
    return made.end(), [rule("laws", "LawViolated", quiet(16, "'average' is not tested of 14 values"))]


@case
def one_normalised(folder):
    def fault(t):
        t["norm_output_0"][30, 5] += SINGLE(0.01)
        t["bn_output_0"][1, 3, 0, 0] += SINGLE(0.01)
    return layers(folder, fault), [
        rule("laws", "LawViolated", lambda e: {(f["step"], f["tensor"], f["test"]) for f in e["findings"]} == {
            (5, "norm_output_0", "normalisation"), (5, "bn_output_0", "normalisation")})]


def attention(folder, fault=None):
    """Embedding, attention's softmax, a residual sum; two workers with the same weights and the same averaged gradients."""
    made, random = Made(folder, workers=2), numpy.random.default_rng(3)

    def normal(*shape):
        return random.normal(size=shape).astype(SINGLE)
    table = normal(30, 8)
    for step in range(8):
        table, g, saved = table + normal(30, 8) * SINGLE(0.01), normal(30, 8), []
        for worker in range(2):
            tokens, scores = random.integers(0, 30, (4, 6)), normal(4, 6, 6)
            x = table[tokens]
            seen = numpy.exp(scores) / numpy.exp(scores).sum(-1, keepdims=True)
            t = {"Net_embed.weight": table, "gradient/Net_embed.weight": g, "embed_input_0": tokens.astype(numpy.int64), "embed_output_0": x,
                 "softmax_output_0": seen, "out_output_0": normal(4, 6, 8)}
            t["norm_input_0"] = x + t["out_output_0"]
            if fault and step == 5 and worker == 1:
                t = dict(t, **{name: t[name].copy() for name in t})
                fault(t)
            saved.append(t)
        made.step(step, "TRAIN", step, {"worker_%d" % w: t for w, t in enumerate(saved)})
    return made.end()


@case
def healthy_attention(folder):
    return attention(folder), [rule("laws", "LawViolated", quiet(64))]


@case
def silu_whose_exp_is_infinite(folder):
    """x / (1 + exp(-x)) is 0 from -88.8 on, where what it should be is no subnormal number yet."""
    made, random = Made(folder), numpy.random.default_rng(6)
    for step in range(10):
        x = random.normal(size=(20, 30)).astype(SINGLE)
        if step == 7:
            x[3] = numpy.linspace(-95, -85, 30)
        with numpy.errstate(over="ignore"):
            y = x / (1 + numpy.exp(-x))
        made.step(step, "TRAIN", step, {"worker_0": {"act_input_0": x, "act_output_0": y}})
    return made.end(), [rule("laws", "LawViolated", holds(activation=1))]


def norms(folder, fault=None):
    """Few rows with a mean that is large beside what is left of it, as a module computes them in single precision; and rows at one step
    whose squares are no floats, so that a module of these has 0."""
    made, random = Made(folder), numpy.random.default_rng(8)
    weight = 1 + random.normal(size=16).astype(SINGLE) * SINGLE(0.1)
    for step in range(10):
        x = (random.normal(size=(3, 16)) + 3000).astype(SINGLE)
        scale = (1 / numpy.sqrt(x.astype(float).var(1, keepdims=True) + 1e-5)).astype(SINGLE)
        y = (x * scale - x.mean(1, dtype=SINGLE, keepdims=True) * scale) * weight
        if step == 7:
            x, y = x * SINGLE(1e17), y * 0
        if step == 5 and fault:
            fault(y)
        made.step(step, "TRAIN", step, {"worker_0": {"Net_norm.weight": weight, "norm_input_0": x, "norm_output_0": y}})
    return made.end()


@case
def norms_of_rows_far_from_zero(folder):
    return norms(folder), [rule("laws", "LawViolated", holds(normalisation=1))]


@case
def one_of_rows_far_from_zero(folder):
    def fault(y):
        y[1, 2] += SINGLE(0.1)
    return norms(folder, fault), [rule("laws", "LawViolated", first("row 1, column 2", step=5, tensor="norm_output_0", test="normalisation"))]


@case
def copy_that_is_all_wrong(folder):
    """No function fits at step 6, and none is looked at to the end."""
    made, random = Made(folder), numpy.random.default_rng(10)
    for step in range(12):
        x, y = (random.normal(size=(40, 50)).astype(SINGLE) for _ in range(2))
        made.step(step, "TRAIN", step, {"worker_0": {"copy_input_0": x, "copy_output_0": y if step == 6 else x}})
    return made.end(), [rule("laws", "LawViolated", first("some of 2000 elements differ from its input", step=6, tensor="copy_output_0"))]


@case
def dropout_of_what_dies(folder):
    """From step 4 on one number alone is not 0, and never dropped: it looks like its copy, but for the steps before."""
    made, random = Made(folder), numpy.random.default_rng(9)
    for step in range(12):
        x = numpy.abs(random.normal(size=(8, 40))).astype(SINGLE)
        kept = random.random((8, 40)) >= 0.2
        if step >= 4:
            x[:], kept[:] = 0, True
            x[2, 3] = 1
        made.step(step, "TRAIN", step, {"worker_0": {"drop_input_0": x, "drop_output_0": x * kept, "relu_input_0": x - SINGLE(0.5),
                                                     "relu_output_0": numpy.maximum(x - SINGLE(0.5), 0)}})
    return made.end(), [rule("laws", "LawViolated", holds(activation=1))]


@case
def attention_that_is_off(folder):
    """One number each: of an embedding, of attention's weights, of a residual sum, of a gradient."""
    def fault(t):
        t["embed_output_0"][1, 2, 3] += SINGLE(1e-3)
        t["softmax_output_0"][3, 4, 1] += SINGLE(1e-3)
        t["norm_input_0"][0, 1, 2] += SINGLE(1e-2)
        t["gradient/Net_embed.weight"][29, 7] += SINGLE(1e-3)
    expected = {("embed_output_0", "embedding"), ("softmax_output_0", "rows"), ("norm_input_0", "sums"),
                ("gradient/Net_embed.weight", "replicas")}
    return attention(folder, fault), [rule("laws", "LawViolated", lambda e: {f["step"] for f in e["findings"]} == {5} and {
        (f["tensor"], f["test"]) for f in e["findings"]} >= expected)]


@case
def terms_that_nobody_can_tell(folder):
    """float16: at first both branches are so small beside the sum that either may be its term, and later only the second."""
    made, random = Made(folder), numpy.random.default_rng(5)
    for step in range(10):
        small = 1e-4 if step < 6 else 1.0
        x, first_branch, second = ((random.normal(size=(6, 16)) * scale).astype(numpy.float16) for scale in (1, small, small))
        single = random.normal(size=(3, 4)).astype(SINGLE)  # another law, which holds
        made.step(step, "TRAIN", step, {"worker_0": {
            "relu_input_0": single, "relu_output_0": numpy.maximum(single, 0), "a_output_0": x, "b_output_0": first_branch, "c_output_0": second, "norm_input_0": x + second}})
    return made.end(), [rule("laws", "LawViolated", lambda e: e["findings_total"] == 0 and "'sums'" not in e["message"])]


def convolved(x, w, groups, padding, dilation, stride=1):
    padded, reach = numpy.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding))), dilation * (w.shape[2] - 1) + 1
    views = numpy.lib.stride_tricks.sliding_window_view(padded, (reach, reach), axis=(2, 3))[:, :, ::stride, ::stride, ::dilation, ::dilation]
    parts = [numpy.einsum("nchwij,ocij->nohw", v, k, dtype=SINGLE) for v, k in zip(numpy.split(views, groups, axis=1), numpy.split(w, groups))]
    return numpy.concatenate(parts, axis=1).astype(SINGLE)


MODULES = {"grouped": "torch.Conv2d stride=2,2 padding=2,2 dilation=2,2 groups=2 padding_mode=zeros", "same": "torch.Conv2d stride=1,1 padding=same dilation=3,3 groups=1 padding_mode=zeros",
        "rms": "LlamaRMSNorm variance_epsilon=0.001", "gemma": "GemmaRMSNorm eps=0.001", "norm": "torch.LayerNorm eps=0.01", "bn": "torch.BatchNorm2d eps=0.02", "Net_first.weight": "shared other second"}


def modules(folder, *said, fault=None):
    """Convolutions with groups and dilation, and norms with an e of their own. What they are the facts of the run say."""
    made, random = Made(folder), numpy.random.default_rng(13)

    def normal(*shape):
        return random.normal(size=shape).astype(SINGLE)
    t = {"Net_%s.weight" % name: normal(*shape) for name, shape in (("grouped", (6, 2, 3, 3)), ("same", (5, 4, 3, 3)), ("depthwise", (40, 1, 3, 3)), ("rms", (16,)),
                                                                   ("gemma", (16,)), ("norm", (16,)), ("bn", (4,)), ("first", (6, 16)))}
    t.update({"Net_%s.bias" % name: normal(size) for name, size in (("grouped", 6), ("second", 6), ("depthwise", 40), ("norm", 16), ("bn", 4))})
    for step in range(8):
        x, wide, rows = normal(5, 4, 8, 8), normal(5, 40, 6, 6), normal(7, 16) * SINGLE(0.1)
        for name, given in (("grouped", x), ("same", x), ("depthwise", wide), ("rms", rows), ("gemma", rows), ("norm", rows), ("bn", x), ("first", rows), ("second", rows)):
            t[name + "_input_0"] = given
        t["grouped_output_0"] = convolved(x, t["Net_grouped.weight"], 2, 2, 2, 2) + t["Net_grouped.bias"][:, None, None]
        t["same_output_0"] = convolved(x, t["Net_same.weight"], 1, 3, 3)
        t["first_output_0"] = rows @ t["Net_first.weight"].T
        t["second_output_0"] = t["first_output_0"] + t["Net_second.bias"]
        t["depthwise_output_0"] = convolved(wide, t["Net_depthwise.weight"], 40, 1, 1) + t["Net_depthwise.bias"][:, None, None]
        by_root = rows / numpy.sqrt((rows * rows).mean(1, keepdims=True) + SINGLE(0.001))
        t["rms_output_0"], t["gemma_output_0"] = by_root * t["Net_rms.weight"], by_root * (1 + t["Net_gemma.weight"])
        t["norm_output_0"] = (rows - rows.mean(1, keepdims=True)) / numpy.sqrt(rows.var(1, keepdims=True) + SINGLE(0.01)) * t["Net_norm.weight"] + t["Net_norm.bias"]
        mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
        t["bn_output_0"] = (x - mean) / numpy.sqrt(variance + SINGLE(0.02)) * t["Net_bn.weight"][:, None, None] + t["Net_bn.bias"][:, None, None]
        t = {name: numpy.array(value, SINGLE) for name, value in t.items()}
        if fault and step == 5:
            fault(t)
        made.step(step, "TRAIN", step, t)
    for worker, what in enumerate(said):
        made.put("run/worker_%d.json" % worker, json.dumps({"schema": "assay-run/1", "modules": what}).encode())
    return made.end()


@case
def modules_that_are_said(folder):
    return modules(folder, MODULES), [rule("laws", "LawViolated", holds(linear=5, normalisation=4))]


@case
def modules_that_nobody_says(folder):
    """Groups follow from shapes; dilation and another e do not, so that these are not tested."""
    return modules(folder), [rule("laws", "LawViolated", holds(linear=2))]


@case
def modules_of_which_workers_differ(folder):
    other = {name: what + " more=1" for name, what in MODULES.items()}
    return modules(folder, MODULES, other, MODULES), [rule("laws", "LawViolated", holds(linear=2))]


@case
def modules_that_other_workers_say(folder):
    return modules(folder, {}, {"grouped": MODULES["grouped"]}, MODULES), [rule("laws", "LawViolated", holds(linear=5, normalisation=4))]


@case
def modules_that_are_said_wrongly(folder):
    said = {"grouped": MODULES["grouped"].replace("padding=2,2", "padding=1e300,nan"), "same": MODULES["same"].replace("dilation=3,3", "dilation=2,2"), "depthwise": "torch.Linear",
            "rms": MODULES["norm"], "gemma": "torch.GELU", "norm": "rms eps=", "bn": 7}
    return modules(folder, said), [rule("laws", "LawViolated", lambda e: e["findings_total"] == 0 and "'normalisation'" not in e["message"] and
                                            "The law 'linear' holds of 1 tensors" in e["message"])]


@case
def modules_that_are_off(folder):
    names = ("grouped", "same", "depthwise", "rms", "gemma", "norm", "bn", "first", "second")

    def fault(t):
        for name in names:
            t[name + "_output_0"].reshape(-1)[37] += SINGLE(0.01)
    return modules(folder, MODULES, fault=fault), [rule("laws", "LawViolated", lambda e: {(f["step"], f["tensor"]) for f in e["findings"]} == {
        (5, name + "_output_0") for name in names})]


def forward(folder, fault=None):
    """Dropout of elements and of channels; pooling with windows that overlap, with padding, and over everything."""
    made, random = Made(folder), numpy.random.default_rng(11)
    for step in range(10):
        x, t = random.normal(size=(6, 4, 9, 9)).astype(SINGLE), {}
        x[:, 1] = numpy.maximum(x[:, 1], 0)
        if step == 3:
            x[0] = 0
        keep, channels = random.random(x.shape) > 0.25, random.random((6, 4, 1, 1)) > 0.25
        for name, mask in (("drop", keep), ("drop2d", channels)):
            t["%s_input_0" % name], t["%s_output_0" % name] = x, x * (mask.astype(SINGLE) / SINGLE(0.75))
        t["maxpool_input_0"] = t["avgpool_input_0"] = t["part.globalpool_input_0"] = x
        t["maxpool_output_0"] = windows(x, 3, 2, 1, numpy.max, -numpy.inf)
        t["avgpool_output_0"] = windows(x, 2, 2, 0, numpy.mean, 0)
        t["part.globalpool_output_0"] = x.mean((2, 3), keepdims=True)
        t = {name: numpy.array(value, SINGLE) for name, value in t.items()}
        if fault and step == 7:
            fault(t)
        made.step(step, "TRAIN", step, t)
    return made.end()


@case
def healthy_forward(folder):
    return forward(folder), [rule("laws", "LawViolated", lambda e: quiet(45)(e) and all(
        words in e["message"] for words in ("'dropout' holds of 2 tensors.", "'pooling' holds of 3 tensors.")))]


@case
def forward_that_is_off(folder):
    def fault(t):
        t["drop2d_output_0"][t["drop2d_output_0"] > 0] *= numpy.where(numpy.arange((t["drop2d_output_0"] > 0).sum()) == 5, SINGLE(1.001), SINGLE(1))
        t["maxpool_output_0"][2, 3, 1, 4] += SINGLE(1e-6)
        t["avgpool_output_0"][0, 0, 3, 3] += SINGLE(1e-5)
        t["part.globalpool_output_0"][5, 3] += SINGLE(1e-5)
    return forward(folder, fault), [rule("laws", "LawViolated", lambda e: {(f["step"], f["tensor"], f["test"]) for f in e["findings"]} == {
        (7, "drop2d_output_0", "dropout"), (7, "maxpool_output_0", "pooling"), (7, "avgpool_output_0", "pooling"),
        (7, "part.globalpool_output_0", "pooling")})]


@case
def rows_that_are_lost(folder):
    """Numbers that are 0 are allowed anywhere, but not so many in a row."""
    def fault(t):
        t["drop_output_0"][3, 2, 4:8] = 0
    found = first(step=7, tensor="drop_output_0", test="dropout", note="elements are dropped in numbers or rows as likely as e^-")
    return forward(folder, fault), [rule("laws", "LawViolated", found)]


@case
def another_reduction(folder):
    def fault(t):
        t["CrossEntropyLoss_output_0"] *= SINGLE(11)
    found = first(step=5, tensor="CrossEntropyLoss_output_0", test="loss", note="from the mean of cross entropies that its inputs and targets give")
    return layers(folder, fault), [rule("laws", "LawViolated", found)]


def losses(folder, reduce, fault=None, steps=40):
    """A loss as `reduce(terms, logarithms, labels)` makes it of the terms of all rows."""
    made, random = Made(folder, workers=2), numpy.random.default_rng(17)
    for step in range(steps):
        saved = []
        for worker in range(2):
            scores, labels = random.normal(size=(20, 6)).astype(SINGLE), random.integers(0, 6, 20)
            labels[:step % 3] = -100
            logs = scores - numpy.log(numpy.exp(scores).sum(1, keepdims=True))
            loss = reduce(-logs[numpy.arange(20), numpy.maximum(labels, 0)] * (labels >= 0), logs, labels)
            saved.append({"CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_input_1": labels.astype(numpy.int64),
                          "CrossEntropyLoss_output_0": SINGLE(loss * (1.001 if fault == (step, worker) else 1))})
        made.step(step, "TRAIN", step, {"worker_%d" % w: t for w, t in enumerate(saved)})
    return made.end()


WEIGHTS = numpy.array([1, 3, 0.5, 0, 2, 1.5], SINGLE)
REDUCTIONS = {
    "sum": lambda terms, logs, labels: terms.sum(),
    "all labels": lambda terms, logs, labels: terms.mean(),
    "smoothed": lambda terms, logs, labels: (0.9 * terms - 0.1 * logs.mean(1) * (labels >= 0)).sum() / (labels >= 0).sum(),
    "without 0": lambda terms, logs, labels: terms[labels > 0].sum() / (labels > 0).sum(),
    "weights": lambda terms, logs, labels: (terms * WEIGHTS[numpy.maximum(labels, 0)]).sum() / WEIGHTS[labels[labels >= 0]].sum(),
}
SAID = {"sum": "sum of cross entropies", "all labels": "by the number of all labels", "smoothed": "smoothed by 0.10",
        "without 0": "without labels of 0", "weights": "with weights of classes"}


def loss_cases():
    for name, reduce in REDUCTIONS.items():
        def healthy(folder, name=name, reduce=reduce):
            return losses(folder, reduce), [rule("laws", "LawViolated", lambda e: quiet(30)(e) and SAID[name] in e["message"])]

        def off(folder, name=name, reduce=reduce):
            found = first(step=21, worker="worker_1", tensor="CrossEntropyLoss_output_0", test="loss", note=SAID[name])
            return losses(folder, reduce, (21, 1)), [rule("laws", "LawViolated", found)]
        healthy.__name__, off.__name__ = ("%s_loss_%s" % (of, name.replace(" ", "_")) for of in ("healthy", "wrong"))
        case(healthy)
        case(off)


loss_cases()


def distributions(folder, fault=None):
    """Of a module without a law, whose input and output alone were recorded. One worker has data of its own kind, and once other data."""
    made, random = Made(folder, workers=3), numpy.random.default_rng(23)
    for step in range(24):
        saved = []
        for worker in range(3):
            x = random.normal(size=(16, 12)) * (2 if worker == 1 else 1) * (50 if (step, worker) == (15, 2) else 1)
            y = numpy.sin(x) + x
            if fault and (step, worker) == (18, 0):
                fault(y)
            saved.append({"block_input_0": x.astype(SINGLE), "block_output_0": y.astype(SINGLE)})
        made.step(step, "TRAIN", step, {"worker_%d" % w: t for w, t in enumerate(saved)})
    return made.end()


@case
def healthy_distributions(folder):
    return distributions(folder), [rule("laws", "LawViolated", quiet(48))]


@case
def another_distribution(folder):
    def fault(y):
        y[3, 7] *= 2.0 ** 8
    found = first(step=18, worker="worker_0", tensor="block_output_0", test="statistics", note="from that of the other workers, and its input's is not")
    return distributions(folder, fault), [rule("laws", "LawViolated", lambda entry: found(entry) and entry["findings_total"] == 1)]


@case
def nothing_holds(folder):
    """Names and shapes of a linear layer, and numbers of none: not tested, and said."""
    made, random = Made(folder), numpy.random.default_rng(1)
    for step in range(6):
        made.step(step, "TRAIN", step, {"fc_input_0": random.normal(size=(4, 3)).astype(SINGLE), "fc_output_0": random.normal(size=(4, 3)).astype(SINGLE),
                                        "Net_fc.weight": random.normal(size=(3, 3)).astype(SINGLE)})
    return made.end(), [rule("laws", "LawViolated", lambda e: e["status"] == "NoData" and "no equation" in e["message"]),
                        rule("data", "AllZero", {"status": "NoIssuesFound"}, tensor_regex="fc")]


FUNCTIONS, RELU, DROPOUT = 10, 1, 9


def projected(step, broken=-1):
    """What the hook keeps of a norm of 8 rows and 6 columns in 2 x 2 cells, of a relu, a dropout and a pooling (assay_recording/laws.py)."""
    off = float(step == broken)
    fits = numpy.full((FUNCTIONS, 5), -1.0)
    fits[:, 1:] = 0, 3, 1, 3
    kept = {RELU: fits.copy(), DROPOUT: fits.copy()}
    for function, of in kept.items():
        of[function] = off, 7, off, 1e-7, off * 1e7
    norm = numpy.concatenate([[8, 6, 2, 2, 1, 0], [1e-8, 0, off, 0], [1] * 4, [1] * 4])
    return {"state/laws/norm/norm_output_0": norm,
            "state/laws/function/relu_output_0": numpy.concatenate([[100, 1000, 0], kept[RELU].reshape(-1)]),
            "state/laws/function/drop_output_0": numpy.concatenate([[100, 1000, 0], kept[DROPOUT].reshape(-1)]),
            "state/laws/pooling/pool_output_0": numpy.array([16, 32, 0, 0, off, 5, off, 1e-7, off * 1e7])}


def write_projected(folder, change=lambda step, tensors: tensors):
    made = Made(folder, workers=1)
    for step in range(STEPS):
        made.step(step, "TRAIN", step, {"worker_0": {n: numpy.array(t, SINGLE) for n, t in change(step, projected(step)).items()}})
    return made.end()


def alone(name):
    """Only the sums of this tensor are broken at step 5."""
    return lambda step, tensors: {n: (projected(step, 5)[n] if n == name else t) for n, t in tensors.items()}


def broken_projection(name, test, note):
    def make(folder):
        return write_projected(folder, alone(name)), [rule("laws", "LawViolated", first(step=5, tensor=name, test=test, note=note))]
    make.__name__ = "projected_" + test
    return case(make)


broken_projection("state/laws/norm/norm_output_0", "normalisation", "it differs from the normalised input by 1 (bound 5e-06) in 1 of 4 parts, worst in rows 4 to 7, columns 0 to 2")
broken_projection("state/laws/function/relu_output_0", "activation", "1 of 100 elements differs from relu(input), the worst is element 1007")
broken_projection("state/laws/function/drop_output_0", "dropout", "the worst is element 1007")
broken_projection("state/laws/pooling/pool_output_0", "pooling", "1 of 16 elements differs from the largest of their windows, the worst is element 37")


def small_halves(folder, off=0.0):
    """Gradients of float16 that are next to nothing: those that were averaged are off by half of what two numbers there are apart."""
    random = numpy.random.default_rng(1)

    def change(step, tensors):
        local = random.normal(size=8) * 2e-6
        given = local + 2.0 ** -25 * random.choice([-1, 1], 8)
        given[3] += off * (step == 5)
        return {"state/laws/reduce/Net_w": numpy.concatenate([[8, 8, 19, 0], given, given ** 2, local, local ** 2])}
    return write_projected(folder, change)


@case
def halves_that_are_next_to_nothing(folder):
    return small_halves(folder), [rule("laws", "LawViolated", quiet(STEPS))]


@case
def one_of_such_halves(folder):
    return small_halves(folder, 2.0 ** -20), [rule("laws", "LawViolated", first(step=5, tensor="state/laws/reduce/Net_w", test="reduce"))]


@case
def projected_healthy(folder):
    return write_projected(folder), [rule("laws", "LawViolated", quiet(4 * STEPS))]


@case
def projected_nonsense(folder):
    """Sums that no hook has written: numbers beyond all bounds, NaN, a part of them."""
    def change(step, tensors):
        if step < 4:
            return tensors
        bad = [numpy.nan, numpy.inf, -1, 1e30, 2.0 ** 31, -0.5]
        return {n: (t[:len(t) - step] if step % 2 else numpy.where(numpy.arange(len(t)) % (step + 1) == 0, bad[step % len(bad)], t)) for n, t in tensors.items()}
    return write_projected(folder, change), [rule("laws", "LawViolated", lambda entry: all(f["step"] >= 4 for f in entry["findings"]) and entry["datapoints"] >= 16)]


if __name__ == "__main__":
    main()
