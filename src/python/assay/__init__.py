"""assay - what trainings recorded, and what assay found in it, for Python.

    import assay
    trial = assay.open("runs/17")                 # a directory, s3://BUCKET/PREFIX, a packed trial, checkpoints
    for step in trial.steps(assay.modes.TRAIN):
        loss = trial.tensor("CrossEntropyLoss_output_0").value(step, assay.modes.TRAIN)
    assay.report("assay-report/latest").findings()       # a pandas DataFrame

Names are those of the reference (smdebug): a script written for it changes smdebug in its imports to assay. docs/python.md says the rest. Needs numpy,
and libassay; pandas is imported by reports only.
"""
from . import _library, names
from .exceptions import AssayError, RuleEvaluationConditionMet, SMDebugError
from .modes import ModeKeys, StepState
from .report import Report
from .rule import Finding, Findings, Rule, StepView, invoke_rule
from .tensor import Tensor
from .trial import Collection, LocalTrial, S3Trial, Trial, create_trial

__version__ = _library.lib.assay_recording_version().decode()
__all__ = ["AssayError", "Collection", "Finding", "Findings", "LocalTrial", "ModeKeys", "Report", "Rule", "RuleEvaluationConditionMet",
           "S3Trial", "SMDebugError", "StepState", "StepView", "Tensor", "Trial", "create_trial", "invoke_rule", "modes", "open", "report"]

modes = ModeKeys
names.install(__name__)


def open(location, name=None, **more):  # noqa: A001
    """A recorded training by its location."""
    return Trial(location, name, **more)


def report(path):
    """The report that `assay run --out PATH` wrote, or its report.json."""
    return Report(path)


def __getattr__(name):
    """What recording needs comes from assay_hook, which is loaded when it is asked for."""
    if name in ("CollectionKeys", "ReductionConfig", "SaveConfig", "SaveConfigMode"):
        return names.contents("")[name]
    raise AttributeError("assay has no %r" % name)
