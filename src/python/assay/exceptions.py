"""What can go wrong. The names, the causes and what they are given are those of the reference (smdebug.exceptions)."""
import difflib

from .modes import ModeKeys


def meant(word, names, likeness=0.6):
    """What a misspelt word was most likely meant to be, to stand behind it in a message."""
    near = difflib.get_close_matches(str(word), list(names), 1, likeness)
    return " (did you mean \"%s\"?)" % near[0] if near else ""


class SMDebugError(Exception):
    """What all errors here are kinds of, by the reference's name."""


class SMDebugCustomerError(SMDebugError):
    pass


class SMDebugTypeError(SMDebugError, TypeError):
    pass


class SMDebugRuntimeError(SMDebugError, RuntimeError):
    pass


class SMDebugNotImplementedError(SMDebugError, NotImplementedError):
    pass


class SMDebugValueError(SMDebugError, ValueError):
    pass


class AssayError(SMDebugError):
    """A trial or a value cannot be read; `status` is that of assay/status.h, the text names file and place."""

    def __init__(self, text, status=0):
        super().__init__(text)
        self.status = status


class InvalidCollectionConfiguration(AssayError):
    def __init__(self, c_name):
        super().__init__("collection %s has neither tensors nor patterns" % c_name, -7)
        self.c_name = c_name


class IndexReaderException(AssayError):
    def __init__(self, message):
        super().__init__(message, -5)
        self.message = message


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
        self.msg = str(self)


class NoMoreProfilerData(AssayError):
    def __init__(self, timestamp):
        super().__init__("the training has ended before %s: no profiler data comes" % timestamp, -3)
        self.timestamp, self.msg = timestamp, str(self)


class TensorUnavailableForStep(AssayError):
    def __init__(self, tname, step, mode=ModeKeys.GLOBAL, has_reductions=False, what="its value", worker=None):
        where = "" if worker is None else " by worker %s" % worker
        more = "; reductions of it were: reduction_values() has them" if has_reductions else ""
        super().__init__("%s: %s was not saved at step %s of mode %s%s%s" % (tname, what, step, mode.name, where, more), -3)
        self.tname, self.step, self.mode, self.has_reductions, self.worker = tname, step, mode, has_reductions, worker


class ShapeUnavailableForStep(TensorUnavailableForStep):
    def __init__(self, tname, step, mode=ModeKeys.GLOBAL, worker=None):
        super().__init__(tname, step, mode, what="its shape", worker=worker)


class InvalidWorker(AssayError):
    def __init__(self, worker, workers=()):
        super().__init__("no worker is called %r; there are %s" % (worker, ", ".join(workers) or "none"), -3)
        self.worker = worker


class MissingCollectionFiles(AssayError):
    def __init__(self, path="the trial"):
        super().__init__("%s has no collections" % path, -3)


class RuleEvaluationConditionMet(SMDebugError):
    """A rule fires at a step."""

    def __init__(self, rule_name, step, end_of_rule=False):
        super().__init__("%s fires at step %s" % (rule_name, step))
        self.rule_name, self.step, self.end_of_rule = rule_name, step, end_of_rule


class InsufficientInformationForRuleInvocation(SMDebugError):
    def __init__(self, rule_name, message):
        super().__init__("%s cannot be evaluated: %s" % (rule_name, message))
        self.rule_name, self.message = rule_name, message
