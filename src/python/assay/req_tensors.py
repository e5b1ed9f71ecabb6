"""The tensors that a rule requires at a step: it names them in set_required_tensors(), and they are there when it is evaluated."""
from .exceptions import TensorUnavailable


class RequiredTensorsForTrial:
    def __init__(self, trial):
        self.trial = trial
        self.clear()

    def clear(self):
        self._steps = {}  # of each tensor's name

    def add(self, name, steps, should_match_regex=False):
        """A tensor by its name, or those that a pattern matches, at these global steps."""
        if not should_match_regex and not self.trial.has_tensor(name):
            raise TensorUnavailable(name)
        for found in self.trial.tensor_names(regex=[name]) if should_match_regex else [name]:
            self._steps.setdefault(found, []).extend(steps)

    def get_tensor_steps(self, name):
        return self._steps[name]

    def get_names(self):
        return self._steps.keys()

    def get(self):
        return [self.trial.tensor(name) for name in self._steps]

    def fetch(self):
        """Waits for the steps; raises where a tensor was not saved at one of them."""
        self.trial.wait_for_steps(sorted({step for steps in self._steps.values() for step in steps}))
        for name, steps in self._steps.items():
            for step in steps:
                self.trial.tensor(name).value(step)


class RequiredTensors:
    """The same of several trials; that of the rule where none is named."""

    def __init__(self, base_trial, other_trials=None):
        self.base_trial = base_trial
        self._of = [(trial, RequiredTensorsForTrial(trial)) for trial in [base_trial, *(other_trials or ())]]

    def _trial(self, trial):
        trial = self.base_trial if trial is None else trial
        return next(required for known, required in self._of if known is trial)

    def add(self, name, steps, trial=None, should_match_regex=False):
        self._trial(trial).add(name, steps, should_match_regex)

    def get_tensor_steps(self, name, trial=None):
        return self._trial(trial).get_tensor_steps(name)

    def get_names(self, trial=None):
        return self._trial(trial).get_names()

    def get(self, trial=None):
        return self._trial(trial).get()

    def clear(self):
        for _, required in self._of:
            required.clear()

    def fetch(self):
        for _, required in self._of:
            if required.get_names():
                required.fetch()
