#!/usr/bin/env python3
"""Batches of one row, policies that are trained on each batch several times, losses of signs, places that are no classes, slopes of one number, evaluations that
stand beside a training loss that falls by a half: each fault beside a sound twin.

    known_alike.py --assay PROGRAM --ranks 1 3 -- [CASE]...
"""
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, main, rule  # noqa: E402
from made import Made, json_bytes  # noqa: E402

INPUT = "inputs"
OVERFIT = {"patience": 3, "ratio_threshold": 0.3, "rise_threshold": 0.2, "gain_share": 0.25}


def says(name, test=None, first=None, kind="InputData"):
    """That test alone fires, first at that step; without a test nothing does."""
    return rule(name, kind, lambda e: e["status"] == "NoIssuesFound" if test is None else (
        {f["test"] for f in e["findings"]} == {test} and e["first"]["step"] == first))


def fed(folder, batch, name="labels", label=lambda rng: rng.integers(0, 5, 16), steps=30):
    """batch(step): its rows."""
    made = Made(folder, collections={"losses": "Loss_output"})
    for step in range(steps):
        made.step(step, "TRAIN", step, {INPUT: batch(step).astype("float32"), name: label(numpy.random.default_rng(step))})
    return made.end()


def rows(number, count=16):
    return numpy.random.default_rng([51, number]).normal(0, 1, (count, 9))


@case
def one_row_in_all_places(folder):
    return fed(folder, lambda s: rows(s) if s < 12 else rows(s, 1).repeat(16, 0)), [says("one row", "alike", 12)]


@case
def one_row_for_some_steps(folder):
    return fed(folder, lambda s: rows(s, 1).repeat(16, 0) if 12 <= s < 20 else rows(s)), [says("some")]


@case
def each_row_twice(folder):
    return fed(folder, lambda s: rows(s, 8).repeat(2, 0)), [says("pairs")]


@case
def last_batch_of_a_policy_is_one_of_many(folder):
    """Six updates on each; the last is no loader that is stuck."""
    return fed(folder, lambda s: rows(s // 6)), [says("policy")]


@case
def loader_that_is_stuck_behind_pairs(folder):
    return fed(folder, lambda s: rows(s // 2 if s < 14 else 99)), [says("stuck", "repeated", 15)]


@case
def signs_that_are_0_and_1(folder):
    return fed(folder, rows, "SoftMarginLoss_input_1", lambda rng: rng.integers(0, 2, (16, 1)).astype("float32")), [says("0 and 1", "bounds", 0)]


@case
def signs(folder):
    return fed(folder, rows, "SoftMarginLoss_input_1", lambda rng: (2 * rng.integers(0, 2, (16, 1)) - 1).astype("float32")), [says("signs")]


@case
def tags_of_a_margin(folder):
    """A loss whose name ends alike takes 0 and 1."""
    return fed(folder, rows, "MultiLabelSoftMarginLoss_input_1", lambda rng: rng.integers(0, 2, (16, 4)).astype("float32")), [says("tags")]


def scored(folder, name, columns):
    """Scores of which nearly all are largest in column 1; labels of four classes."""
    made, rng = Made(folder), numpy.random.default_rng(52)
    for step in range(30):
        scores = rng.normal(0, 1, (32, columns)).astype("float32")
        scores[:, 1] += 9
        made.step(step, "TRAIN", step, {name + "_input_0": scores, name + "_input_1": rng.integers(0, 4, 32)})
    return made.end()


@case
def places_that_are_no_classes(folder):
    return scored(folder, "TripletsLoss", 16), [rule("places", "PredictionCollapse", {"status": "NoData"}), rule("sound", "ExplodingTensor", {"status": "NoIssuesFound"})]


@case
def scores_of_a_loss_of_ones_own(folder):
    return scored(folder, "FocalLoss", 4), [rule("own", "PredictionCollapse", lambda e: e["status"] == "IssuesFound")]


@case
def scores_of_a_larger_head(folder):
    return scored(folder, "CrossEntropyLoss", 16), [rule("head", "PredictionCollapse", lambda e: e["status"] == "IssuesFound")]


def slope(folder, count):
    made, rng = Made(folder, collections={"weights": "weight$", "losses": "Loss_output"}), numpy.random.default_rng(53)
    w = rng.normal(0, 1, count)
    for step in range(40):
        w = w + 0.01 * rng.normal(0, 1, count)
        made.step(step, "TRAIN", step, {"act.weight": (w if step < 30 else -w if count == 1 else w[::-1]).astype("float32"), "Loss_output_0": numpy.float32(1)})
    return made.end()


@case
def slope_of_one_number_that_jumps(folder):
    return slope(folder, 1), [says("slope", kind="WeightCourse")]


@case
def slopes_that_jump(folder):
    return slope(folder, 6), [says("slopes", "jump", 30, "WeightCourse")]


def evaluated(folder, held, end=0.55):
    """The training loss falls to a share of its beginning; an evaluation behind each tenth step."""
    made, mode_steps = Made(folder, collections={"losses": "Loss_output"}), {"TRAIN": 0, "EVAL": 0}
    for step in range(55):
        mode = "EVAL" if step % 11 == 10 else "TRAIN"
        loss = held[step // 11] if mode == "EVAL" else 2 * (1 - (1 - end) * min(1, step / 25))
        made.step(step, mode, mode_steps[mode], {"Loss_output_0": numpy.float32(loss)})
        mode_steps[mode] += 1
    return made.end()


@case
def evaluation_stands(folder):
    return evaluated(folder, [1.99, 1.98, 1.98, 1.97, 1.97]), [
        rule("stands", "Overfit", lambda e: e["findings_total"] > 0 and e["never_gained"] is True, **OVERFIT)]


@case
def evaluation_gains_half_as_much(folder):
    return evaluated(folder, [1.9, 1.8, 1.7, 1.6, 1.6]), [rule("half", "Overfit", lambda e: e["status"] == "NoIssuesFound", **OVERFIT)]


@case
def evaluation_of_a_training_that_gains_little(folder):
    return evaluated(folder, [1.99, 1.98, 1.98, 1.97, 1.97], 0.8), [rule("little", "Overfit", lambda e: e["status"] == "NoIssuesFound", **OVERFIT)]


# -- workers with other networks

def outlier(folder, sizes):
    """The gradient of the last of three workers lies apart from step 80 on; sizes: elements on each."""
    made, rng = Made(folder, 3, {"gradients": "^gradient"}), numpy.random.default_rng(31)
    for s in range(20):
        norms = list(1 + 0.1 * rng.random(2)) + [8.0 if s >= 8 else 1.05]
        made.step(s * 10, "TRAIN", s * 10, {"worker_%d" % w: {"gradient/fc.weight": numpy.full(n, x / n ** 0.5)} for w, (n, x) in enumerate(zip(sizes, norms))})
    return made.end()


OUTLIER = {"tensor_regex": "^gradient", "against": "workers", "min_workers": 3, "ratio": 1.5, "num_steps": 5}


@case
def a_gradient_that_leaves_its_copies(folder):
    return outlier(folder, (16, 16, 16)), [rule("copies", "NormSpike", lambda e: (e["first"]["step"], e["first"]["worker"]) == (80, "worker_2"), **OUTLIER)]


@case
def gradients_of_other_shapes(folder):
    """They are parts of one network: none is odd beside another."""
    return outlier(folder, (16, 16, 9)), [rule("parts", "NormSpike", {"status": "NoData"}, **OUTLIER), rule("beside it", "ExplodingTensor", {"status": "NoIssuesFound"})]


# -- workers that an exception ended

def failing(folder, failed):
    """Three workers of ten steps; `failed`: of a worker what its file says of its end."""
    made = Made(folder, 3)
    for s in range(10):
        made.step(s, "TRAIN", s, {"worker_%d" % w: {"x": 1.0} for w in range(3)})
    for w in range(3):
        made.put("run/worker_%d.json" % w, json_bytes({"worker": "worker_%d" % w, "ended": "2001-09-09T01:46:59Z", "closed": 1e9 + 9.5 - w, "failed": failed.get(w)}))
    return made.end()


OF_SHAPE = {"type": "ValueError", "message": "shape\n(3,)", "mode": "TRAIN", "mode_step": 9, "step": 9}


@case
def one_worker_fails(folder):
    return failing(folder, {1: OF_SHAPE}), [rule("fails", "MissingWorker", lambda e: (e["first"]["step"], e["first"]["worker"], e["first"]["test"], e["first"]["note"]) == (
        9, "worker_1", "failed", "ValueError: shape (3,), in TRAIN step 9") and e["findings_total"] == 1)]


@case
def all_workers_fail(folder):
    """The last one closed first."""
    return failing(folder, {w: OF_SHAPE for w in range(3)}), [rule("fail", "MissingWorker", lambda e: (e["first"]["worker"], e["first"]["test"]) == ("worker_2", "crashed") and
                                                                   "on worker_2 first, of all 3" in e["first"]["note"] and e["findings_total"] == 1)]


@case
def one_fails_and_others_follow(folder):
    """The first one lost its peer, the third one was stopped: neither is why the second one ended."""
    peer = {"type": "RuntimeError", "message": "[pair.cc:598] Connection closed by peer [127.0.0.1]:18113", "mode": "TRAIN", "mode_step": 9, "step": 9}
    where = failing(folder, {0: peer, 1: OF_SHAPE})
    Path(where, "run/worker_2.json").write_bytes(json_bytes({"worker": "worker_2"}))
    return where, [rule("fails", "MissingWorker", lambda e: [(f["worker"], f["test"]) for f in e["findings"]] == [("worker_0", "followed"), ("worker_1", "failed"), ("worker_2", "followed")])]


@case
def one_is_killed_and_others_follow(folder):
    peer = {"type": "RuntimeError", "message": "NCCL error: remote process exited", "mode": "TRAIN", "mode_step": 9, "step": 9}
    where = failing(folder, {0: peer, 1: peer})
    Path(where, "run/worker_2.json").write_bytes(json_bytes({"worker": "worker_2"}))
    return where, [rule("is killed", "MissingWorker", lambda e: [(f["worker"], f["test"]) for f in e["findings"]] == [("worker_0", "followed"), ("worker_1", "followed"), ("worker_2", "killed")])]


@case
def workers_that_end_oddly(folder):
    """Of other kinds than the hook writes, or interrupted."""
    odd = {0: {"type": 3, "message": []}, 1: "ValueError", 2: {"type": "KeyboardInterrupt", "message": ""}}
    return failing(folder, odd), [rule("end", "MissingWorker", {"status": "NoIssuesFound"})]


if __name__ == "__main__":
    main()
