#!/usr/bin/env python3
"""Rules about labels and predictions on made trials: axes of classes, and labels that are none.

    known_classes.py --assay PROGRAM --ranks 1 3 -- [CASE]...
"""
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, fires, main, refused, rule  # noqa: E402
from made import Made  # noqa: E402

RANDOM = numpy.random.default_rng(15)


def scores_of(classes, count, axis):
    """Scores whose largest is that class, with the classes on `axis`."""
    return numpy.moveaxis(numpy.eye(count)[classes] * 3.5 + RANDOM.random(classes.shape + (count,)), -1, axis)


def segmentation(folder, predicted, labels, axis=1, name="", weight="conv.weight", steps=12, classes=4):
    made = Made(folder)
    for step in range(steps):
        made.step(step, "TRAIN", step, {
            name + "labels": labels, name + "predictions": scores_of(predicted, classes, axis), weight: numpy.ones(2)})
    return made.end()


def one_class_swallows_all(predicted):
    return [
        rule("collapse", "PredictionCollapse", predicted),
        rule("confusion", "Confusion", lambda e: e["status"] == "IssuesFound"),
        rule("imbalance", "ClassImbalance", lambda e: any(f["test"] == "misprediction" for f in e["findings"]),
             argmax=True, samples=100),
    ]


@case
def collapsed_segmentation(folder):
    """(N, C, H, W): every pixel is class 0. Taken along the last axis the scores would say 8 columns."""
    labels = RANDOM.integers(0, 4, (3, 6, 8))
    return segmentation(folder, numpy.zeros((3, 6, 8), int), labels), one_class_swallows_all(fires(9, 10, 11))


@case
def sound_segmentation(folder):
    labels = RANDOM.integers(0, 4, (3, 6, 8))
    return segmentation(folder, labels, labels), [
        rule("collapse", "PredictionCollapse", fires(datapoints=12)),
        rule("confusion", "Confusion", fires(datapoints=12)),
        rule("imbalance", "ClassImbalance", fires(datapoints=24), argmax=True, samples=100),
        rule("labels", "LabelOutOfRange", fires(datapoints=12)),
    ]


@case
def classes_last(folder):
    """(N, T, C), as language models have them, and labels with an axis of length 1 in the place of the classes."""
    labels = RANDOM.integers(0, 4, (5, 9))
    made = Made(folder)
    for step in range(3):
        made.step(step, "EVAL", step, {"a_labels": labels, "a_predictions": scores_of(labels, 4, -1),
                                       "b_labels": labels[:, None], "b_predictions": scores_of(labels, 4, 1)})
    return made.end(), [
        rule("last", "Confusion", fires(datapoints=3), labels="a_labels", predictions="a_predictions"),
        rule("axis 1", "Confusion", fires(datapoints=3), labels="b_labels", predictions="b_predictions"),
        rule("labels", "LabelOutOfRange", fires(datapoints=6)),
    ]


def says(text, datapoints):
    return lambda e: text in e["message"] and e["datapoints"] == datapoints and e["status"] == "NoIssuesFound"


@case
def both_axes_fit(folder):
    """(N, C, W) with C = W: PyTorch's classes are on axis 1."""
    labels = RANDOM.integers(0, 6, (5, 6))
    said = says("axis 1 was taken, as PyTorch has it", 12)
    return segmentation(folder, labels, labels, classes=6), [
        rule("confusion", "Confusion", said),
        rule("collapse", "PredictionCollapse", said),
        rule("imbalance", "ClassImbalance", says("axis 1 was taken", 18), argmax=True, samples=100,
             threshold_imbalance=100),
    ]


@case
def both_axes_fit_elsewhere(folder):
    labels = RANDOM.integers(0, 6, (5, 6))
    return segmentation(folder, labels, labels, axis=-1, weight="dense/kernel:0", classes=6), [
        rule("confusion", "Confusion", says("the last one was taken", 12))]


@case
def ignored(folder):
    """A third of the labels is -100 or 255; what is predicted there is always class 0."""
    labels = RANDOM.integers(1, 4, (20, 30))
    predicted = labels.copy()
    labels[:, :6], labels[:, 6:10] = -100, 255
    predicted[:, :10] = 0
    made = Made(folder)
    for step in range(12):
        made.step(step, "TRAIN", step, {"labels": labels, "predictions": predicted})
    both = {"ignore_labels": [-100, 255]}
    return made.end(), [
        rule("imbalance", "ClassImbalance", fires(datapoints=22), **both),
        rule("255 counts", "ClassImbalance", lambda e: e["first"]["test"] == "misprediction"),
        rule("confusion", "Confusion", fires(datapoints=12), **both),
        rule("confusion with 255", "Confusion", lambda e: [255, 0] in e["first"]["cells"]),
        rule("collapse", "PredictionCollapse", fires(datapoints=12), threshold=0.4, **both),
        rule("labels", "LabelOutOfRange", fires(datapoints=12), classes=4, **both),
        rule("labels by the older name", "LabelOutOfRange", fires(datapoints=12), classes=4, ignore="-100,255"),
        rule("labels with 255", "LabelOutOfRange", lambda e: e["first"]["value"] == 80, classes=4),
        refused("too many", "Confusion", "at most 64", ignore_labels=list(range(65))),
    ]


def rare_word(folder, sure):
    """A word of a fortieth of the labels is never told; of the others so many are, since several may follow."""
    made, random = Made(folder), numpy.random.default_rng(8)
    for step in range(20):
        words = random.choice(5, 400, p=[0.025, 0.275, 0.25, 0.25, 0.2])
        shown = numpy.where((words > 0) & (random.random(400) < sure), words, random.integers(1, 5, 400))
        made.step(step, "TRAIN", step, {"labels": words, "predictions": shown})
    return made.end()


AT_END = {"judge": "end", "threshold_imbalance": 5, "evidence": 3}


@case
def rare_word_of_what_cannot_be_told(folder):
    """The best answer leaves it out, where the frequent ones are mistaken as well."""
    return rare_word(folder, 0.7), [rule("chance", "ClassImbalance", fires(), **AT_END)]


@case
def rare_class_of_what_is_told(folder):
    return rare_word(folder, 0.97), [rule("rare", "ClassImbalance", lambda e: e["first"]["test"] == "misprediction", **AT_END)]


@case
def ignored_predictions(folder):
    """Nearly all positions are padding, at which class 0 is predicted: what is left is no collapse."""
    labels = numpy.full((8, 100), -100)
    labels[:, :5] = RANDOM.integers(1, 4, (8, 5))
    made = Made(folder)
    for step in range(12):
        made.step(step, "TRAIN", step, {"labels": labels, "predictions": numpy.maximum(labels, 0)})
    return made.end(), [
        rule("collapse", "PredictionCollapse", fires(datapoints=12)),
        rule("none is ignored", "PredictionCollapse", fires(9, 10, 11), ignore_labels=-7),
    ]


# -- label 0: padding, or a class that was lost

PADDING = {"accumulate": True, "evidence": 3, "padding": True, "min_diag": 0, "max_off_diag": 0.5}


def words(folder, labels, lost):
    """Labels of rows, all predicted rightly but the lost one, in whose place one of the others is."""
    made = Made(folder)
    for step in range(12):
        made.step(step, "EVAL", step, {
            "labels": labels, "predictions": scores_of(numpy.where(labels == lost, lost % 4 + 1, labels), 6, 1)})
    return made.end()


def rows(zeros):
    """Sixteen rows of twenty labels from 1 to 5, and zeros at these places."""
    return numpy.where(zeros, 0, RANDOM.integers(1, 6, (16, 20)))


ENDED = numpy.arange(20) >= RANDOM.integers(4, 12, (16, 1))


def left_out(entry):
    return entry["status"] == "NoIssuesFound" and "Label 0, by far the most frequent, is never predicted" in entry["message"]


def lost_class(entry):
    return entry["status"] == "IssuesFound" and "by far" not in entry["message"]


@case
def rows_with_padding(folder):
    return words(folder, rows(ENDED), 0), [
        rule("accumulated", "Confusion", left_out, **PADDING),
        rule("at steps", "Confusion", left_out, **dict(PADDING, accumulate=False)),
        rule("without evidence", "Confusion", left_out, **dict(PADDING, evidence=0)),
        rule("not asked for", "Confusion", lost_class, **dict(PADDING, padding=False))]


@case
def columns_with_padding(folder):
    """Batches that are second: (T, N)."""
    return words(folder, rows(ENDED).T, 0), [rule("accumulated", "Confusion", left_out, **PADDING)]


@case
def lost_class_within_rows(folder):
    """Most words are of class 0, anywhere in a row, and the model has lost it."""
    return words(folder, rows(RANDOM.random((16, 20)) < 0.6), 0), [
        rule("accumulated", "Confusion", lost_class, **PADDING),
        rule("at steps", "Confusion", lost_class, **dict(PADDING, accumulate=False))]


@case
def lost_class_that_is_not_0(folder):
    """Nobody pads with 3."""
    labels = rows(ENDED)
    return words(folder, numpy.where(labels == 0, 3, numpy.where(labels == 3, 0, labels)).ravel(), 3), [
        rule("accumulated", "Confusion", lost_class, **PADDING)]


def numbers_of_samples(folder, numbers, loss="PairLoss", labels=True):
    made, rng = Made(folder), numpy.random.default_rng(8)
    for step in range(30):
        told = {loss + "_input_1": rng.integers(0, 2, (32, 1)).astype(numpy.float32)} if labels else {}
        made.step(step, "TRAIN", step, {loss + "_input_0": numbers(step, rng).astype(numpy.float32), **told})
    return made.end()


@case
def distances_are_no_scores(folder):
    """None is below 0, some are above 1, and most are small in the end."""
    return numbers_of_samples(folder, lambda s, rng: rng.exponential(0.6 if s < 10 else 0.1, (32, 1))), [
        rule("distances", "PredictionCollapse", {"status": "NoData"}), rule("sound", "ExplodingTensor", {"status": "NoIssuesFound"})]


@case
def scores_that_are_all_above_0(folder):
    return numbers_of_samples(folder, lambda s, rng: rng.normal(0 if s < 10 else 5, 1, (32, 1))), [
        rule("scores", "PredictionCollapse", lambda e: e["first"]["step"] == 19)]


@case
def judgements_without_labels(folder):
    """What a critic says has a sign, and no class."""
    return numbers_of_samples(folder, lambda s, rng: rng.normal(0 if s < 10 else 5, 1, (32, 1)), labels=False), [
        rule("judgements", "PredictionCollapse", {"status": "NoData"}), rule("sound", "ExplodingTensor", {"status": "NoIssuesFound"})]


@case
def scores_of_two_classes_without_labels(folder):
    return numbers_of_samples(folder, lambda s, rng: rng.normal(0 if s < 10 else 5, 1, (32, 1)), "BCEWithLogitsLoss", labels=False), [
        rule("scores", "PredictionCollapse", lambda e: e["first"]["step"] == 19)]


@case
def one_class_by_its_number(folder):
    return numbers_of_samples(folder, lambda s, rng: rng.integers(0, 5, (32, 1)) if s < 10 else numpy.full((32, 1), 3)), [
        rule("numbers", "PredictionCollapse", lambda e: e["first"]["step"] == 19)]


if __name__ == "__main__":
    main()
