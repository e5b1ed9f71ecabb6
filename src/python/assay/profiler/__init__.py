"""Profiler data of a trial in Python: as DataFrames, charts for notebooks, one merged timeline, profiles of Python.

    from assay.profiler import PandasFrame, PandasFrameAnalysis, StatsBy
    frame = PandasFrame("runs/17")
    analysis = PandasFrameAnalysis(frame.get_all_system_metrics(), frame.get_all_framework_metrics())
    analysis.get_step_statistics(by=StatsBy.PROCESS)

Names are those of the reference. docs/python.md has them. What needs pandas is imported when it is asked for.
"""
import importlib

from .events import (HorovodProfilerEvents, ProfilerSystemEvents, SMDataParallelProfilerEvents, SMProfilerEvents,  # noqa: F401
                     SystemProfilerEventParser, TensorboardProfilerEvents, TimeUnits, TraceEvent, TraceEventParser)
from .readers import (AlgorithmMetricsReader, LocalAlgorithmMetricsReader, LocalSystemMetricsReader, MetricsReaderBase,  # noqa: F401
                      S3AlgorithmMetricsReader, S3SystemMetricsReader, SystemMetricsReader)

_LATER = {"frames": "PandasFrame PT_dataloader_analysis", "statistics": "JobStats PandasFrameAnalysis Resource StatsBy",
          "charts": "Heatmap MetricsHistogram StepHistogram StepTimelineChart TimelineCharts", "merged": "MergeUnit MergedTimeline",
          "python_profiles": "PyinstrumentAnalysis cProfileAnalysis Metrics PythonProfileModes StepPhase"}


def __getattr__(name):
    for module, names in _LATER.items():
        if name in names.split():
            return getattr(importlib.import_module("." + module, __name__), name)
    raise AttributeError("assay.profiler has no %r" % name)
