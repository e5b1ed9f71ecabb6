#!/usr/bin/env python3
"""Batches that come several times, workers whose losses are apart, parts without gradient, losses without a bound, classes that vanish, weights that
vanish alone, networks that take turns, modes that are not those of the network: each fault beside a sound twin.

    known_turns.py --assay PROGRAM --ranks 1 3 -- [CASE]...
"""
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, main, refused, rule  # noqa: E402
from made import Made  # noqa: E402

COLLECTIONS = {"weights": "^(?!gradient).*weight$", "gradients": "^gradient", "losses": "[Ll]oss_output_0$"}
INPUT, LABEL = "inputs", "CrossEntropyLoss_input_1"


def quiet(e):
    return e["status"] == "NoIssuesFound"


def says(name, kind="InputData", test=None, first=None, note="", **parameters):
    """That test alone fires, first at that step, with that remark; without a test nothing does."""
    return rule(name, kind, quiet if test is None else lambda e: {f["test"] for f in e["findings"]} == {test} and
                e["first"]["step"] == first and note in (e["first"].get("note") or ""), **parameters)


# -- batches that come several times in a row

def echoed(folder, number, label="int64", evaluates=True, inputs=None):
    """number(step): which batch it is. An evaluation of other rows behind the tenth and each twentieth step."""
    made, mode_steps = Made(folder), {"TRAIN": 0, "EVAL": 0}
    for step in range(60):
        mode = "EVAL" if evaluates and step % 20 == 10 else "TRAIN"
        rng = numpy.random.default_rng([7, step if mode == "EVAL" else 1000 + number(mode_steps["TRAIN"])])
        x = rng.normal(0, 1, (16, 9)) if inputs is None else inputs(rng)
        made.step(step, mode, mode_steps[mode], {INPUT: x.astype("float32"), LABEL: rng.integers(0, 5, 16).astype(label)})
        mode_steps[mode] += 1
    return made.end()


@case
def batches_four_times_from_a_step_on(folder):
    return echoed(folder, lambda s: s if s < 20 else 100 + s // 4, evaluates=False), [says("later", test="repeated", first=20, note="each 4 times in a row")]


@case
def batches_four_times_always(folder):
    return echoed(folder, lambda s: s // 4), [says("always", test="repeated", first=0, note="each 4 times in a row")]


@case
def batches_four_times_without_an_evaluation(folder):
    """As policies are trained."""
    return echoed(folder, lambda s: s // 4, evaluates=False), [says("policy")]


@case
def batches_four_times_of_targets(folder):
    return echoed(folder, lambda s: s // 4, label="float32"), [says("no classes")]


@case
def batches_twice(folder):
    return echoed(folder, lambda s: s // 2), [says("twice")]


@case
def batches_now_and_then_again(folder):
    return echoed(folder, lambda s: s - s % 7 // 5), [says("now and then")]


def places(rng):
    return numpy.eye(9)[numpy.sort(rng.integers(0, 9, 16)) * 0 + numpy.arange(16) % 4]


@case
def places_that_a_policy_keeps_to(folder):
    """One of nine columns is set in each row; from step 20 on all batches are one, and five columns are never set."""
    def inputs(rng):
        return numpy.eye(9)[rng.integers(0, 9, 16)]
    made, rng = Made(folder), numpy.random.default_rng(8)
    for step in range(40):
        made.step(step, "TRAIN", step, {INPUT: (inputs(rng) if step < 20 else places(rng)).astype("float32"), "Loss_input_1": rng.normal(0, 1, (16, 2))})
    return made.end(), [says("policy")]


# -- losses of workers

def losses(folder, of, workers=4, steps=24, mode="TRAIN"):
    """of(worker, step, noise)"""
    made = Made(folder, workers=workers, collections=COLLECTIONS)
    for step in range(steps):
        noise = [0.1 * numpy.random.default_rng([9, step, w]).normal() for w in range(workers)]
        made.step(step, mode, step, {"worker_%d" % w: {"Loss_output_0": numpy.float32(of(w, step, noise[w]))} for w in range(workers)})
    return made.end()


def apart(worker, first):
    return rule("apart", "WorkerLoss", lambda e: {f["worker"] for f in e["findings"]} == {"worker_%d" % worker} and e["first"]["step"] == first)


@case
def losses_of_one_worker_apart(folder):
    return losses(folder, lambda w, s, n: (1.6 if w == 2 else 1) + n), [apart(2, 0), rule("far", "WorkerLoss", quiet, share=2.0)]


@case
def losses_of_one_worker_apart_later(folder):
    return losses(folder, lambda w, s, n: (1.8 if w == 1 and s >= 26 else 1) + n, steps=40), [apart(1, 26)]


@case
def losses_of_one_of_three_workers_in_evaluation(folder):
    """Replicas that evaluate the same set have the same loss."""
    return losses(folder, lambda w, s, n: 2.0 - 0.3 * s + (0.5 if w == 0 else 0), 3, 3, "EVAL"), [apart(0, 0)]


@case
def losses_of_all_workers_apart(folder):
    """Each worker has data of its own kind."""
    return losses(folder, lambda w, s, n: 1 + 0.4 * w + n), [rule("unlike", "WorkerLoss", quiet)]


@case
def losses_of_workers_alike(folder):
    return losses(folder, lambda w, s, n: 1 + 3 * n), [rule("alike", "WorkerLoss", quiet), refused("one", "WorkerLoss", "compares workers", worker="worker_1")]


@case
def losses_of_two_workers(folder):
    """Nothing says which of them is odd."""
    return losses(folder, lambda w, s, n: 1 + w + n, 2), [rule("two", "WorkerLoss", {"status": "NoData"}),
                                                                rule("beside it", "ExplodingTensor", quiet)]


# -- a part without gradient

def parts(folder, gradient, steps=16):
    """gradient(step): of the left part; the right one is trained."""
    made, rng = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(10)
    for s in range(steps):
        made.step(s, "TRAIN", s, {"left.weight": rng.normal(0, 1, (4, 3)), "gradient/left.weight": gradient(s) * rng.normal(0, 1, (4, 3)),
                                  "gradient/right.weight": rng.normal(0, 1, (4, 3)), "Loss_output_0": numpy.float32(1)})
    return made.end()


@case
def part_without_gradient(folder):
    return parts(folder, lambda s: 0), [says("left", "GradientUnderflow", "part", 0)]


@case
def part_that_begins_without_gradient(folder):
    """As what stands before weights that begin as zeros."""
    return parts(folder, lambda s: s > 0), [says("begins", "GradientUnderflow")]


@case
def part_without_gradient_at_few_steps(folder):
    return parts(folder, lambda s: 0, 7), [says("few", "GradientUnderflow")]


# -- a loss without a lower bound

def falling(folder, of, name="ElboLoss_output_0"):
    made = Made(folder, collections=COLLECTIONS)
    for s in range(40):
        made.step(s, "TRAIN", s, {name: numpy.float32(of(s))})
    return made.end()


@case
def loss_without_a_bound(folder):
    return falling(folder, lambda s: 50 - 1.4 ** s), [says("falls", test="bounds", first=14, note="falls without end")]


@case
def loss_that_falls_to_a_bound(folder):
    """A likelihood of many numbers."""
    return falling(folder, lambda s: 50 - 6000 * (1 - 0.8 ** s)), [says("likelihood")]


@case
def loss_below_zero(folder):
    return falling(folder, lambda s: 2 - 0.2 * s), [says("below zero")]


# -- classes that vanish

def classed(folder, labels):
    made, rng = Made(folder), numpy.random.default_rng(12)
    for s in range(50):
        made.step(s, "TRAIN", s, {INPUT: rng.normal(0, 1, (16, 9)), LABEL: labels(s, rng)})
    return made.end()


@case
def classes_vanish(folder):
    return classed(folder, lambda s, rng: rng.integers(0, 10 if s < 22 else 3, 16)), [
        says("three are left", test="labels", first=22, note="classes 0 to 2, which were 0 to 9 before")]


@case
def classes_in_turn(folder):
    """One task after another, each of two classes of its own."""
    return classed(folder, lambda s, rng: rng.integers(0, 2, 16) + (8 - s // 10 * 2)), [says("tasks")]


@case
def classes_of_some_batches(folder):
    return classed(folder, lambda s, rng: rng.integers(0, 10 if s % 3 else 3, 16)), [says("some")]


# -- weights that vanish or grow alone, and that stand by turns

def weights(folder, of, steps=30):
    """of(step): by what fc1 is multiplied; fc2 and fc3 are trained."""
    made, rng = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(13)
    begin = rng.normal(0, 1, (3, 8, 8))
    for s in range(steps):
        made.step(s, "TRAIN", s, {"fc%d.weight" % (k + 1): begin[k] * (of(s) if k == 0 else 1 + 0.003 * s) for k in range(3)})
    return made.end()


@case
def one_weight_vanishes(folder):
    return weights(folder, lambda s: 0.8 ** s), [says("gone", "WeightCourse", "shrunk", 4)]


@case
def one_weight_shrinks(folder):
    return weights(folder, lambda s: 0.9 ** s), [says("smaller", "WeightCourse")]


@case
def one_weight_grows(folder):
    return weights(folder, lambda s: 1.4 ** s), [says("large", "WeightCourse", "grown", 5)]


@case
def one_weight_grows_a_little(folder):
    return weights(folder, lambda s: 1.2 ** s), [says("larger", "WeightCourse")]


BUILT_IN = {"collection_names": "weights", "mode": "TRAIN", "accumulation": True, "only_trained": True, "rtol": 0, "atol": 0}


@case
def networks_by_turns(folder):
    """Of each six steps fc1 moves at the first three, and no gradient of it is saved at the others."""
    made, rng = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(14)
    fc1, fc2 = rng.normal(0, 1, (2, 4, 3))
    for s in range(36):
        fc1, fc2 = fc1 + (0.01 if s % 6 < 3 else 0), fc2 + 0.01
        made.step(s, "TRAIN", s, {"fc1.weight": fc1, "fc2.weight": fc2})
    return made.end(), [rule("by turns", "UnchangedTensor", quiet, **BUILT_IN)]


@case
def networks_by_turns_until_one_stands(folder):
    made, rng = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(14)
    fc1, fc2 = rng.normal(0, 1, (2, 4, 3))
    for s in range(36):
        fc1, fc2 = fc1 + (0.01 if s % 6 < 3 and s < 24 else 0), fc2 + 0.01
        made.step(s, "TRAIN", s, {"fc1.weight": fc1, "fc2.weight": fc2})
    return made.end(), [rule("stands", "UnchangedTensor", lambda e: {f["tensor"] for f in e["findings"]} == {"fc1.weight"} and e["first"]["step"] == 24,
                             **BUILT_IN)]


ZERO = {"collection_names": "weights", "num_steps": 3, "after_values": True}


@case
def weight_that_begins_as_zeros(folder):
    return weights(folder, lambda s: 0 if s < 5 else 1 + 0.01 * s), [rule("begins", "AllZero", quiet, **ZERO),
                                                                      rule("as they are", "AllZero", lambda e: e["findings_total"] == 5,
                                                                           collection_names="weights", num_steps=3)]


@case
def weight_that_stays_zeros(folder):
    return weights(folder, lambda s: 0), [rule("stays", "AllZero", lambda e: e["findings_total"] == 30, **ZERO)]


# -- workers that began apart, or exchange nothing

@case
def workers_unlike_that_hardly_moved(folder):
    """Nothing tells yet which of the two it is."""
    made = Made(folder, workers=4, collections=COLLECTIONS)
    for s in range(6):
        made.step(s, "TRAIN", s, {"worker_%d" % w: {"fc1.weight": numpy.random.default_rng(w).normal(0, 1, (8, 8)) * (1 + 1e-5 * s)} for w in range(4)})
    return made.end(), [rule("unlike", "GradientNotSynchronized", lambda e: {f["test"] for f in e["findings"]} == {"unlike"}, never=True)]


# -- the mode of a network and the one that is recorded

def flagged(folder, flags, steps=30):
    """A training with a loss at every step, an evaluation behind every fifth; flags(mode, step): what the hook says of modules."""
    made = Made(folder, collections=COLLECTIONS)
    turn = 0
    for s in range(steps):
        for mode, number in [("TRAIN", s)] + [("EVAL", s // 5)] * (s % 5 == 4):
            told = {"scalar/modules_" + ("without_" if w == "statistics" else "left_in_") + w: 4.0 for w in flags(mode, number)}
            made.step(turn, mode, number, {"loss_output_0": 1 / (1 + s), **told})
            turn += 1
    return made.end()


@case
def evaluated_without_eval(folder):
    return flagged(folder, lambda mode, s: ["training"] * (mode == "EVAL")), [says("left", "DropoutInEvaluation", "training", 5)]


@case
def trained_without_train(folder):
    """From the first evaluation on."""
    return flagged(folder, lambda mode, s: ["evaluation"] * (mode == "TRAIN" and s >= 5)), [says("left", "DropoutInEvaluation", "evaluation", 6)]


@case
def attacks_before_each_update(folder):
    """Passes in the mode of evaluation, between those that are learned from; the last steps are an evaluation of its own."""
    return flagged(folder, lambda mode, s: ["evaluation"] * (mode == "TRAIN" and (s % 2 == 0 or s > 26))), [
        says("attack", "DropoutInEvaluation")]


@case
def evaluated_with_the_statistics_of_the_start(folder):
    """From the second evaluation on."""
    return flagged(folder, lambda mode, s: ["statistics"] * (mode == "EVAL" and s > 0)), [says("start", "DropoutInEvaluation", "statistics", 11)]


def flagged_workers(folder, flags, steps=30, workers=4):
    """The same of workers, each with two losses; flags(worker, step)."""
    made = Made(folder, workers=workers, collections=COLLECTIONS)
    for s in range(steps):
        made.step(s, "TRAIN", s, {"worker_%d" % w: {"%s_output_0" % of: 1 / (1 + s) for of in ("loss", "aux_loss")} |
                                  ({"scalar/modules_left_in_evaluation": 4.0} if flags(w, s) else {}) for w in range(workers)})
    return made.end()


@case
def one_worker_trained_without_train(folder):
    """The one that evaluates."""
    return flagged_workers(folder, lambda w, s: w == 0 and s >= 5), [
        rule("one", "DropoutInEvaluation", lambda e: {(f["test"], f["worker"], f["value_unit"]) for f in e["findings"]} == {("evaluation", "worker_0", "modules")} and
             (e["findings_total"], e["first"]["step"]) == (25, 5))]


@case
def workers_in_evaluation_at_the_last_step(folder):
    """One step says nothing, however many workers and losses it has."""
    return flagged_workers(folder, lambda w, s: s == 4, steps=5), [says("last", "DropoutInEvaluation")]


# -- scores of which statistics alone are known, as the automatic hook records them

def told_by_figures(folder, loss, scores, steps=30):
    made = Made(folder)
    for step in range(steps):
        x = scores(step, numpy.random.default_rng([11, step]))
        figures = {"min": x.min(), "max": x.max(), "mean": x.mean(), "std": x.std(), "abs_mean": abs(x).mean()}
        made.step(step, "TRAIN", step, {"smdebug/reductions/%s/%s_input_0" % (n, loss): numpy.float32(v) for n, v in figures.items()})
    return made.end()


def shares(x):
    return numpy.exp(x) / numpy.exp(x).sum(1, keepdims=True)


@case
def figures_of_a_softmax(folder):
    return told_by_figures(folder, "CrossEntropyLoss", lambda s, rng: shares(rng.normal(0, 2, (16, 5)))), [says("twice", test="probabilities", first=0)]


@case
def figures_of_scores_between_0_and_1(folder):
    """Their mean is no share."""
    return told_by_figures(folder, "CrossEntropyLoss", lambda s, rng: rng.random((16, 5))), [says("scores")]


@case
def figures_of_a_softmax_at_few_steps(folder):
    """A mean of a fifth comes by chance."""
    return told_by_figures(folder, "CrossEntropyLoss", lambda s, rng: shares(rng.normal(0, 2, (16, 5))), 9), [says("few")]


@case
def figures_of_a_sigmoid(folder):
    return told_by_figures(folder, "BCEWithLogitsLoss", lambda s, rng: 1 / (1 + numpy.exp(rng.normal(0, 2, 16)))), [says("twice", test="probabilities", first=0)]


@case
def figures_of_logits_that_leave_0_to_1(folder):
    return told_by_figures(folder, "BCEWithLogitsLoss", lambda s, rng: rng.random(16) + 0.04 * s), [says("logits")]


if __name__ == "__main__":
    main()
