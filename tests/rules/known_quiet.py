#!/usr/bin/env python3
"""What is quiet on healthy trainings with the parameters of the built-in set, and still finds the faulty twin.

    known_quiet.py --assay PROGRAM --ranks 1 3 7 -- [CASE]...
"""
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, fires, main, rule  # noqa: E402
from made import Made  # noqa: E402

COLLECTIONS = {"weights": "^(?!gradient).*weight$", "gradients": "^gradient", "losses": "[Ll]oss_output"}
TRAINED = {"collection_names": "weights", "mode": "TRAIN", "accumulation": True, "only_trained": True, "rtol": 0, "atol": 0}


def found(first=None):
    return lambda e: e["status"] == "IssuesFound" and (first is None or e["first"]["step"] == first)


def phases(folder, train, held):
    """An evaluation after each training step."""
    made = Made(folder, collections=COLLECTIONS)
    for k, (a, b) in enumerate(zip(train, held)):
        made.step(2 * k, "TRAIN", k, {"loss_output": float(a)}).step(2 * k + 1, "EVAL", k, {"loss_output": float(b)})
    return made.end()


OVERFIT = {"patience": 3, "ratio_threshold": 0.3, "rise_threshold": 0.2, "gain_share": 0.25}


@case
def validation_that_creeps_up(folder):
    """From 2.3 to 0.1 and up to 0.3: nothing beside what was gained."""
    return phases(folder, [2.3] + [0.01] * 9, [0.5, 0.1] + [0.1 + 0.03 * k for k in range(8)]), [
        rule("gain", "Overfit", fires(), **OVERFIT),
        rule("without", "Overfit", found(), **dict(OVERFIT, gain_share=0))]


@case
def validation_that_rises(folder):
    return phases(folder, [2.3] + [0.01] * 9, [1.2, 1.0] + [1.0 + 0.1 * k for k in range(8)]), [
        rule("rises", "Overfit", found(17), **OVERFIT)]


@case
def validation_that_never_fell(folder):
    """The training loss comes to nothing, the validation loss stays where it began."""
    return phases(folder, [1.0, 0.5] + [0.01] * 8, [1.1, 1.1] + [1.15] * 8), [
        rule("by heart", "Overfit", found(7), **OVERFIT)]


@case
def validation_of_a_model_that_is_tuned(folder):
    """What training knows by heart it brings along: its loss falls from 0.05 to 0.03, and that of validation stays at 0.4."""
    return phases(folder, [0.05 - 0.002 * k for k in range(10)], [0.4] * 10), [rule("tuned", "Overfit", fires(), **OVERFIT)]


def gradients_of(folder, zeros, vectors=lambda step: 0.0, rows=False):
    """A matrix of 12 rows and 7 columns and the gradients of three vectors, with shares of zeros; rows: whole rows are zero."""
    made, random = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(61)

    def cut(shape, share):
        value = random.normal(0, 1, shape)
        value[random.random(shape[0] if rows else shape) < share] = 0
        return value.astype("float32")
    for step in range(40):
        made.step(step, "TRAIN", step, {"gradient/a.weight": cut((12, 7), zeros(step)), "loss_output": 1.0,
                                        **{"gradient/%s.bias" % n: cut((20 if n != "out" else 5,), vectors(step)) for n in ("a", "b", "out")}})
    return made.end()


UNDERFLOW = lambda name, expected: rule(name, "GradientUnderflow", expected)  # noqa: E731


@case
def pairs_that_are_whole_by_chance(folder):
    """Of a matrix of two columns elements become zero one by one: at the last of few steps they are as many as whole rows have, as by chance."""
    made, random = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(62)
    for step, zeros in enumerate([0, 1, 1, 3, 5, 10, 14, 18]):
        value = random.normal(0, 1, 24)
        value[:zeros] = 0
        made.step(step, "TRAIN", step, {"gradient/a.weight": value.reshape(12, 2).astype("float32"), "loss_output": 1.0,
                                        "gradient/out.bias": random.normal(0, 1, 5).astype("float32")})
    return made.end(), [UNDERFLOW("by chance", lambda e: e["findings_total"] > 0)]


@case
def rows_that_a_batch_does_not_feed(folder):
    """A table of which batches feed ever fewer rows: no gradient is lost."""
    return gradients_of(folder, lambda step: step / 60, rows=True), [UNDERFLOW("rows", fires())]


@case
def zeros_all_over_a_matrix(folder):
    return gradients_of(folder, lambda step: step / 60), [UNDERFLOW("zeros", found())]


@case
def zeros_in_all_gradients(folder):
    """That of the outputs has as many: no unit that is dead explains them."""
    return gradients_of(folder, lambda step: step / 45, lambda step: step / 45), [UNDERFLOW("all", found())]


def activated(folder, of, name="sigmoid_output_0", first=0):
    made, random = Made(folder), numpy.random.default_rng(62)
    for step in range(first, first + 12):
        made.step(step, "TRAIN", step, {name: of(step, random).astype("float32")})
    return made.end()


def sigmoid(z):
    return 1 / (1 + numpy.exp(-z))


ENDS = lambda name, expected: rule(name, "SaturatedFromStart", expected)  # noqa: E731


def at_ends(e):
    return len(e["findings"]) == 12 and e["first"]["step"] == 0


@case
def outputs_at_both_ends_from_the_start(folder):
    return activated(folder, lambda step, random: sigmoid(random.normal(0, 60, (16, 8)))), [ENDS("sigmoid", at_ends)]


@case
def tanh_at_both_ends_from_the_start(folder):
    return activated(folder, lambda step, random: numpy.tanh(random.normal(0, 60, (16, 8))), "tanh_output_0"), [ENDS("tanh", at_ends)]


@case
def inputs_far_beyond_both_ends(folder):
    return activated(folder, lambda step, random: random.normal(0, 90, (16, 8)), "tanh_input_0"), [ENDS("inputs", at_ends)]


@case
def outputs_that_come_to_both_ends(folder):
    """What is learned may be sure of itself."""
    return activated(folder, lambda step, random: sigmoid(random.normal(0, 1 + 20 * step, (16, 8)))), [ENDS("learned", fires())]


@case
def outputs_at_both_ends_of_a_part_of_a_training(folder):
    return activated(folder, lambda step, random: sigmoid(random.normal(0, 60, (16, 8))), first=100), [ENDS("later", fires())]


@case
def outputs_beyond_the_range_of_tanh(folder):
    """Another function under such a name."""
    return activated(folder, lambda step, random: random.normal(0, 60, (16, 8)), "tanh_output_0"), [ENDS("beyond", {"status": "NoData", "message": "1 tensor matches, such as tanh_output_0, in a trial of 12 steps; none had values that the rule could test."}), rule("read", "ExplodingTensor", fires())]


@case
def gates_that_begin_open(folder):
    return activated(folder, lambda step, random: sigmoid(random.normal(6, 1, (16, 8)))), [ENDS("open", fires())]


def answers(folder, name, predict, labels):
    made = Made(folder)
    random = numpy.random.default_rng(1)
    for step in range(20):
        made.step(step, "TRAIN", step, {name + "_input_0": predict(random).astype("float32"), name + "_input_1": labels(random)})
    return made.end()


@case
def whole_targets_of_a_regression(folder):
    trial = answers(folder, "MSELoss", lambda r: r.normal(150, 40, (32, 1)),
                    lambda r: r.integers(25, 346, (32, 1)).astype("float32"))
    return trial, [rule("numbers", "PredictionCollapse", {"status": "NoData"}), rule("read", "ExplodingTensor", fires())]


@case
def logits_about_zero(folder):
    """Half of them say yes, though none is above 0.5."""
    trial = answers(folder, "BCEWithLogitsLoss", lambda r: r.uniform(-0.3, 0.3, (64, 1)),
                    lambda r: r.integers(0, 2, (64, 1)).astype("float32"))
    return trial, [rule("logits", "PredictionCollapse", fires())]


@case
def one_logit_collapsed(folder):
    trial = answers(folder, "BCEWithLogitsLoss", lambda r: r.uniform(-3, -0.1, (64, 1)),
                    lambda r: r.integers(0, 2, (64, 1)).astype("float32"))
    return trial, [rule("collapsed", "PredictionCollapse", found(9))]


def weights(folder, move, steps=40):
    """move(step): what is added to the weights at that step. A second layer always moves."""
    made, late, other = Made(folder, collections=COLLECTIONS), numpy.full(8, 0.5, "float32"), numpy.full(8, 0.5, "float32")
    for step in range(steps):
        made.step(step, "TRAIN", step, {"a.weight": late.copy(), "b.weight": other.copy(), "gradient/a.weight": numpy.full(8, 1e-3),
                                        "gradient/b.weight": numpy.full(8, 1e-3)})
        late, other = late + numpy.float32(move(step)), other + numpy.float32(1e-3)
    return made.end()


@case
def layer_that_joins_in_later(folder):
    return weights(folder, lambda step: 1e-3 * (step >= 20)), [rule("late", "UnchangedTensor", fires(), **TRAINED)]


@case
def layer_that_comes_to_rest(folder):
    """Its moves halve until rounding takes them."""
    return weights(folder, lambda step: 1e-3 * 0.5 ** step), [
        rule("rest", "UnchangedTensor", fires(), **TRAINED), rule("gradient", "WeightFrozenDespiteGradient", fires())]


@case
def layer_that_is_dropped(folder):
    return weights(folder, lambda step: 1e-3 * (step < 20)), [
        rule("dropped", "UnchangedTensor", found(22), **TRAINED), rule("gradient", "WeightFrozenDespiteGradient", found(22))]


def expert(folder, reached, trace, steps=80):
    """An expert beside a layer that all samples reach. Where none reaches it, its gradient is left out, or zero with `trace`."""
    made, far, near = Made(folder, collections=COLLECTIONS), numpy.full(8, 0.5, "float32"), numpy.full(8, 0.5, "float32")
    for step in range(steps):
        tensors = {"far.weight": far.copy(), "near.weight": near.copy(), "gradient/near.weight": numpy.full(8, 1e-3)}
        if reached(step) or trace:
            tensors["gradient/far.weight"] = numpy.full(8, 1e-3 if reached(step) else 0)
        made.step(step, "TRAIN", step, tensors)
        far, near = far + numpy.float32(1e-3 * reached(step)), near + numpy.float32(1e-3)
    return made.end()


@case
def expert_that_pauses(folder):
    return expert(folder, lambda step: step % 9 == 0, False), [rule("absent", "UnchangedTensor", fires(), **TRAINED)]


@case
def expert_that_pauses_with_zeros(folder):
    return expert(folder, lambda step: step % 9 == 0, True), [rule("zero", "UnchangedTensor", fires(), **TRAINED)]


@case
def expert_that_dies(folder):
    """It is reached at every third step, and from step 30 on at none."""
    return expert(folder, lambda step: step < 30 and step % 3 == 0, True), [rule("dies", "UnchangedTensor", found(30), **TRAINED)]


@case
def expert_that_is_never_reached(folder):
    return expert(folder, lambda step: False, True), [rule("never", "UnchangedTensor", found(2), **TRAINED)]


@case
def layer_that_is_frozen_while_it_trains(folder):
    """From step 30 on it has no gradient any more; its neighbour has."""
    return expert(folder, lambda step: step < 30, False), [
        rule("ends", "UnchangedTensor", lambda e: e["findings_total"] == 0 and '"far.weight" has not changed since step 30' in e["message"],
             **TRAINED)]


def steps_of_two(folder, steps, first_stops, second_stops, saves, second_has=True, workers=1):
    """a.weight and b.weight, which move up to a step; saves(step, name): is its gradient saved?"""
    made, a, b = Made(folder, collections=COLLECTIONS, workers=workers), 0.5, 0.5
    for step in range(steps):
        tensors = {"a.weight": numpy.full(8, a, "float32"), "b.weight": numpy.full(8, b, "float32"), "loss_output": 2 - 1e-3 * step}
        for name in ("a", "b") if second_has else ("a",):
            if saves(step, name):
                tensors["gradient/%s.weight" % name] = numpy.full(8, 1e-3)
        made.step(step, "TRAIN", step, {"worker_%d" % n: tensors for n in range(workers)})
        a, b = a + 1e-3 * (step < first_stops), b + 1e-3 * (step < second_stops)
    return made.end()


@case
def training_that_ends_halfway(folder):
    """No weight moves from step 60 on, and no gradient is saved: nothing shows that one of them was frozen."""
    return steps_of_two(folder, 200, 60, 60, lambda step, name: step < 60), [
        rule("ends", "UnchangedTensor", lambda e: found(62)(e) and "frozen on purpose" not in e["message"], **TRAINED)]


@case
def layer_that_is_dropped_between_gradients(folder):
    """Gradients are saved at steps 0 and 150; b.weight stops at 160, before another is due."""
    return steps_of_two(folder, 300, 300, 160, lambda step, name: step in (0, 150)), [
        rule("dropped", "UnchangedTensor",
             lambda e: found(162)(e) and {f["tensor"] for f in e["findings"]} == {"b.weight"}, **TRAINED)]


@case
def layers_that_are_frozen_in_turn(folder):
    """On two workers b.weight is frozen at step 20, a.weight at 30; c.weight is trained throughout."""
    made = Made(folder, collections=COLLECTIONS, workers=2)
    ends = {"a": 30, "b": 20, "c": 80}
    for step in range(80):
        tensors = {"%s.weight" % n: numpy.full(8, 0.5 + 1e-3 * min(step, end), "float32") for n, end in ends.items()}
        tensors.update({"gradient/%s.weight" % n: numpy.full(8, 1e-3) for n, end in ends.items() if step < end})
        made.step(step, "TRAIN", step, {"worker_0": tensors, "worker_1": tensors})
    return made.end(), [rule("turn", "UnchangedTensor", lambda e: e["findings_total"] == 0 and e["message"].startswith(
        '2 tensors, "b.weight" (since step 20) the first'), **TRAINED)]


@case
def layer_that_is_frozen_on_two_workers(folder):
    return steps_of_two(folder, 80, 80, 30, lambda step, name: name == "a" or step < 30, workers=2), [
        rule("ends", "UnchangedTensor", lambda e: e["findings_total"] == 0 and '"b.weight" has not changed since step 30' in e["message"],
             **TRAINED)]


@case
def weight_without_a_gradient_that_stops(folder):
    """The gradient of a.weight is saved at every tenth step, b.weight has none; it stops while a.weight goes on."""
    return steps_of_two(folder, 100, 100, 70, lambda step, name: step % 10 == 0, second_has=False), [
        rule("stops", "UnchangedTensor", lambda e: found(72)(e) and {f["tensor"] for f in e["findings"]} == {"b.weight"}, **TRAINED)]


@case
def mean_of_the_weights(folder):
    """A copy without a gradient is passed three times at every tenth step, and nothing is trained then."""
    made, near, mean, step = Made(folder, collections=COLLECTIONS), numpy.full(8, 0.5, "float32"), numpy.full(8, 0.5, "float32"), 0
    for k in range(60):
        made.step(step, "TRAIN", step, {"near.weight": near.copy(), "gradient/near.weight": numpy.full(8, 1e-3)})
        near, step = near + numpy.float32(1e-3), step + 1
        for _ in range(3 if k % 10 == 9 else 0):
            made.step(step, "TRAIN", step, {"mean.weight": (near / 2).copy()})
            step += 1
    return made.end(), [rule("mean", "UnchangedTensor", fires(), **TRAINED)]


@case
def layers_beside_adapters(folder):
    """Of the weights none has a gradient; the adapters have."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(20):
        made.step(step, "TRAIN", step, {"a.weight": numpy.full(8, 0.5), "b.weight": numpy.full(8, 0.5),
                                        "a.lora": numpy.full(8, 0.1 * step), "gradient/a.lora": numpy.full(8, 1e-3)})
    return made.end(), [rule("frozen", "UnchangedTensor", lambda e: e["status"] == "NoData" and "frozen on purpose" in e["message"],
                             **TRAINED), rule("sound", "ExplodingTensor", lambda e: e["status"] == "NoIssuesFound")]


def blocks(folder, stands, of=5):
    """Blocks in a row, of which some stand and have no gradient."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(20):
        tensors = {"body.%d.fc.weight" % k: numpy.full(8, 0.5 + 0.1 * step * (k not in stands), "float32") for k in range(of)}
        tensors.update({"gradient/body.%d.fc.weight" % k: numpy.full(8, 1e-3, "float32") for k in range(of) if k not in stands})
        made.step(step, "TRAIN", step, tensors)
    return made.end()


@case
def block_between_others_stands(folder):
    return blocks(folder, (2,)), [rule("between", "UnchangedTensor", lambda e: {f["tensor"] for f in e["findings"]} == {
        "body.2.fc.weight"} and e["first"]["step"] == 2, **TRAINED)]


@case
def first_block_stands(folder):
    return blocks(folder, (0,)), [rule("first", "UnchangedTensor", fires(), **TRAINED)]


@case
def most_blocks_stand(folder):
    """Only the first and the last are trained."""
    return blocks(folder, (1, 2, 3)), [rule("most", "UnchangedTensor", fires(), **TRAINED)]


@case
def network_of_targets_is_copied(folder):
    """Each tenth step the program makes one network equal to another: no optimizer moves it."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(40):
        made.step(step, "TRAIN", step, {"online.weight": numpy.full(8, 0.1 * step + 1, "float32"), "gradient/online.weight": numpy.full(8, 1e-3),
                                        "target.weight": numpy.full(8, step // 10 + 1, "float32")})
    return made.end(), [rule("copied", "UnchangedTensor", fires(), **TRAINED)]


@case
def gradients_that_are_tiny_at_times(folder):
    """`rare` at one step of twenty, `often` at one of four."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(40):
        made.step(step, "TRAIN", step, {
            "gradient/%s.weight" % name: numpy.full(8, 1e-9 if every and step % every == 3 else 1e-2)
            for name, every in (("all", 0), ("rare", 20), ("often", 4))})
    only = lambda name: lambda e: {f["tensor"] for f in e["findings"]} == {"gradient/%s.weight" % name}  # noqa: E731
    return made.end(), [
        rule("vanish", "VanishingGradient", only("often"), largest_share=1e-3, step_share=0.1),
        rule("flush", "HalfPrecisionRisk", only("often"), collection_names="gradients", flush_percent=99, step_share=0.1),
        rule("documented", "VanishingGradient", lambda e: e["findings_total"] == 2 + 10)]


def about_zero(folder, jump=0.0):
    """A loss of a policy: noise about a number below zero, which it crosses once."""
    noise = numpy.random.default_rng(3)
    made = Made(folder, collections=COLLECTIONS)
    for step in range(200):
        made.step(step, "TRAIN", step, {"loss_output": 0.014 if step == 47 else
                                        0.03 * noise.uniform(-1, 1) - 0.08 + jump * (step == 150)})
    return made.end()


@case
def loss_about_zero(folder):
    return about_zero(folder), [rule("noise", "LossSpike", fires(), share=0.5)]


@case
def loss_about_zero_that_jumps(folder):
    return about_zero(folder, 2.0), [rule("jump", "LossSpike", fires(150), share=0.5)]


def labels(folder, spoil):
    made = Made(folder)
    for step in range(12):
        y = numpy.arange(24, dtype="int64") % 3
        made.step(step, "TRAIN", step, {"CrossEntropyLoss_input_0": numpy.zeros((24, 3), "float32"),
                                        "CrossEntropyLoss_input_1": spoil(step, y)})
    return made.end()


@case
def border_of_a_field(folder):
    def border(step, y):
        y[:4] = 255
        return y

    return labels(folder, border), [
        rule("told", "LabelOutOfRange", lambda e: e["status"] == "NoIssuesFound" and "255" in e["message"], strict=False),
        rule("strict", "LabelOutOfRange", found(0))]


@case
def labels_that_are_wrong(folder):
    return labels(folder, lambda step, y: y + 1), [rule("from 1", "LabelOutOfRange", found(0), strict=False)]


@case
def label_that_is_wrong_once(folder):
    def once(step, y):
        y[5] = 255 if step == 7 else y[5]
        return y

    return labels(folder, once), [rule("once", "LabelOutOfRange", fires(7), strict=False)]


def gradients(folder, size, loss):
    made = Made(folder, collections=COLLECTIONS)
    for step in range(20):
        made.step(step, "TRAIN", step, {"loss_output": loss(step), "gradient/a.weight": numpy.full(16, size(step))})
    return made.end()


@case
def gradients_of_a_converged_loss(folder):
    """From step 10 on the loss is a thousandth of what it was, or is not: then the gradients are scaled down by mistake."""
    risk = dict(collection_names="losses", tensor_regex="^gradient.*weight", flush_percent=99)
    small = lambda step: 1e-2 if step < 10 else 1e-9  # noqa: E731
    trial = gradients(folder, small, lambda step: 2.0 if step < 10 else 0.002)
    return trial, [rule("converged", "HalfPrecisionRisk", fires(), loss_share=0.01, **risk),
                   rule("whatever the loss", "HalfPrecisionRisk", found(10), **risk)]


@case
def gradients_scaled_down(folder):
    trial = gradients(folder, lambda step: 1e-2 if step < 10 else 1e-9, lambda step: 2.0 - 0.02 * step)
    return trial, [rule("scaled", "HalfPrecisionRisk", found(10), loss_share=0.01, collection_names="losses",
                        tensor_regex="^gradient.*weight", flush_percent=99)]


@case
def balanced_adversaries(folder):
    """Neither loss falls: what one gains the other loses. Two losses of one failing training have noise of their own."""
    made, random = Made(folder), numpy.random.default_rng(2)
    for step in range(100):
        swing = 0.05 * numpy.sin(step / 8)
        made.step(step, "TRAIN", step, {"judge": 0.69 + swing + 0.01 * random.normal(), "maker": 0.69 - swing + 0.01 * random.normal(),
                                        "one": 0.69 + 0.02 * random.normal(), "two": 0.69 + 0.02 * random.normal()})
    course = dict(against="start", diff_percent=5, plateau_percent=25, use_losses_collection=False)
    return made.end(), [rule("adversaries", "LossNotDecreasing", fires(), tensor_regex="judge,maker", **course),
                        rule("two tasks", "LossNotDecreasing", found(), tensor_regex="one,two", **course)]


@case
def end_of_a_tail(folder):
    """Jumps of all sizes: the largest of them belongs to the tail. A jump with none beside it does not."""
    curve = 1.0 + 0.02 * numpy.random.default_rng(3).normal(size=300)
    tail, alone = curve.copy(), curve.copy()
    for k, step in enumerate(range(30, 290, 20)):
        tail[step] += 6.0 / (1 + 0.7 * k)
    tail[150] = 9.0
    alone[150] = 9.0
    made = Made(folder, collections={"losses": "^tail$"})
    for step in range(300):
        made.step(step, "TRAIN", step, {"tail": float(tail[step]), "alone": float(alone[step])})
    return made.end(), [rule("tail", "LossSpike", fires(), share=0.5),
                        rule("alone", "LossSpike", fires(150), share=0.5, collection_names="none", tensor_regex="alone")]


@case
def inputs_of_any_network(folder):
    """The labels are the places of pairs in the batch, and so the same everywhere."""
    made, random = Made(folder, workers=3), numpy.random.default_rng(4)
    for step in range(6):
        own = [random.normal(size=(8, 4)) for _ in range(3)]
        made.step(step, "TRAIN", step, {"worker_%d" % w: {"Sequential_input_0": own[1 if w == 2 else w],
                                                          "CrossEntropyLoss_input_1": numpy.arange(32),
                                                          "place_input_0": numpy.arange(32.0)} for w in range(3)})
    return made.end(), [rule("twins", "DuplicateShard", lambda e: found(1)(e) and {f["worker"] for f in e["findings"]} == {"worker_2"})]


if __name__ == "__main__":
    main()
