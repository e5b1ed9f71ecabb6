"""What Python's own profilers measured of steps: the files of cProfile (python_stats) and pyinstrument (python_stats.json, .html), in folders
FRAMEWORK/PROFILER/NODE/MODE-STEP-PHASE-BEGIN_MODE-STEP-PHASE-END."""
import collections
import enum
import json
import logging
import os
import pstats
import shutil

from ..exceptions import SMDebugValueError
from ..s3 import Folder
from .constants import (CONVERT_TO_MICROSECS, CPROFILE_NAME, CPROFILE_STATS_FILENAME, PYINSTRUMENT_HTML_FILENAME, PYINSTRUMENT_JSON_FILENAME,
                        PYINSTRUMENT_NAME)

_log = logging.getLogger("smdebug")
KINDS = {CPROFILE_STATS_FILENAME: CPROFILE_NAME, PYINSTRUMENT_JSON_FILENAME: PYINSTRUMENT_NAME, PYINSTRUMENT_HTML_FILENAME: PYINSTRUMENT_NAME}


class PythonProfileModes(enum.IntEnum):
    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4
    PRE_STEP_ZERO = 5  # before the first step
    POST_HOOK_CLOSE = 6  # after the hook was closed


class StepPhase(enum.Enum):
    START, STEP_START, FORWARD_PASS_END, STEP_END, END = "start", "stepstart", "forwardpassend", "stepend", "end"


class PythonProfilerName(enum.Enum):
    CPROFILE, PYINSTRUMENT = CPROFILE_NAME, PYINSTRUMENT_NAME


class cProfileTimer(enum.Enum):  # noqa: N801 - the reference's name, as those below
    TOTAL_TIME, CPU_TIME, OFF_CPU_TIME, DEFAULT = "total_time", "cpu_time", "off_cpu_time", "default"


class Metrics(enum.Enum):
    """What functions are sorted by."""
    TOTAL_TIME = "tottime"  # in the function itself
    CUMULATIVE_TIME = "cumtime"  # and in what it calls
    PRIMITIVE_CALLS = "pcalls"  # not by itself
    TOTAL_CALLS = "ncalls"


def python_profile_mode_to_str(mode):
    return PythonProfileModes(mode).name.lower().replace("_", "")


def str_to_python_profile_mode(mode_str):
    for mode in PythonProfileModes:
        if python_profile_mode_to_str(mode) == mode_str:
            return mode
    raise SMDebugValueError("%r is no mode of a profile" % (mode_str,))


def mode_keys_to_python_profile_mode(mode):
    return PythonProfileModes(mode.value)


def _number(text, otherwise):
    return otherwise if text == "*" else int(text)


class StepPythonProfileStats:
    """A file of a profiler, and from when to when it measured."""

    def __init__(self, framework, profiler_name, node_id, stats_dir, stats_path):
        self.profiler_name, self.framework, self.node_id = profiler_name, framework, node_id
        for end, otherwise, text in zip(("start", "end"), (-1, float("inf")), stats_dir.split("_")):
            mode, step, phase, time = text.split("-")
            vars(self).update({end + "_mode": str_to_python_profile_mode(mode), end + "_step": _number(step, otherwise),
                               end + "_phase": StepPhase(phase), end + "_time_since_epoch_in_micros": float(time)})
        self.stats_path = stats_path

    def has_start_and_end_mode(self, start_mode, end_mode):
        return (self.start_mode, self.end_mode) == (start_mode, end_mode)

    def in_time_interval(self, start_time_since_epoch_in_micros, end_time_since_epoch_in_micros):
        """Did one of its ends lie in there?"""
        return any(start_time_since_epoch_in_micros <= time <= end_time_since_epoch_in_micros
                   for time in (self.start_time_since_epoch_in_micros, self.end_time_since_epoch_in_micros))

    def in_step_interval(self, start_step, end_step, start_phase, end_phase):
        """Did it measure within these steps, from the phase of the first to that of the last?"""
        if self.start_step < start_step or self.end_step > end_step:
            return False
        inside = start_step < self.start_step and end_step > self.end_step
        late = start_step == self.start_step and start_phase in (StepPhase.STEP_END, StepPhase.FORWARD_PASS_END) and self.start_phase != start_phase
        early = end_step == self.end_step and end_phase == StepPhase.STEP_START and self.end_phase != end_phase
        return inside or not (late or early)

    def has_pre_step_zero_profile_stats(self):
        return self.start_phase == StepPhase.START

    def has_post_hook_close_profile_stats(self):
        return self.end_phase == StepPhase.END

    def has_node_id(self, node_id):
        return self.node_id == node_id

    def __repr__(self):
        return repr(vars(self))


class PythonStatsReader:
    """Finds the files below a folder, and names those that it cannot place."""

    def __init__(self, profile_dir):
        self.profile_dir = profile_dir

    def load_python_profile_stats(self):
        """In order of time and node."""
        found = []
        for name in Folder(self.profile_dir).names():
            path = os.path.join(self.profile_dir, name)
            parts, kind = path.split(os.sep), KINDS.get(os.path.basename(name))
            try:
                if kind is None or len(name.split(os.sep)) < 3:
                    raise ValueError("not NODE/TIMES/%s" % "|".join(KINDS))
                found.append(StepPythonProfileStats(self._framework(parts), kind, parts[-3], parts[-2], path))
            except ValueError as error:
                _log.warning("%s: not read: %s", path, error)
        return sorted(found, key=lambda one: (one.start_time_since_epoch_in_micros, one.node_id))

    def _framework(self, parts):
        return parts[-5] if len(parts) > 4 else ""


class LocalPythonStatsReader(PythonStatsReader):
    """Of the folder that has those of nodes."""

    def __init__(self, profile_dir):
        if not os.path.isdir(profile_dir):
            raise SMDebugValueError("%s: there is no such folder" % profile_dir)
        super().__init__(profile_dir)


class S3PythonStatsReader(PythonStatsReader):
    """Copies the files of a trial in S3 into profile_dir/python_stats, whose old content goes, and reads them there."""

    def __init__(self, profile_dir, s3_path):
        if not os.path.isdir(profile_dir) or not s3_path.lower().startswith("s3://"):
            raise SMDebugValueError("%s, %s: expected a folder that is there, and s3://BUCKET/PREFIX" % (profile_dir, s3_path))
        super().__init__(os.path.join(profile_dir, "python_stats"))
        self._source = Folder(s3_path)

    def load_python_profile_stats(self):
        shutil.rmtree(self.profile_dir, ignore_errors=True)
        for name in self._source.names("framework"):
            if os.path.basename(name) in KINDS:
                path = os.path.join(self.profile_dir, *name.split("/")[1:])
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(self._source.read(name))
        os.makedirs(self.profile_dir, exist_ok=True)
        return super().load_python_profile_stats()


class cProfileFunctionStats:  # noqa: N801
    """A function, how often it was called, and the seconds that it took."""

    def __init__(self, key, value):
        self.function_name = pstats.func_std_string(key)
        self.prim_calls, self.total_calls, self.total_time, self.cumulative_time, callers = value
        self.callers = [pstats.func_std_string(caller) for caller in callers]

    def row(self):
        return {"function name": self.function_name, "# of primitive calls": self.prim_calls, "# of total calls": self.total_calls,
                "total time": self.total_time, "cumulative time": self.cumulative_time}

    def __repr__(self):
        return repr(self.row())


class cProfileStats:  # noqa: N801
    """`ps` is the pstats.Stats of some steps."""

    def __init__(self, ps):
        self.ps = ps
        self.function_stats_list = [cProfileFunctionStats(key, value) for key, value in ps.stats.items()]

    def print_top_n_functions(self, by, n=10):
        if not isinstance(by, Metrics):
            raise SMDebugValueError("%r: expected one of Metrics" % (by,))
        self.ps.sort_stats(by.value).print_stats(n)

    def get_function_stats(self):
        """A row for each function."""
        import pandas
        return pandas.DataFrame([one.row() for one in self.function_stats_list])


class PyinstrumentStepStats:
    def __init__(self, html_file_path, json_stats):
        self.html_file_path, self.json_stats = html_file_path, json_stats


class PythonProfileAnalysis:
    """Profiles by step, time, mode and part of the job. local_profile_dir has folders of nodes; with s3_path they are copied there first."""
    name = ""

    def __init__(self, local_profile_dir="/tmp/python_stats", s3_path=None):
        self.python_stats_reader = S3PythonStatsReader(local_profile_dir, s3_path) if s3_path else LocalPythonStatsReader(local_profile_dir)
        self._refresh(True)

    def _refresh(self, wanted):
        if wanted:
            self.python_profile_stats = [one for one in self.python_stats_reader.load_python_profile_stats() if self.name in ("", one.profiler_name)]

    def _fetch(self, is_meant, node_id, refresh_stats):
        """Those of a node, "any": of the first."""
        self._refresh(refresh_stats)
        node = self.python_profile_stats[0].node_id if node_id == "any" and self.python_profile_stats else node_id
        found = [one for one in self.python_profile_stats if one.node_id == node and is_meant(one)]
        if not found:
            _log.info("no profile is of that time")
            return None
        return self._aggregate_stats(found)

    def _aggregate_stats(self, stats):
        return stats

    def fetch_profile_stats_by_step(self, start_step, end_step=None, mode=PythonProfileModes.TRAIN, start_phase=StepPhase.STEP_START,
                                    end_phase=StepPhase.STEP_END, node_id="any", refresh_stats=True):
        last = start_step if end_step is None else end_step
        return self._fetch(lambda one: one.in_step_interval(start_step, last, start_phase, end_phase) and one.has_start_and_end_mode(mode, mode),
                           node_id, refresh_stats)

    def fetch_profile_stats_by_time(self, start_time_since_epoch_in_secs, end_time_since_epoch_in_secs, node_id="any", refresh_stats=True):
        first, last = start_time_since_epoch_in_secs * CONVERT_TO_MICROSECS, end_time_since_epoch_in_secs * CONVERT_TO_MICROSECS
        return self._fetch(lambda one: one.in_time_interval(first, last), node_id, refresh_stats)

    def fetch_profile_stats_between_modes(self, start_mode, end_mode, node_id="any", refresh_stats=True):
        return self._fetch(lambda one: one.has_start_and_end_mode(start_mode, end_mode), node_id, refresh_stats)

    def fetch_pre_step_zero_profile_stats(self, node_id="any", refresh_stats=True):
        return self._fetch(StepPythonProfileStats.has_pre_step_zero_profile_stats, node_id, refresh_stats)

    def fetch_post_hook_close_profile_stats(self, node_id="any", refresh_stats=True):
        return self._fetch(StepPythonProfileStats.has_post_hook_close_profile_stats, node_id, refresh_stats)

    def list_profile_stats(self, refresh_stats=True):
        """A row for each file."""
        import pandas
        self._refresh(refresh_stats)
        return pandas.DataFrame([vars(one) for one in self.python_profile_stats])

    list_available_node_ids = property(lambda self: sorted({one.node_id for one in self.python_profile_stats}))


class cProfileAnalysis(PythonProfileAnalysis):  # noqa: N801
    name = CPROFILE_NAME

    def _aggregate_stats(self, stats):
        return cProfileStats(pstats.Stats(*[one.stats_path for one in stats], stream=None))

    def fetch_profile_stats_by_training_phase(self, node_id="any", refresh_stats=True):
        """{(mode at the begin, mode at the end): cProfileStats}"""
        self._refresh(refresh_stats)
        pairs = [(first, last) for first in PythonProfileModes for last in PythonProfileModes]
        found = {pair: self.fetch_profile_stats_between_modes(*pair, node_id=node_id, refresh_stats=False) for pair in pairs}
        return {pair: stats for pair, stats in found.items() if stats is not None}

    def fetch_profile_stats_by_job_phase(self, node_id="any", refresh_stats=True):
        """{"initialization", "training_loop", "finalization": cProfileStats}, those that there are."""
        self._refresh(refresh_stats)

        def phase(one):
            if one.start_mode == PythonProfileModes.PRE_STEP_ZERO:
                return "initialization"
            return "finalization" if one.end_mode == PythonProfileModes.POST_HOOK_CLOSE else "training_loop"

        found = {name: self._fetch(lambda one, name=name: phase(one) == name, node_id, False)
                 for name in ("initialization", "training_loop", "finalization")}
        return {name: stats for name, stats in found.items() if stats is not None}


class PyinstrumentAnalysis(PythonProfileAnalysis):
    name = PYINSTRUMENT_NAME

    def _aggregate_stats(self, stats):
        """[PyinstrumentStepStats], by time; each of a JSON file, with the HTML beside it where there is one."""
        by_folder = collections.OrderedDict()
        for one in stats:
            by_folder.setdefault(os.path.dirname(one.stats_path), {})[os.path.basename(one.stats_path)] = one.stats_path
        made = []
        for folder, files in by_folder.items():
            if PYINSTRUMENT_JSON_FILENAME not in files:
                _log.warning("%s: it has no %s", folder, PYINSTRUMENT_JSON_FILENAME)
                continue
            with open(files[PYINSTRUMENT_JSON_FILENAME], encoding="utf-8") as file:
                made.append(PyinstrumentStepStats(files.get(PYINSTRUMENT_HTML_FILENAME), json.load(file)))
        return made
