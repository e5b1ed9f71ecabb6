#!/usr/bin/env python3
"""Rules that ask what a training has learned at its end: rare classes, confusion, one class for everything, learning by heart.

    known_learning.py --assay PROGRAM --ranks 1 3 7 -- [CASE]...
"""
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, fires, main, rule  # noqa: E402
from made import Made  # noqa: E402

CLASSES = dict(labels_regex="labels", predictions_regex="predictions")


def learning(folder, predict, steps=60, size=50, shares=(0.6, 0.38, 0.02), evaluate=0):
    """TRAIN steps of labels by their shares; predict(labels, step, random) says what the model makes of them. Every twentieth
    step is followed by `evaluate` EVAL steps."""
    random = numpy.random.default_rng(21)
    made, step, held = Made(folder), 0, 0
    for number in range(steps):
        labels = random.choice(len(shares), size, p=shares)
        made.step(step, "TRAIN", number, {"labels": labels, "predictions": predict(labels, number, random)})
        step += 1
        for _ in range(evaluate if number % 20 == 19 else 0):
            labels = random.choice(len(shares), size, p=shares)
            made.step(step, "EVAL", held, {"labels": labels, "predictions": predict(labels, number, random)})
            step, held = step + 1, held + 1
    return made.end()


def learned_late(labels, step, random):
    """The frequent classes are learned at once, the rare one at step 20."""
    return numpy.where((labels == 2) & (step < 20), 0, labels)


def end_of_classes(expected, **more):
    return rule("end", "ClassImbalance", expected, judge="end", evidence=3, threshold_imbalance=5, **CLASSES, **more)


@case
def rare_class_learned(folder):
    """One label in fifty: until step 20 all of them are mistaken, then none."""
    return learning(folder, learned_late), [
        rule("as documented", "ClassImbalance", lambda e: {f["test"] for f in e["findings"]} == {"imbalance", "misprediction"},
             **CLASSES),
        end_of_classes(fires(datapoints=2))]


@case
def rare_class_lost(folder):
    return learning(folder, lambda labels, step, random: numpy.where(labels == 2, 0, labels)), [
        end_of_classes(lambda e: e["steps"] == [59] and e["first"]["test"] == "misprediction" and e["first"]["value"] == 1 and
                       e["first"]["note"].startswith("class 2: "))]


def unlearned(folder, classes, value, shares=(0.2,) * 5, right=1.0):
    """Labels of these classes are predicted as the one beside; of the others this share is right."""
    def predict(labels, step, random):
        lost = numpy.isin(labels, classes) | (random.random(len(labels)) > right)
        return numpy.where(lost, numpy.where(labels == 0, 4, labels - 1), labels)
    return learning(folder, predict, shares=shares), [end_of_classes(
        lambda e: [f["value"] for f in e.get("findings", []) if f["test"] == "unlearned"] == ([value] if value else []))]


@case
def two_classes_never_learned(folder):
    return unlearned(folder, (2, 3), 2)


@case
def first_and_last_class_stand_for_nothing(folder):
    """Padding is 0, and the last class often what is to be ignored."""
    return unlearned(folder, (0, 4), 0)


@case
def rare_class_never_learned(folder):
    return unlearned(folder, (2,), 0, (0.24, 0.24, 0.04, 0.24, 0.24))


@case
def class_not_learned_of_a_model_that_learns(folder):
    """Of the other classes two in five labels are right: they are not learned either."""
    return unlearned(folder, (2,), 0, right=0.4)


@case
def few_of_a_rare_class(folder):
    """Seven of eight are no evidence against a class of which three in four may be wrong."""
    def predict(labels, step, random):
        return numpy.where((labels == 2) & (random.random(labels.shape) < 0.95), 0, labels)
    return learning(folder, predict, steps=16), [
        end_of_classes(fires()), rule("without evidence", "ClassImbalance", lambda e: e["findings_total"] == 1, judge="end",
                                      threshold_imbalance=5, **CLASSES)]


@case
def rare_words(folder):
    """Of a language most words are rare, and hard to guess: nothing is wrong with that."""
    shares = 1 / numpy.arange(1, 31) ** 1.2
    return learning(folder, lambda labels, step, random: numpy.where(random.random(labels.shape) < 0.5, labels, 0),
                    shares=shares / shares.sum(), size=200), [end_of_classes(fires())]


def one_tag_lost(folder, share):
    return learning(folder, lambda labels, step, random: numpy.where(labels == 11, 10, labels), size=300,
                    shares=(0.3,) + (0.07 - share / 10,) * 10 + (share,))


@case
def tag_of_the_tail_lost(folder):
    """Of a dozen classes one with a label in two hundred."""
    return one_tag_lost(folder, 0.005), [end_of_classes(fires())]


@case
def tag_that_is_less_rare_lost(folder):
    return one_tag_lost(folder, 0.015), [end_of_classes(lambda e: e["findings_total"] == 1 and e["first"]["note"].startswith("class 11: "))]


@case
def one_of_two_lost(folder):
    """Where there are two, what is rare is what is looked for."""
    return learning(folder, lambda labels, step, random: labels * 0, size=300, shares=(0.995, 0.005)), [
        end_of_classes(lambda e: e["findings_total"] == 1 and e["first"]["note"].startswith("class 1: "))]


@case
def targets_of_a_regression(folder):
    """Numbers are no classes, and the answers to several questions are no scores of one."""
    made = Made(folder)
    random = numpy.random.default_rng(22)
    for step in range(30):
        targets = random.normal(0, 2, (32, 1))
        answers = (random.random((32, 4)) < 0.5).astype("float64")
        made.step(step, "TRAIN", step, {"MSELoss_input_0": numpy.abs(targets) + 1, "MSELoss_input_1": targets,
                                        "BCELoss_input_0": numpy.array([[0.9, 0.1, 0.2, 0.1]] * 32), "BCELoss_input_1": answers})
    both = dict(labels_regex="Loss_input_1", predictions_regex="Loss_input_0")
    matrix = dict(labels_collection="none", predictions_collection="none", labels="MSELoss_input_1", predictions="MSELoss_input_0")
    return made.end(), [
        rule("collapse", "PredictionCollapse", {"status": "NoData"}),
        rule("collapse without labels", "PredictionCollapse", {"status": "NoData"}, labels_regex="none",
             predictions_regex="MSELoss_input_0"),
        rule("imbalance", "ClassImbalance", {"status": "NoData"}, only_classes=True, **both),
        rule("rounded", "ClassImbalance", lambda e: e["status"] == "IssuesFound", **both),
        rule("confusion", "Confusion", {"status": "NoData"}, only_classes=True, **matrix),
        rule("rounded confusion", "Confusion", lambda e: e["datapoints"] == 30, **matrix)]


@case
def confusion_of_the_last_evaluation(folder):
    """Everything is taken for class 0 in the first two evaluations, nothing is in the last one, but for a few."""
    def predict(labels, step, random):
        return numpy.where(random.random(labels.shape) < (1 if step < 40 else 0.25), 0, labels)
    last = dict(mode="EVAL", accumulate=True, last_evaluation=True, evidence=3, min_diag=0, max_off_diag=0.5)
    trial = learning(folder, predict, shares=(0.15, 0.7, 0.15), evaluate=3)
    return trial, [
        rule("all", "Confusion", lambda e: e["first"]["cells"] == [[1, 0]], mode="EVAL", accumulate=True, min_diag=0,
             max_off_diag=0.5),
        rule("last", "Confusion", fires(datapoints=1), **last),
        rule("before", "Confusion", lambda e: e["steps"] == [45] and e["first"]["cells"] == [[1, 0]], end_step=46, **last),
        rule("strict", "Confusion", lambda e: e["steps"] == [68] and e["first"]["cells"] == [[0, 0]], mode="EVAL",
             accumulate=True, last_evaluation=True, evidence=2, min_diag=0.9, max_off_diag=0.99)]


@case
def swapped_classes(folder):
    swap = numpy.array([0, 2, 1])
    return learning(folder, lambda labels, step, random: swap[labels], shares=(0.4, 0.3, 0.3), evaluate=2), [
        rule("last", "Confusion", lambda e: e["first"]["cells"] == [[1, 2], [2, 1]] and e["steps"] == [65], mode="EVAL",
             accumulate=True, last_evaluation=True, evidence=3, min_diag=0, max_off_diag=0.5)]


@case
def one_class_first(folder):
    """An untrained model learns the most frequent class first: what recovers is no collapse."""
    def predict(labels, step, random):
        return numpy.zeros_like(labels) if step < 25 else labels
    return learning(folder, predict), [rule("first", "PredictionCollapse", fires(datapoints=60))]


@case
def one_class_at_last(folder):
    def predict(labels, step, random):
        return numpy.zeros_like(labels) if step >= 25 else labels
    return learning(folder, predict), [rule("last", "PredictionCollapse", fires(*range(34, 60)))]


def phases(folder, pairs):
    """TRAIN phases of five steps and evaluations of one, with these losses."""
    made, step = Made(folder, collections={"losses": "loss"}), 0
    for number, (train, held) in enumerate(pairs):
        for k in range(5):
            made.step(step, "TRAIN", 5 * number + k, {"loss": float(train)})
            step += 1
        made.step(step, "EVAL", number, {"loss": float(held)})
        step += 1
    return made.end()


RISES = dict(patience=3, ratio_threshold=0.3, rise_threshold=0.2)
STALLS = dict(patience_train=20, patience_validation=4, least_share=0.4)


@case
def usual_gap(folder):
    """The held-out loss stays half above the training loss, and wavers; both come to next to nothing."""
    wavers = (1.0, 1.1, 0.9, 1.15, 1.05, 0.9, 1.1, 1.0)
    pairs = [(2 * 0.4 ** n, 3 * 0.4 ** n * wavers[n % 8]) for n in range(16)]
    return phases(folder, pairs), [
        rule("as documented", "Overfit", lambda e: e["findings_total"] > 10),
        rule("rises", "Overfit", fires(datapoints=16), **RISES),
        rule("trained on", "Overtraining", lambda e: e["status"] == "IssuesFound", patience_validation=4),
        rule("trained on for long", "Overtraining", lambda e: e["first"]["step"] > 60, **STALLS)]


@case
def by_heart(folder):
    """The training loss falls on; the held-out one falls to 0.8 at the fourth evaluation and rises from there."""
    held = [2.0, 1.4, 1.0, 0.8, 0.9, 1.0, 1.1, 1.3, 1.5, 1.8]
    return phases(folder, [(2 * 0.6 ** n, h) for n, h in enumerate(held)]), [rule("rises", "Overfit", fires(47, 53, 59), **RISES)]


@case
def gradients_of_a_small_loss(folder):
    """From step 10 on the loss is next to nothing, and so are all gradients; `deep` has vanished all the time."""
    made = Made(folder, collections={"gradients": "^gradient"})
    for step in range(20):
        scale = 1.0 if step < 10 else 1e-8
        made.step(step, "TRAIN", step, {"gradient/out.weight": numpy.full((3, 3), scale), "gradient/mid.weight": numpy.full((3, 3), scale / 10),
                                        "gradient/deep.weight": numpy.full((3, 3), 1e-9 * scale),
                                        "gradient/behind.weight": numpy.full((3, 3), scale * (step > 0))})
    return made.end(), [
        rule("as documented", "VanishingGradient", lambda e: e["findings_total"] == 20 + 10 + 10 + 11),
        rule("built in", "VanishingGradient", lambda e: e["steps"] == list(range(20)) and {f["tensor"] for f in e["findings"]} ==
             {"gradient/deep.weight"}, largest_share=1e-3, skip_zero=True)]


if __name__ == "__main__":
    main()
