"""Readers of the profiler data of a trial: system metrics of its machines, and what its processes did, by time and by step."""
import bisect
import logging
import os
import time

from ..exceptions import SMDebugValueError
from ..s3 import Folder
from . import events as e
from .constants import (DEFAULT_SYSTEM_PROFILER_PREFIX, ENV_TIME_BUFFER, HOROVODTIMELINE_SUFFIX, MODELTIMELINE_SUFFIX, PYTHONTIMELINE_SUFFIX,
                        SMDATAPARALLELTIMELINE_SUFFIX, TENSORBOARDTIMELINE_SUFFIX, TIME_BUFFER_DEFAULT)

_log = logging.getLogger("smdebug")


class MetricsReaderBase:
    """Finds the files by the times in their names, and reads those that a question is about. With use_in_memory_cache a file is read once."""
    folder = ""  # below the trial

    def __init__(self, place, use_in_memory_cache=False):
        self._place, self._cache = Folder(place), use_in_memory_cache
        self._by_time, self._parsed, self._named = {}, set(), set()
        self.refresh_event_file_list()

    def get_all_event_parsers(self):
        return self._parsers

    def get_timestamp_of_first_available_file(self):
        return min(self._by_time, default=0)

    def get_timestamp_of_latest_available_file(self):
        return max(self._by_time, default=0)

    def get_current_time_range_for_event_query(self):
        return self.get_timestamp_of_first_available_file(), self.get_timestamp_of_latest_available_file()

    def refresh_event_file_list(self):
        """Looks for files that have come. One that cannot be read is named, once."""
        self._by_time = {}
        for name in self._place.names(self.folder):
            path = self._place.path(name)
            if self._valid(path):
                self._by_time.setdefault(self._time_of(path), []).append(path)
            elif self._strange(path) and path not in self._named:
                self._named.add(path)
                _log.warning("%s: not read: its name is none of a file of profiler data", path)

    def _strange(self, path):
        return path.endswith((".json", ".json.gz"))

    def parse_event_files(self, event_files):
        for path in event_files:
            if path not in self._parsed:
                self._parser_of(path).read_events_from_file(path)
                self._parsed.add(path)

    def get_events(self, start_time, end_time, unit=e.TimeUnits.MICROSECONDS, event_type=None, file_suffix_filter=None):
        """The events that were under way, or the samples taken, from start_time to end_time. event_type is that of samples ("cpu"),
        file_suffix_filter a list of ends of the names of files."""
        first, last = (e.convert_utc_timestamp_to_microseconds(time_, unit) for time_ in (start_time, end_time))
        self.refresh_event_file_list()
        files = [path for path in self._files_between(first, last) if file_suffix_filter is None or path.endswith(tuple(file_suffix_filter))]
        self.parse_event_files(files)
        found = []
        for parser in self._parsers:
            found += parser.get_events_within_time_range(first, last, e.TimeUnits.MICROSECONDS, event_type)
            if not self._cache:
                parser.clear_events()
        if not self._cache:
            self._parsed = set()
        return found

    def _files_between(self, first, last):
        """The files whose times are at most the buffer away, and the next one behind: an event is in the file that is closed after it."""
        buffer, times = int(os.environ.get(ENV_TIME_BUFFER, TIME_BUFFER_DEFAULT)), sorted(self._by_time)
        begin, end = self._begin(times, first - buffer), bisect.bisect_left(times, last + buffer) + 1
        return [path for at in times[begin:end] for path in self._by_time[at]]

    def _begin(self, times, first):
        return bisect.bisect_left(times, first)

    def _get_time_interval_for_step(self, start_step, end_step):
        """From when the first step of these began until the other did; (0, 0): one of them is not there."""
        begun = {}
        for event in sorted(self.get_events(0, time.time() * 1e6, file_suffix_filter=[PYTHONTIMELINE_SUFFIX]), key=lambda event: event.start_time):
            if event.argument("step_num") is not None:
                begun.setdefault(int(event.argument("step_num")), event.start_time)
        if start_step not in begun or end_step not in begun:
            _log.info("the timelines have no steps %s to %s", start_step, end_step)
            return 0, 0
        return begun[start_step], begun[end_step] - 1

    def get_events_by_step(self, start_step, end_step, event_type=None, file_suffix_filter=None):
        """Those from the begin of start_step until end_step begins."""
        return self.get_events(*self._get_time_interval_for_step(start_step, end_step), event_type=event_type, file_suffix_filter=file_suffix_filter)


class AlgorithmMetricsReader(MetricsReaderBase):
    """What the processes of a training did: timelines, and what TensorFlow's profiler left."""
    folder = "framework"

    def __init__(self, place, use_in_memory_cache=False):
        self._by_suffix = {PYTHONTIMELINE_SUFFIX: e.SMProfilerEvents(), MODELTIMELINE_SUFFIX: e.SMProfilerEvents("DetailedframeworkMetrics"),
                           TENSORBOARDTIMELINE_SUFFIX: e.TensorboardProfilerEvents(), HOROVODTIMELINE_SUFFIX: e.HorovodProfilerEvents(),
                           SMDATAPARALLELTIMELINE_SUFFIX: e.SMDataParallelProfilerEvents()}
        self._parsers = list(self._by_suffix.values())
        super().__init__(place, use_in_memory_cache)

    def _parser_of(self, path):
        return next(parser for suffix, parser in self._by_suffix.items() if suffix in path)

    def _valid(self, path):
        return (e.is_valid_tracefilename(path) or e.is_valid_tfprof_tracefilename(path)) and any(suffix in path for suffix in self._by_suffix)

    def _strange(self, path):
        return super()._strange(path) and os.path.basename(path) != "python_stats.json"  # which assay.profiler.python_profiles reads

    def _time_of(self, path):
        return e.get_timestamp_from_tracefilename(path)


class LocalAlgorithmMetricsReader(AlgorithmMetricsReader):
    def __init__(self, trace_root_folder, use_in_memory_cache=False):
        self.trace_root_folder = trace_root_folder
        super().__init__(trace_root_folder, use_in_memory_cache)


class S3AlgorithmMetricsReader(AlgorithmMetricsReader):
    def __init__(self, s3_trial_path, use_in_memory_cache=False):
        super().__init__(_in_s3(s3_trial_path), use_in_memory_cache)


class SystemMetricsReader(MetricsReaderBase):
    """What the machines of a training measured."""
    folder = DEFAULT_SYSTEM_PROFILER_PREFIX

    def __init__(self, place, use_in_memory_cache=False):
        self._parsers = [e.ProfilerSystemEvents()]
        super().__init__(place, use_in_memory_cache)

    def _begin(self, times, first):
        """The time in the name is when the file begins."""
        return max(bisect.bisect_right(times, first) - 1, 0)

    def _parser_of(self, path):
        return self._parsers[0]

    def _valid(self, path):
        return e.validate_system_profiler_file(path)

    def _time_of(self, path):
        return e.get_utctimestamp_us_since_epoch_from_system_profiler_file(path)


class LocalSystemMetricsReader(SystemMetricsReader):
    def __init__(self, trace_root_folder, use_in_memory_cache=False):
        self.trace_root_folder = trace_root_folder
        super().__init__(trace_root_folder, use_in_memory_cache)


class S3SystemMetricsReader(SystemMetricsReader):
    def __init__(self, s3_trial_path, use_in_memory_cache=False):
        super().__init__(_in_s3(s3_trial_path), use_in_memory_cache)


def _in_s3(path):
    if not str(path).strip().lower().startswith("s3://"):
        raise SMDebugValueError("%s: expected a place in S3: s3://BUCKET/PREFIX" % path)
    return path


def readers(path, use_in_memory_cache=False):
    """(of system metrics, of what processes did) of a trial, here or in S3."""
    return SystemMetricsReader(path, use_in_memory_cache), AlgorithmMetricsReader(path, use_in_memory_cache)
