#!/usr/bin/env python3
"""InputData on targets that are shares or one value, rows of two values, inputs of two networks of one name, losses that are those of a constant
answer, and evaluations whose loss stands: each fault beside a sound twin.

    known_fed.py --assay PROGRAM --ranks 1 3 -- [CASE]...
"""
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, main, rule  # noqa: E402
from made import Made  # noqa: E402

INPUT = "inputs"


def says(name, test=None, first=None):
    """That test alone fires, first at that step; without a test nothing does."""
    return rule(name, "InputData", lambda e: e["status"] == "NoIssuesFound" if test is None else (
        {f["test"] for f in e["findings"]} == {test} and e["first"]["step"] == first))


def shares(folder, of, name="CrossEntropyLoss_input_1"):
    """of(rng): targets of 16 rows and 5 classes."""
    made, rng = Made(folder), numpy.random.default_rng(41)
    for step in range(20):
        made.step(step, "TRAIN", step, {INPUT: rng.normal(0, 1, (16, 9)).astype("float32"), name: of(rng).astype("float32")})
    return made.end()


def one_hot(rng):
    return numpy.eye(5)[rng.integers(0, 5, 16)]


@case
def shares_that_sum_to_three_halves(folder):
    """A label is smoothed by what is not taken off it."""
    return shares(folder, lambda rng: one_hot(rng) + 0.1), [says("more", "bounds", 0)]


@case
def shares_that_sum_to_one(folder):
    return shares(folder, lambda rng: 0.7 * one_hot(rng) + 0.3 * one_hot(rng)), [says("mixed")]


@case
def tags_of_a_row(folder):
    """Their number differs from row to row, as shares do not."""
    return shares(folder, lambda rng: (rng.random((16, 5)) < 0.4).astype(float)), [says("tags")]


def told(folder, order, steps=60, size=16, every=1, name="MSELoss_input_1"):
    """Targets of a set of 20 batches; order(targets, rng): how they come in a pass."""
    made, rng, passes = Made(folder), numpy.random.default_rng(51), []
    targets = rng.normal(0, 1, 20 * size)
    for step in range(steps):
        if step % 20 == 0:
            passes = order(targets, rng)
        if step % every == 0:
            made.step(step, "TRAIN", step, {name: passes[step % 20 * size:][:size, None].astype("float32")})
    return made.end()


@case
def targets_in_their_order(folder):
    return told(folder, lambda t, rng: numpy.sort(t)), [says("rising", "ordered", 0)]


@case
def targets_in_their_order_from_the_largest(folder):
    return told(folder, lambda t, rng: -numpy.sort(t), steps=240, every=7), [says("falling", "ordered", 0)]


@case
def targets_shuffled(folder):
    return told(folder, lambda t, rng: rng.permutation(t)), [says("shuffled")]


@case
def targets_that_drift(folder):
    """A series that is read once, from its beginning to its end, has no way back."""
    return told(folder, lambda t, rng: numpy.sort(t), steps=20), [says("drift")]


@case
def targets_of_one_batch_a_task(folder):
    """Each batch is of one task, in whatever order."""
    return told(folder, lambda t, rng: numpy.sort(t).reshape(20, 16)[rng.permutation(20)].reshape(-1)), [says("tasks")]


def in_turn(folder, batches, evaluated=64, loss=lambda k: 1.0 + 0.02 * k, columns=9):
    """So many batches of 16 rows in turn, and an evaluation of so many rows behind every tenth step."""
    made, rng = Made(folder, collections={"losses": "Loss_output"}), numpy.random.default_rng(52)
    rows, held = rng.normal(0, 1, (batches, 16, columns)), rng.normal(0, 1, (evaluated, columns))
    for k in range(66):
        mode, number = ("EVAL", k // 11) if k % 11 == 10 else ("TRAIN", k - k // 11)
        x = held if mode == "EVAL" else rows[number % batches]
        made.step(k, mode, number, {INPUT: x.astype("float32"), "MyLoss_output_0": numpy.float32(loss(number) if mode == "EVAL" else 0.97 ** number)})
    return made.end()


@case
def three_batches_in_turn(folder):
    return in_turn(folder, 3), [says("three", "repeated", 0),
                                rule("said", "InputData", lambda e: e["first"]["note"] == "3 batches of 48 rows in all, in turn, while evaluation has 64")]


@case
def three_batches_in_turn_that_are_the_set(folder):
    """Evaluation has no more rows, or gains by them, or they are points of two coordinates, or there are more of them than come again."""
    return in_turn(folder, 3, 48), [says("all")]


@case
def three_batches_in_turn_that_help(folder):
    return in_turn(folder, 3, loss=lambda k: 0.7 ** k), [says("help")]


@case
def three_batches_of_points_in_turn(folder):
    return in_turn(folder, 3, columns=2), [says("points")]


@case
def twenty_batches_in_turn(folder):
    return in_turn(folder, 20, 400), [says("twenty")]


def told_one(folder, more=None):
    made, rng = Made(folder, collections={"losses": "Loss_output"}), numpy.random.default_rng(42)
    for step in range(30):
        made.step(step, "TRAIN", step, {INPUT: rng.normal(0, 1, (16, 9)).astype("float32"), "BCELoss_output_0": numpy.float32(0.7 - 0.02 * step),
                                        "BCELoss_input_1": numpy.ones(16, "float32"), **(more or {})})
    return made.end()


@case
def targets_of_one_value_from_the_start(folder):
    return told_one(folder), [says("ones", "labels", 0)]


@case
def targets_of_a_judge(folder):
    """A second call of the loss has the others."""
    return told_one(folder, {"BCELoss_output_1": numpy.float32(0.6), "BCELoss_input_3": numpy.zeros(16, "float32")}), [says("judge")]


def priced(folder, train, held, more=None):
    """Targets of a squared error; every fifth step is an evaluation."""
    made, rng = Made(folder, collections={"losses": "Loss_output"}), numpy.random.default_rng(44)
    for step in range(30):
        mode = "EVAL" if step % 5 == 4 else "TRAIN"
        made.step(step, mode, step // 5 if mode == "EVAL" else step - step // 5, {
            INPUT: rng.normal(0, 1, (16, 9)).astype("float32"), "MSELoss_output_0": numpy.float32(0.7 - 0.02 * step),
            "MSELoss_input_1": (held if mode == "EVAL" else train)(rng).astype("float32"), **(more or {})})
    return made.end()


def prices(rng):
    return rng.normal(0, 1, (16, 1))


@case
def targets_that_are_empty(folder):
    return priced(folder, lambda rng: numpy.zeros((16, 1)), prices), [says("empty", "labels", 0)]


@case
def targets_that_are_empty_everywhere(folder):
    """As those of a residual, which is to become 0."""
    return priced(folder, lambda rng: numpy.zeros((16, 1)), lambda rng: numpy.zeros((16, 1))), [says("residual")]


@case
def targets_that_are_empty_now_and_then(folder):
    return priced(folder, lambda rng: prices(rng) * (rng.random() < 0.5), prices), [says("sparse")]


@case
def targets_that_are_empty_beside_another_loss(folder):
    return priced(folder, lambda rng: numpy.ones((16, 1)), prices, {"MSELoss_output_1": numpy.float32(0.6)}), [says("judge")]


def of_two_values(folder, width, leak):
    """Rows of -1 and 1; evaluation has rows of its own, or a batch of training."""
    made, rng = Made(folder), numpy.random.default_rng(43)
    for step in range(60):
        batch = rng.choice([-1.0, 1.0], (16, width)).astype("float32")
        made.step(step, "TRAIN", step, {INPUT: batch})
    for k in range(6):
        made.step(60 + k, "EVAL", k, {INPUT: batch if leak else rng.choice([-1.0, 1.0], (16, width)).astype("float32")})
    return made.end()


@case
def rows_of_two_values(folder):
    """Their sums are equal by chance, and so are many of the rows, of which there are but 256."""
    return of_two_values(folder, 8, False), [says("all of them")]


@case
def wide_rows_of_two_values(folder):
    return of_two_values(folder, 40, False), [says("of their own")]


@case
def rows_of_two_values_from_training(folder):
    return of_two_values(folder, 40, True), [says("seen", "evaluated", 60)]


def by_turns(folder, fault):
    """Two networks of one name: rows of 9 and of 20 by turns, these 30 at a time, and from step 11 on every now and then 10 that are far smaller."""
    made, rng = Made(folder), numpy.random.default_rng(44)
    for step in range(60):
        rows, width, scale = (30, 20, 2.0) if step % 2 else (10, 9, 1.0)
        if step > 10 and step % 10 == 0:
            rows, width, scale = 10, 20, 0.2
        made.step(step, "TRAIN", step, {INPUT: (scale * (30 if fault and step % 2 and step > 40 else 1) * rng.normal(0, 1, (rows, width))).astype("float32")})
    return made.end()


@case
def inputs_of_two_networks(folder):
    return by_turns(folder, False), [says("both")]


@case
def inputs_of_one_of_two_networks(folder):
    return by_turns(folder, True), [says("one", "scale", 41)]


def by_sizes(folder, fault):
    """A network that is called with 48 rows, and at every fifth step then with 16 that are a tenth as large."""
    made, rng = Made(folder), numpy.random.default_rng(45)
    for step in range(80):
        rows, scale = (16, 0.2) if step % 5 == 4 else (48, 2.0)
        made.step(step, "TRAIN", step, {INPUT: (scale * (30 if fault and step > 60 else 1) * rng.normal(0, 1, (rows, 20))).astype("float32")})
    return made.end()


@case
def batches_of_two_sizes(folder):
    return by_sizes(folder, False), [says("both")]


@case
def batches_of_two_sizes_that_grow(folder):
    return by_sizes(folder, True), [says("grown", "scale", 61)]


def answered(folder, of, kind="MSELoss", targets=lambda rng: rng.normal(2, 3, (32, 1)), held=None, steps=120, more=None):
    """of(step, targets): the loss. held(step): that of evaluation, at every tenth step."""
    made, rng = Made(folder, collections={"losses": "Loss_output"}), numpy.random.default_rng(46)
    for step in range(steps):
        y = targets(rng).astype("int64" if kind == "CrossEntropyLoss" else "float32")
        evaluated = held is not None and step % 10 == 9
        value = held(step) if evaluated else of(step, y)
        made.step(step, "EVAL" if evaluated else "TRAIN", step // 10 if evaluated else step - (step // 10 if held else 0), {
            kind + "_output_0": numpy.float32(value), kind + "_input_1": y, **(more or {})})
    return made.end()


@case
def targets_of_other_rows(folder):
    """The bias is learned, and nothing else."""
    return answered(folder, lambda s, y: ((y - 2) ** 2).mean() + 4 * 0.8 ** s), [says("apart", "answer", 60)]


@case
def targets_that_are_learned_a_little(folder):
    return answered(folder, lambda s, y: 0.9 * ((y - 2) ** 2).mean() + 4 * 0.8 ** s), [says("noisy")]


@case
def targets_that_begin_to_be_learned(folder):
    return answered(folder, lambda s, y: ((y - 2) ** 2).mean() * (1 if s < 80 else 1 - 0.005 * (s - 79))), [says("late")]


@case
def targets_beside_another_loss(folder):
    """What a critic tells may be next to nothing, where an actor learns."""
    return answered(folder, lambda s, y: ((y - 2) ** 2).mean(), more={"PolicyLoss_output_0": numpy.float32(0.1)}), [says("critic")]


@case
def classes_of_other_rows(folder):
    """The shares of three classes are learned, and nothing else."""
    return answered(folder, lambda s, y: 0.8979 + 0.7 * 0.7 ** s, "CrossEntropyLoss", lambda rng: rng.choice(3, 32, p=(0.6, 0.3, 0.1))), [
        says("classes", "answer", 60)]


@case
def classes_that_are_learned(folder):
    return answered(folder, lambda s, y: 0.6 + 0.7 * 0.9 ** s, "CrossEntropyLoss", lambda rng: rng.choice(3, 32, p=(0.6, 0.3, 0.1))), [says("classes")]


@case
def short_training_of_a_constant(folder):
    """Many a training lies there for some dozens of steps before it learns."""
    return answered(folder, lambda s, y: ((y - 2) ** 2).mean(), steps=99), [says("short")]


@case
def noisy_loss_about_a_constant(folder):
    """Of classes, of which one is rare, a few losses do not tell whether they are below it."""
    noise = numpy.random.default_rng(49)
    return answered(folder, lambda s, y: 0.8979 * (1.02 + 0.3 * noise.normal() if s > 20 else 2), "CrossEntropyLoss",
                    lambda rng: rng.choice(3, 8, p=(0.6, 0.3, 0.1))), [says("noisy")]


@case
def labels_that_are_mostly_noise(folder):
    """Two in a hundred of the variance are told, and nothing more is there."""
    return answered(folder, lambda s, y: 0.97 * ((y - 2) ** 2).mean() + 0.01), [says("floor")]


@case
def returns_of_a_policy_that_gains(folder):
    """A critic that is behind: what it is to tell changes as the policy learns."""
    scale = iter(range(1000))
    return answered(folder, lambda s, y: y.var() * 1.02, targets=lambda rng: rng.normal(0.05 * next(scale), 3, (32, 1))), [says("returns")]


@case
def players_that_are_even(folder):
    """A judge of real and false ones is at log 2 in the best of cases."""
    return answered(folder, lambda s, y: 0.6931 + 0.3 * 0.8 ** s, "BCEWithLogitsLoss", lambda rng: numpy.repeat([1.0, 0.0], 16)), [says("even")]


@case
def pairs_of_a_batch(folder):
    """Each row is to find its own partner among those of the batch: it begins at the entropy, and may stay there for long."""
    return answered(folder, lambda s, y: 3.4657 + 0.3 * 0.8 ** s, "CrossEntropyLoss", lambda rng: rng.permutation(32)), [says("pairs")]


@case
def evaluation_of_an_average_that_is_far_too_slow(folder):
    return answered(folder, lambda s, y: 0.5 * 0.95 ** s, held=lambda s: 0.4375 * (1 - 5e-6 * s)), [says("slow", "stands", 19)]


@case
def evaluation_that_gains_a_hundredth(folder):
    return answered(folder, lambda s, y: 0.5 * 0.95 ** s, held=lambda s: 0.4375 * (1 - 3e-4 * s)), [says("gains")]


@case
def evaluation_that_stands(folder):
    return answered(folder, lambda s, y: 0.5 * 0.95 ** s, held=lambda s: 0.4375), [says("stands", "stands", 19)]


@case
def evaluation_of_a_network_at_rest(folder):
    """Where training stands as well it says nothing of what is evaluated."""
    return answered(folder, lambda s, y: 0.5 + 0.01 * (s % 7), held=lambda s: 0.4375), [says("rests")]


@case
def evaluation_that_is_perfect(folder):
    return answered(folder, lambda s, y: 0.5 * 0.95 ** s, held=lambda s: 0.0), [says("perfect")]


def scored(folder, axis, rows=16):
    made, rng = Made(folder), numpy.random.default_rng(47)
    for step in range(20):
        x = numpy.exp(rng.normal(0, 1, (rows, 5)))
        made.step(step, "TRAIN", step, {"CrossEntropyLoss_input_0": (x / x.sum(axis, keepdims=True) if axis is not None else x / x.sum()).astype("float32")})
    return made.end()


@case
def softmax_over_the_batch(folder):
    return scored(folder, 0), [rule("batch", "InputData", lambda e: e["first"]["test"] == "probabilities" and "columns of the batch" in e["first"]["note"])]


@case
def softmax_over_classes(folder):
    return scored(folder, 1), [rule("classes", "InputData", lambda e: e["first"]["test"] == "probabilities" and e["first"]["note"] == "rows that sum to 1")]


@case
def shares_of_all_that_there_is(folder):
    return scored(folder, None), [says("all")]


def diverging(folder, loss, scores=0.0):
    made, rng = Made(folder, collections={"losses": "Loss_output"}), numpy.random.default_rng(48)
    for step in range(20):
        x = rng.normal(0, 1, (2, 16, 5))
        x = x - numpy.log(numpy.exp(x).sum(2, keepdims=True))
        made.step(step, "TRAIN", step, {"KLDivLoss_input_0": (x[0] + scores).astype("float32"), "KLDivLoss_input_1": x[1].astype("float32"),
                                        "KLDivLoss_output_0": numpy.float32(loss)})
    return made.end()


@case
def targets_in_logarithms(folder):
    return diverging(folder, numpy.nan), [says("logarithms", "bounds", 0)]


@case
def targets_in_logarithms_as_told(folder):
    return diverging(folder, 0.3), [says("told")]


@case
def divergence_of_what_is_no_number(folder):
    """It comes from the scores."""
    return diverging(folder, numpy.nan, numpy.nan), [says("scores")]


def tokens(folder, task):
    """Batches of 4 sequences of 12 tokens, and what a task makes of them, flattened as a loss of classes takes it."""
    made, rng = Made(folder), numpy.random.default_rng(9)
    for s in range(12):
        x = rng.integers(0, 50, (4, 12))
        made.step(s, "TRAIN", s, {INPUT: x, "CrossEntropyLoss_input_1": task(x).reshape(-1)})
    return made.end()


@case
def targets_that_are_the_inputs(folder):
    return tokens(folder, lambda x: x), [says("copy", "target", 2)]


@case
def targets_that_are_the_inputs_in_another_order(folder):
    return tokens(folder, lambda x: x[:, ::-1]), [says("reversed")]


@case
def targets_that_are_the_inputs_sorted(folder):
    return tokens(folder, lambda x: numpy.sort(x, axis=1)), [says("sorted")]


@case
def targets_that_are_the_inputs_rolled(folder):
    return tokens(folder, lambda x: numpy.roll(x, -1, axis=1)), [says("rolled")]


if __name__ == "__main__":
    main()
