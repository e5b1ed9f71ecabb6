"""What can go wrong. The names, and what they are given, are those of the reference (smdebug.exceptions)."""


class AssayError(Exception):
    """A trial or a value cannot be read; `status` is that of assay/status.h, the text names file and place."""

    def __init__(self, text, status=0):
        super().__init__(text)
        self.status = status


class TensorUnavailable(AssayError):
    def __init__(self, tname, hint=""):
        super().__init__("no tensor is called %r%s; tensor_names() lists them" % (tname, hint), -3)
        self.tname = tname


class StepUnavailable(AssayError):
    def __init__(self, step, mode):
        super().__init__("step %s of mode %s was not saved; steps() lists those that were" % (step, mode.name), -3)
        self.step, self.mode = step, mode


class StepNotYetAvailable(AssayError):
    def __init__(self, step, mode):
        super().__init__("step %s of mode %s is not there yet; wait_for_steps() waits for it" % (step, mode.name), -3)
        self.step, self.mode = step, mode


class NoMoreData(AssayError):
    def __init__(self, step, mode, last_step):
        super().__init__("the training has ended with step %s of mode %s: step %s does not come" % (last_step, mode.name, step), -3)
        self.step, self.mode, self.last_step = step, mode, last_step


class TensorUnavailableForStep(AssayError):
    def __init__(self, tname, step, mode, what="its value", worker=None):
        where = "" if worker is None else " by worker %s" % worker
        super().__init__("%s: %s was not saved at step %s of mode %s%s" % (tname, what, step, mode.name, where), -3)
        self.tname, self.step, self.mode, self.worker = tname, step, mode, worker


class ShapeUnavailableForStep(TensorUnavailableForStep):
    def __init__(self, tname, step, mode, worker=None):
        super().__init__(tname, step, mode, "its shape", worker)


class InvalidWorker(AssayError):
    def __init__(self, worker, workers=()):
        super().__init__("no worker is called %r; there are %s" % (worker, ", ".join(workers) or "none"), -3)
        self.worker = worker


class MissingCollectionFiles(AssayError):
    def __init__(self, path):
        super().__init__("%s has no collections" % path, -3)


class RuleEvaluationConditionMet(Exception):
    """A rule fires at a step."""

    def __init__(self, rule_name, step, end_of_rule=False):
        super().__init__("%s fires at step %s" % (rule_name, step))
        self.rule_name, self.step, self.end_of_rule = rule_name, step, end_of_rule
