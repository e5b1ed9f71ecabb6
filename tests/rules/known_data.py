#!/usr/bin/env python3
"""Rules about what is fed and what comes back: inputs, labels and gradients of made trainings, each fault beside a sound twin.

    known_data.py --assay PROGRAM --ranks 1 3 -- [CASE]...
"""
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, main, rule  # noqa: E402
from made import Made, json_bytes  # noqa: E402

COLLECTIONS = {"weights": "^(?!gradient).*weight$", "gradients": "^gradient", "losses": "loss$"}
INPUT, LABEL = "inputs", "CrossEntropyLoss_input_1"


def says(name, test=None, first=None, kind="InputData", **parameters):
    """That test alone fires, first at that step; without a test nothing does."""
    def right(e):
        if test is None:
            return e["status"] == "NoIssuesFound"
        found = {f["test"] for f in e["findings"]}
        return found == {test} and (first is None or e["first"]["step"] == first)
    return rule(name, kind, right, **parameters)


def fed(folder, label, steps=30, inputs=None, name=LABEL):
    made, rng = Made(folder), numpy.random.default_rng(3)
    for step in range(steps):
        x = rng.normal(0, 1, (16, 9)).astype(numpy.float32) if inputs is None else inputs(step, rng)
        made.step(step, "TRAIN", step, {INPUT: x, name: label(step, rng)})
    return made.end()


def mixed(step, rng):
    return rng.integers(0, 5, 16)


@case
def labels_stuck(folder):
    return fed(folder, lambda s, rng: mixed(s, rng) if s < 18 else numpy.full(16, 3)), [says("stuck", "labels", 18)]


@case
def labels_stuck_at_few_steps(folder):
    return fed(folder, lambda s, rng: mixed(s, rng) if s < 1 else numpy.full(16, 3), 3), [says("stuck", "labels", 1)]


@case
def targets_stuck(folder):
    """Targets of a binary loss, in floating point, are all 0 from a step on."""
    return fed(folder, lambda s, rng: (rng.random(16) < (0.5 if s < 18 else 0)).astype(numpy.float32), name="BCEWithLogitsLoss_input_1"), [
        says("stuck", "labels", 18)]


@case
def targets_of_one_value_now_and_then(folder):
    """Rewards are rare: whole batches have none, also the last ones."""
    return fed(folder, lambda s, rng: numpy.full(16, float(s in (3, 4, 12)), numpy.float32) if s % 3 == 0 or s > 18 else
               rng.random(16).astype(numpy.float32), name="MSELoss_input_1"), [says("rare")]


def evaluated_classes(folder, classes, apart=1):
    made, rng = Made(folder), numpy.random.default_rng(5)
    for step in range(20):
        made.step(step, "TRAIN", step, {LABEL: mixed(step, rng)})
    for k, of in enumerate(classes):
        made.step(20 + k * apart, "EVAL", k * apart, {LABEL: numpy.full(16, of)})
    return made.end()


@case
def evaluated_on_one_class(folder):
    return evaluated_classes(folder, [2, 2, 2]), [says("one class", "labels", 20)]


@case
def evaluation_saved_in_parts(folder):
    """Every hundredth batch is saved, and of a sorted set that is the same class each time."""
    return evaluated_classes(folder, [2, 2, 2], 100), [says("parts")]


@case
def targets_whole_and_as_statistics(folder):
    """Targets of which one in four is 0 are saved whole at first, and then as what they come to, which says nothing of zeros."""
    made, rng = Made(folder), numpy.random.default_rng(6)
    for s in range(60):
        target = rng.normal(0, 1, 64) * (rng.random(64) < 0.75)
        whole = s < 30
        figures = {"min": target.min(), "max": target.max(), "mean": target.mean(), "std": target.std(), "abs_mean": abs(target).mean()}
        made.step(s, "TRAIN", s, {"MSELoss_input_1": target.astype("float32")} if whole else
                  {"smdebug/reductions/%s/MSELoss_input_1" % name: float(value) for name, value in figures.items()})
    return made.end(), [rule("changed", "InputData", lambda e: e["status"] == "NoIssuesFound" and "changed" not in e)]


@case
def evaluation_sorted(folder):
    return evaluated_classes(folder, [0, 1, 2]), [says("all of them")]


@case
def rare_class(folder):
    """One label in twenty is 1: many batches have none, also the last ones."""
    return fed(folder, lambda s, rng: (rng.random(16) < (0.05 if s < 24 else 0)).astype(numpy.int64)), [says("rare")]


@case
def batches_sorted(folder):
    return fed(folder, lambda s, rng: numpy.full(16, s // 3) if s % 3 else numpy.repeat([max(s // 3 - 1, 0), s // 3], 8)), [
        says("sorted", "sorted")]


@case
def batches_shuffled(folder):
    return fed(folder, mixed), [says("mixed")]


@case
def targets_in_other_units(folder):
    return fed(folder, lambda s, rng: rng.normal(0, 1000.0 if s >= 12 else 1.0, (16, 1)), name="MSELoss_input_1"), [
        says("other units", "targets", 12)]


@case
def targets_that_grow(folder):
    """Returns of a policy that learns: a hundred times what they were, little by little."""
    return fed(folder, lambda s, rng: rng.normal(0, 1.2 ** s, (16, 1)), name="MSELoss_input_1"), [says("growing")]


def crew(folder, scale):
    """Four workers; the scale of targets of each."""
    made, rng = Made(folder, workers=4), numpy.random.default_rng(5)
    for step in range(20):
        made.step(step, "TRAIN", step, {
            "worker_%d" % w: {INPUT: rng.normal(0, 1, (16, 9)), "MSELoss_input_1": rng.normal(0, scale(w), (16, 1))}
            for w in range(4)})
    return made.end()


@case
def targets_of_one_worker(folder):
    return crew(folder, lambda w: 50.0 if w == 2 else 1.0), [says("one worker", "targets", 0)]


@case
def targets_of_all_workers(folder):
    return crew(folder, lambda w: 1.0 + w), [says("alike")]


def compared(folder, outputs, targets):
    made, rng = Made(folder), numpy.random.default_rng(6)
    for step in range(6):
        made.step(step, "TRAIN", step, {"MSELoss_input_0": rng.normal(0, 1, outputs), "MSELoss_input_1": rng.normal(0, 1, targets)})
    return made.end()


@case
def outputs_against_all_targets(folder):
    return compared(folder, (16, 1), (16,)), [says("stretched", "shape", 0)]


@case
def outputs_against_their_targets(folder):
    return compared(folder, (16, 4), (16, 1)), [says("one target a row")]


def loss_of(folder, kind, scores, targets, loss=lambda step: 0.5):
    made, rng = Made(folder, collections={"losses": "output_0$"}), numpy.random.default_rng(17)
    for step in range(8):
        made.step(step, "TRAIN", step, {kind + "_input_0": scores(step, rng), kind + "_input_1": targets(step, rng),
                                        kind + "_output_0": float(loss(step))})
    return made.end()


def gradients_of_three(folder, factor):
    """Norms of three workers scatter; from step 20 on those of worker_1 are multiplied."""
    made, rng = Made(folder, 3, collections=COLLECTIONS), numpy.random.default_rng(19)
    for step in range(40):
        made.step(step, "TRAIN", step, {"worker_%d" % w: {"gradient/fc.weight": rng.normal(0, 1, (8, 8)) * numpy.exp(0.35 * rng.normal()) *
                                                          (factor if w == 1 and step >= 20 else 1)} for w in range(3)})
    return made.end()


WORKERS = dict(kind="NormSpike", against="workers", min_workers=3, ratio=1.5, num_steps=5)


@case
def one_of_three_workers_leaves(folder):
    return gradients_of_three(folder, 8), [says("leaves", "workers", 20, **WORKERS)]


@case
def three_workers_scatter(folder):
    return gradients_of_three(folder, 1), [says("scatter", **WORKERS)]


@case
def targets_in_bytes(folder):
    return loss_of(folder, "BCEWithLogitsLoss", lambda s, rng: rng.normal(0, 1, (16, 1)),
                   lambda s, rng: rng.integers(0, 2, (16, 1)) * 255.0), [says("bytes", "bounds", 0)]


@case
def targets_that_are_shares(folder):
    return loss_of(folder, "BCEWithLogitsLoss", lambda s, rng: rng.normal(0, 1, (16, 1)),
                   lambda s, rng: rng.random((16, 1))), [says("shares")]


@case
def losses_below_their_bound(folder):
    """A cross entropy of soft labels below zero; and a density's, which is called otherwise."""
    soft = loss_of(folder, "CrossEntropyLoss", lambda s, rng: rng.normal(0, 1, (16, 4)), lambda s, rng: rng.normal(0, 1, (16, 4)),
                   lambda step: 2.0 - step)
    return soft, [says("soft", "bounds", 3)]


@case
def losses_of_densities(folder):
    return loss_of(folder, "GaussianNLLLoss", lambda s, rng: rng.normal(0, 1, (16, 1)), lambda s, rng: rng.normal(0, 1, (16, 1)),
                   lambda step: 2.0 - step), [says("density")]


@case
def likelihood_of_scores(folder):
    """Scores where logarithms of probabilities belong, of a training that ends in numbers that are not finite."""
    return loss_of(folder, "NLLLoss", lambda s, rng: rng.normal(0, 1, (16, 4)) * (1 if s < 2 else numpy.nan),
                   lambda s, rng: rng.integers(0, 4, 16)), [says("scores", "probabilities", 0)]


@case
def scores_that_are_not_finite(folder):
    """Of a row with a NaN no class is the largest."""
    made, rng = Made(folder), numpy.random.default_rng(8)
    for step in range(30):
        scores = rng.normal(0, 1, (32, 4)).astype(numpy.float32)
        scores[:, 1] = scores[:, 1] if step < 12 else numpy.nan
        made.step(step, "TRAIN", step, {"CrossEntropyLoss_input_0": scores, LABEL: rng.integers(0, 4, 32)})
    return made.end(), [says("collapse", kind="PredictionCollapse")]


def split(folder, trained, evaluated, steps=20):
    """Labels of training, then of an evaluation."""
    made, rng = Made(folder), numpy.random.default_rng(7)
    for step in range(steps):
        made.step(step, "TRAIN", step, {LABEL: rng.choice(trained, 16)})
    made.step(steps, "EVAL", 0, {LABEL: rng.choice(evaluated, 64)})
    return made.end()


@case
def classes_of_the_evaluation_alone(folder):
    return split(folder, [0, 1, 2], [0, 1, 2, 3]), [says("unseen", "unseen", 20)]


@case
def classes_that_chance_left_out(folder):
    return split(folder, range(100), range(100), 6), [says("many classes")]


@case
def classes_of_few_steps(folder):
    return split(folder, [0, 1, 2], [0, 1, 2, 3], 2), [says("two steps")]


def evaluated(folder, scale, train=lambda s: 1.0, one_batch=False, rows=32, loss=None, batch=16):
    """loss(k): that of the k-th evaluation."""
    made, rng, step = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(4), 0
    kept = rng.normal(0, 1, (batch, 9))
    for k in range(24):
        made.step(step, "TRAIN", k, {INPUT: kept if one_batch else rng.normal(0, train(k), (16, 9))})
        step += 1
        if k % 6 == 5:
            made.step(step, "EVAL", k // 6, {INPUT: rng.normal(0, scale, (rows, 9)), **({"loss": float(loss(k // 6))} if loss else {})})
            step += 1
    return made.end()


@case
def evaluated_in_bytes(folder):
    return evaluated(folder, 255), [says("bytes", "evaluation", 6)]


@case
def trained_in_bytes_later(folder):
    """It is the training that changed: that is said first, at its step."""
    return evaluated(folder, 1, lambda k: 255 if k >= 13 else 1), [
        rule("later", "InputData", lambda e: e["first"]["step"] == 15 and e["findings"][0]["test"] == "scale")]


def changes(folder, x, label=mixed, steps=30):
    """Inputs x(step, rng) of 16 rows, at each step."""
    return fed(folder, label, steps, x)


def told(step, what):
    """That nothing is wrong, and where and how what is fed changed; None: nowhere."""
    def right(e):
        changed = e.get("changed")
        return e["status"] == "NoIssuesFound" and (changed is None if step is None else (
            changed["step"], changed["to"]) == (step, step) and what in changed["what"])
    return rule("changed", "InputData", right)


@case
def mean_of_inputs_moves(folder):
    return changes(folder, lambda s, rng: rng.normal(2.0 * (s >= 17), 1, (16, 9))), [told(17, "the mean of the inputs")]


@case
def classes_become_one(folder):
    return changes(folder, None, lambda s, rng: numpy.minimum(mixed(s, rng), 2 if s >= 12 else 4)), [
        told(12, "of the labels is")]


@case
def inputs_that_drift(folder):
    """A stream, whose mean goes as far little by little."""
    return changes(folder, lambda s, rng: rng.normal(0.07 * s, 1, (16, 9))), [told(None, "")]


@case
def statistics_of_inputs(folder):
    """As the automatic hook records them: no elements, and yet a scale."""
    made, rng = Made(folder), numpy.random.default_rng(3)
    for step in range(30):
        x = rng.normal(0, 100.0 if step >= 17 else 1.0, 144)
        figures = {"min": x.min(), "max": x.max(), "mean": x.mean(), "std": x.std(), "abs_mean": abs(x).mean()}
        made.step(step, "TRAIN", step, {"smdebug/reductions/%s/inputs" % name: float(value) for name, value in figures.items()})
    return made.end(), [says("scale", "scale", 17)]


def coloured(folder, workers=1, order=lambda worker, mode: [0, 1, 2], tint=(1.0, 0.2, -0.8)):
    """Pictures of three colours; order(worker, mode) is that of the channels."""
    made, rng = Made(folder, workers=workers), numpy.random.default_rng(4)

    def of(worker, mode):
        x = rng.normal(0, 0.5, (12, 3, 4, 4)) + numpy.array(tint)[:, None, None]
        return {"worker_%d" % worker: {"inputs": numpy.float32(x[:, order(worker, mode)])}}
    for step in range(24):
        mode = "EVAL" if step % 6 == 5 else "TRAIN"
        number = step // 6 if mode == "EVAL" else step - step // 6
        made.step(step, mode, number, {k: v for n in range(workers) for k, v in of(n, mode).items()})
    return made.end()


@case
def channels_as_usual(folder):
    return coloured(folder, 3), [says("as usual")]


@case
def channels_swapped_in_evaluation(folder):
    return coloured(folder, order=lambda worker, mode: [2, 1, 0] if mode == "EVAL" else [0, 1, 2]), [
        rule("swapped", "InputData", lambda e: e["first"]["step"] == 5 and {f["test"] for f in e["findings"]} == {"swapped"} and
             e["first"]["note"] == "2, 1, 0 of training")]


@case
def channels_of_one_worker_swapped(folder):
    return coloured(folder, 3, lambda worker, mode: [1, 2, 0] if worker == 1 else [0, 1, 2]), [
        rule("swapped", "InputData", lambda e: {(f["test"], f["worker"]) for f in e["findings"] if f["test"] == "swapped"} == {
            ("swapped", "worker_1")} and e["first"]["note"].endswith("of the other workers"))]


@case
def channels_that_are_alike(folder):
    """Nothing tells grey channels apart."""
    return coloured(folder, order=lambda worker, mode: [2, 1, 0] if mode == "EVAL" else [0, 1, 2], tint=(0.1, 0.1, 0.1)), [says("grey")]


@case
def targets_of_evaluation_in_other_units(folder):
    made, rng = Made(folder), numpy.random.default_rng(5)
    for step in range(24):
        held = step % 6 == 5
        made.step(step, "EVAL" if held else "TRAIN", step // 6 if held else step - step // 6,
                  {"MSELoss_input_1": rng.normal(0, 100 if held else 1, (16, 1))})
    return made.end(), [says("units", "evaluation", 5)]


@case
def one_batch_of_a_larger_set(folder):
    return evaluated(folder, 1, one_batch=True), [says("one batch", "repeated")]


@case
def the_whole_set_at_every_step(folder):
    return evaluated(folder, 1, one_batch=True, rows=4), [says("whole set")]


@case
def the_whole_set_that_helps(folder):
    """The loss of an evaluation of as many rows comes down: the batch is all there is."""
    return evaluated(folder, 1, one_batch=True, loss=lambda k: 0.6 ** k, batch=20), [says("whole set")]


@case
def one_batch_of_thirty_two(folder):
    """Evaluation gains by it, but no set has so many rows."""
    return evaluated(folder, 1, one_batch=True, loss=lambda k: 0.6 ** k, batch=32), [says("one batch", "repeated")]


@case
def one_batch_that_does_not_help(folder):
    return evaluated(folder, 1, one_batch=True, loss=lambda k: 1 - 0.05 * k, batch=20), [says("one batch", "repeated")]


@case
def the_same_rows_in_another_order(folder):
    rows = numpy.random.default_rng(11).normal(0, 1, (16, 9))
    return fed(folder, mixed, inputs=lambda s, rng: rng.normal(0, 1, (16, 9)) if s < 12 else rng.permutation(rows)), [
        says("reshuffled", "repeated", 13)]


def held_out(folder, own, kinds=None):
    """Training draws rows of a set anew at each step; of the rows of an evaluation `own` are of the same set."""
    made, rng = Made(folder), numpy.random.default_rng(12)
    table = rng.normal(0, 1, (200, 9)) if kinds is None else rng.integers(0, kinds, (200, 9)).astype(float)
    new = rng.normal(0, 1, (400, 9)) if kinds is None else rng.integers(0, kinds, (400, 9)).astype(float)
    for step in range(24):
        made.step(step, "TRAIN", step, {INPUT: table[rng.choice(200, 16)]})
    for k in range(3):
        made.step(24 + k, "EVAL", k, {INPUT: numpy.concatenate([table[rng.choice(200, own)], new[40 * k:40 * k + 40 - own]])})
    return made.end()


@case
def evaluated_on_rows_of_training(folder):
    return held_out(folder, 40), [says("all of them", "evaluated", 24)]


@case
def evaluated_on_a_few_rows_of_training(folder):
    return held_out(folder, 3), [says("a few")]


@case
def evaluated_on_rows_like_those_of_training(folder):
    """Nine numbers from 0 to 5: many sums are alike, and no rows."""
    return held_out(folder, 0, 6), [says("alike")]


def gradients(folder, zero, bias=lambda s: 0.0, pruned=lambda s: 0.0, loss=lambda s: 1.0):
    made, rng = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(5)

    def cut(shape, share):
        values = rng.normal(0, 1, shape)
        values[rng.random(shape) < share] = 0
        return values

    for s in range(40):
        made.step(s, "TRAIN", s, {"fc.weight": cut((20, 30), pruned(s)), "gradient/fc.weight": cut((20, 30), zero(s)),
                                  "gradient/fc.bias": cut(20, bias(s)), "loss": loss(s)})
    return made.end()


@case
def gradients_underflow(folder):
    return gradients(folder, lambda s: s / 60), [
        rule("ever more", "GradientUnderflow", lambda e: e["status"] == "IssuesFound" and 10 < e["first"]["step"] <= 30),
        rule("more still", "GradientUnderflow", {"status": "NoIssuesFound"}, rise=0.9)]


@case
def gradients_of_dead_units(folder):
    return gradients(folder, lambda s: s / 60, bias=lambda s: s / 60), [rule("dead", "GradientUnderflow", {"status": "NoIssuesFound"})]


@case
def gradients_of_pruned_weights(folder):
    return gradients(folder, lambda s: s / 60, pruned=lambda s: s / 60), [rule("pruned", "GradientUnderflow", {"status": "NoIssuesFound"})]


@case
def gradients_of_what_is_learned(folder):
    return gradients(folder, lambda s: s / 60, loss=lambda s: 0.8 ** s), [rule("learned", "GradientUnderflow", {"status": "NoIssuesFound"})]


@case
def gradients_all_zero(folder):
    """Nothing is left of any gradient from step 20 on, and the loss stands."""
    gone = lambda s: 1.0 if s >= 20 else 0.0  # noqa: E731
    return gradients(folder, gone, bias=gone), [says("all zero", "all", 20, "GradientUnderflow")]


@case
def gradients_all_zero_where_nothing_is_lost(folder):
    gone = lambda s: 1.0 if s >= 20 else 0.0  # noqa: E731
    return gradients(folder, gone, bias=gone, loss=lambda s: 0.0 if s >= 20 else 1.0), [says("no loss", kind="GradientUnderflow")]


def table(folder, moves, name="Net_tok.weight", fed="Net_input_0", codes=True):
    """A table of twelve codes of which ten are fed; moves(row): does it change?"""
    made, rng = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(13)
    rows = rng.normal(0, 1, (12, 6)).astype(numpy.float32)
    for s in range(12):
        made.step(s, "TRAIN", s, {name: rows, fed: rng.integers(0, 10, (8, 7)) if codes else rng.normal(0, 1, (8, 6)).astype(numpy.float32)})
        rows = rows + numpy.array([[0.01 if moves(r) else 0.0] for r in range(12)], numpy.float32)
    return made.end()


@case
def rows_of_a_table_masked(folder):
    return table(folder, lambda r: r not in (3, 5, 6, 11)), [
        rule("masked", "EmbeddingRows", lambda e: e["first"] and e["first"]["value"] == 3 and e["first"]["note"] == "rows 3, 5, 6 of 12")]


@case
def rows_of_a_table_of_any_name(folder):
    """What its own module is given tells that it is a table."""
    return table(folder, lambda r: r not in (3, 5, 6, 11), "Net_body.item.weight", "body.item_input_0"), [
        rule("item", "EmbeddingRows", lambda e: e["first"] and e["first"]["value"] == 3 and e["first"]["note"] == "rows 3, 5, 6 of 12")]


@case
def rows_of_a_matrix(folder):
    """What is given numbers that are not whole is no table, whatever of it is frozen; nor is one beside codes that another module gets."""
    return table(folder, lambda r: r > 5, "Net_body.item.weight", "body.item_input_0", False), [
        rule("matrix", "EmbeddingRows", {"status": "NoData"}), rule("other", "UnchangedTensor", lambda e: True, tensor_regex="weight$")]


@case
def rows_of_a_matrix_beside_codes(folder):
    return table(folder, lambda r: r > 5, "Net_body.item.weight", "Net_input_0"), [
        rule("beside", "EmbeddingRows", {"status": "NoData"}), rule("other", "UnchangedTensor", lambda e: True, tensor_regex="weight$")]


@case
def row_of_a_filling(folder):
    """One row stands still on purpose, and two are never fed."""
    return table(folder, lambda r: 0 < r < 10), [says("filling", kind="EmbeddingRows")]


@case
def table_that_is_frozen(folder):
    return table(folder, lambda r: False), [says("frozen", kind="EmbeddingRows")]


def weights(folder, update, steps=6, apart=1, loss=None):
    made, rng = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(6)
    w = rng.normal(0, 1, (20, 30))
    for s in range(steps):
        made.step(s * apart, "TRAIN", s * apart, {"fc.weight": w, "gradient/fc.weight": rng.normal(0, 1, (20, 30)),
                                                  **({"loss": loss(s)} if loss else {})})
        w = w + update(s) * rng.normal(0, 1, (20, 30))
    return made.end()


@case
def weights_hardly_move(folder):
    return weights(folder, lambda s: 1e-9), [says("slow", "slow", 1, "WeightCourse")]


@case
def weights_of_a_warm_up(folder):
    return weights(folder, lambda s: 1e-9 if s < 3 else 1e-4), [says("warm-up", kind="WeightCourse")]


@case
def first_update_too_large(folder):
    """The first update is as large as the weights, and the loss doubles."""
    return weights(folder, lambda s: 0.8 ** s, loss=lambda s: (2.0, 4.0)[s > 0]), [says("too large", "large", 1, "WeightCourse")]


@case
def first_update_large_and_good(folder):
    return weights(folder, lambda s: 0.8 ** s, loss=lambda s: 2.0 / (s + 1)), [says("good", kind="WeightCourse")]


@case
def weights_set_anew_at_steps_far_apart(folder):
    """Ten updates lie between saved steps: what is set from outside is not a hundred times as far."""
    return weights(folder, lambda s: 1.0 if s == 8 else 0.07, 14, 10), [says("set anew", "jump", 90, "WeightCourse")]


@case
def weights_pruned(folder):
    """A third of the elements, the smallest, is set to zero at a step, and stays there."""
    made, rng = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(6)
    w = rng.normal(0, 1, (20, 30))
    for s in range(12):
        w = w + 0.002 * rng.normal(0, 1, (20, 30))
        kept = numpy.abs(w) >= (numpy.quantile(numpy.abs(w), 0.33) if s == 8 else 0) if s < 9 else kept
        w = w * kept
        made.step(s, "TRAIN", s, {"fc.weight": w})
    return made.end(), [says("pruned", kind="WeightCourse")]


@case
def weights_that_shrink_from_the_first_step(folder):
    """The third saved step has a third left of what there was."""
    made, rng = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(14)
    w = rng.normal(0, 1, (20, 30))
    for s in range(12):
        made.step(s * 10, "TRAIN", s * 10, {"fc.weight": w * max(0.6 ** s, 0.07)})
    return made.end(), [says("shrunk", "shrunk", 20, "WeightCourse")]


@case
def weights_frozen_at_steps_far_apart(folder):
    """Two saved steps a hundred updates apart prove it; two that follow each other do not."""
    return weights(folder, lambda s: 0.0, 2, 100), [
        rule("far apart", "WeightFrozenDespiteGradient", lambda e: e["status"] == "IssuesFound" and e["first"]["step"] == 100)]


@case
def weights_frozen_for_one_step(folder):
    return weights(folder, lambda s: 0.0, 2), [rule("one step", "WeightFrozenDespiteGradient", {"status": "NoIssuesFound"})]


def losses(folder, curve):
    made = Made(folder, collections={"losses": "loss"})
    for s, value in enumerate(curve):
        made.step(s, "TRAIN", s, {"loss": float(value)})
    return made.end()


COURSE = {"against": "start", "diff_percent": 5, "plateau_percent": 25}


@case
def loss_that_grows_without_end(folder):
    """The sign of the loss is wrong: its noise, as it grows, is larger than what it began with."""
    noise = numpy.random.default_rng(8).normal(0, 1, 80)
    return losses(folder, 1.2 ** numpy.arange(80) * (1 + 0.3 * noise.clip(-2, 2))), [
        rule("rose", "LossNotDecreasing", {"status": "IssuesFound"}, **COURSE)]


@case
def loss_that_grows_over_few_steps(folder):
    """The fewest losses that a course takes."""
    return losses(folder, 1.8 * 1.3 ** numpy.arange(24)), [rule("rose", "LossNotDecreasing", {"status": "IssuesFound"}, **COURSE)]


@case
def loss_that_rises_at_few_steps(folder):
    """One of the first losses happens to be below the first."""
    return losses(folder, [0.8, 0.65, 1.1, 1.2, 1.3, 1.4, 0.9, 2.9, 5.5, 12.3, 3e9]), [
        rule("rose", "LossNotDecreasing", {"status": "IssuesFound"}, **COURSE)]


def players(folder, *curves):
    made = Made(folder, collections={"losses": "loss"})
    for s, values in enumerate(zip(*curves)):
        made.step(s, "TRAIN", s, {"loss_%d" % k: float(v) for k, v in enumerate(values)})
    return made.end()


@case
def players_of_whom_one_comes_back(folder):
    """What one lost by half in the end is no reason to blame the other, which only rises."""
    t = numpy.arange(28) / 28
    return players(folder, 0.8 - 0.5 * t * (t < 0.5) - (0.25 - 0.3 * (t - 0.5)) * (t >= 0.5), 0.67 + 0.2 * t), [
        rule("players", "LossNotDecreasing", {"status": "NoIssuesFound"}, **COURSE)]


def workers(folder, steps, worker_2):
    """The norm of an activation of three workers; worker_2(step) is that of the last. Two of them differ by chance."""
    made, rng = Made(folder, 3), numpy.random.default_rng(15)
    for s in range(steps):
        a, b = 1 + 0.1 * rng.random(2)
        made.step(s * 10, "TRAIN", s * 10, {"worker_%d" % k: {"act_input_0": numpy.full(16, x)} for k, x in enumerate((a, b * (1.2 if s in (8, 9) else 1), worker_2(s)))})
    return made.end()


OUTLIER = {"tensor_regex": "_input_", "against": "workers", "min_workers": 3, "ratio": 1.5, "num_steps": 5, "only_finite": True}


@case
def a_worker_that_leaves(folder):
    """It is apart from step 80 on, also where the two others happen to differ, which makes the score small."""
    return workers(folder, 20, lambda s: 0.3 if s >= 8 else 1.05), [
        rule("leaves", "NormSpike", lambda e: e["first"] and (e["first"]["step"], e["first"]["worker"]) == (80, "worker_2"), **OUTLIER)]


@case
def a_worker_that_is_apart_at_times(folder):
    return workers(folder, 20, lambda s: 0.3 if s % 4 == 0 else 1.05), [rule("at times", "NormSpike", {"status": "NoIssuesFound"}, **OUTLIER)]


def leaves(folder, closed):
    """Worker 1 of three has ten of twenty steps; `closed`: seconds of its step 10 at which it closed."""
    made = Made(folder, 3)
    for s in range(20):
        made.step(s, "TRAIN", s, {"worker_%d" % w: {"x": 1.0} for w in range(3) if w != 1 or s < 10})
    for w in range(3):
        made.put("run/worker_%d.json" % w, json_bytes({
            "worker": "worker_%d" % w, "ended": "2001-09-09T01:46:59Z", "closed": 1e9 + (closed if w == 1 else 19.5),
            "recorded": {"workers": 3, "of": 3, "modes": {"TRAIN": {"steps": 20 if w != 1 else 10, "of": 20 if w != 1 else 10}}}}))
    return made.end()


@case
def a_worker_that_is_done(folder):
    return leaves(folder, 9.5), [rule("done", "MissingWorker", lambda e: e["status"] == "NoIssuesFound" and "worker_1 closed before" in e["message"])]


@case
def a_worker_that_is_silent(folder):
    """It closed with the others, and wrote nothing for ten steps."""
    return leaves(folder, 19.5), [rule("silent", "MissingWorker", lambda e: e["first"]["step"] == 10 and e["first"]["worker"] == "worker_1" and e["first"]["test"] == "away")]


@case
def loss_hidden_by_noise(folder):
    """It comes down by a tenth, in noise of as much: that it stands still cannot be told."""
    noise = numpy.random.default_rng(9).normal(0, 0.3, 60)
    return losses(folder, 2.3 - 0.35 * numpy.arange(60) / 60 + noise), [
        rule("unknown", "LossNotDecreasing", {"status": "NoIssuesFound"}, **COURSE)]


def module(folder, turn):
    """What a module makes of its inputs, in training and in evaluations."""
    made, rng = Made(folder), numpy.random.default_rng(16)
    for s in range(12):
        x = rng.normal(0, 1, (16, 40))
        y = turn(x, rng) if s % 3 == 2 else x * (rng.random(x.shape) > 0.3) / 0.7
        made.step(s, "EVAL" if s % 3 == 2 else "TRAIN", s // 3 if s % 3 == 2 else s - s // 3, {"drop_input_0": x, "drop_output_0": y})
    return made.end()


@case
def stream_of_inputs(folder):
    """Inputs wander, few steps are saved, and evaluation is on the last of them."""
    made, rng = Made(folder), numpy.random.default_rng(18)
    for step in range(3):
        made.step(2 * step, "TRAIN", step, {INPUT: rng.normal(0, 0.3 * 4 ** step, (16, 9))})
        made.step(2 * step + 1, "EVAL", step, {INPUT: rng.normal(0, 4.8, (16, 9))})
    return made.end(), [says("stream")]


@case
def dropout_in_evaluations(folder):
    return module(folder, lambda x, rng: x * (rng.random(x.shape) > 0.3) / 0.7), [
        rule("drops", "DropoutInEvaluation", lambda e: e["steps"] == [2, 5, 8, 11] and 25 < e["first"]["value"] < 35)]


@case
def other_layers_in_evaluations(folder):
    return module(folder, lambda x, rng: x), [says("nothing", kind="DropoutInEvaluation")]


@case
def small_ones_left_out_in_evaluations(folder):
    """Levels, and a ReLU of numbers of which few are below zero: sums are kept, and so is the largest, which dropout makes larger."""
    return module(folder, lambda x, rng: (x / 0.7).round() * 0.7), [says("levels", kind="DropoutInEvaluation")]


@case
def relu_in_evaluations(folder):
    return module(folder, lambda x, rng: x.clip(0)), [says("relu", kind="DropoutInEvaluation")]


@case
def mask_in_evaluations(folder):
    return module(folder, lambda x, rng: x * (rng.random(x.shape) > 0.3)), [says("mask", kind="DropoutInEvaluation")]


def layer(folder, values):
    made = Made(folder)
    for s in range(6):
        made.step(s, "TRAIN", s, {"act_output": values(s)})
    return made.end()


@case
def units_of_other_activations(folder):
    """A GELU's units are hardly ever above zero here, and none is dead; a ReLU's with a NaN are told by another rule."""
    negative = -numpy.random.default_rng(7).random((16, 8))
    return layer(folder, lambda s: negative), [
        rule("any", "DeadRelu", {"status": "IssuesFound"}, tensor_regex="act"),
        rule("by values", "DeadRelu", {"status": "NoData"}, tensor_regex="act", only_relu=True)]


@case
def units_of_a_relu(folder):
    dead = numpy.zeros((16, 8))
    dead[0, 0], broken = 1, numpy.full((16, 8), numpy.nan)
    return layer(folder, lambda s: dead if s < 4 else broken), [
        rule("by values", "DeadRelu", lambda e: e["steps"] == [0, 1, 2, 3], tensor_regex="act", only_relu=True),
        rule("any", "DeadRelu", lambda e: e["steps"] == [0, 1, 2, 3], tensor_regex="act")]


if __name__ == "__main__":
    main()
