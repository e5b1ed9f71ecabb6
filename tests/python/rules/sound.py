"""Rules in Python that do what they say; some are the reference's published examples by meaning, written afresh."""
import os
import signal

import numpy

import assay
from helper_of_sound import is_too_large

LIMIT = 1e-3


class GradientTooLarge(assay.Rule):
    """A gradient's mean magnitude is above the threshold.

    A second paragraph, which no list shows.
    """
    advice = "Lower the learning rate."

    def __init__(self, base_trial, threshold=10.0):
        super().__init__(base_trial)
        self.threshold = float(threshold)

    def invoke_at_step(self, step):
        for name in self.base_trial.tensor_names(collection="gradients"):
            if is_too_large(self.base_trial.tensor(name).reduction_value(step, "mean", abs=True), self.threshold):
                return True
        return False


class GradientTooSmall(assay.Rule):
    """Every gradient of every worker, with the figures that assay has of them."""
    collections = ["gradients"]

    def __init__(self, base_trial, threshold: float = LIMIT, only: str = None):
        super().__init__(base_trial)
        self.threshold, self.only, self.trial = threshold, only, base_trial  # another name of the trial is no state

    def at_step(self, view):
        tested = view.matching(self.only) if self.only else True
        return view.where(view.abs_mean < self.threshold, view.abs_mean, self.threshold, tested)


class CustomCollection(assay.Rule):
    """A loss that lies above a limit, by a pattern of the class."""
    tensors = r"(?i)loss"

    def __init__(self, base_trial, limit):
        super().__init__(base_trial)
        self.limit = float(limit)

    def invoke_at_step(self, step):
        for name in self.base_trial.tensor_names(regex=self.tensors):
            tensor = self.base_trial.tensor(name)
            for worker in tensor.workers(step):
                value = float(tensor.value(step, worker=worker).mean())
                if value > self.limit:
                    yield assay.Finding(name, worker, value, self.limit, "above")


class LooksBack(assay.Rule):
    """A weight that moved by more than a limit since the step before, of one worker; look-back by the trial."""
    collections = "weights"

    def __init__(self, base_trial, limit=0.01):
        super().__init__(base_trial)
        self.limit = limit

    def invoke_at_step(self, step):
        for name in self.base_trial.tensor_names(collection="weights"):
            tensor = self.base_trial.tensor(name)
            before = tensor.prev_steps(step, 2)
            if len(before) == 2 and before[1] == step:
                moved = numpy.abs(tensor.value(step) - tensor.value(before[0])).max()
                if moved > self.limit:
                    yield assay.Finding(name, value=moved, threshold=self.limit)


class Counts(assay.Rule):
    """Fires at every third step that it sees: keeps a number, so its steps need their order."""

    def __init__(self, base_trial, every=3):
        super().__init__(base_trial)
        assert isinstance(every, int)
        self.every, self.seen = every, []

    def invoke_at_step(self, step):
        self.seen.append(step)
        if len(self.seen) % self.every == 0:
            return assay.Finding(value=len(self.seen), threshold=self.seen[-self.every])


class CountsInOrder(Counts):
    in_order = True


class Waits(assay.Rule):
    """Waits for what is there, as the reference's rules do, and for what never comes."""

    def invoke_at_step(self, step):
        self.base_trial.wait_for_steps([step])
        assert self.base_trial.has_passed_step(step) == assay.StepState.AVAILABLE
        self.base_trial.wait_for_steps([step + 1000000])


class Values(assay.Rule):
    """Findings with odd numbers, and the environment of the process."""

    def __init__(self, base_trial):
        super().__init__(base_trial)
        self.of_mpi = sorted(name for name in os.environ if name.startswith(("OMPI_", "PMIX_", "PMI_")))

    def invoke_at_step(self, step):
        assert not self.of_mpi, self.of_mpi
        if step == self.base_trial.steps()[0]:
            return [assay.Finding(value=float("nan"), threshold=None, note="n" * 5000), assay.Finding(value=float("-inf")),
                    assay.Finding(self.base_trial.tensor_names()[0], self.base_trial.workers()[-1], numpy.float32(0.5))]


class StopsAssay(assay.Rule):
    """Asks assay to stop, once, in the middle of the trial: where there is a file of that name."""

    def __init__(self, base_trial, file, at=20):
        super().__init__(base_trial)
        self.file, self.at = file, at

    def invoke_at_step(self, step):
        if step >= self.at and os.path.exists(self.file):
            os.remove(self.file)
            os.kill(os.getppid(), signal.SIGTERM)
        return step == self.at


class OwnCondition(assay.Rule):
    def invoke_at_step(self, step):
        if step == self.base_trial.steps()[-1]:
            raise assay.RuleEvaluationConditionMet(self.rule_name, step)
        self.base_trial.tensor("there is no such tensor")
