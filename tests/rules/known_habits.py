#!/usr/bin/env python3
"""What sound training programs do that looks like a fault: updates left out by loss scaling, padding, modes that are set late,
warm-ups that begin at zero. Each beside a fault that looks alike.

    known_habits.py --assay PROGRAM --ranks 1 3 7 -- [CASE]...
"""
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, fires, main, rule  # noqa: E402
from made import Made  # noqa: E402

COLLECTIONS = {"weights": "^(?!gradient).*weight$", "biases": "^(?!gradient).*bias", "gradients": "^gradient", "losses": "[Ll]oss_output"}
TRAINED = {"collection_names": "weights", "mode": "TRAIN", "accumulation": True, "only_trained": True, "rtol": 0, "atol": 0}
INF, NAN = float("inf"), float("nan")


# -- loss scaling

def scaled(folder, gradient=lambda step, worker: None, weight=lambda step: 0.0, steps=40, every=1, workers=2):
    """A weight that moves where its gradient is finite; gradient(step, worker) puts something else into the gradient."""
    made, w = Made(folder, collections=COLLECTIONS, workers=workers), 0.5
    for step in range(steps):
        bad = [gradient(step, worker) for worker in range(workers)]
        if step % every == 0:
            made.step(step, "TRAIN", step, {"worker_%d" % n: {
                "fc.weight": numpy.full(8, w + weight(step), "float32"), "CrossEntropyLoss_output_0": numpy.float32([2 - 0.03 * step]),
                "gradient/fc.weight": numpy.float32([1e-2] * 7 + [1e-2 if bad[n] is None else bad[n]])} for n in range(workers)})
        w += 1e-3 * (bad[0] is None)
    return made.end()


def left_out(steps):
    return lambda e: (e["status"], e["updates_left_out"]) == ("NoIssuesFound", steps) and "loss scaling left out" in e["message"] and (
        "first_cause" not in e)


def begins(step, tensor, total=None):
    """The first finding and the first cause are at this step, in this tensor."""
    return lambda e: (e["first"]["step"], e["first_cause"]["step"], e["first_cause"]["tensor"]) == (step, step, tensor) and (
        total is None or e["findings_total"] == total)


@case
def updates_left_out(folder):
    """The first two overflow, and step 17."""
    return scaled(folder, lambda step, worker: INF if step in (0, 1, 17) else None), [
        rule("scaled", "ExplodingTensor", left_out(3), strict=False),
        rule("strict", "ExplodingTensor", begins(0, "gradient/fc.weight", 6)),
        rule("norms", "NormSpike", fires(), only_finite=True),
        rule("all norms", "NormSpike", fires(), only_finite=False)]


@case
def updates_left_out_and_saved_now_and_then(folder):
    return scaled(folder, lambda step, worker: INF if step in (0, 20) else None, every=5), [
        rule("scaled", "ExplodingTensor", left_out(2), strict=False)]


def scaled_without_weights(folder, loss):
    """Weights were saved at the first step only; the gradient overflows at steps 0 and 17."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(40):
        made.step(step, "TRAIN", step, {
            **({} if step else {"fc.weight": numpy.full(8, 0.5, "float32")}), "CrossEntropyLoss_output_0": numpy.float32([loss(step)]),
            "gradient/fc.weight": numpy.float32([1e-2] * 7 + [INF if step in (0, 17) else 1e-2])})
    return made.end()


@case
def updates_left_out_as_the_loss_shows(folder):
    return scaled_without_weights(folder, lambda step: 2 - 0.03 * step), [rule("scaled", "ExplodingTensor", left_out(2), strict=False)]


@case
def overflow_that_the_loss_shows(folder):
    """The weight was made infinite by step 17, and the loss NaN behind it."""
    return scaled_without_weights(folder, lambda step: NAN if step > 17 else 2 - 0.03 * step), [
        rule("applied", "ExplodingTensor", lambda e: e["status"] == "IssuesFound" and e["first"]["step"] <= 17, strict=False)]


@case
def overflow_that_goes_on(folder):
    """The scale never comes down again: no update is made from step 25 on."""
    return scaled(folder, lambda step, worker: INF if step in (0, 1) or step >= 25 else None), [
        rule("goes on", "ExplodingTensor", lambda e: e["first"]["step"] == 25 and e["findings_total"] == 30 and e["updates_left_out"] == 2 and
             (e["first_cause"]["step"], e["first_cause"]["last_good_step"]) == (25, 24), strict=False)]


@case
def overflow_that_is_applied(folder):
    return scaled(folder, lambda step, worker: INF if step == 20 else NAN if step > 20 else None, lambda step: INF if step > 20 else 0.0), [
        rule("applied", "ExplodingTensor", begins(20, "gradient/fc.weight"), strict=False)]


@case
def left_out_before_a_fault(folder):
    """Steps 0 and 1 were left out; what is wrong begins at step 30, in the weight."""
    return scaled(folder, lambda step, worker: INF if step in (0, 1) else NAN if step >= 30 else None,
                  lambda step: NAN if step >= 30 else 0.0), [
        rule("later", "ExplodingTensor", begins(30, "fc.weight", 2 * 2 * 10), strict=False)]


@case
def left_out_before_a_fault_in_the_same_gradient(folder):
    """Steps 0 and 1 were left out; from step 30 on the gradient is NaN, and the loss only from step 50 on."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(60):
        made.step(step, "TRAIN", step, {
            "fc.weight": numpy.full(8, 0.5 + 1e-3 * min(step, 30), "float32"),
            "CrossEntropyLoss_output_0": numpy.float32([NAN if step >= 50 else 2 - 0.03 * step]),
            "gradient/fc.weight": numpy.float32([1e-2] * 7 + [INF if step < 2 else NAN if step >= 30 else 1e-2])})
    return made.end(), [
        rule("later", "ExplodingTensor", lambda e: begins(30, "gradient/fc.weight", 40)(e) and e["updates_left_out"] == 2 and
             (e["first_cause"]["certain"], e["first_cause"]["last_good_step"]) == (True, 29) and "NaN" in e["first_cause"]["text"],
             strict=False)]


@case
def mean_of_a_gradient_that_is_nan(folder):
    """A reduction alone was saved. An infinite one is what an overflow makes of it."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(40):
        made.step(step, "TRAIN", step, {
            "%s.weight" % n: numpy.full(8, 0.5 + 1e-3 * step, "float32") for n in ("a", "b")} | {
            "smdebug/reductions/abs_mean/gradient/a.weight": NAN if step in (9, 33) else 1e-2,
            "smdebug/reductions/abs_mean/gradient/b.weight": INF if step == 17 else 1e-2})
    return made.end(), [
        rule("nan", "ExplodingTensor", lambda e: begins(9, "gradient/a.weight", 2)(e) and e["updates_left_out"] == 1, strict=False)]


@case
def overflow_that_is_clipped_by_value(folder):
    """It is applied at every third step, and the weights stay finite. No loss scaling overflows that often."""
    return scaled(folder, lambda step, worker: INF if step % 3 == 2 else None), [
        rule("third", "ExplodingTensor", begins(2, "gradient/fc.weight", 2 * 13), strict=False)]


@case
def overflow_at_every_second_step(folder):
    return scaled(folder, lambda step, worker: INF if step % 2 == 1 else None), [
        rule("second", "ExplodingTensor", begins(1, "gradient/fc.weight", 2 * 20), strict=False)]


@case
def scale_that_begins_far_too_high(folder):
    return scaled(folder, lambda step, worker: INF if step < 16 else None), [
        rule("scaled", "ExplodingTensor", left_out(16), strict=False)]


@case
def overflow_through_most_of_the_training(folder):
    """No factor needs 30 halvings."""
    return scaled(folder, lambda step, worker: INF if step < 30 else None), [
        rule("long", "ExplodingTensor", begins(0, "gradient/fc.weight", 2 * 30), strict=False)]


@case
def overflow_between_the_steps_of_another_worker(folder):
    """Each worker saves every second multiple of ten. What one applies at step 20 it shows at step 40; an embedding is frozen."""
    made = Made(folder, collections=COLLECTIONS, workers=2)
    for step in range(0, 100, 10):
        made.step(step, "TRAIN", step, {"worker_%d" % (step // 10 % 2): {
            "embed.weight": numpy.full(8, 0.5, "float32"),
            "a.weight": numpy.full(8, NAN if step >= 30 else 0.5 + 1e-3 * step, "float32"),
            "gradient/a.weight": numpy.float32([1e-2] * 7 + [INF if step == 20 else NAN if step > 20 else 1e-2])}})
    return made.end(), [rule("applied", "ExplodingTensor", begins(20, "gradient/a.weight"), strict=False)]


@case
def nan_in_a_gradient(folder):
    """No overflow: nothing says that it was meant."""
    return scaled(folder, lambda step, worker: NAN if step == 9 else None), [
        rule("nan", "ExplodingTensor", begins(9, "gradient/fc.weight", 2), strict=False)]


@case
def overflow_at_most_steps(folder):
    return scaled(folder, lambda step, worker: INF if step % 4 else None), [
        rule("most", "ExplodingTensor", begins(1, "gradient/fc.weight", 60), strict=False)]


# -- names that look like others

@case
def mask_that_is_called_bias(folder):
    """attn_bias_output_0 is what a module returned, and no bias."""
    made = Made(folder, collections=COLLECTIONS)
    mask = numpy.triu(numpy.full((4, 4), -INF, "float32"), 1)
    for step in range(6):
        made.step(step, "TRAIN", step, {"attn_bias_output_0": mask, "fc.weight": numpy.full(4, 0.1 * step, "float32"),
                                        "CrossEntropyLoss_output_0": numpy.float32([1])})
    return made.end(), [
        rule("mask", "ExplodingTensor", lambda e: e["status"] == "NoIssuesFound" and e["meant"] == ["attn_bias_output_0"], strict=False),
        rule("strict", "ExplodingTensor", lambda e: e["findings_total"] == 6)]


@case
def weight_that_begins_as_nan(folder):
    """No update comes before step 0."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(6):
        made.step(step, "TRAIN", step, {"fc.weight": numpy.full(4, NAN, "float32"), "fc_output_0": numpy.full(4, NAN, "float32")})
    return made.end(), [rule("begin", "ExplodingTensor", lambda e: e["first_cause"]["text"].startswith("fc.weight began as NaN"), strict=False)]


# -- modes that are set late

def late_mode(folder, losses, held):
    """The mode is set at the first evaluation, behind the 20th step, and for all that follow."""
    made, step, counts = Made(folder, collections=COLLECTIONS), 0, {}
    for k, loss in enumerate(losses):
        for mode, value in [("TRAIN" if k >= 20 else "GLOBAL", loss)] + ([("EVAL", held[k])] if k % 10 == 9 else []):
            made.step(step, mode, counts.get(mode, 0), {"CrossEntropyLoss_output_0": numpy.float32([value])})
            step, counts[mode] = step + 1, counts.get(mode, 0) + 1
    return made.end()


COURSE = {"against": "start", "diff_percent": 5, "plateau_percent": 25}
OVERFIT = {"patience": 2, "ratio_threshold": 0.3, "rise_threshold": 0.2, "gain_share": 0.25}


@case
def learned_before_the_mode_was_set(folder):
    """The loss falls from 2 to 0.1 in 20 steps, and stands still then; the validation loss creeps up by next to nothing."""
    losses = [max(0.1, 2 - 0.1 * k) for k in range(80)]
    return late_mode(folder, losses, [0.13 + 0.001 * k for k in range(80)]), [
        rule("course", "LossNotDecreasing", fires(), **COURSE),
        rule("held", "Overfit", fires(), **OVERFIT),
        rule("of the mode", "LossNotDecreasing", lambda e: e["findings_total"] > 0, mode="TRAIN", **COURSE)]


@case
def nothing_learned_before_the_mode_was_set(folder):
    return late_mode(folder, [2.0] * 80, [2.0] * 80), [rule("course", "LossNotDecreasing", lambda e: e["findings_total"] > 0, **COURSE)]


# -- a warm-up that begins at zero

@case
def warm_up_from_zero_with_accumulation(folder):
    """Four passes an update, and the first update has a learning rate of zero."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(60):
        moved = max(0, step // 4 - 1)
        made.step(step, "TRAIN", step, {"fc.weight": numpy.full(8, 0.5 + 1e-3 * moved, "float32"), "gradient/fc.weight": numpy.full(8, 1e-2)})
    return made.end(), [rule("frozen", "WeightFrozenDespiteGradient", fires()), rule("still", "UnchangedTensor", fires(), **TRAINED)]


# -- a schedule that is done before the training is

def cooled(folder, until, faded, steps=120):
    """The rate falls from step 60 on, to nothing at `until`, where faded; else it is whole up to there."""
    made, w = Made(folder, collections=COLLECTIONS), 0.5
    for step in range(steps):
        made.step(step, "TRAIN", step, {"fc.weight": numpy.full(8, w, "float32"), "gradient/fc.weight": numpy.full(8, 1e-2)})
        w += 0 if step >= until else 1e-3 * (min(1.0, (until - step) / (until - 60)) if faded else 1.0)
    return made.end()


def stood(first):
    return [rule("frozen", "WeightFrozenDespiteGradient", lambda e: e["first"]["step"] == first + 2),
            rule("still", "UnchangedTensor", lambda e: e["first"]["step"] == first + 2, **TRAINED)]


@case
def schedule_that_ends_just_before(folder):
    return cooled(folder, 112, True), [rule("frozen", "WeightFrozenDespiteGradient", fires()), rule("still", "UnchangedTensor", fires(), **TRAINED)]


@case
def schedule_that_ends_far_too_early(folder):
    """The training goes on for a third of its steps: the eighth of them is a tenth of those before."""
    return cooled(folder, 80, True), [rule("frozen", "WeightFrozenDespiteGradient", lambda e: 80 < e["first"]["step"] <= 90)]


@case
def updates_that_stop_at_once(folder):
    return cooled(folder, 112, False), stood(112)


@case
def weights_whose_gradient_is_zero(folder):
    """They stand for want of a gradient: the finding says so."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(20):
        made.step(step, "TRAIN", step, {"fc.weight": numpy.full(8, 0.5, "float32"), "gradient/fc.weight": numpy.zeros(8, "float32")})
    return made.end(), [rule("still", "UnchangedTensor", lambda e: e["first"]["note"] == "its gradient is exactly zero", **TRAINED)]


# -- padding, and losses of any size

def sequences(folder, padded, early=False):
    """Eight letters, well predicted; where the sequence ended the label is 0, and some letter is predicted. At step 2, or 40, of 50."""
    made, random = Made(folder), numpy.random.default_rng(4)
    for step in range(50):
        letters = random.integers(1, 9, 600)
        ended = random.random(600) < padded
        shown = numpy.where(random.random(600) < 0.8, letters, random.integers(1, 9, 600))
        scores = numpy.eye(9, dtype="float32")[numpy.where(ended, 3, shown)]
        mode = "EVAL" if step == (2 if early else 40) else "TRAIN"
        made.step(step, mode, step if mode == "TRAIN" else 0, {
            "CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_input_1": numpy.where(ended, 0, letters)})
    return made.end()


CONFUSION = {"labels": "CrossEntropyLoss_input_1", "predictions": "CrossEntropyLoss_input_0", "mode": "EVAL", "accumulate": True,
             "last_evaluation": True, "only_classes": True, "evidence": 3, "padding": True, "min_diag": 0, "max_off_diag": 0.5}


@case
def padded_sequences(folder):
    return sequences(folder, 0.4), [
        rule("padding", "Confusion", lambda e: e["status"] == "NoIssuesFound" and "Label 0, by far the most frequent" in e["message"],
             **CONFUSION),
        rule("not asked for", "Confusion", fires(40), **dict(CONFUSION, padding=False))]


@case
def small_class_that_is_lost(folder):
    """About as many as of any other class, and never predicted: not padding."""
    return sequences(folder, 0.12), [
        rule("lost", "Confusion", lambda e: e["first"]["step"] == 40 and "by far" not in e["message"],
             **dict(CONFUSION, max_off_diag=0.3))]


@case
def evaluation_at_the_beginning(folder):
    return sequences(folder, 0.4, early=True), [
        rule("early", "Confusion", lambda e: e["status"] == "NoData" and "too early to judge" in e["message"], **CONFUSION),
        rule("beside", "ExplodingTensor", fires())]


def large(folder, loss):
    made = Made(folder, collections=COLLECTIONS)
    for step in range(10):
        made.step(step, "TRAIN", step, {"MSELoss_output_0": numpy.float32([loss(step)]), "gradient/fc.weight": numpy.full(4, 1e6, "float32")})
    return made.end()


@case
def large_targets(folder):
    """Losses of 10^10 from the first step on, and gradients of their size."""
    return large(folder, lambda step: 1e10 / (step + 1)), [
        rule("fit", "HalfPrecisionRisk", fires(), losses_fit=True),
        rule("all", "HalfPrecisionRisk", fires(*range(10)))]


@case
def loss_that_becomes_large(folder):
    return large(folder, lambda step: 1.0 if step < 5 else 1e6), [rule("fit", "HalfPrecisionRisk", fires(*range(10)), losses_fit=True)]


def broken(folder, losses, bad=27, every=10):
    """Weights of every 10th step, and of the one from which on they are NaN; losses(step) at each step are a dictionary."""
    made = Made(folder, collections=COLLECTIONS)
    for s in range(32):
        weights = {name: numpy.full(4, NAN if s >= bad else 1.0 + s) for name in ("Net_a.weight", "Net_b.weight")}
        made.step(s, "TRAIN", s, {**(weights if s % every == 0 or s >= bad else {}), **losses(s)})
    return made.end()


def known_until(name, good, text):
    def right(e):
        cause = e["first_cause"]
        return (cause["step"], cause["last_good_step"], cause["certain"], cause["text"]) == (27, good, False, text)
    return rule(name, "ExplodingTensor", right)


@case
def weights_that_a_loss_shows_good(folder):
    """The loss of step 26 is computed from weights that were not saved."""
    return broken(folder, lambda s: {"A_loss_output_0": numpy.nan if s >= 27 else 1.0}), [
        known_until("every step", 26, "the update before step 27 made all 2 weights NaN")]


@case
def weights_of_which_a_loss_says_nothing(folder):
    """A loss that stays finite is computed from others."""
    return broken(folder, lambda s: {"A_loss_output_0": 1.0 - s / 100}), [known_until("another", 20, "an update made all 2 weights NaN between steps 21 and 27")]


@case
def weights_of_two_losses(folder):
    """The one that is seldom recorded may have been NaN before."""
    return broken(folder, lambda s: {"A_loss_output_0": numpy.nan if s >= 27 else 1.0, **({"B_loss_output_0": numpy.nan if s >= 27 else 1.0} if s in (4, 27) else {})}), [
        known_until("two", 20, "an update made all 2 weights NaN between steps 21 and 27")]


if __name__ == "__main__":
    main()
