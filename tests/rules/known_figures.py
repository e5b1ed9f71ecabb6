#!/usr/bin/env python3
"""Rules on trials of which weights and gradients were recorded as statistics, some with digests beside them, as the automatic hook does.

    known_figures.py --assay PROGRAM --ranks 1 3 -- [CASE]...
"""
import hashlib
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, fires, main, rule  # noqa: E402
from made import Made, figures_of  # noqa: E402

COLLECTIONS = {"weights": "^(?!gradient).*weight$", "biases": "^(?!gradient).*bias$", "gradients": "^gradient", "losses": "loss"}


def noise(*seeds, shape=(20, 30)):
    return numpy.random.default_rng(seeds).normal(0, 1, shape)


def trial(folder, of, steps=40, workers=1, every=1):
    """of(step, worker): tensors by name; those called loss stay as they are."""
    made = Made(folder, workers=workers, collections=COLLECTIONS)
    for s in range(steps):
        made.step(s * every, "TRAIN", s * every, {"worker_%d" % w: {
            tag: figure for name, x in of(s, w).items()
            for tag, figure in ({name: x} if name == "loss" else figures_of(name, x)).items()} for w in range(workers)})
    return made.end()


# -- norms of weights

def course(folder, factor, gain=lambda s: 1.0, walk=0.0, every=1):
    """A matrix and the gains of two normalisations, each times a factor at each step."""
    return trial(folder, lambda s, w: {
        "fc.weight": noise(1) * factor(s) + walk * s * noise(2), "ln1.weight": (1 + 0.01 * noise(3, shape=20)) * gain(s),
        "ln2.weight": (1 + 0.01 * noise(4, shape=20)) * gain(s)}, every=every)


def said(name, test=None, first=None, moved=None):
    """That test of WeightCourse alone fires, first at that step; without a test nothing does."""
    return rule(name, "WeightCourse", lambda e: (e["status"] == "NoIssuesFound" if test is None else (
        {f["test"] for f in e["findings"]} == {test} and e["first"]["step"] == first)) and (
            moved is None) == ("moved" not in e) and (moved is None or moved[0] < e["moved"] < moved[1]))


@case
def weights_decay_away(folder):
    return course(folder, lambda s: 0.9 ** s), [said("decayed", "shrunk", 7)]


@case
def gains_decay_away(folder):
    return course(folder, lambda s: 1.0, lambda s: 0.9 ** s, walk=0.01), [said("gains", "shrunk", 7)]


@case
def weights_grow(folder):
    return course(folder, lambda s: 1.15 ** s), [said("grown", "grown", 12)]


@case
def update_that_overwrites(folder):
    return course(folder, lambda s: 7.0 if s > 9 else 1.0), [said("overwritten", "large", 10)]


@case
def weights_learn(folder):
    """An element moves by a hundredth of the root mean square at each step: far in all, and no step is unusual."""
    return course(folder, lambda s: 1.0, walk=0.01), [said("learns")]


@case
def weights_hardly_move(folder):
    """By 39 millionths in all; the extremes' moves count twice."""
    return course(folder, lambda s: 1.0, walk=1e-6), [said("stays", moved=(3e-5, 1e-3))]


@case
def warm_up_is_no_jump(folder):
    """Steps that become thirty times as large, of elements that move in either direction: their mean and their norm hardly do."""
    walk = numpy.cumsum(numpy.linspace(1e-3, 3e-2, 40))
    return trial(folder, lambda s, w: {"fc.weight": noise(1) + walk[s] * noise(2)}), [said("warms up")]


# -- gradients that are zero

def gradients(folder, **zero):
    """Gradients of three tensors, of which those named are zero from that step on."""
    names = {"a": "gradient/a.weight", "b": "gradient/b.weight", "bias": "gradient/b.bias"}
    return trial(folder, lambda s, w: {"loss": 2.0, **{name: noise(s, 5) * (s < zero.get(key, 99)) for key, name in names.items()}})


def underflow(test, first, *tensors):
    return rule(test, "GradientUnderflow", lambda e: {f["test"] for f in e["findings"]} == {test} and e["first"]["step"] == first and
                {f["tensor"] for f in e["findings"]} == set(tensors))


@case
def no_gradient_at_all(folder):
    return gradients(folder, a=17, b=17, bias=17), [underflow("all", 17, "gradient/a.weight", "gradient/b.weight", "gradient/b.bias")]


@case
def no_gradient_of_a_part(folder):
    return gradients(folder, a=0), [underflow("part", 0, "gradient/a.weight")]


@case
def gradient_of_a_bias_alone(folder):
    """What comes to the layers is all zero."""
    return gradients(folder, a=0, b=0), [underflow("weights", 0, "gradient/a.weight", "gradient/b.weight")]


@case
def gradients_of_a_part_that_end(folder):
    """How many of its elements were zero before is not known: nothing says that it underflowed."""
    return gradients(folder, a=20), [rule("ends", "GradientUnderflow", fires())]


def held(folder, named, thawed=False, frozen=0, row=False):
    """Three trained weights, and others of which the hook says that the optimizer has them and no gradient came."""
    def of(s, w):
        told = {name: noise(n) + 0.01 * s for n, name in enumerate(("x.weight", "y.weight", "z.weight"))}
        told.update({"body.%d.weight" % k: noise(k, 8) + 0.01 * s for k in range(4, 4 + row)})
        told.update({"gradient/" + name: noise(s, 5) for name in list(told)})
        told.update({"body.%d.weight" % k: noise(k, 9) for k in range(named)})
        return dict(told, **{"gradient/body.0.weight": noise(s, 6)}) if thawed and s > 25 else told
    made = Path(trial(folder, of))
    more = Made(folder, collections=COLLECTIONS)
    told = {tag: x for name, values in of(20, 0).items() for tag, x in figures_of(name, values).items()}
    more.step(20, "TRAIN", 20, {**told, "scalar/held_without_gradient_0": numpy.float32(named - frozen)})
    return made


@case
def gradients_that_are_not_cleared(folder):
    """The hook says so from the fifth step on."""
    def of(s, w):
        told = {name: noise(n) + 0.01 * s for n, name in enumerate(("x.weight", "y.weight"))}
        return dict(told, **{"gradient/" + name: noise(s, 5) for name in told})
    made = Path(trial(folder, of))
    more = Made(folder, collections=COLLECTIONS)
    for step in range(5, 8):
        told = {tag: x for name, values in of(step, 0).items() for tag, x in figures_of(name, values).items()}
        more.step(step, "TRAIN", step, {**told, "scalar/gradients_kept_0": numpy.float32(step - 4)})
    return made, [underflow("kept", 5, "scalar/gradients_kept_0")]


@case
def body_behind_a_cut(folder):
    return held(folder, 2), [underflow("held", 0, "body.0.weight", "body.1.weight")]


@case
def head_that_nothing_uses(folder):
    """One weight of four."""
    return held(folder, 1), [rule("unused", "GradientUnderflow", fires())]


@case
def block_of_a_row_that_nothing_uses(folder):
    """One weight of five, the like of which is trained."""
    return held(folder, 1, row=True), [underflow("held", 0, "body.0.weight")]


@case
def body_beside_what_is_frozen(folder):
    """Two of four are frozen on purpose, and nothing says which."""
    return held(folder, 4, frozen=2), [rule("frozen", "GradientUnderflow", fires())]


@case
def body_that_is_used_later(folder):
    return held(folder, 2, thawed=True), [rule("later", "GradientUnderflow", fires())]


# -- workers that were never equal

def apart(folder, own):
    return trial(folder, lambda s, w: {"%s.weight" % k: noise(w, n) + 0.2 * s * (1 + noise(w if own else 0, n, 9)) for n, k in enumerate("abc")},
                 steps=12, workers=3)


def never(test):
    return rule(test, "GradientNotSynchronized", lambda e: {f["test"] for f in e["findings"]} == {test} and e["first"]["step"] == 0, never=True)


@case
def begun_apart(folder):
    return apart(folder, False), [never("begun")]


@case
def never_exchanged(folder):
    return apart(folder, True), [never("never")]


@case
def never_exchanged_by_updates_of_mean_nothing(folder):
    """Their means lie nearly as far apart at the end as in the beginning, and no update is that of another worker."""
    def update(n, w):
        own = noise(w, n, 9)
        return own - 0.9 * own.mean()
    return trial(folder, lambda s, w: {"%s.weight" % k: noise(w, n) + 0.2 * s * update(n, w) for n, k in enumerate("abc")}, steps=12, workers=3), [never("never")]


@case
def parts_of_one_network(folder):
    """Layers of the same name have another size on each worker."""
    return trial(folder, lambda s, w: {"%s.weight" % k: (noise(w, n) + 0.2 * s * (1 + noise(w, n, 9))).ravel()[:12 + w] for n, k in enumerate("abc")}, steps=12, workers=3), [
        rule("never", "GradientNotSynchronized", {"status": "NoData"}, never=True), rule("there", "MissingWorker", {"status": "NoIssuesFound"})]


@case
def never_exchanged_and_clipped(folder):
    """All have the same least and largest element."""
    return trial(folder, lambda s, w: {"%s.weight" % k: (noise(w, n) + 0.2 * s * noise(w, n, 9)).clip(-0.5, 0.5) for n, k in enumerate("abc")}, steps=12, workers=3), [never("never")]


@case
def exchanged_and_clipped(folder):
    return trial(folder, lambda s, w: {"%s.weight" % k: (noise(n) + 0.2 * s * noise(n, 9)).clip(-0.5, 0.5) for n, k in enumerate("abc")}, steps=12, workers=3), [
        rule("never", "GradientNotSynchronized", lambda e: e["status"] == "NoIssuesFound", never=True)]


@case
def exchanged_and_then_not(folder):
    """Equal up to step 5; from there on each has updates of its own."""
    return trial(folder, lambda s, w: {"a.weight": noise(1) + 0.1 * min(s, 5) + 0.05 * max(s - 5, 0) * (1 + w)}, steps=12, workers=3), [
        rule("drift", "GradientNotSynchronized", lambda e: {f["test"] for f in e["findings"]} == {"drift"} and e["first"]["step"] == 7)]


# -- digests beside the figures

def digested(folder, weight, steps=12):
    """weight(step), beside one that is trained; both with gradients."""
    made = Made(folder, collections=COLLECTIONS)
    for s in range(steps):
        told = {"a.weight": numpy.float32(weight(s)), "b.weight": numpy.float32(noise(8) + 0.01 * s)}
        digests = {"assay/digest/" + name: numpy.int64(int(hashlib.sha256(x.tobytes()).hexdigest()[:15], 16)) for name, x in told.items()}
        made.step(s, "TRAIN", s, {**digests, **{k: v for name, x in told.items() for k, v in figures_of(name, x).items()},
                                  **{k: v for name in told for k, v in figures_of("gradient/" + name, noise(s)).items()}})
    return made.end()


def frozen(name, first=None, total=None):
    return rule(name, name, lambda e: e["status"] == "NoIssuesFound" and e["datapoints"] > 0 if first is None else (
        {f["tensor"] for f in e["findings"]} == {"a.weight"} and e["first"]["step"] == first), **(
            {} if name == "WeightFrozenDespiteGradient" else {"collection_names": "weights", "mode": "TRAIN", "accumulation": True, "only_trained": True}))


@case
def weight_that_is_not_updated(folder):
    return digested(folder, lambda s: noise(7)), [frozen("WeightFrozenDespiteGradient", 2), frozen("UnchangedTensor", 2)]


@case
def weight_that_is_dropped(folder):
    return digested(folder, lambda s: noise(7) + 0.01 * min(s, 6)), [frozen("WeightFrozenDespiteGradient", 8), frozen("UnchangedTensor", 8)]


@case
def weight_that_is_clipped_and_dropped(folder):
    """Its least and largest element never move, though it did."""
    return digested(folder, lambda s: (noise(7) + 0.01 * min(s, 6)).clip(-0.5, 0.5)), [frozen("WeightFrozenDespiteGradient", 8), frozen("UnchangedTensor", 8)]


@case
def weight_that_moves_in_the_middle(folder):
    """Its figures stay what they were, for two elements change places; the digest is another one."""
    def weight(s):
        x = noise(7)
        x[0, :2] = x[0, 1::-1] if s % 2 else x[0, :2]
        return x
    return digested(folder, weight), [frozen("WeightFrozenDespiteGradient"), frozen("UnchangedTensor")]


@case
def weight_that_comes_to_rest(folder):
    """Its last changes are rounding, as at the end of a schedule."""
    return digested(folder, lambda s: noise(7) * (1 + 1e-7 * min(s, 6))), [
        frozen("WeightFrozenDespiteGradient"), frozen("UnchangedTensor")]


# -- what is fed

def fed(folder, of, workers=1, steps=24):
    """of(step, worker): the inputs of the model, of which statistics alone are recorded."""
    return trial(folder, lambda s, w: {"inputs": of(s, w)}, steps, workers)


def tells(name, test=None, first=None):
    """That test of InputData alone fires, first at that step; without a test nothing does."""
    return rule(name, "InputData", lambda e: e["status"] == "NoIssuesFound" if test is None else (
        {f["test"] for f in e["findings"]} == {test} and e["first"]["step"] == first))


@case
def inputs_that_become_zero(folder):
    return fed(folder, lambda s, w: noise(31, s) * (s < 12)), [tells("zero", "constant", 12)]


@case
def inputs_of_a_single_number(folder):
    """One number is always one value."""
    return fed(folder, lambda s, w: noise(32, s, shape=(1, 1))), [tells("single")]


@case
def batch_repeated_by_its_statistics(folder):
    return fed(folder, lambda s, w: noise(33, min(s, 12))[numpy.random.default_rng(s).permutation(20)]), [tells("again", "repeated", 13)]


@case
def batches_of_zeros_and_ones(folder):
    """Of two values statistics are often the same by chance."""
    return fed(folder, lambda s, w: numpy.eye(30)[numpy.random.default_rng(s).integers(0, 30, 20)]), [tells("one-hot")]


@case
def workers_that_share_a_shard(folder):
    return fed(folder, lambda s, w: noise(34, s, 1 if w == 2 else w)[::-1 if w == 2 else 1], workers=3), [
        tells("shared", "shared", 2)]


@case
def workers_with_shards_of_codes(folder):
    """Least and largest codes are the same everywhere, sums are not."""
    return fed(folder, lambda s, w: numpy.random.default_rng((35, s, w)).integers(0, 9, (8, 6)), workers=4), [tells("codes")]


if __name__ == "__main__":
    main()
