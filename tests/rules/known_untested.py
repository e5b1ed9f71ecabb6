#!/usr/bin/env python3
"""What LawViolated does not test, since something else was done than its laws say: the message says of how much, and where that begins.

    known_untested.py --assay PROGRAM --ranks 1 3 7 -- [CASE]...
"""
import copy
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answers import case, main, rule  # noqa: E402
from law_training import SINGLE, Training, first, quiet  # noqa: E402


@case
def weights_and_moments_put_back(folder):
    """All at once: somebody went back to a checkpoint. That is no error of one tensor."""
    kept = {}

    def drift(step, worker, weights, state):
        if step == 3:
            kept[worker] = copy.deepcopy((weights, state))
        if step == 7:
            weights.update(kept[worker][0])
            state.update(kept[worker][1])
    return Training(drift=drift).write(folder), [rule("laws", "LawViolated", quiet(200, "'moments' is not tested of 16 values, first optimizer/fc1.bias/exp_avg of worker_0 at step 8: most others",
                                                                                 "'update' is not tested of 8 values, first Net_fc1.bias of worker_0 at step 8: most others"))]


@case
def optimizer_that_begins_otherwise(folder):
    """As RAdam does: one parameter is off at step 2 where most were at the step before."""
    def drift(step, worker, weights, state):
        for name in sorted(weights) if step == 0 else ["Net_fc2.bias"] if step == 1 else []:
            weights[name].reshape(-1)[3] += SINGLE(1e-3)
    return Training(drift=drift).write(folder), [rule("laws", "LawViolated", quiet(200, "The law 'update' is not tested of 16 values, first Net_fc1.bias of worker_0 at step 1: most others"))]


@case
def one_weight_at_the_first_step(folder):
    def drift(step, worker, weights, state):
        if step == 0 and worker == 1:
            weights["Net_fc2.weight"][2, 7] += SINGLE(1e-3)
    return Training(drift=drift).write(folder), [rule("laws", "LawViolated", first(step=1, worker="worker_1", tensor="Net_fc2.weight", test="update"))]


def anew(workers):
    """A layer is reset, by code or by an error."""
    def drift(step, worker, weights, state):
        if step == 6 and worker in workers:
            weights["Net_fc2.weight"][:] = numpy.random.default_rng(3).normal(size=weights["Net_fc2.weight"].shape).astype(SINGLE)
    return drift


@case
def layer_that_is_reset(folder):
    return Training(drift=anew((0, 1))).write(folder), [rule("laws", "LawViolated", quiet(
        200, "The law 'update' is not tested of 2 values, first Net_fc2.weight of worker_0 at step 7: all workers wrote them anew as a whole."))]


@case
def layer_that_is_reset_on_a_sole_worker(folder):
    """Nobody says whether it was done on purpose: the message says where."""
    return Training(drift=anew((0,)), workers=1).write(folder), [rule("laws", "LawViolated", quiet(
        100, "The law 'update' is not tested of 1 values, first Net_fc2.weight of worker_0 at step 7: all workers wrote them anew as a whole."))]


@case
def layer_that_is_reset_on_one_worker(folder):
    found = first(step=7, worker="worker_1", tensor="Net_fc2.weight", test="update")
    return Training(drift=anew((1,))).write(folder), [rule("laws", "LawViolated", found)]


def off_by_turns(workers, many):
    """At each step some of the parameters, others at the next one."""
    def drift(step, worker, weights, state):
        names = sorted(weights)
        for k in range(many if worker in workers and step >= 2 else 0):
            weights[names[(step + k) % len(names)]].reshape(-1)[3] += SINGLE(1e-3)
    return drift


@case
def another_optimizer(folder):
    """What no worker keeps is not tested, and said so."""
    return Training(drift=off_by_turns((0, 1), 1)).write(folder), [
        rule("laws", "LawViolated", quiet(200, "The law 'update' is not tested: 4 tensors keep it at most steps"))]


@case
def outputs_with_nan(folder):
    """No law says anything of these: the first line does (tests/e2e/headline.py)."""
    def fault(step, worker, t):
        if step >= 8 and worker == 1:
            t["fc1_output_0"][3, 17] = numpy.nan
            t["Net_fc2.weight"][0, 0] = numpy.inf
    return Training(fault=fault).write(folder), [rule("laws", "LawViolated", quiet(200))]


@case
def averages_of_another_worker(folder):
    """As DistributedDataParallel gives worker 0's figures to all: those of the others do not follow from what they recorded."""
    ema = {}

    def fault(step, worker, t):
        if worker == 0:
            w = t["Net_fc1.weight"]
            ema["now"] = SINGLE(0.9) * ema["now"] + SINGLE(0.1) * w if step > 0 else w
            t["ema.fc1.weight"] = ema["now"].astype(SINGLE)
        else:
            t["ema.fc1.weight"] = numpy.random.default_rng(step).normal(size=t["Net_fc1.weight"].shape).astype(SINGLE)
    said = "The law 'average' is not tested of 11 values, first ema.fc1.weight of worker_1 at step 1: most others of their worker"
    return Training(fault=fault).write(folder), [rule("laws", "LawViolated", quiet(200, said))]


@case
def half_of_one_worker(folder):
    """The optimizer is what the other worker says; of steps of which half is off nothing is named, and that is said."""
    return Training(drift=off_by_turns((1,), 2)).write(folder), [
        rule("laws", "LawViolated", quiet(200, "The law 'update' holds of 4 tensors. The law 'update' is not tested of 36 values, first "))]


@case
def one_parameter_of_one_worker_at_each_step(folder):
    return Training(drift=off_by_turns((1,), 1)).write(folder), [
        rule("laws", "LawViolated", lambda e: e["findings_total"] == 9 and {f["worker"] for f in e["findings"]} == {"worker_1"})]


if __name__ == "__main__":
    main()
