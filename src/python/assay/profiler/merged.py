"""One timeline of what all processes of a training did, for Chrome's viewer of traces or Perfetto."""
import bisect
import enum
import json
import logging
import os

from ..s3 import write_file
from ..surroundings import get_node_id
from .constants import MERGEDTIMELINE_SUFFIX
from .readers import readers

_log = logging.getLogger("smdebug")
# Rows stand in this order; each kind has so many numbers for itself.
ORDER = {"Step:": 1, "Forward": 10000, "Backward": 20000, "DataIterator": 30000, "Dataset": 40000, "/device": 50000, "/host": 60000,
         "gpu_functions": 70000, "cpu_functions": 80000, "Horovod": 90000, "sys_metrics": 100000, "": 1000000}
IDLE, TOGETHER = 85, 20000  # percent of a GPU below which what the machine did is marked; microseconds that samples lie apart


class MergeUnit(enum.Enum):
    TIME, STEP = "time", "step"


class MergedTimeline:
    """Of the profiler data in `path`; file_suffix_filter is a list of ends of names of files. The file goes to output_directory, or where the
    data is."""

    def __init__(self, path, file_suffix_filter=None, output_directory=None):
        self.path, self.out_dir, self.file_suffix_filter = path, path if output_directory is None else output_directory, file_suffix_filter
        self.system_metrics_reader, self.framework_metrics_reader = readers(path, True)

    def file_name(self, end_timestamp_in_us):
        return os.path.join(self.out_dir, "%d_%s_%s" % (end_timestamp_in_us, get_node_id(), MERGEDTIMELINE_SUFFIX))

    def merge_timeline(self, start, end, unit=MergeUnit.TIME, sys_metrics_filter={"lowgpu": ()}):  # noqa: B006 - the reference's default
        """From a time to another (microseconds), or from a step until another begins (MergeUnit.STEP). With sys_metrics_filter system metrics
        are in it as counters, and marks where a GPU was little used. Returns the name of the file."""
        if unit in (MergeUnit.STEP, MergeUnit.STEP.value):
            start, end = self.framework_metrics_reader._get_time_interval_for_step(start, end)
        events = self.framework_metrics_reader.get_events(start, end, file_suffix_filter=self.file_suffix_filter)
        made = [(event.start_time, event.event_phase, self._thread(event), event) for event in events]
        if sys_metrics_filter:
            samples = sorted(self.system_metrics_reader.get_events(start, end), key=lambda sample: sample.timestamp)
            made += [(at, row, None, json_) for at, row, json_ in _counters(samples) + _marks(samples)]
        made.sort(key=lambda one: one[0])
        name = self.file_name(end)
        write_file(name, "[\n%s\n]" % ",\n".join(json.dumps(line) for line in self._lines(made)))
        _log.info("%s: %d events", name, len(made))
        return name

    @staticmethod
    def _thread(event):
        thread = event.process_info and event.process_info._threads.get(event.phase_tid)
        return thread.thread_name if thread else None

    @staticmethod
    def _lines(made):
        """What is written: names of rows and threads where they first occur, and the events."""
        rows, threads, used = {}, set(), dict(ORDER)
        for _, row, thread, event in made:
            if row not in rows:
                kind = next(kind for kind in ORDER if kind in row)
                rows[row], used[kind] = used[kind], used[kind] + 1
                for name, arguments in (("process_name", {"name": row}), ("process_sort_index", {"sort_index": rows[row]})):
                    yield {"name": name, "ph": "M", "pid": rows[row], "args": arguments}
            line = dict(json.loads(event.to_json())) if hasattr(event, "to_json") else dict(event)
            line["pid"] = rows[row]
            if thread is not None:
                line["tid"] = event.phase_tid
                if (row, event.phase_tid) not in threads:
                    threads.add((row, event.phase_tid))
                    yield {"name": "thread_name", "ph": "M", "pid": rows[row], "tid": event.phase_tid, "args": {"name": thread}}
            yield line


def _label(sample):
    return "%s_%s_%s" % (sample.name, sample.dimension, sample.node_id)


def _counters(samples):
    return [(round(sample.timestamp * 1e6), "sys_metrics",
             {"name": _label(sample), "ph": "C", "tid": 0, "ts": round(sample.timestamp * 1e6), "args": {"value": sample.value}}) for sample in samples]


def _marks(samples):
    """What machines measured when a GPU was little used, an instant for each time."""
    made, last, times = [], None, [round(sample.timestamp * 1e6) for sample in samples]
    for low, at in zip(samples, times):
        if low.dimension != "GPUUtilization" or low.value >= IDLE or (last is not None and at - last <= TOGETHER):
            continue
        last = at
        near = samples[bisect.bisect_left(times, at - TOGETHER):bisect.bisect_right(times, at + TOGETHER)]
        made.append((at, "sys_metrics_bottlenecks", {"name": "sys_metrics_bottlenecks", "ph": "i", "s": "t", "tid": 0, "ts": at,
                                                      "args": {_label(sample): sample.value for sample in near}}))
    return made
