"""A trial as a rule in Python has it: what assay says of it, and the trial itself, opened when the rule first asks for it."""
from .modes import ModeKeys, StepState
from .recording import Recording
from .trial import Trial

KEPT = 64 << 20  # bytes of values of small steps: a rule goes through them once, and there may be many rules and ranks


class Told:
    """What assay says of a trial, and the rule that looks at it."""

    def __init__(self, request):
        self.name, self.path = request.text(), request.text()
        self.ended, self.has_options = (bool(x) for x in request.take("BB"))
        self.workers = request.texts(request.take("I"))
        self.tensors = request.texts(request.take("I"))
        self.steps = {request.take("q") for _ in range(request.take("Q"))}
        self.tensor_ids = {name: number for number, name in enumerate(self.tensors)}
        self.worker_ids = {name: number for number, name in enumerate(self.workers)}
        self.rule = self.fingerprint = None


class RuleTrial(Trial):
    """Has the steps that assay has, which are the same on all ranks, whatever comes meanwhile."""

    def __init__(self, told, worker):
        self.path, self.name, self.worker, self.look_every = told.path, told.name, worker, float("inf")
        self._told, self._opened, self._tensors, self._changed = told, None, {}, {}

    def __reduce__(self):
        """For the fingerprint of a rule that keeps its trial, which is one and the same."""
        return str, (self.path,)

    @property
    def _recording(self):
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self):
        told = self._told
        if told.has_options:
            raise RuntimeError("the job says how this trial is to be read (steps, void, topology), and rules in Python cannot read it so; "
                               "the figures that at_step(view) has are there all the same")
        opened = Recording(told.path)
        opened.keep(KEPT)
        gone = told.steps - set(opened.infos)
        if gone:
            raise RuntimeError("step %s is not in the trial any more: it was changed while rules looked at it" % min(gone))
        opened.keep_steps(told.steps)
        opened.ended = told.ended
        return opened

    def wait_for_steps(self, required_steps, mode=ModeKeys.GLOBAL):
        """A rule is called when a step is there, and nothing comes while it looks: a step that is not there is an error."""
        for step in required_steps:
            if self.has_passed_step(step, mode) == StepState.NOT_YET_AVAILABLE:
                raise RuntimeError("step %s is not there yet: a rule looks back, and never waits" % step)
        super().wait_for_steps(required_steps, mode)

    def _look(self):
        """What has come since is for the next evaluation."""

    def refresh(self):
        """Likewise."""
