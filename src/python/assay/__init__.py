"""assay - what trainings recorded, and what assay found in it, for Python.

    import assay
    trial = assay.open("runs/17")                 # a directory, s3://BUCKET/PREFIX, a packed trial, checkpoints
    for step in trial.steps(assay.modes.TRAIN):
        loss = trial.tensor("CrossEntropyLoss_output_0").value(step, assay.modes.TRAIN)
    assay.report("assay-report/latest").findings()       # a pandas DataFrame

Names are those of the reference (smdebug): a script written for it changes its imports. docs/python.md says the rest. Needs numpy,
and libassay; pandas is imported by reports only.
"""
from . import _library
from .exceptions import AssayError, RuleEvaluationConditionMet
from .modes import ModeKeys, StepState
from .report import Report
from .rule import Finding, Findings, Rule, StepView, invoke_rule
from .tensor import Tensor
from .trial import Collection, Trial

__version__ = _library.lib.assay_recording_version().decode()
__all__ = ["AssayError", "Collection", "Finding", "Findings", "ModeKeys", "Report", "Rule", "RuleEvaluationConditionMet", "StepState",
           "StepView", "Tensor", "Trial", "create_trial", "invoke_rule", "modes", "open", "report"]

modes = ModeKeys


def open(location, name=None):  # noqa: A001
    """A recorded training by its location."""
    return Trial(location, name)


def create_trial(path, name=None):
    """The same by the reference's name."""
    return Trial(path, name)


def report(path):
    """The report that `assay run --out PATH` wrote, or its report.json."""
    return Report(path)
