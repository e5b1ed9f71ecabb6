#!/usr/bin/env python3
"""Rules on made trials whose answers are known beforehand: from the reference's own tests, from arithmetic on paper, or
from a few lines of numpy; parameters that the recorded trials do not touch among them.

    known_answers.py --assay PROGRAM --ranks 1 3 -- [CASE]...
"""
import json
import math
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, fires, main, refused, rule, values  # noqa: E402
from made import Made  # noqa: E402


@case
def unchanged(folder):
    made = Made(folder)
    ones = numpy.ones((10, 3, 2))
    for step in range(6):
        saved = {"a": ones, "b": ones, "c": ones} if step < 3 else {}
        saved["late" if step == 5 else "other"] = ones if step == 5 else numpy.full(1, float(step))
        made.step(step, "TRAIN", step, saved)
    return made.end(), [
        rule("all", "UnchangedTensor", fires(2, findings_total=3), tensor_regex=".*", num_steps=3),
        rule("from 2", "UnchangedTensor", fires(2, datapoints=6), tensor_regex=".*", num_steps="3", start_step="2"),
        rule("current", "UnchangedTensor", fires(2, findings_total=3), tensor_regex=".*", against="current"),
        rule("worker", "UnchangedTensor", {"status": "NoData"}, tensor_regex=".*", worker="worker_9"),
        refused("none", "UnchangedTensor", "is required"),
    ]


@case
def slow_drift(folder):
    """0.0004 a step is close pair by pair under rtol 0.0005, but not over two steps."""
    made = Made(folder)
    for step in range(8):
        made.step(step, "TRAIN", step, {"w": numpy.full(5, 1.0004 ** step)})
    shape = numpy.full((5, 1), 1.0004 ** 8)
    made.step(8, "TRAIN", 8, {"w": shape}).step(9, "TRAIN", 9, {"w": shape}).step(10, "TRAIN", 10, {"w": shape})
    return made.end(), [
        rule("pairs", "UnchangedTensor", values([(s, s) for s in range(2, 8)] + [(10, 2)]), tensor_regex="w",
             rtol=0.0005),
        rule("current", "UnchangedTensor", values([(10, 2)]), tensor_regex="w", rtol=0.0005, against="current"),
        refused("too many", "UnchangedTensor", "at most 9", tensor_regex="w", against="current", num_steps=40),
    ]


def losses(folder, pairs):
    made = Made(folder, collections={"losses": "loss"})
    for step, loss in pairs:
        made.step(step, "TRAIN", step, {"loss": loss})
    return made.end()


@case
def loss_of_the_reference(folder):
    trial = losses(folder, zip(range(0, 28, 4), (0.30, 0.33, 0.31, 0.30, 0.28, 0.2, 0.42)))
    return trial, [
        rule("defaults", "LossNotDecreasing", lambda e: e["first"]["step"] == 12 and e["first"]["value"] == 0),
        rule("from 13", "LossNotDecreasing", fires(datapoints=1), start_step=13),
        rule("20 percent", "LossNotDecreasing", fires(12, 24), diff_percent="20"),
        refused("100 percent", "LossNotDecreasing", "below 100", diff_percent="100"),
        refused("misspelt", "LossNotDecreasing", "num_step", num_step=3),
    ]


@case
def loss_of_the_blog(folder):
    series = (3.9195325, .8488243, .54870504, .25874993, .20406848, .29052508, .18074727, .1956144, .2597512)
    return losses(folder, zip(range(0, 4500, 500), series)), [
        rule("train", "LossNotDecreasing", fires(2500, 3500, 4000, datapoints=8), mode="TRAIN")]


@case
def loss_corners(folder):
    made = Made(folder, collections={"losses": "^loss"})
    for step, loss in enumerate((0.0, 0.0, 1.0, math.nan, -1.0, 5.0)):
        made.step(step, "TRAIN", step, {"loss": loss, "batch": numpy.array([loss, 3 * loss])})
    return made.end(), [
        rule("single", "LossNotDecreasing", values([(1, 0), (2, "-inf"), (5, -600)]), num_steps=1),
        rule("mean", "LossNotDecreasing", values([(1, 0), (2, "-inf"), (5, -600)]), num_steps=1, tensor_regex="batch",
             use_losses_collection="False"),
        refused("nothing", "LossNotDecreasing", "is required", use_losses_collection="False"),
    ]


@case
def schedule(folder):
    """Saved every 3 steps, num_steps 10: 12 against 0, 24 against 12, 36 against 24."""
    return losses(folder, ((s, 100.0 - s) for s in range(0, 40, 3))), [
        rule("schedule", "LossNotDecreasing", values([(12, 12), (24, 100 * 12 / 88), (36, 100 * 12 / 76)]),
             diff_percent=50),
        rule("from 13", "LossNotDecreasing", values([(15, 100 * 12 / 97), (27, 100 * 12 / 85), (39, 100 * 12 / 73)]),
             diff_percent=50, start_step=13),
    ]


@case
def imbalance(folder):
    labels = numpy.array([0] * 990 + [1] * 10)
    made = Made(folder)
    for step in range(5):
        made.step(step, "TRAIN", step, {"my_labels": labels, "my_predictions": labels} if step == 3 else {"x": 1.0})
    return made.end(), [
        rule("once", "ClassImbalance", lambda e: fires(3).items() <= e.items() and e["first"]["value"] == 99 and
             e["datapoints"] == 2 and e["first"]["test"] == "imbalance")]


@case
def cumulative(folder):
    """Two workers; labels without predictions, unequal lengths, non-finite labels, a start inside."""
    made = Made(folder, workers=2)
    for step in range(4):
        made.step(step, "TRAIN", step, {
            "worker_0": {"labels": numpy.array([0.0, 1.0, 1.0, 2.5]), "predictions": numpy.array([0, 1, 0, 2])},
            "worker_1": {"labels": numpy.array([0.0, math.nan]), "predictions": numpy.array([1, 1, 1])}})
    made.step(4, "EVAL", 0, {"worker_0": {"labels": numpy.array([9.0])}})
    # a step: class 0 twice (one paired and right), class 1 twice (one wrong), class 2 once (2.5 rounds to 2, right)
    return made.end(), [
        rule("all", "ClassImbalance", values([(s, v) for s in range(2, 4) for v in (2, 0.5)]), threshold_imbalance=1.5,
             threshold_misprediction=0.4, samples=11),
        rule("from 1", "ClassImbalance", values([(3, 2), (3, 0.5)]), threshold_imbalance=1.5,
             threshold_misprediction=0.4,
             samples=11, start_step=1),
        rule("one worker", "ClassImbalance", values([(s, v) for s in range(2, 4) for v in (2,)]),
             threshold_imbalance=1.5,
             threshold_misprediction=0.5, samples=11, worker="worker_0"),
    ]


@case
def confusion(folder):
    ten = numpy.arange(10)
    wrong = ten.copy()
    wrong[4] = 7
    scores = numpy.eye(10)[wrong] * 3.5
    made = Made(folder)
    for step, predictions in enumerate((ten, wrong, scores, (ten > 4) * 0.9)):
        labels = ten if step < 3 else (ten > 4).astype("float64")
        made.step(step, "TRAIN" if step < 3 else "EVAL", step % 3, {"labels": labels, "predictions": predictions})
    made.step(4, "TRAIN", 3, {"labels": numpy.array([0, -1, 5]), "predictions": numpy.array([0, 1, 5])})
    cells = [[4, 7], [7, 7]]
    return made.end(), [
        rule("defaults", "Confusion", lambda e: e["steps"] == [1, 2] and e["datapoints"] == 5 and
             all(f["cells"] == cells and f["value"] == 0.5 and f["worker"] == "*" for f in e["findings"])),
        rule("off diagonal", "Confusion", lambda e: e["steps"] == [1, 2] and e["findings"][0]["cells"] == cells[:1],
             min_diag=0, max_off_diag=0.01),
        rule("accumulated", "Confusion", lambda e: e["datapoints"] == 1 and e["steps"] == [4] and
             e["first"]["cells"] == [[4, 7], [7, 7]] and e["first"]["value"] == 0.5, accumulate=True, mode="TRAIN",
             start_step=1),
        rule("five classes", "Confusion", fires(datapoints=5), category_no=5),
    ]


@case
def exploding(folder):
    made = Made(folder)
    for step, x in enumerate((math.nan, 1.0, math.nan, math.inf)):
        made.step(step, "TRAIN", step, {"t": numpy.array([x, 2.0, x]), "whole": numpy.array([7])})
    return made.end(), [
        rule("all", "ExplodingTensor", values([(0, 2), (2, 2), (3, 2)])),
        rule("nan", "ExplodingTensor", values([(0, 2), (2, 2)]), only_nan="True"),
        rule("range", "ExplodingTensor", fires(2, datapoints=4), start_step=1, end_step=3),
    ]


def relu_steps():
    random = numpy.random.default_rng(3)
    return [[numpy.maximum(random.normal(-2.2, 1.0, (8 + worker, 5, 3)), 0) for worker in range(2)] for _ in range(7)]


def dead_share(arrays, channel):
    if channel:
        arrays = [a.transpose(0, 2, 1).reshape(-1, a.shape[1]) for a in arrays]
    pooled = numpy.concatenate(arrays)
    activity = 100.0 * (pooled > 0).sum(axis=0) / pooled.shape[0]
    return 100.0 * (activity < 5).sum() / activity.size


@case
def dead_relu(folder):
    made, steps = Made(folder, workers=2), relu_steps()
    for step, arrays in enumerate(steps):
        made.step(step, "TRAIN", step, {"worker_%d" % w: {"a_relu_output": a, "gradient/a_relu_output": a * 0}
                                        for w, a in enumerate(arrays)})
    made.step(7, "TRAIN", 7, {"worker_0": {"a_relu_output": numpy.zeros((4, 2))},
                              "worker_1": {"a_relu_output": numpy.array([0.0, 1.0, 2.0])}})

    def expected(window, channel, start=0):
        shares = [(s, dead_share(sum(steps[max(0, s - window + 1):s + 1], []), channel)) for s in range(start, 7)]
        return values([(s, x) for s, x in shares if x > 10] + [(7, 100)])

    parameters = {"threshold_inactivity": 5, "threshold_layer": 10}
    return made.end(), [
        rule("element", "DeadRelu", expected(1, False), **parameters),
        rule("window", "DeadRelu", expected(3, False), window=3, **parameters),
        rule("window from 2", "DeadRelu", expected(3, False, 2), window=3, start_step=2, **parameters),
        rule("channel", "DeadRelu", expected(1, True), unit="channel", **parameters),
        rule("enough samples", "DeadRelu", expected(1, False), min_samples=2, **parameters),
        rule("too few samples", "DeadRelu", {"status": "NoData", "datapoints": 0}, min_samples=1000, **parameters),
        rule("shapes differ", "DeadRelu", lambda e: [f["worker"] for f in e["findings"]] == ["worker_0"] and
             e["datapoints"] == 2,
             start_step=7),
    ]


@case
def dead_relu_long_window(folder):
    """The one unit was positive at the first of 300 steps: a window over all of them still sees it at the last."""
    made = Made(folder)
    for step in range(300):
        made.step(step, "TRAIN", step, {"net_relu_output": numpy.full((1, 1), float(step == 0))})
    dead = {"threshold_inactivity": 0.1, "threshold_layer": 50}
    return made.end(), [
        rule("all", "DeadRelu", fires(datapoints=300), window=300, **dead),
        rule("more than there are", "DeadRelu", fires(datapoints=300), window=1000, **dead),
        rule("all but the first", "DeadRelu", fires(299, datapoints=300), window=299, **dead),
    ]


@case
def dead_relu_window_of_saved_steps(folder):
    """Steps without elements are no saved steps of the tensor: a window over 4 goes back to step 0 from each step on."""
    made = Made(folder)
    for step in range(40):
        is_empty = step % 13 != 0
        made.step(step, "TRAIN", step, {"net_relu_output": numpy.full((0 if is_empty else 1, 1), float(step == 0))})
    dead = {"threshold_inactivity": 0.1, "threshold_layer": 50}
    return made.end(), [
        rule("four", "DeadRelu", fires(datapoints=4), window=4, **dead),
        rule("three", "DeadRelu", fires(39, datapoints=4), window=3, **dead),
    ]


@case
def saturated(folder):
    made = Made(folder)
    x = numpy.array([[20.0, 0.0, 30.0, -20.0]] * 3)
    made.step(0, "TRAIN", 0, {"tanh_sigmoid_input": x, "my_sigmoid_input": x, "plain_input": x})
    made.step(1, "TRAIN", 1, {"my_sigmoid_input": numpy.where(x == 30.0, math.nan, x)})  # says nothing of units
    return made.end(), [
        rule("names", "SaturatedActivation", lambda e: [(f["tensor"], f["value"]) for f in e["findings"]] ==
             [("tanh_sigmoid_input", 75.0)] and e["datapoints"] == 2),
        rule("told", "SaturatedActivation", fires(0, datapoints=3, findings_total=3), tensor_regex="input",
             activation="sigmoid",
             threshold_layer=49),
        rule("untold", "SaturatedActivation", lambda e: e["datapoints"] == 2 and "plain_input" in e["message"],
             tensor_regex="input"),
        refused("limits", "SaturatedActivation", "must be below", threshold_tanh_min=2, threshold_tanh_max=1),
    ]


BUILT_IN = {"SaturatedActivation": r"(?i)(tanh|sigmoid)\w*_input", "DeadRelu": r"(?i)(relu|act)\w*_output"}


def typed(folder, types):
    """A value that saturates a tanh and not a sigmoid, and outputs none of which is above 0."""
    made = Made(folder)
    for step in range(4):
        made.step(step, "TRAIN", step, {"Net_squash_input_0": numpy.full((8, 4), -12.0), "2_output_0": numpy.zeros((8, 4)),
                                        "my_sigmoid_input_0": numpy.full((8, 4), -12.0), "Net_squash_input": numpy.full((8, 4), -12.0)})
    if types:
        made.put("run/worker_0.json", json.dumps({"schema": "assay-run/1", "modules": types}).encode())
    return made.end()


def tensors(*names):
    return lambda e: sorted({f["tensor"] for f in e["findings"]}) == sorted(names)


@case
def activations_of_known_types(folder):
    """The type is what counts: a module may have any name, and a name may lie."""
    return typed(folder, {"Net_squash": "torch.Tanh", "2": "torch.ReLU inplace=true", "my_sigmoid": "torch.Tanh"}), [
        rule("saturated", "SaturatedActivation", tensors("Net_squash_input_0", "my_sigmoid_input_0"), tensor_regex=BUILT_IN["SaturatedActivation"]),
        rule("dead", "DeadRelu", tensors("2_output_0"), tensor_regex=BUILT_IN["DeadRelu"], only_relu=True)]


@case
def activations_of_types_that_do_not_saturate(folder):
    return typed(folder, {"Net_squash": "torch.Tanhshrink", "2": "torch.LeakyReLU negative_slope=0.01", "my_sigmoid": "torch.LogSigmoid"}), [
        rule("saturated", "SaturatedActivation", tensors(), tensor_regex=BUILT_IN["SaturatedActivation"]),
        rule("dead", "DeadRelu", tensors(), tensor_regex=BUILT_IN["DeadRelu"], only_relu=True)]


@case
def activations_of_unknown_types(folder):
    """A class of the user's own may do anything, whatever it is called."""
    return typed(folder, {"Net_squash": "Tanh", "2": "MyReLU"}), [
        rule("saturated", "SaturatedActivation", tensors(), tensor_regex=BUILT_IN["SaturatedActivation"]),
        rule("dead", "DeadRelu", tensors(), tensor_regex=BUILT_IN["DeadRelu"], only_relu=True)]


@case
def weights(folder):
    made = Made(folder, collections={"weights": "^w"})
    series = [1.0, 1.5, 1.5, 20.0, 0.0, 0.0]
    for i, x in enumerate(series):
        made.step(2 * i, "TRAIN", i, {"w": numpy.full(4, x)}).step(2 * i + 1, "EVAL", i, {"w": numpy.full(4, 99.0)})
    return made.end(), [
        rule("previous", "WeightUpdateRatio", lambda e: e["datapoints"] == 5 and values(
            [(4, 0), (6, 37 / (3 + 1e-9)), (10, 0)])(e)),
        rule("two back", "WeightUpdateRatio", lambda e: e["datapoints"] == 5 and values(
            [(6, 37 / (3 + 1e-9))])(e), num_steps=2, small_threshold=0.3),
        rule("from 3", "WeightUpdateRatio", fires(4, 6, 10, datapoints=4), start_step=3),
    ]


@case
def phases(folder):
    made = Made(folder, workers=2, collections={"losses": "loss"})
    train, evaluation = [4.0, 2.0, 1.0, 1.0, 0.5, 0.5], [2.0, 2.0, 3.0]
    step = 0
    for i in range(3):
        for k in range(2):
            made.step(step, "TRAIN", 2 * i + k, {"worker_%d" % w: {"loss": train[2 * i + k] + w} for w in range(2)})
            step += 1
        made.step(step, "EVAL", i, {"worker_0": {"loss": evaluation[i]}})
        step += 1
    # means of the TRAIN phases 3.5, 1.5, 1.0 (the second worker's loss is higher by 1)
    ratios = [(2, (2 - 3.5) / 3.5), (5, (2 - 1.5) / 1.5), (8, 2.0)]
    return made.end(), [
        rule("one", "Overfit", values(ratios[1:])),
        rule("two", "Overfit", values(ratios[2:]), patience=2),
        rule("two from 6", "Overfit", fires(datapoints=1), patience=2, start_step=6),
        rule("crossing", "Overfit", values(ratios[1:]), start_step=4),
        rule("stalls", "Overtraining", values([(5, 1), (7, 1), (8, 2)]), patience_train=1, patience_validation=1,
             delta=0.01),
    ]


@case
def stall(folder):
    made = Made(folder)
    for step, time in enumerate((0, 10, 2000, 2001, 5000)):
        made.step(step, "TRAIN", step, {"x": 1.0}, wall_time=1e9 + time)
    return made.end(), [
        rule("half an hour", "StalledTrainingRule", values([(2, 1990), (4, 2999)])),
        rule("from 2", "StalledTrainingRule", values([(2, 1990)]), start_step=2, end_step=4,
             stop_training_on_fire="True"),
    ]


@case
def images(folder):
    random = numpy.random.default_rng(5)
    made, shown = Made(folder, workers=2), []
    for step in range(6):
        pair = [random.normal([0.1, 0.3, -0.2], [1, 1, 2], (4, 2, 2, 3)).transpose(0, 3, 1, 2) for _ in range(2)]
        made.step(step, "TRAIN", step, {"worker_%d" % w: {"net_input_0": x} for w, x in enumerate(pair)})
        shown.append(numpy.concatenate(pair))
    expected, variance = [], []
    for step in range(1, 6):
        seen = numpy.concatenate(shown[:step + 1])
        mean = numpy.abs(seen.mean(axis=(0, 2, 3))).max()
        off = numpy.abs(seen.var(axis=(0, 2, 3)) - 1).max()
        expected += [(step, mean)] if mean > 0.25 else []
        variance += ([(step, mean)] if mean > 0.25 else []) + ([(step, off)] if off > 0.5 else [])

    def near(wanted):
        return lambda e: len(e["findings"]) == len(wanted) and all(
            f["step"] == s and math.isclose(f["value"], v, rel_tol=1e-9) for f, (s, v) in zip(e["findings"], wanted))

    common = {"regex": "net_input", "threshold_samples": 16, "threshold_mean": 0.25}
    return made.end(), [
        rule("mean", "CheckInputImages", lambda e: near(expected)(e) and e["datapoints"] == 5, **common),
        rule("variance", "CheckInputImages", lambda e: near(variance)(e) and e["datapoints"] == 10, threshold_var=0.5,
             **common),
        rule("no such axis", "CheckInputImages", {"datapoints": 5}, channel=9, **common),
    ]


@case
def tokens(folder):
    made = Made(folder, workers=2)
    sevens = numpy.array([[7, 7, 7, 7]])
    made.step(0, "TRAIN", 0, {"worker_0": {"ids": numpy.array([[0, 0, 1, 7]])}, "worker_1": {"ids": sevens}})
    made.step(1, "TRAIN", 1, {"worker_0": {"ids": numpy.array([[0, 0, 1]])}, "worker_1": {"ids": sevens}})
    parameters = {"tensor_regex": "ids", "token_values": "0,7"}
    return made.end(), [
        rule("both", "NLPSequenceRatio", lambda e: [(f["step"], f["worker"], f["value"],
             f["threshold"]) for f in e["findings"]] ==
             [(0, "*", 62.5, 60.0), (1, "worker_0", 200 / 3, 30.0), (1, "worker_1", 100.0, 60.0)],
             token_thresholds_percent="30,60", **parameters),
        refused("unequal", "NLPSequenceRatio", "in pairs", token_thresholds_percent="30", **parameters),
    ]


@case
def poor_start(folder):
    made = Made(folder, collections={"gradients": "^gradient", "losses": "loss"})
    wide, flat = numpy.linspace(-1, 1, 21), numpy.linspace(-1, 1, 21) * 1e-4
    for step in range(6):
        made.step(step, "TRAIN", step, {"a_relu_input": wide, "b_relu_input": wide * (4 if step else 1),
                                        "gradient/a": wide, "gradient/b": wide if step < 3 else flat,
                                        "loss": 1.0 - min(step, 1)})
    return made.end(), [
        rule("any", "PoorWeightInitialization", lambda e: [(f["step"], f["test"]) for f in e["findings"]] ==
             [(1, "variance_ratio"), (2, "variance_ratio"), (3, "variance_ratio"), (3, "gradient_range"),
              (4, "loss_stalled"), (4, "variance_ratio"), (4, "gradient_range")] and e["datapoints"] == 15 and
             abs(e["findings"][3]["value"] - 1.8e-4) < 1e-15 and e["findings"][3]["tensor"] == "gradient/b",
             patience=3, steps=5),
        rule("all", "PoorWeightInitialization", lambda e: e["steps"] == [4] and e["findings_total"] == 3 and
             e["datapoints"] == 15, patience=3, steps=5, combine="all"),
        rule("from 2", "PoorWeightInitialization", {"datapoints": 9}, patience=3, steps=5, start_step=2),
        rule("no spread", "PoorWeightInitialization", lambda e: "gradient_range" not in [f["test"] for f in e["findings"]] and
             e["findings_total"] == 5 and e["datapoints"] == 15, patience=3, steps=5, distribution_range=0),
    ]


@case
def zeros_and_variance(folder):
    made = Made(folder)
    made.step(0, "TRAIN", 0, {"x": numpy.array([0.0, -0.0, math.nan, 1.0]), "e": numpy.zeros(0),
         "y": numpy.array([1.0, 3.0])})
    return made.end(), [
        rule("half", "AllZero", lambda e: values([(0, 50)])(e) and e["datapoints"] == 2, tensor_regex=".*",
             threshold=50),
        rule("all", "AllZero", fires(datapoints=2), tensor_regex=".*"),
        rule("variance", "TensorVariance", lambda e: values([(0, 1)])(e) and e["first"]["threshold"] == 0.5,
             tensor_regex=".*",
             max_threshold=0.5, min_threshold=2),
        refused("no limits", "TensorVariance", "is required", tensor_regex=".*"),
        refused("empty pattern", "AllZero", "tensor_regex", tensor_regex="("),
    ]


def adam(steps, b1=0.9, b2=0.999, worst=False):
    """Both moments after so many gradients; `worst`: the sequence that comes nearest to the bound."""
    rng = numpy.random.default_rng(7)
    first, second = numpy.zeros((4, 3)), numpy.zeros((4, 3))
    for t in range(steps):
        gradient = numpy.full((4, 3), (b1 / b2) ** (steps - 1 - t)) if worst else rng.normal(0, 1, (4, 3))
        first, second = b1 * first + (1 - b1) * gradient, b2 * second + (1 - b2) * gradient ** 2
    return first, second


@case
def optimizer_state(folder):
    """A bit of a moment is flipped at step 1, of another optimizer's too; a second moment is below zero at step 2; AMSGrad's
    largest one falls; a row of a parameter, half of a table and an expert never had a gradient; the router's begin at step 1."""
    made = Made(folder)
    bound = (1 - 0.9) / math.sqrt((1 - 0.999) * (1 - 0.9 ** 2 / 0.999))
    for step in range(3):
        first, second = adam(50 + step)
        worst = adam(1500, worst=True)
        largest, dead, table = second.copy(), second.copy(), numpy.zeros((4, 3))
        if step == 1:
            first[2, 1] = 2 * bound * math.sqrt(second[2, 1])
            largest[0, 0] *= 0.5
        dead[3] = 0
        table[:2] = second[:2]
        damaged = second.copy()
        damaged[1, 2] = -1e-9 if step == 2 else -0.0
        made.step(step, "TRAIN", step, {
            "optimizer/w/exp_avg": first, "optimizer/w/exp_avg_sq": second, "optimizer/w/max_exp_avg_sq": largest,
            "optimizer/worst/exp_avg": worst[0], "optimizer/worst/exp_avg_sq": worst[1],
            "optimizer/soap/exp_avg": first, "optimizer/soap/exp_avg_sq": second, "optimizer/soap/GG": second,
            "optimizer/d/exp_avg": numpy.zeros((4, 3)), "optimizer/d/exp_avg_sq": dead,
            "optimizer/tok.weight/exp_avg_sq": table, "optimizer/x/square_avg": damaged, "optimizer/x/step": numpy.float64(-1),
            "optimizer/h.mlp.gate.weight/exp_avg_sq": dead * (step > 0)})
    return made.end(), [
        rule("bound", "AdamMomentBound", lambda e: [(f["step"], f["tensor"], f["test"]) for f in e["findings"]] == [
            (1, "optimizer/w/exp_avg", "bound"), (1, "optimizer/w/max_exp_avg_sq", "amsgrad")] and e["datapoints"] == 12 and
            math.isclose(e["findings"][0]["value"], 2, rel_tol=1e-6) and e["findings"][0]["threshold"] == 1.00001 and
            e["findings"][1]["value"] == 1),
        rule("wide", "AdamMomentBound", {"findings_total": 1}, tolerance=1.5),
        rule("other rates", "AdamMomentBound", lambda e: (1, "optimizer/worst/exp_avg") in [
            (f["step"], f["tensor"]) for f in e["findings"]], beta2=0.95),
        rule("no bound", "AdamMomentBound", lambda e: e["status"] == "Error" and "no bound" in e["message"], beta1=0.99, beta2=0.9),
        rule("negative", "NegativeSecondMoment", lambda e: values([(2, 1)])(e) and e["datapoints"] == 24),
        rule("dead", "DeadRows", lambda e: [(f["step"], f["tensor"], f["test"], f["value"]) for f in e["findings"]] == [
            (s, "optimizer/%s/exp_avg_sq" % n, "rows", k) for s in range(3) for n, k in (
                ("d", 1), ("h.mlp.gate.weight", 1 if s else 4))] and e["datapoints"] == 18),
        rule("begun", "DeadRows", lambda e: [(f["step"], f["value"]) for f in e["findings"]] == [(1, 1), (2, 1)] and e["datapoints"] == 2,
             tensor_regex="(?i)^optimizer/.*(router|(moe|mlp)\\.gate(\\.wg)?)\\.weight/exp_avg_sq$", skip_zero=True),
        rule("half a table", "DeadRows", lambda e: [f["value"] for f in e["findings"] if f["test"] == "embedding"] == [2] * 3, threshold=25,
             embedding_threshold=40),
        rule("structure", "CheckpointStructure", lambda e: e["status"] == "NoData" and "not a series of checkpoints" in e["message"]),
    ]


@case
def enormous(folder):
    """Finite elements whose squares are beyond a double: infinite is only a variance that does not fit either (x)."""
    return Made(folder).step(0, "TRAIN", 0, {"x": numpy.array([1e160, -1e160, 0.0]), "y": numpy.array([1e154] * 5 + [-1e154] * 4),
                                             "z": numpy.full(9, 1e200), "n": numpy.array([1e160, numpy.nan])}).end(), [
        rule("variance", "TensorVariance", lambda e: [(f["tensor"], f["value"]) for f in e["findings"]] ==
             [("x", "inf"), ("y", 9.876543209876543e+307)] and e["datapoints"] == 4, tensor_regex=".*", max_threshold=10)]


@case
def updates(folder):
    """NaN less NaN is NaN. A step without an update, as its shape is another, is the saved step before the next."""
    made = Made(folder)
    for step, x in enumerate(([1.0, 2.0], [1.5, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0, 5.0], [math.nan, 2.0, 5.0],
                              [math.nan, 2.0, 5.0], [math.inf, 2.0, 5.0], [math.inf, 2.0, 5.0])):
        made.step(step, "TRAIN", step, {"w": numpy.array(x)})

    def when(name, condition, *steps, **more):
        return rule(name, "Expression", fires(*steps, **more), when=condition)

    return made.end(), [
        when("all", "update_max(\"w\") >= 0", 1, 3, datapoints=6),
        when("not a number", "not (update_max(\"w\") >= 0)", 4, 5, 6, 7, datapoints=6),
        when("before", "previous(update_max(\"w\")) >= 0", 2, 4, datapoints=5),
        when("both", "change(update_max(\"w\")) > -10", datapoints=4),
    ]


# -- what only seems to be healthy

@case
def gradients_that_jump_beside_a_large_loss(folder):
    """A summed loss of 10^5 stays in float32, and gradients of its size are no fault: those that jump by 10^30 are."""
    made = Made(folder, collections={"losses": "Loss"})
    for step in range(24):
        made.step(step, "TRAIN", step, {"MSELoss_output_0": numpy.float32([1e5]),
                                        "gradient/a.weight": numpy.full(4, 1e5 * (1 + step), "float32"),
                                        "gradient/b.weight": numpy.full(4, 1e36 if step >= 20 else 1e6, "float32")})
    chosen = dict(collection_names="losses", tensor_regex="^gradient")
    return made.end(), [
        rule("jump", "HalfPrecisionRisk", lambda e: e["steps"] == [20, 21, 22, 23] and
             {f["tensor"] for f in e["findings"]} == {"gradient/b.weight"} and e["message"].startswith("68 overflows of fp16 not counted"), losses_fit=True, **chosen),
        rule("strict", "HalfPrecisionRisk", lambda e: e["findings_total"] == 72 and "not counted" not in e["message"], **chosen)]


@case
def zero_for_one_step(folder):
    """A matrix that is zero at a step was lost; a single number that is, such as the cyclic weight of a loss, was set."""
    made = Made(folder)
    for step in range(12):
        made.step(step, "TRAIN", step, {"kl_weight": numpy.full(1, step % 4 / 4),
                                        "fc.weight": numpy.full((2, 2), 0.0 if step == 5 else 1.0)})
    return made.end(), [
        rule("lost", "AllZero", lambda e: e["steps"] == [5] and e["first"]["tensor"] == "fc.weight", tensor_regex="weight",
             num_steps=3, after_values=True),
        rule("run", "AllZero", fires(), tensor_regex="weight", num_steps=3)]


@case
def low_precision(folder):
    """Of statistics by name: the third step in a row above the limit; a worker's scale beside that of most; no test of another name."""
    made = Made(folder, workers=3)
    for step in range(6):
        made.step(step, "TRAIN", step, {"worker_%d" % worker: {
            "fc1_gradient_fp8_delayed_scaling_underflows%": 10.0 if step == 2 else 11.0,
            "fc1_gradient_nvfp4_underflows%": 30.0,
            "fc1_gradient_mxfp8_overflows%": math.inf if step == 4 else 0.1,
            "fc1_weight_scale_inv_max": 2.0 if step >= 2 and worker == 1 else 1.0,
            "fc1_weight_scale_inv_min": 2.0 ** -25 if step == 5 and worker == 0 else 1.0,
            "fc1_weight_max": math.nan} for worker in range(3)})

    def found(e):
        return sorted({(f["step"], f["worker"], f["test"]) for f in e["findings"]})

    everyone = ["worker_%d" % w for w in range(3)]
    return made.end(), [
        rule("low", "LowPrecisionHealth", lambda e: found(e) == sorted(
            [(4, w, "overflow") for w in everyone] + [(5, w, "underflow") for w in everyone] +
            [(step, "worker_1", "scales") for step in range(2, 6)] + [(5, "worker_0", "scales"), (5, "worker_0", "spread")]),
            tensor_regex=".*")]


if __name__ == "__main__":
    main()
