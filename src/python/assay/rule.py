"""Rules in Python: the class that a rule is made of, what it finds, and a step as it sees it. docs/python-rules.md.

    class GradientTooLarge(assay.Rule):
        def __init__(self, base_trial, threshold=10.0):
            super().__init__(base_trial)
            self.threshold = threshold

        def invoke_at_step(self, step):
            for name in self.base_trial.tensor_names(collection="gradients"):
                if self.base_trial.tensor(name).reduction_value(step, "mean", abs=True) > self.threshold:
                    return True
            return False
"""
import logging
import re
import time

import numpy

from .exceptions import NoMoreData, RuleEvaluationConditionMet, StepUnavailable, TensorUnavailable, TensorUnavailableForStep
from .refreshing import no_refresh
from .req_tensors import RequiredTensors

LONGEST_NOTE = 200
NOTHING_TO_TEST = (StepUnavailable, TensorUnavailable, TensorUnavailableForStep, NoMoreData)  # at a step, as the reference has it


class Rule:
    """A rule of a job. A subclass has one of two methods:

    invoke_at_step(step)  of a global step, by self.base_trial; True: the rule fires. Also what it found: a Finding, or several
    at_step(view)         of a StepView: all tensors and workers of a step at once, with their figures; returns what it found

    Parameters of __init__ are those of the rule. A rule may run in several processes, each of which has some of the steps. One that
    keeps something on self from step to step is evaluated again by one process, in order; `in_order = True` says so at once.
    """
    collections = ()  # names of collections, and
    tensors = ()  # patterns: only tensors that one of them has or matches are looked at, and only steps that have some; (): all
    in_order = False
    advice = ""  # what to do when it fires

    def __init__(self, base_trial, action_str="", other_trials=None):
        del action_str  # of the reference, whose service acts on it; here the job has "actions"
        self.base_trial, self.other_trials = base_trial, other_trials
        self.trials = [base_trial] + list(other_trials or ())
        self.rule_name = type(self).__name__
        self.logger = logging.getLogger(self.rule_name)
        self.req_tensors = RequiredTensors(base_trial, other_trials)
        self.report = {"RuleTriggered": 0, "Violations": 0, "Details": {}, "Datapoints": 0, "RuleParameters": ""}

    def set_required_tensors(self, step):
        """For rules that name the tensors that they need: self.req_tensors.add(name, steps=[step])."""

    def require(self, step):
        """What invoke_at_step() needs is there afterwards, or an exception says why not."""
        self.req_tensors.clear()
        self.set_required_tensors(step)
        self.req_tensors.fetch()

    def invoke_at_step(self, step):
        says = "no invoke_at_step(); `assay run` calls its at_step()" if hasattr(self, "at_step") else "neither invoke_at_step() nor at_step()"
        raise NotImplementedError("%s has %s" % (type(self).__name__, says))

    def invoke(self, step):
        """Waits for the step. Raises RuleEvaluationConditionMet where the rule fires."""
        self.base_trial.wait_for_steps([step])
        with no_refresh(self.trials):  # the rule sees one state of the training
            self.require(step)
            fired = found_in(self.invoke_at_step(step))[0]
        if fired:
            raise RuleEvaluationConditionMet(self.rule_name, step)


def _steps_to_come(trial, start, end):
    """The steps of a trial from `start` on and before `end`, those that are still to come as well: it ends with the training."""
    begin, most = start or 0, float("inf") if end is None else end
    while begin < most:
        ended = trial.loaded_all_steps
        found = [step for step in trial.steps(show_incomplete_steps=True) if begin <= step < most]
        yield from found
        begin = found[-1] + 1 if found else begin
        if ended:
            return
        if not found:
            time.sleep(max(0.1, trial.look_every))


def invoke_rule(rule, start_step=0, end_step=None, raise_eval_cond=False):
    """Evaluates a rule over the steps of its trial in this process, as the reference's function of this name, and follows a training that
    goes on to its end. Returns the steps at which it fired."""
    fired = []
    for step in _steps_to_come(rule.base_trial, start_step, end_step):
        try:
            rule.invoke(step)
        except RuleEvaluationConditionMet as met:
            if raise_eval_cond:
                raise
            fired.append(step)
            if met.end_of_rule:
                break
        except NOTHING_TO_TEST as error:
            rule.logger.info("step %s: %s", step, error)
    return fired


class Finding:
    """Where a rule fired at a step: "" is no tensor in particular, "*" all workers. The report prints value and threshold side by
    side, and the note, a short text, behind them."""
    __slots__ = ("tensor", "worker", "value", "threshold", "note")

    def __init__(self, tensor="", worker="*", value=1.0, threshold=0.0, note=""):
        self.tensor, self.worker, self.value, self.threshold = tensor, worker, value, threshold
        self.note = str(note or "")[:LONGEST_NOTE]

    def __repr__(self):
        return "Finding(%r, %r, value=%r, threshold=%r)" % (self.tensor, self.worker, self.value, self.threshold)


class Findings:
    """Several findings, and how many tests did not fire beside them. Those of two selections can be added."""

    def __init__(self, found=(), quiet=0):
        self.found, self.quiet = list(found), int(quiet)

    def __add__(self, other):
        return Findings(self.found + other.found, self.quiet + other.quiet)


def found_in(result, most=None):
    """(findings, tests that did not fire) of what a rule returned; of more than `most` findings some more than that."""
    if isinstance(result, Finding):
        return [result], 0
    if isinstance(result, Findings):
        return result.found, result.quiet
    if not hasattr(result, "__iter__") or getattr(result, "ndim", 1) == 0:
        return ([Finding()], 0) if result else ([], 1)
    found, quiet, some = [], 0, False
    for item in result:
        if isinstance(item, Findings):
            found += item.found
            quiet, some = quiet + item.quiet, True
        elif isinstance(item, Finding):
            found.append(item)
        else:
            raise TypeError("%.60r is no finding: return True, assay.Finding(...), several of them, or view.where(...)" % (item,))
        if most is not None and len(found) > most:
            break
    return found, quiet if some or found else 1


FIGURES = ("min", "max", "mean", "sum", "std", "variance", "l1", "l2", "abs_mean", "abs_max")
ROW = numpy.dtype([("tensor", "<u4"), ("worker", "<u4")] + [(name, "<u8") for name in ("count", "nan", "inf", "zeros")] +
                  [(name, "<f8") for name in FIGURES])


class StepView:
    """A step as at_step() sees it. Arrays have a number for each tensor and worker that saved something at the step:

    count, nan, inf, zeros                        elements in all, and those that are not a number, infinite, zero
    min, max, mean, sum, std, variance, l1, l2, abs_mean, abs_max    in double, NaN where an element is

    They come from the one pass that assay makes over each tensor for all rules. Of a tensor that was not saved itself they are the
    reductions that were saved, with a count of 0, and NaN where there is none. `names` and `workers` say what the numbers are of.
    """

    def __init__(self, trial, step, mode, mode_step, table, tensor_names, worker_names):
        self.trial, self.step, self.mode, self.mode_step = trial, step, mode, mode_step
        self._table = table
        self.names = [tensor_names[number] for number in table["tensor"].tolist()]
        self.workers = [worker_names[number] for number in table["worker"].tolist()]

    def __len__(self):
        return len(self._table)

    def __getattr__(self, name):
        if name in FIGURES or name in ("count", "nan", "inf", "zeros"):
            return self._table[name]
        raise AttributeError("a step has no %r; its figures are count, nan, inf, zeros, %s" % (name, ", ".join(FIGURES)))

    def matching(self, pattern):
        """For each row: does the tensor's name match, anywhere?"""
        found = {name: re.search(pattern, name) is not None for name in set(self.names)}
        return numpy.array([found[name] for name in self.names], bool)

    def value(self, row):
        """The tensor itself."""
        return self.trial.tensor(self.names[row]).value(self.step, worker=self.workers[row])

    def where(self, fired, value, threshold=0.0, tested=True, note=""):
        """Findings of the rows at which `fired` is true; the others are tests that did not fire. Rows that have nothing, whose value is
        NaN without an element that is, count as neither, and so do those at which `tested` is false."""
        value = numpy.broadcast_to(numpy.asarray(value, float), (len(self),))
        threshold = numpy.broadcast_to(numpy.asarray(threshold, float), (len(self),))
        tested = numpy.logical_and(tested, (self.count > 0) | ~numpy.isnan(value))
        fired = numpy.logical_and(fired, tested)
        found = [Finding(self.names[row], self.workers[row], value[row], threshold[row], note) for row in numpy.flatnonzero(fired)]
        return Findings(found, numpy.count_nonzero(tested) - len(found))
