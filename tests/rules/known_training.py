#!/usr/bin/env python3
"""Rules about weights and gradients on made trainings: healthy ones that look odd, and their faulty twins.

    known_training.py --assay PROGRAM --ranks 1 3 -- [CASE]...
"""
import json
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, fires, main, refused, rule  # noqa: E402
from made import Made, figures_of  # noqa: E402

COLLECTIONS = {"weights": "^(?!gradient).*weight$", "biases": "^(?!gradient).*bias$", "gradients": "^gradient",
               "losses": "loss"}
LAYERS = ("fc1.weight", "fc2.weight", "fc3.weight")


def layer(name, updates):
    """The weights of a layer after so many updates: they move, and are unlike those of another layer."""
    return numpy.random.default_rng(len(name) + ord(name[2])).normal(0, 0.1, (4, 3)) + 0.01 * updates


def gradients_of(names, scale=0.1):
    return {"gradient/" + name: numpy.full((4, 3), scale) for name in names}


def fires_of(tensor, first, rule_name="UnchangedTensor", **parameters):
    """That tensor alone has findings, the first of them at that step."""
    return rule("%s %s" % (rule_name, sorted(parameters)), rule_name,
                lambda e: e["findings_total"] > 0 and e["first"]["step"] == first and
                {f["tensor"] for f in e["findings"]} == {tensor}, **parameters)


TRAINED = {"collection_names": "weights", "mode": "TRAIN", "accumulation": True, "only_trained": True}


@case
def evaluations_between(folder):
    """Two EVAL batches in a row leave the weights as they are; fc3 stands still from the fourth TRAIN step on."""
    made, step = Made(folder, collections=COLLECTIONS), 0
    for k in range(8):
        weights = {name: layer(name, k if name != "fc3.weight" else min(k, 3)) for name in LAYERS}
        made.step(step, "TRAIN", k, {**weights, **gradients_of(LAYERS)})
        made.step(step + 1, "EVAL", 2 * k, weights).step(step + 2, "EVAL", 2 * k + 1, weights)
        step += 3
    return made.end(), [
        rule("all modes", "UnchangedTensor", lambda e: e["first"]["step"] == 2, collection_names="weights"),
        fires_of("fc3.weight", 15, collection_names="weights", mode="TRAIN"),
        fires_of("fc3.weight", 15, collection_names="weights", mode="TRAIN", against="current"),
        fires_of("fc3.weight", 15, rule_name="WeightFrozenDespiteGradient"),
    ]


def accumulating(folder, every, frozen=(), until=48, steps=48):
    made = Made(folder, collections=COLLECTIONS)
    for step in range(steps):
        updates = min(step, until) // every
        made.step(step, "TRAIN", step, {
            **{name: layer(name, 0 if name in frozen else updates) for name in LAYERS}, **gradients_of(LAYERS)})
    return made.end()


@case
def accumulated_gradients(folder):
    """Weights move at every fourth step only."""
    return accumulating(folder, 4), [
        rule("every step counts", "UnchangedTensor", lambda e: e["first"]["step"] == 2, collection_names="weights"),
        rule("built in", "UnchangedTensor", fires(datapoints=3 * 10), **TRAINED),
        rule("despite gradient", "WeightFrozenDespiteGradient", fires(datapoints=3 * 11)),
    ]


@case
def accumulated_twice(folder):
    """Two updates in 20 steps, at steps 8 and 16; and one alone, of which nothing follows."""
    return accumulating(folder, 8, steps=20), [
        rule("built in", "UnchangedTensor", fires(datapoints=3), **TRAINED),
        rule("despite gradient", "WeightFrozenDespiteGradient", fires(datapoints=3 * 2)),
        rule("one update", "UnchangedTensor", lambda e: e["findings_total"] > 0, end_step=15, **TRAINED),
    ]


@case
def accumulated_and_frozen(folder):
    return accumulating(folder, 4, frozen=("fc2.weight",)), [
        fires_of("fc2.weight", 8, **TRAINED),
        fires_of("fc2.weight", 8, rule_name="WeightFrozenDespiteGradient"),
    ]


@case
def one_of_two_in_turn_is_never_moved(folder):
    """Each has its passes at steps of its own, the second one every other of its own without an update: it tells when there are updates."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(48):
        name = LAYERS[step % 2]
        made.step(step, "TRAIN", step, {name: layer(name, step // 4 if step % 2 else 0), **gradients_of([name])})
    return made.end(), [fires_of(LAYERS[0], 4, **TRAINED)]


@case
def accumulated_and_stopped(folder):
    """The optimizer takes no step after step 24: beyond the usual distance nothing is excused."""
    return accumulating(folder, 4, until=24), [
        rule("built in", "UnchangedTensor", lambda e: e["first"]["step"] == 29 and e["findings_total"] == 3 * 19,
             **TRAINED),
        rule("despite gradient", "WeightFrozenDespiteGradient", lambda e: e["first"]["step"] == 29),
    ]


@case
def never_moved(folder):
    return accumulating(folder, 4, frozen=LAYERS), [
        rule("built in", "UnchangedTensor", lambda e: e["first"]["step"] == 2 and e["findings_total"] == 3 * 46,
             **TRAINED)]


@case
def frozen_on_purpose(folder):
    """fc1 has no gradient and never moves."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(8):
        made.step(step, "TRAIN", step, {
            **{name: layer(name, 0 if name == "fc1.weight" else step) for name in LAYERS}, **gradients_of(LAYERS[1:])})
    return made.end(), [
        rule("built in", "UnchangedTensor", lambda e: e["status"] == "NoIssuesFound" and e["datapoints"] == 12 and
             '"fc1.weight" never moves and has no gradient' in e["message"], **TRAINED),
        fires_of("fc1.weight", 2, collection_names="weights"),
    ]


@case
def skipped_overflows(folder):
    """A loss scaler that begins too high: gradients are infinite, and their steps are left out."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(10):
        made.step(step, "TRAIN", step, {
            **{name: layer(name, max(0, step - 4)) for name in LAYERS},
            **gradients_of(LAYERS, numpy.inf if step < 4 else 0.1)})
    return made.end(), [rule("scaler", "WeightFrozenDespiteGradient", fires(datapoints=3 * 5))]


@case
def saved_reductions(folder):
    """Of gradients only abs_mean was saved, of weights their values; fc2 stands still."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(6):
        made.step(step, "TRAIN", step, {
            **{name: layer(name, 0 if name == "fc2.weight" else step) for name in LAYERS},
            **{"smdebug/reductions/abs_mean/gradient/" + name: 0.1 for name in LAYERS}})
    return made.end(), [fires_of("fc2.weight", 2, rule_name="WeightFrozenDespiteGradient")]


def parallel(folder, steps, weight_of, gradient_of, workers=4):
    made = Made(folder, workers=workers, collections=COLLECTIONS)
    for step in range(steps):
        made.step(step, "TRAIN", step, {"worker_%d" % w: {
            **weight_of(step, w), **gradient_of(step, w)} for w in range(workers)})
    return made.end()


def noise(step, worker, scale=1.0, shape=(4, 3)):
    return scale * numpy.random.default_rng([step, worker]).normal(size=shape)


@case
def patterns_that_match_all(folder):
    """fc2 stands still; `weight` matches gradients as well as weights. Gradients differ before they are averaged."""
    trial = parallel(folder, 6, lambda s, w: {n: layer(n, 0 if n == "fc2.weight" else s) for n in LAYERS},
                     lambda s, w: {"gradient/" + n: noise(s, w) for n in LAYERS})
    return trial, [
        rule("frozen", "WeightFrozenDespiteGradient", lambda e: e["findings_total"] == 4 * 4 and
             {f["tensor"] for f in e["findings"]} == {"fc2.weight"}, tensor_regex="weight"),
        rule("after", "GradientNotSynchronized", lambda e: e["findings_total"] == 3 * 6 and
             {f["test"] for f in e["findings"]} == {"gradients"}, tensor_regex="weight", recorded="after"),
        rule("before", "GradientNotSynchronized", lambda e: e["status"] == "NoIssuesFound" and e["datapoints"] > 0,
             tensor_regex="weight"),
    ]


@case
def equal_by_chance(folder):
    """Models of their own on four workers. Biases begin with zeros, and a normalisation's weights with ones."""
    trial = parallel(folder, 8, lambda s, w: {
        "fc1.weight": noise(0, w) + s * noise(1, w, 0.01), "fc1.bias": s * noise(2, w, 0.01),
        "norm.weight": 1 + s * noise(3, w, 0.01), "scale.bias": numpy.ones(1) + s * noise(4, w, 0.01, (1,))},
        lambda s, w: {"gradient/" + n: noise(s, w) for n in ("fc1.weight", "fc1.bias", "norm.weight")})
    return trial, [
        rule("replicas", "ReplicaDivergence", lambda e: e["findings_total"] == 0 and "4 tensors were" in e["message"]),
        rule("all of them", "ReplicaDivergence", lambda e: e["findings_total"] > 0, replicated="always"),
        rule("gradients", "GradientNotSynchronized", lambda e: e["findings_total"] == 0),
    ]


def apart_from_the_start(folder, exchanged):
    """Workers with weights of their own, whose updates are the same, or are not."""
    return parallel(folder, 12, lambda s, w: {n: noise(50 + k, w) + s * noise(70 + k, 0 if exchanged else w, 0.2)
                                              for k, n in enumerate(("fc1.weight", "fc2.weight"))}, lambda s, w: {})


def apart(test):
    return rule(test, "GradientNotSynchronized", lambda e: {f["test"] for f in e["findings"]} == {test} and e["first"]["step"] == 0, never=True)


@case
def begun_apart(folder):
    return apart_from_the_start(folder, True), [apart("begun")]


@case
def never_together(folder):
    return apart_from_the_start(folder, False), [apart("never")]


@case
def parts_of_one_network(folder):
    """Each worker has layers of its own under the same names: one of them has another shape."""
    return parallel(folder, 12, lambda s, w: {"fc1.weight": noise(50, w) + s * noise(70, w, 0.2), "fc2.weight": (noise(51, w) + s * noise(71, w, 0.2)).ravel()[:10 + w]},
                    lambda s, w: {}), [rule("parts", "GradientNotSynchronized", {"status": "NoData"}, never=True),
                                  rule("there", "MissingWorker", {"status": "NoIssuesFound"})]


def in_figures(folder, weight):
    """weight(step, worker) and a bias of zeros, of three workers, as statistics."""
    made = Made(folder, workers=3, collections={"weights": "weight$", "biases": "bias$", "gradients": "^gradient"})
    for s in range(12):
        made.step(s, "TRAIN", s, {"worker_%d" % w: {**figures_of("fc.weight", weight(s, w)), **figures_of("fc.bias", numpy.zeros(3)),
                                                    **figures_of("gradient/fc.weight", noise(s, w))} for w in range(3)})
    return made.end()


def replicas(name, step=None):
    return rule(name, "ReplicaDivergence", lambda e: e["findings_total"] == 0 if step is None else (
        {f["worker"] for f in e["findings"]} == {"worker_1"} and e["first"]["step"] == step and "least or largest" in e["first"]["note"]))


@case
def statistics_of_one_worker_differ(folder):
    """Of sums alone that differ by their rounding nothing is said."""
    return in_figures(folder, lambda s, w: noise(3, 0) * (1.001 if w == 1 and s >= 7 else 1) + 0.01 * s), [
        replicas("odd", 7)]


@case
def statistics_that_never_were_equal(folder):
    return in_figures(folder, lambda s, w: noise(3, w) + 0.01 * s), [
        replicas("own"), rule("came", "MissingWorker", fires())]


@case
def statistics_that_stand(folder):
    """Steps of statistics alone are no saved steps of a tensor (RULES.md, G1): equal figures are no proof of equal elements."""
    return in_figures(folder, lambda s, w: noise(3, 0)), [
        replicas("alike"), rule("stands", "UnchangedTensor", lambda e: e["status"] == "NoData", tensor_regex="fc.weight")]


def local_sgd(step, worker, every=4):
    """Weights that workers train alone, and average at every fourth step."""
    rounds, alone = divmod(step, every)
    return layer("fc1.weight", rounds) + alone * noise(rounds, worker, 0.01)


@case
def averaged_now_and_then(folder):
    trial = parallel(folder, 18, lambda s, w: {"fc1.weight": local_sgd(s, w), "fc1.bias": s // 4 * 0.1 + s % 4 *
                                               noise(s // 4, w, 0.01)},
                     lambda s, w: {"gradient/fc1.weight": noise(s, w)})
    told = "as by local SGD"
    return trial, [
        rule("replicas", "ReplicaDivergence", lambda e: e["findings_total"] == 0 and told in e["message"]),
        rule("gradients", "GradientNotSynchronized", lambda e: e["findings_total"] == 0 and told in e["message"]),
    ]


@case
def averaged_no_more(folder):
    """After the fourth averaging, at step 12, there is none: steps 13 to 15 are as usual, 16 is not."""
    trial = parallel(folder, 24, lambda s, w: {"fc1.weight": local_sgd(s, w) if s < 12 else
                                               layer("fc1.weight", 3) + (s - 12) * noise(9, w, 0.01)},
                     lambda s, w: {"gradient/fc1.weight": noise(s, w)})
    return trial, [
        rule("replicas", "ReplicaDivergence", lambda e: e["first"]["step"] == 16),
        rule("gradients", "GradientNotSynchronized", lambda e: e["first"]["step"] == 16 and e["first"]["test"] == "drift"),
    ]


@case
def odd_between_averagings(folder):
    """One worker is odd alone at an averaging, of which the others come out equal."""
    trial = parallel(folder, 18, lambda s, w: {"fc1.weight": local_sgd(s, w) + (w == 2 and s == 8)},
                     lambda s, w: {})
    return trial, [rule("replicas", "ReplicaDivergence", lambda e: e["steps"] == [8] and
                        {f["worker"] for f in e["findings"]} == {"worker_2"})]


@case
def alike_behind_an_averaging(folder):
    """The first step alone is the same on three of four workers for a bias, while weights are apart on all; at an averaging one odd worker is a fault."""
    def bias(step, worker):
        alone = step % 4 * noise(step // 4, worker // 3 if step % 4 == 1 else worker, 0.01)
        return layer("fc1.bias", step // 4) + alone
    trial = parallel(folder, 18, lambda s, w: {"fc1.weight": local_sgd(s, w), "fc1.bias": bias(s, w) + (w == 2 and s == 12)}, lambda s, w: {})
    return trial, [rule("replicas", "ReplicaDivergence", lambda e: e["steps"] == [12] and {f["worker"] for f in e["findings"]} == {"worker_2"})]


@case
def one_is_updated_at_every_third_step(folder):
    """An actor beside its critic: it stands between its own updates, and behind the last one for longer than ever before."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(48):
        made.step(step, "TRAIN", step, {LAYERS[0]: layer(LAYERS[0], step), LAYERS[1]: layer(LAYERS[1], min(step, 36) // 3), **gradients_of(LAYERS[:2])})
    return made.end(), [rule("stands", "WeightFrozenDespiteGradient", lambda e: e["first"]["step"] == 39 and {f["tensor"] for f in e["findings"]} == {LAYERS[1]})]


def normalised(folder, weight, bias, steps=12, spike=None):
    """A layer in front of a normalisation: the gradient of its bias is zero but for rounding, and jumps about."""
    made, random = Made(folder, collections=COLLECTIONS), numpy.random.default_rng(4)
    for step in range(steps):
        rounding = bias * random.normal(size=8) * 10.0 ** random.uniform(-3, 0)
        made.step(step, "TRAIN", step, {
            "gradient/conv.weight": weight * random.normal(size=(8, 9)),
            "gradient/conv.bias": numpy.full(8, 1e3) if step == spike else rounding})
    return made.end()


@case
def bias_before_a_normalisation(folder):
    said = '1 bias has a gradient that is zero but for rounding'
    return normalised(folder, 1e-2, 1e-8), [
        rule("vanishing", "VanishingGradient", lambda e: e["status"] == "NoIssuesFound" and e["datapoints"] == 12 and
             said in e["message"] and '("gradient/conv.bias")' in e["message"]),
        rule("fp16", "HalfPrecisionRisk", fires(datapoints=48)),
        rule("spikes", "NormSpike", fires(datapoints=2 * 4, findings_total=0), min_history=8),
        rule("start", "PoorWeightInitialization", fires(datapoints=10)),
    ]


@case
def faults_before_a_normalisation(folder):
    """The layer's own gradient has vanished; its bias, which a bit flip makes enormous, is found all the same."""
    return normalised(folder, 1e-9, 1e-15, spike=10), [
        rule("vanishing", "VanishingGradient", lambda e: e["findings_total"] == 12 and
             {f["tensor"] for f in e["findings"]} == {"gradient/conv.weight"}),
        rule("fp16", "HalfPrecisionRisk", lambda e: {f["tensor"] for f in e["findings"] if f["test"] == "flush"} ==
             {"gradient/conv.weight"}),
        rule("spikes", "NormSpike", lambda e: (e["first"]["step"], e["first"]["tensor"]) == (10, "gradient/conv.bias"),
             min_history=8),
    ]


@case
def flushes_that_do_not_matter(folder):
    """A converged loss, and gradients of which most elements are tiny beside the others."""
    made, most = Made(folder, collections=COLLECTIONS), numpy.full(1000, 1e-9)
    most[:300] = 1e-3
    for step in range(3):
        made.step(step, "TRAIN", step, {"loss": 1e-10, "gradient/a.weight": most,
                                        "gradient/b.weight": numpy.full(1000, 1e-9)})
    return made.end(), [rule("fp16", "HalfPrecisionRisk", lambda e: e["steps"] == [0, 1, 2] and e["datapoints"] == 18 and
                             {f["tensor"] for f in e["findings"]} == {"gradient/b.weight"})]


@case
def saved_norms(folder):
    """Of the gradient only its l2 norm was saved."""
    made = Made(folder, collections=COLLECTIONS)
    for step in range(20):
        made.step(step, "TRAIN", step, {"smdebug/reductions/l2/gradient/a.weight": 1e3 if step == 15 else 1 + 0.1 * (step % 3)})
    return made.end(), [rule("spikes", "NormSpike", lambda e: e["steps"] == [15])]


def timed(folder, every, lag, workers=4, seconds=0.15, saved=8):
    """Steps of `seconds`, of which every so many is saved; lag(worker, k) is how late the worker is at the k-th of them."""
    made = Made(folder, workers=workers)
    for k in range(saved):
        for w in range(workers):
            made.step(k * every, "TRAIN", k * every, {"worker_%d" % w: {"loss": 1.0}},
                      wall_time=1e9 + k * every * seconds + lag(w, k))
    return made.end()


def straggles(*steps):
    return rule("straggler", "StragglerWorker", lambda e: e["steps"] == list(steps) and e["datapoints"] == 32 and all(
        f["worker"] == "worker_2" and abs(f["value"] - 0.12) < 0.01 for f in e["findings"]))


@case
def late_at_every_step(folder):
    """120 ms at steps of 150 ms, all of which are saved."""
    return timed(folder, 1, lambda w, k: 0.12 * (w == 2) + 0.003 * (w * k % 3)), [straggles(*range(2, 8))]


@case
def late_at_every_step_of_few(folder):
    return timed(folder, 500, lambda w, k: 0.12 * (w == 2) + 0.003 * (w * k % 3)), [
        straggles(*range(1000, 4000, 500)),
        refused("one worker", "StragglerWorker", "compares workers", worker="worker_2"),
        refused("replicas", "ReplicaDivergence", "compares workers", worker="worker_2"),
        refused("gradients", "GradientNotSynchronized", "compares workers", worker="worker_2"),
        refused("shards", "DuplicateShard", "compares workers", worker="worker_2"),
    ]


def timed_in_pairs(folder, lags):
    """Two pairs of workers, of which the second is late by `lags`; each waits for the other one of its pair most."""
    trial = timed(folder, 1, lambda w, k: lags[w - 2] if w >= 2 else 0.003 * (w * k % 3))
    (Path(folder) / "topology.json").write_text(json.dumps(
        {"schema": "assay-topology/1", "meshes": {"dense": {"axes": [["dp", 2], ["tp", 2]]}}}))
    return trial


@case
def late_with_the_neighbour_behind(folder):
    """Against all workers both are late; within the pair it is the first."""
    return timed_in_pairs(folder, (0.2, 0.1)), [rule("straggler", "StragglerWorker", lambda e: e["steps"] == list(range(2, 8)) and
                                                     e["datapoints"] == 32 and all(
        f["worker"] == "worker_2" and abs(f["value"] - 0.1) < 0.01 and "closest" in f["note"] for f in e["findings"]))]


@case
def late_as_a_pair(folder):
    return timed_in_pairs(folder, (0.12, 0.12)), [rule("straggler", "StragglerWorker", lambda e: e["datapoints"] == 32 and
                                                       [f["worker"] for f in e["findings"]] == ["worker_2", "worker_3"] * 6)]


@case
def late_now_and_then(folder):
    """Never at three saved steps in a row."""
    return timed(folder, 1, lambda w, k: 0.12 * (w == 2 and k % 3 < 2)), [straggles()]


@case
def late_once_for_three_steps(folder):
    """Of eighty: what a busy machine does to one of them by chance."""
    return timed(folder, 1, lambda w, k: 0.12 * (w == 2 and 30 <= k < 33), saved=80), [rule("straggler", "StragglerWorker", fires(datapoints=320))]


@case
def late_for_a_tenth(folder):
    return timed(folder, 1, lambda w, k: 0.12 * (w == 2 and k >= 72), saved=80), [
        rule("straggler", "StragglerWorker", lambda e: e["steps"] == list(range(74, 80)) and e["datapoints"] == 320)]


@case
def late_beside_long_steps(folder):
    return timed(folder, 10, lambda w, k: 0.12 * (w == 2), seconds=2.0), [straggles()]


@case
def crowded_machine(folder):
    """Two workers that share too few cores: the lag of the second is large at most steps, and never steady."""
    made, random = Made(folder, workers=2), numpy.random.default_rng(8)
    for step in range(60):
        late = random.choice([0.003, 0.06, 0.15, 0.35])
        for w in range(2):
            made.step(step, "TRAIN", step, {"worker_%d" % w: {"loss": 1.0}}, wall_time=1e9 + 0.14 * step + late * w)
    return made.end(), [rule("straggler", "StragglerWorker", fires(datapoints=120))]


@case
def taking_turns(folder):
    return timed(folder, 1, lambda w, k: 0.15 * w, seconds=0.6), [straggles()]


if __name__ == "__main__":
    main()
