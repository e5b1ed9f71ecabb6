#!/usr/bin/env python3
"""Rules about losses and norms over a whole training, on made curves, with noise from a seed: what is healthy fires nothing,
what is planted is found at its step.

    known_courses.py --assay PROGRAM --ranks 1 3 7 -- [CASE]...
"""
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, fires, main, rule, values  # noqa: E402
from curves import COURSE, guessed, losses, noise, stands  # noqa: E402
from made import Made  # noqa: E402


def descent(seed, steps, begin=2.3, end=0.05, pace=20.0):
    """Falls from `begin` to `end`, with noise of a fifth of itself."""
    return (end + (begin - end) * numpy.exp(-numpy.arange(steps) / pace)) * numpy.exp(0.2 * noise(seed, steps))


@case
def jump_right_after_a_descent(folder):
    """From 4.6 down to 0.3, then 3.3: below what the window still holds."""
    curve = [4.6, 4.1, 3.4, 2.6, 1.9, 1.3, 0.9, 0.6, 0.42, 0.33, 0.3, 3.3, 0.32, 0.29, 0.3, 0.28, 0.29]
    return losses(folder, curve), [rule("jump", "LossSpike", values([(11, 3.3)]))]


@case
def noise_of_a_converged_loss(folder):
    """Single batches of a loss next to zero differ by orders of magnitude, and by nothing beside the 2.3 of the beginning."""
    curve = descent(3, 200, end=0) + 1e-4 * numpy.exp(1.5 * noise(4, 200))
    spike = curve.copy()
    spike[150] = 1.4
    return losses(folder, curve, {"loss_spike": spike}), [
        rule("noise", "LossSpike", fires(datapoints=195)),
        rule("spike", "LossSpike", fires(150), collection_names="none", tensor_regex="loss_spike"),
    ]


@case
def heavy_tails(folder):
    """One batch in thirty is ten times as hard: that is what the data are. A batch that is a hundred times as hard is not."""
    hard = numpy.where(numpy.random.default_rng(5).random(300) < 0.03, 10.0, 1.0)
    curve = descent(6, 300, begin=2.0, end=1.0) * hard
    worse = curve.copy()
    worse[200] = 200.0
    return losses(folder, curve, {"loss_worse": worse}), [
        rule("tails", "LossSpike", fires()),
        rule("beyond", "LossSpike", fires(200), collection_names="none", tensor_regex="loss_worse"),
    ]


@case
def losses_that_rise_above_zero(folder):
    """A loss may be negative: a jump is judged by what the loss was at the beginning."""
    curve = -5 + 6 * numpy.exp(-numpy.arange(60) / 10) + 0.05 * noise(7, 60)
    curve[40] = 4.0
    return losses(folder, curve), [rule("negative", "LossSpike", fires(40))]


@case
def few_losses_that_came_back(folder):
    """Seven saved losses of a descent, then those of labels that lost their order. Its twin goes on."""
    down = [2.4, 1.9, 1.5, 1.1, 0.9, 0.7, 0.6]
    lost = numpy.array(down + [2.3] * 9) + 0.05 * noise(21, 16)
    well = numpy.array(down + [0.5, 0.45, 0.4, 0.41, 0.38, 0.37, 0.35, 0.36, 0.33]) + 0.05 * noise(22, 16)
    return losses(folder, lost, {"well": well}), [
        rule("lost", "LossNotDecreasing", lambda e: e["findings_total"] == 1 and e["course"]["least"] < 0.9, **COURSE),
        rule("well", "LossNotDecreasing", lambda e: e["findings_total"] == 0, use_losses_collection=False, tensor_regex="well", **COURSE),
    ]


@case
def divergence_below_the_beginning(folder):
    """The loss of a language model begins at the logarithm of its vocabulary: when it is up by two thirds again, less than half of what it had gained is
    lost. Its twin meets harder data."""
    curve = 2.5 + 8.3 * (1 + numpy.arange(120) / 4) ** -0.8 + 0.02 * noise(24, 120)
    lost, harder = curve.copy(), curve.copy()
    lost[80:] += 2.0
    harder[80:] += 0.7
    return losses(folder, lost, {"harder": harder}), [
        rule("lost", "LossNotDecreasing", lambda e: e["findings_total"] > 0 and e["course"]["last"] > 4 and e["course"]["least_at"] == 79, **COURSE),
        rule("harder", "LossNotDecreasing", lambda e: e["findings_total"] == 0, use_losses_collection=False, tensor_regex="harder", **COURSE),
    ]


def with_evaluations(folder, curve, evaluated):
    """Thirty noisy losses of training, and one of evaluation behind every fifth."""
    made, step = Made(folder, collections={"losses": "^loss$"}), 0
    for k in range(30):
        made.step(step, "TRAIN", k, {"loss": float(curve[k])})
        step += 1
        if k % 5 == 4:
            made.step(step, "EVAL", k // 5, {"loss": float(evaluated[k // 5])})
            step += 1
    return made.end()


def slow_curve():
    """Some percent lower from the first to the last, under noise of as much."""
    return numpy.array([3.1, 3.05, 3.0, 2.95] + [2.83] * 26) - 0.003 * numpy.arange(30) + 0.05 * noise(23, 30)


@case
def noise_over_a_slow_descent(folder):
    """What falls from evaluation to evaluation does not stand still."""
    return with_evaluations(folder, slow_curve(), [2.8, 2.71, 2.68, 2.63, 2.6, 2.55]), [rule("slow", "LossNotDecreasing", fires(), **COURSE)]


@case
def noise_over_no_descent(folder):
    return with_evaluations(folder, slow_curve(), [2.8, 2.81, 2.79, 2.8, 2.82, 2.8]), [
        rule("stands", "LossNotDecreasing", lambda e: e["findings_total"] > 0, **COURSE)]


def logged_rarely():
    """Of a warmed-up model every tenth loss: by the fifth of them most of what it gains has been gained."""
    return numpy.array([3.22, 3.11, 3.01, 2.99, 2.97] + [2.9] * 25) + 0.02 * noise(31, 30) * (numpy.arange(30) > 4)


@case
def descent_before_the_first_losses_end(folder):
    return with_evaluations(folder, logged_rarely(), [2.98, 2.97, 2.96, 2.94, 2.9, 2.78]), [rule("falls", "LossNotDecreasing", fires(), **COURSE)]


@case
def descent_to_the_loss_of_a_guess(folder):
    """Calibrated within five losses, and never better than that."""
    return with_evaluations(folder, logged_rarely(), [2.91, 2.9, 2.89, 2.91, 2.9, 2.9]), [
        rule("stands", "LossNotDecreasing", lambda e: e["findings_total"] > 0, **COURSE)]


@case
def evaluation_that_hardly_gains(folder):
    """Learned by heart, or fed otherwise: the member tells it from a loss that rises after a gain."""
    curve, rise = 3.0 * numpy.exp(-numpy.arange(30) / 8), dict(rise_threshold=0.1, patience=3, gain_share=0.25)
    return with_evaluations(folder, curve, [2.8, 2.9, 3.1, 3.4, 3.7, 4.0]), [
        rule("never", "Overfit", lambda e: e["findings_total"] > 0 and e["never_gained"] is True, **rise)]


@case
def evaluation_that_gains_and_loses(folder):
    curve, rise = 3.0 * numpy.exp(-numpy.arange(30) / 8), dict(rise_threshold=0.1, patience=3, gain_share=0.25)
    return with_evaluations(folder, curve, [1.6, 1.2, 1.9, 2.3, 2.6, 2.9]), [
        rule("rose", "Overfit", lambda e: e["findings_total"] > 0 and "never_gained" not in e, **rise)]


def norms(folder, workers, per_step):
    """Vectors of one element per worker, so the norm is its size."""
    made = Made(folder, workers=workers, collections={"gradients": "^gradient"})
    for step, row in enumerate(per_step):
        made.step(step, "TRAIN", step, {"worker_%d" % w: {"gradient/w": numpy.array([float(x)])} for w, x in enumerate(row)})
    return made.end()


@case
def norms_with_heavy_tails(folder):
    """Near the end, norms of single batches differ by orders of magnitude from step to step and from worker to worker."""
    fall = numpy.exp(-numpy.arange(120) / 12)[:, None]
    rows = fall * numpy.exp(1.5 * noise(8, 480).reshape(120, 4))
    return norms(folder, 4, rows), [rule("tails", "NormSpike", fires(datapoints=4 * 115 + 4 * 120))]


@case
def norm_of_a_flipped_bit(folder):
    fall = numpy.exp(-numpy.arange(120) / 60)[:, None]
    rows = fall * numpy.exp(0.5 * noise(9, 480).reshape(120, 4))
    rows[70, 2] *= 2.0 ** 16
    return norms(folder, 4, rows), [
        rule("flip", "NormSpike", lambda e: fires(70, findings_total=2).items() <= e.items() and
             {f["worker"] for f in e["findings"]} == {"worker_2"} and
             [f["test"] for f in e["findings"]] == ["history", "workers"])]


@case
def norm_that_runs_away_behind_a_flipped_bit(folder):
    """What the one bad update makes of all workers is larger still, and does not make the first jump one of many."""
    rows = numpy.exp(0.5 * noise(10, 480).reshape(120, 4))
    rows[70, 2] *= 2.0 ** 16
    for step, factor in ((71, 1e3), (72, 1e8), (73, 1e10), (74, 1e13)):
        rows[step] *= factor
    return norms(folder, 4, rows), [
        rule("flip", "NormSpike", lambda e: e["first"]["step"] == 70 and e["first"]["worker"] == "worker_2")]


def judged(name, expected, tensor="^loss$", **more):
    return rule(name, "LossNotDecreasing", expected, against="start", diff_percent=5, use_losses_collection=False,
                tensor_regex=tensor, **more)


@case
def losses_that_come_down(folder):
    """Noisy, with a warm-up, converged for long, with a floor well above zero, of a model that is trained on and logged
    rarely, or of a policy, which swings about zero: nothing is wrong with them."""
    steps = numpy.arange(240)
    warm = 2.3 - 2.0 / (1 + numpy.exp(-(steps - 100) / 15)) + 0.2 * noise(11, 240)
    floor = 0.9 + 0.7 * numpy.exp(-steps / 5) + 0.1 * noise(12, 240)
    rival = 0.7 + 0.004 * steps + 0.05 * noise(13, 240)  # its adversary is `loss`
    tuned = 1.3 + numpy.where(steps < 3, 1.0 - 0.4 * steps, 0.1 * numpy.exp(-steps / 40)) + 0.03 * noise(18, 240)
    policy = numpy.where(steps < 13, 0.08 * noise(19, 240), 5e-5 + 1e-6 * noise(20, 240))
    return losses(folder, descent(10, 240), {"warm": warm, "floor": floor, "rival": rival, "tuned": tuned, "policy": policy}), [
        judged("noisy", fires()), judged("warm", fires(), "^warm$"), judged("floor", fires(), "^floor$"),
        judged("tuned", fires(), "^tuned$"), judged("policy", fires(), "^policy$"),
        judged("adversaries", fires(), "^loss$,^rival$"),
        judged("alone", lambda e: e["status"] == "IssuesFound", "^rival$"),
        rule("as documented", "LossNotDecreasing", lambda e: e["findings_total"] > 5)]


@case
def losses_that_do_not(folder):
    steps = numpy.arange(240)
    flat = 1.6 + 0.05 * noise(14, 240)
    over = numpy.where(steps < 8, 1.7 + 3 * numpy.sin(steps / 8 * numpy.pi), 1.61) + 0.02 * noise(15, 240)  # thrown up at first
    plateau = 1.6 + 0.2 * numpy.exp(-steps / 6) + 0.02 * noise(16, 240)  # down to guessing, and no further
    back = numpy.where(steps < 120, 0.3 + 2 * numpy.exp(-steps / 20), 2.4) + 0.05 * noise(17, 240)
    made = losses(folder, flat, {"over": over, "plateau": plateau, "back": back})
    return made, [
        judged("flat", lambda e: e["first"]["step"] == 23 and e["findings_total"] == e["datapoints"] == 32),
        judged("over", lambda e: e["status"] == "IssuesFound", "^over$"),
        judged("plateau", lambda e: e["first"]["threshold"] == 20, "^plateau$"),
        judged("back", lambda e: 120 <= e["first"]["step"] < 180 and "gained" in e["first"]["note"], "^back$"),
        judged("too few", {"status": "NoData"}, "^loss$", end_step=20)]


def little(seed, begin, end):
    """A little lower within the first steps, and flat."""
    return end + (begin - end) * numpy.exp(-numpy.arange(240) / 4) + 0.01 * noise(seed, 240)


@case
def little_learned_of_much_noise(folder):
    """A tenth of the variance can be told, and is: below any guess, the loss does not stand for nothing."""
    return guessed(folder, "MSELoss", little(41, 1.0, 0.88), lambda g: g.normal(0, 1, 64).astype("float32")), [stands("learned", fires())]


@case
def guess_of_much_noise(folder):
    """Its twin comes down to the variance, by as much."""
    return guessed(folder, "MSELoss", little(42, 1.14, 1.0), lambda g: g.normal(0, 1, 64).astype("float32")), [
        stands("guess", lambda e: e["findings_total"] > 0)]


@case
def classes_that_were_learned_before(folder):
    """A model that is tuned: the loss is far below the entropy of its labels from the beginning."""
    return guessed(folder, "CrossEntropyLoss", little(43, 0.5, 0.49), lambda g: g.integers(0, 6, 64)), [stands("tuned", fires())]


@case
def classes_that_are_guessed(folder):
    return guessed(folder, "CrossEntropyLoss", little(44, 1.9, 1.79), lambda g: g.integers(0, 6, 64)), [
        stands("guess", lambda e: e["findings_total"] > 0)]


@case
def right_one_that_stands_first(folder):
    """Against a queue of others all labels are 0: what they are worth changes as the queue fills, and the loss rises by a tenth."""
    curve = 2.1 - 0.2 * numpy.exp(-numpy.arange(240) / 20) + 0.02 * noise(45, 240)
    return guessed(folder, "CrossEntropyLoss", curve, lambda g: numpy.zeros(32, "int64")), [stands("queue", fires())]


@case
def labels_of_one_class_and_a_loss_that_rises(folder):
    return guessed(folder, "CrossEntropyLoss", 0.7 + 0.02 * numpy.arange(240) + 0.02 * noise(46, 240), lambda g: numpy.zeros(32, "int64")), [
        stands("rises", lambda e: e["findings_total"] > 0)]


@case
def loss_of_an_unknown_kind_that_falls_slowly(folder):
    """From 2.26 to 1.97 over a third of the steps: nobody can tell where it has to come to."""
    curve = 1.97 + 0.29 * numpy.exp(-numpy.arange(120) / 20) + 0.005 * noise(47, 120)
    return losses(folder, curve), [stands("slow", fires())]


@case
def few_losses_of_two_players(folder):
    """What the one gains the other loses: twelve losses are too few to see more."""
    made = Made(folder, collections={"losses": "_loss$"})
    for k in range(12):
        made.step(k, "TRAIN", k, {"maker_loss": 0.11 + 0.1 * k, "judge_loss": 2.0 / (1 + k)})
    return made.end(), [stands("players", {"status": "NoData"}), rule("sound", "ExplodingTensor", fires())]


@case
def constant_weights(folder):
    """Weights of norm layers begin as ones and residual blocks with zeros; a matrix of equal weights is a mistake."""
    made = Made(folder)
    for step in range(6):
        moved = numpy.linspace(0, 0.01, 4) * step
        made.step(step, "TRAIN", step, {
            "norm.weight": 1 + moved, "block.weight": numpy.outer(moved, moved), "even.weight": numpy.full((4, 4), 0.05),
            "dead.weight": numpy.zeros(4), "late.weight": numpy.ones(4) * (step < 2)})
    begins = dict(min_dims=2, skip_zero=True)
    every = list(range(6))
    return made.end(), [
        rule("as documented", "TensorVariance", lambda e: e["findings_total"] == 1 + 1 + 6 + 6 + 6, tensor_regex="weight",
             min_threshold=1e-12),
        rule("built in", "TensorVariance", lambda e: e["steps"] == every and {f["tensor"] for f in e["findings"]} ==
             {"even.weight"}, tensor_regex="weight", min_threshold=1e-12, **begins),
        rule("zero", "AllZero", lambda e: e["findings_total"] == 1 + 6 + 4, tensor_regex="weight"),
        rule("zero for long", "AllZero", lambda e: e["steps"] == every and e["findings_total"] == 10, tensor_regex="weight",
             num_steps=3),
        rule("longer", "AllZero", lambda e: {f["tensor"] for f in e["findings"]} == {"dead.weight"}, tensor_regex="weight",
             num_steps=5),
    ]


# -- norms of weights

def course(name, test=None, first=None):
    """That test of WeightCourse alone fires, first at that step; without a test nothing does."""
    return rule(name, "WeightCourse", lambda e: e["status"] == "NoIssuesFound" if test is None else (
        {f["test"] for f in e["findings"]} == {test} and e["first"]["step"] == first))


def scaled(folder, factors, others=lambda s: 1.0):
    """A matrix and two gains of normalisations, each times a factor at each step."""
    made, rng = Made(folder, collections={"weights": "weight$"}), numpy.random.default_rng(14)
    w, gain = rng.normal(0, 1, (20, 30)), numpy.ones(20)
    for s in range(40):
        made.step(s, "TRAIN", s, {"fc.weight": w * factors(s), "ln1.weight": gain * others(s), "ln2.weight": gain * others(s)})
    return made.end()


@case
def weights_that_grow_without_end(folder):
    """By 15 % a step: the thirteenth is the first at which they are five times what they were."""
    return scaled(folder, lambda s: 1.15 ** s), [course("grown", "grown", 12)]


def began_small(folder, end):
    """A table of next to nothing takes its size between the first two saved steps, and moves little from then on."""
    made, rng = Made(folder, collections={"weights": "weight$", "losses": "loss$"}), numpy.random.default_rng(15)
    small, large = 0.006 * rng.normal(0, 1, (20, 30)), 0.15 * rng.normal(0, 1, (20, 30))
    for k in range(24):
        made.step(k, "TRAIN", 10 * k, {"fc.weight": small if k == 0 else large + 0.001 * k, "loss": 1.0 - (1.0 - end) * min(1, k / 8)})
    return made.end()


@case
def weights_that_begin_small_and_learn(folder):
    return began_small(folder, 0.1), [course("found")]


@case
def weights_that_were_overwritten_at_once(folder):
    return began_small(folder, 1.3), [course("overwritten", "large", 1)]


@case
def weights_that_grow_as_they_learn(folder):
    return scaled(folder, lambda s: 1.07 ** s), [course("growing")]


@case
def weights_that_found_their_size(folder):
    """They become 35 times what they were, as a factorisation's do, and stay: no rule of thumb says that this is too much."""
    return scaled(folder, lambda s: min(1.2 ** s, 35.0)), [course("found")]


@case
def weights_overwritten_and_grown(folder):
    """The update at which they become seven times what they were says more."""
    return scaled(folder, lambda s: 40.0 if s > 20 else 7.0 if s > 9 else 1.0), [course("overwritten", "large", 10)]


@case
def gains_that_shrink(folder):
    """Those of two normalisations, while the matrix stays: half is left at the seventh step."""
    return scaled(folder, lambda s: 1.0, lambda s: 0.9 ** s), [course("gains", "shrunk", 7)]


def gains_beside(folder, loss):
    made = Made(folder, collections={"weights": "weight$", "losses": "loss$"})
    for s in range(40):
        gains = numpy.full(20, 0.9 ** s)
        made.step(s, "TRAIN", s, {"ln1.weight": gains, "ln2.weight": gains, "loss": loss(s)})
    return made.end()


@case
def gains_that_shrink_while_it_learns(folder):
    """A network that is made slim: its gains go away, and its loss comes down."""
    return gains_beside(folder, lambda s: 2.0 * 0.9 ** s), [course("slim")]


@case
def gains_that_shrink_beside_a_loss_that_stands(folder):
    return gains_beside(folder, lambda s: 2.0 - 0.01 * s), [course("decayed", "shrunk", 7)]


def regrown(w, rng):
    """Thirty of the smaller ones become 0, and as many others next to nothing."""
    on, off = numpy.argwhere(w != 0), numpy.argwhere(w == 0)
    gone = on[numpy.argsort(numpy.abs(w[tuple(on.T)]))[20:50]]
    come = off[rng.permutation(len(off))[:len(gone)]]
    made = w.copy()
    made[tuple(gone.T)], made[tuple(come.T)] = 0, 1e-3
    return made


@case
def elements_dropped_and_others_grown(folder):
    """As many elements are 0 as before: what is missing of the squares is what was dropped."""
    made, rng = Made(folder, collections={"weights": "weight$"}), numpy.random.default_rng(21)
    w = rng.normal(0, 1, (20, 30)) * (rng.random((20, 30)) < 0.3)
    for s in range(30):
        w = w + 0.002 * rng.normal(0, 1, w.shape) * (w != 0)
        w = regrown(w, rng) if s == 15 else w
        made.step(s, "TRAIN", s, {"fc.weight": w, "other.weight": w * (1.3 if s >= 15 else 1)})
    return made.end(), [rule("regrown", "WeightCourse", lambda e: {(f["tensor"], f["test"]) for f in e["findings"]} == {("other.weight", "jump")})]


def levels(seed, of):
    """A loss that comes down to 0.7, with noise of a fifth of itself, and whose level is of(step) times that."""
    steps = numpy.arange(160)
    return (0.7 + 2.5 * numpy.exp(-steps / 15)) * numpy.array([of(s) for s in steps]) * numpy.exp(0.25 * noise(seed, 160))


@case
def level_that_rises_for_good(folder):
    """By four and a half, where noise hides what a single step says: it lasts. Where it never lasts, or always came and went, it is none."""
    twice = levels(31, lambda s: 4.5 if s in (100, 101) else 1.0)
    return losses(folder, levels(31, lambda s: 4.5 if s >= 100 else 1.0),
                  {"loss_twice": twice, "loss_tasks": levels(32, lambda s: 4.5 if s // 8 % 2 else 1.0)}), [
        rule("rises", "LossSpike", fires(100), share=0.5),
        rule("twice", "LossSpike", fires(), collection_names="none", tensor_regex="loss_twice", share=0.5),
        rule("tasks", "LossSpike", fires(), collection_names="none", tensor_regex="loss_tasks", share=0.5)]


if __name__ == "__main__":
    main()
