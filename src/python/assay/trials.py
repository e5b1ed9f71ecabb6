"""The reference's place of create_trial: `from assay.trials import create_trial`."""
from . import create_trial
from .trial import Trial

__all__ = ["Trial", "create_trial"]
