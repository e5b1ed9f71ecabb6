"""smdebug - the names of SageMaker Debugger's package, as assay has them. Scripts that import smdebug run with assay unchanged.

It is a package of its own, for those who do not have the real one: both cannot be installed at once. docs/from-sagemaker-debugger.md
says which names there are.
"""
from assay import names as _names

_names.install(__name__)
globals().update(_names.contents(""))
