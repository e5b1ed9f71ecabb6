"""The profiler's configuration file (profilerconfig.json) as scripts ask about it: is something measured at this step? assay_hook reads the same file
for its own metrics: docs/hook-parameters.md."""
import ast
import enum
import json
import logging
import os
import re
import time

from .constants import (BASE_FOLDER_DEFAULT, CLOSE_FILE_INTERVAL_DEFAULT, CONFIG_PATH_DEFAULT, CPROFILE_NAME, FILE_OPEN_FAIL_THRESHOLD_DEFAULT,
                        MAX_FILE_SIZE_DEFAULT, PROFILING_NUM_STEPS_DEFAULT, PYINSTRUMENT_NAME)
from .python_profiles import cProfileTimer

_log = logging.getLogger("smdebug")


class MetricsCategory(enum.Enum):
    DETAILED_PROFILING, DATALOADER_PROFILING, PYTHON_PROFILING, SMDATAPARALLEL_PROFILING = 1, 2, 3, 4


class ProfileRange:
    """The steps, or the times, at which something is measured. What is wrong is in error_message, and then nothing is measured."""
    KEYS = (("start_step", "startstep", int), ("num_steps", "numsteps", int), ("start_time_in_sec", "starttimeinsecsinceepoch", float),
            ("duration_in_sec", "durationinseconds", float))

    def __init__(self, name, given):
        self.name, self.error_message, self.disabled = name, None, not given
        self.start_step = self.num_steps = self.start_time_in_sec = self.duration_in_sec = self.end_step = self.end_time = None
        try:
            for attribute, key, kind in self.KEYS:
                setattr(self, attribute, kind(given[key]) if given.get(key) is not None else None)
            self._more(given) if given else None
        except (ValueError, re.error) as error:
            self._refuse("%s: %s" % (name, error))
            self.start_step = self.num_steps = self.start_time_in_sec = self.duration_in_sec = None
        if self.has_step_range() and self.has_time_range():
            self._refuse("%s: steps and times are both given" % name)

    def _more(self, given):
        """What this one has beside steps and times."""

    def _refuse(self, text):
        self.error_message = text + "; it is off"

    def has_step_range(self):
        return bool(self.start_step or self.num_steps)

    def has_time_range(self):
        return bool(self.start_time_in_sec or self.duration_in_sec)

    def is_enabled(self):
        return not self.disabled and self.error_message is None

    def can_start_profiling(self, current_step, current_time=None):
        """Is it measured now? What was not given begins with the first question."""
        now = time.time() if current_time is None else current_time
        if not self.is_enabled():
            return False
        if self.has_step_range():
            return current_step == "*" or self._at_step(current_step)
        return self.has_time_range() and self._at_time(current_step, now)

    def _at_step(self, step):
        self.start_step = step if self.start_step is None else self.start_step
        self.num_steps = PROFILING_NUM_STEPS_DEFAULT if self.num_steps is None else self.num_steps
        self.end_step = self.end_step or self.start_step + self.num_steps
        return self.start_step <= step < self.end_step

    def _at_time(self, step, now):
        self.start_time_in_sec = now if self.start_time_in_sec is None else self.start_time_in_sec
        if self.duration_in_sec:
            self.end_time = self.end_time or self.start_time_in_sec + self.duration_in_sec
            return self.start_time_in_sec <= now < self.end_time
        if now < self.start_time_in_sec:
            return False
        self.end_step = step + 1 if self.end_step is None else self.end_step
        return step < self.end_step


class DataloaderProfilingConfig(ProfileRange):
    metrics_regex = None

    def _more(self, given):
        self.metrics_regex = re.compile(given.get("metricsregex", ".*"))

    def valid_metrics_name(self, metrics_name):
        return self.metrics_regex is not None and self.metrics_regex.match(metrics_name.lower()) is not None


class PythonProfilingConfig(ProfileRange):
    profiler_name = cprofile_timer = None

    def _more(self, given):
        name = given.get("profilername", CPROFILE_NAME)
        if name not in (CPROFILE_NAME, PYINSTRUMENT_NAME):
            raise ValueError("there is no profiler %r: %s, %s" % (name, CPROFILE_NAME, PYINSTRUMENT_NAME))
        timer = cProfileTimer(given.get("cprofiletimer", "total_time")) if name == CPROFILE_NAME else None
        self.profiler_name, self.cprofile_timer = name, timer


class RotationPolicy:
    def __init__(self, file_max_size, file_close_interval):
        self.file_max_size, self.file_close_interval = file_max_size, file_close_interval


class TraceFile:
    def __init__(self, file_max_size, file_close_interval, file_open_fail_threshold):
        self.rotation_policy, self.file_open_fail_threshold = RotationPolicy(file_max_size, file_close_interval), file_open_fail_threshold


class ProfilerConfig:
    PARTS = {"detailed_profiling_config": ("detailed profiling", ProfileRange), "dataloader_profiling_config": ("dataloader profiling",
             DataloaderProfilingConfig), "python_profiling_config": ("python profiling", PythonProfilingConfig),
             "smdataparallel_profiling_config": ("smdataparallel profiling", ProfileRange)}

    def __init__(self, local_path, file_max_size, file_close_interval, file_open_fail_threshold, **parts):
        self.local_path, self.trace_file = local_path, TraceFile(file_max_size, file_close_interval, file_open_fail_threshold)
        for attribute, (name, kind) in self.PARTS.items():
            setattr(self, attribute, kind(name, parts.get(attribute) or {}))


class ProfilerConfigParser:
    """Reads the file that SMPROFILER_CONFIG_PATH names, or SageMaker has left. What is wrong in it is said, once, and stops nothing."""

    def __init__(self, framework=None):
        self.framework, self.config, self.profiling_enabled, self.last_json_config = framework, None, False, None
        self._said = set()
        self.load_config()

    def _say(self, how, text):
        if text not in self._said:
            self._said.add(text)
            how(text)

    def load_config(self):
        """Reads it, again if it was changed."""
        path = os.environ.get("SMPROFILER_CONFIG_PATH", CONFIG_PATH_DEFAULT)
        try:
            with open(path, encoding="utf-8") as file:
                said = json.loads(file.read().lower())
        except (OSError, ValueError) as error:
            self._off(_log.error if os.path.exists(path) else _log.info, "%s: no configuration of a profiler: %s" % (path, error))
            return
        if said == self.last_json_config:
            return
        self.last_json_config = said
        given = said.get("profilingparameters") if isinstance(said, dict) else None
        if not given or said.get("disableprofiler"):
            self._off(_log.info, "%s: the profiler is switched off" % path)
            return
        self.profiling_enabled = True
        self.config = ProfilerConfig(given.get("localpath", BASE_FOLDER_DEFAULT), *self._files(given, path),
                                     **{name: self._part(given, name.replace("_", ""), path) for name in ProfilerConfig.PARTS})
        for name in ProfilerConfig.PARTS:
            message = getattr(self.config, name).error_message
            self._say(_log.error, "%s: %s" % (path, message)) if message else None

    def _off(self, how, text):
        self.config, self.profiling_enabled = None, False
        self._say(how, text)

    def _files(self, given, path):
        """How large and how old files get, and how often one may fail to open; all of the defaults if one is wrong."""
        keys = (("rotatemaxfilesizeinbytes", lambda text: int(float(text)), MAX_FILE_SIZE_DEFAULT),
                ("rotatefilecloseintervalinseconds", float, CLOSE_FILE_INTERVAL_DEFAULT), ("fileopenfailthreshold", int, FILE_OPEN_FAIL_THRESHOLD_DEFAULT))
        try:
            return [kind(given.get(key, otherwise)) for key, kind, otherwise in keys]
        except (TypeError, ValueError) as error:
            self._say(_log.info, "%s: %s; the defaults count" % (path, error))
            return [otherwise for _, _, otherwise in keys]

    def _part(self, given, key, path):
        """A dictionary, or the text of one."""
        value = given.get(key, {})
        try:
            value = ast.literal_eval(value) if isinstance(value, str) else value
        except (ValueError, SyntaxError):
            value = None
        if not isinstance(value, dict):
            self._say(_log.error, "%s: %s is no dictionary; it is off" % (path, key))
            return {}
        return {str(name).lower(): part for name, part in value.items()}

    def should_save_metrics(self, metrics_category, current_step, metrics_name=None, current_time=None):
        """Is this measured at the step?"""
        if not self.profiling_enabled or not isinstance(metrics_category, MetricsCategory):
            return False
        part = getattr(self.config, metrics_category.name.lower() + "_config")
        if metrics_category is MetricsCategory.DATALOADER_PROFILING and metrics_name is not None and not part.valid_metrics_name(metrics_name):
            return False
        return part.can_start_profiling(current_step, current_time)

    def is_python_profiling_enabled(self):
        return self.profiling_enabled and self.config.python_profiling_config.is_enabled()


_parser = None


def get_profiler_config_parser(framework=None):
    """One for the program."""
    global _parser
    _parser = _parser or ProfilerConfigParser(framework)
    return _parser


def reset_profiler_config_parser():
    global _parser
    _parser = None
