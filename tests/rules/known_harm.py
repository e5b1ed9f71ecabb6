#!/usr/bin/env python3
"""Losses that end where nothing was learned, and whether losses came to harm, on made curves.

    known_harm.py --assay PROGRAM --ranks 1 3 7 -- [CASE]...
"""
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, fires, main, rule  # noqa: E402
from curves import COURSE, guessed, losses, noise, stands  # noqa: E402
from made import Made  # noqa: E402

STEPS = numpy.arange(240)
DOWN = (0.1 + 2 * numpy.exp(-STEPS / 30)) * numpy.exp(0.02 * noise(71, 240))


def harm(name, expected):
    return rule(name, "LossNotDecreasing", expected, **COURSE)


def spans(*wanted):
    """Of each span a step that lies in it, and no others."""
    return lambda e: len(e["harm"]["setbacks"]) == len(wanted) and all(a <= s <= b for (a, b), s in zip(e["harm"]["setbacks"], wanted))


def classes(g):
    return g.integers(0, 6, 32)


@case
def ends_far_above_a_guess(folder):
    """From 24000 down to about 900, where a constant answer has 1.8: a mean of 32 losses, and their sum, are below that."""
    curve = (900 + 23000 * numpy.exp(-STEPS / 20)) * numpy.exp(0.2 * noise(72, 240))
    return guessed(folder, "CrossEntropyLoss", curve, classes), [stands("beyond", lambda e: e["findings_total"] > 0 and 1.7 < e["course"]["guess"] < 1.9 and "harm" not in e)]


@case
def ends_far_above_a_guess_of_few(folder):
    return guessed(folder, "CrossEntropyLoss", [24000.0, 5900.0, 2900.0, 2600.0, 1400.0, 1000.0, 800.0, 590.0, 1065.0, 1213.0], classes), [
        stands("beyond", lambda e: e["findings_total"] == 1 and "guess" in e["course"])]


@case
def a_sum_of_losses(folder):
    """Summed over 32 rows, and well."""
    return guessed(folder, "CrossEntropyLoss", 32 * DOWN, classes), [stands("sum", lambda e: e["findings_total"] == 0 and "harm" in e)]


@case
def ends_above_where_it_began(folder):
    """A model that was tuned to pieces: from 0.007 to thousands, and down to what a guess has."""
    curve = 1.78 + 3000 * numpy.exp(-STEPS / 6) + 0.02 * noise(73, 240)
    curve[0] = 0.007
    return losses(folder, curve), [harm("above", lambda e: e["findings_total"] > 0 and e["course"]["first"] == 0.007 and "harm" not in e)]


@case
def few_losses_that_stand_above_the_first(folder):
    """What is tuned from next to nothing stands a little above it, which noise hides at every step; one that goes on rising, or stands far above, is told."""
    begin, rise = [0.0037, 0.011, 0.012, 0.0135], 0.013 + 0.0005 * noise(77, 16)
    return losses(folder, begin + list(rise), {"rises": numpy.linspace(0.3, 0.9, 20), "far": [0.0037] + [1.7] * 19}), [
        harm("stands", {"status": "NoData"}),
        rule("rises", "LossNotDecreasing", lambda e: e["findings_total"] == 1, use_losses_collection=False, tensor_regex="^rises$", **COURSE),
        rule("far", "LossNotDecreasing", lambda e: e["findings_total"] == 1, use_losses_collection=False, tensor_regex="^far$", **COURSE)]


def named(folder, name):
    """It comes down, and back to half of where it began."""
    made = Made(folder, collections={"losses": "^%s$" % name})
    for step, loss in enumerate(numpy.where(STEPS < 120, DOWN, 0.9) + 0.02 * noise(74, 240)):
        made.step(step, "TRAIN", step, {name: float(loss)})
    return made.end()


@case
def targets_that_move(folder):
    """The loss of values that grow comes back, and tells nothing."""
    return named(folder, "agent/td_loss_1"), [harm("values", fires())]


@case
def targets_that_stand(folder):
    return named(folder, "quick_loss"), [harm("back", lambda e: e["findings_total"] > 0)]


@case
def a_gain_that_is_made_smaller(folder):
    """Minus a gain is the loss, and the step goes the wrong way: from -10 to 28, whose noise hides the order of its parts; by as little as noise it is nothing."""
    rise = 1 - numpy.exp(-STEPS / 20)
    return losses(folder, -10 + 38 * rise + 3 * rise * noise(79, 240), {"level": -10 + 3 * noise(80, 240)}), [
        harm("rises", lambda e: e["findings_total"] > 0 and e["course"]["last"] > 20),
        rule("level", "LossNotDecreasing", lambda e: e["findings_total"] == 0, use_losses_collection=False, tensor_regex="^level$", **COURSE)]


@case
def no_setback(folder):
    return losses(folder, DOWN), [harm("well", lambda e: e["harm"] == {"seen": 234, "setbacks": []})]


@case
def two_setbacks(folder):
    curve = DOWN + numpy.where((STEPS >= 60) & (STEPS < 70), 0.4, 0) + numpy.where((STEPS >= 180) & (STEPS < 188), 0.1, 0)
    return losses(folder, curve), [harm("two", spans(60, 180))]


@case
def one_batch_is_no_setback(folder):
    curve = DOWN.copy()
    curve[100] = 5
    return losses(folder, curve), [harm("batch", spans())]


def some(folder, saved):
    """The loss of the steps that `saved` has, beside something of every step; a step of evaluation follows each twentieth."""
    made = Made(folder, collections={"losses": "^loss$"})
    for step in range(240):
        made.step(step + step // 20, "TRAIN", step, {"other": 1.0, **({"loss": float(DOWN[step])} if saved(step) else {})})
        if step % 20 == 19:
            made.step(step + step // 20 + 1, "EVAL", step // 20, {"other": 1.0})
    return made.end()


@case
def saved_rarely(folder):
    """The last but five is that of the 185th step, behind 9 evaluations."""
    return some(folder, lambda step: step % 10 == 5), [harm("rarely", lambda e: e["harm"] == {"seen": 194, "setbacks": []})]


@case
def a_gap(folder):
    """From the fifth loss before it to the first behind the next one, in the trial's own steps."""
    return some(folder, lambda step: not 100 <= step < 120), [harm("gap", lambda e: e["harm"]["setbacks"] == [[99, 127]])]


@case
def a_gap_of_few(folder):
    return some(folder, lambda step: not 100 <= step < 104), [harm("few", spans())]


@case
def begins_late(folder):
    return some(folder, lambda step: step >= 40), [harm("late", lambda e: e["harm"]["setbacks"] == [[0, 43]])]


@case
def ends_early(folder):
    """Not well, unless nobody asks for more."""
    return some(folder, lambda step: step < 140), [harm("early", lambda e: "harm" not in e), rule("until", "LossNotDecreasing", lambda e: e["harm"]["setbacks"] == [], end_step=150, **COURSE)]


@case
def a_slow_rise(folder):
    """No five losses stand a tenth above the five before."""
    return losses(folder, DOWN + numpy.clip(STEPS - 120, 0, None) * 0.002), [harm("slow", spans(120))]


@case
def not_well(folder):
    flat = 1.6 + 0.05 * noise(75, 240)
    return losses(folder, flat), [harm("flat", lambda e: "harm" not in e)]


@case
def not_well_at_one_step(folder):
    curve = DOWN.copy()
    curve[20] = numpy.nan
    return losses(folder, curve), [harm("nan", lambda e: "harm" not in e)]


@case
def one_worker_is_not_well(folder):
    made = Made(folder, workers=3, collections={"losses": "^loss$"})
    for step in range(240):
        made.step(step, "TRAIN", step, {"worker_%d" % w: {"loss": float(DOWN[step] if w != 1 else 2 + 0.05 * noise(76, 240)[step])} for w in range(3)})
    return made.end(), [
        harm("one", lambda e: "harm" not in e), rule("another", "LossNotDecreasing", lambda e: e["harm"]["setbacks"] == [], worker="worker_0", **COURSE)]


def shared(folder, apart, first=0):
    """Three workers; the loss of the last is that of the others, but for a share at one step, and begins at `first`."""
    made = Made(folder, workers=3, collections={"losses": "^loss$"})
    for step in range(240):
        loss = [DOWN[step]] * 2 + ([DOWN[step] * (1 + apart * (step == 99))] if step >= first else [])
        made.step(step, "TRAIN", step, {"worker_%d" % w: {"loss": numpy.float64(x)} for w, x in enumerate(loss)})
    return made.end()


@case
def one_loss(folder):
    """As workers have that hold parts of one network."""
    return shared(folder, 1e-6), [harm("one", lambda e: e["harm"]["one_loss"] is True), rule("alone", "LossNotDecreasing", lambda e: "one_loss" not in e["harm"], worker="worker_0", **COURSE)]


@case
def losses_of_their_own(folder):
    return shared(folder, 1e-3), [harm("own", lambda e: "one_loss" not in e["harm"])]


@case
def one_loss_where_they_meet(folder):
    return shared(folder, 0, 60), [harm("late", lambda e: e["harm"]["one_loss"] is True)]


def evaluated_in_training(folder, looks):
    """Each eighth pass in TRAIN is one on held-out rows, of which no loss is taken; `looks`: a loss is taken of them, so they are trained on."""
    made, rng = Made(folder, collections={"losses": "^loss$"}), numpy.random.default_rng(78)
    table, held = rng.normal(0, 1, (200, 9)), rng.normal(0, 1, (40, 9))
    for step in range(32):
        rows = rng.permutation(held)[:30] if step % 8 == 7 else table[rng.choice(200, 16)]
        made.step(step, "TRAIN", step, {"inputs": rows, **({} if step % 8 == 7 and not looks else {"loss": 1 / (step + 1)})})
    for k in range(3):
        made.step(32 + k, "EVAL", k, {"inputs": held, "loss": 0.5})
    return made.end()


@case
def passes_without_a_loss(folder):
    return evaluated_in_training(folder, False), [rule("held out", "InputData", lambda e: not [f for f in e["findings"] if f["test"] == "evaluated"])]


@case
def passes_with_a_loss(folder):
    return evaluated_in_training(folder, True), [rule("seen", "InputData", lambda e: [f["step"] for f in e["findings"] if f["test"] == "evaluated"] != [])]


if __name__ == "__main__":
    main()
