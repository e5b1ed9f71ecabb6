"""Events of timelines, and samples of machines: what is in the files that SageMaker's profiler and assay's hook write, one object each.
docs/profiler.md has the files."""
import datetime
import enum
import gzip
import json
import logging
import os
import re
import zlib

from ..s3 import Folder, ReadObjectRequest, S3Handler

_log = logging.getLogger("smdebug")


class TimeUnits(enum.Enum):
    SECONDS = 1
    MILLISECONDS = 2
    MICROSECONDS = 3
    NANOSECONDS = 4


_NANOSECONDS = {TimeUnits.SECONDS: 10 ** 9, TimeUnits.MILLISECONDS: 10 ** 6, TimeUnits.MICROSECONDS: 1000, TimeUnits.NANOSECONDS: 1}


def _convert(time, unit, to):
    """Whole numbers stay exact; a fraction goes to the nearest."""
    times, divided = _NANOSECONDS[unit], _NANOSECONDS[to]
    if isinstance(time, int):
        return time * times // divided
    return round(time * (times // divided)) if times >= divided else round(time / (divided // times))


def convert_utc_timestamp_to_nanoseconds(timestamp, unit=TimeUnits.MICROSECONDS):
    return _convert(timestamp, unit, TimeUnits.NANOSECONDS)


def convert_utc_timestamp_to_microseconds(timestamp, unit=TimeUnits.MICROSECONDS):
    return _convert(timestamp, unit, TimeUnits.MICROSECONDS)


def convert_utc_timestamp_to_seconds(timestamp, unit=TimeUnits.MICROSECONDS):
    return _convert(int(timestamp), unit, TimeUnits.SECONDS)


def convert_utc_datetime_to_nanoseconds(timestamp_datetime):
    return convert_utc_timestamp_to_nanoseconds(timestamp_datetime.timestamp(), TimeUnits.SECONDS)


def convert_utc_datetime_to_microseconds(timestamp_datetime):
    return convert_utc_timestamp_to_microseconds(timestamp_datetime.timestamp(), TimeUnits.SECONDS)


def us_since_epoch_to_human_readable_time(us_since_epoch):
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=int(us_since_epoch))
    return moment.strftime("%Y-%m-%dT%H:%M:%S:%f")


def ns_since_epoch_to_human_readable_time(ns_since_epoch):
    return us_since_epoch_to_human_readable_time(ns_since_epoch / 1000)


# ---- names of files

_SAMPLES = re.compile(r"(\d+)\.(.+)\.json(?:\.gz)?$")
_NO_METADATA = ("", "0", "0")


def is_valid_tracefilename(filename):
    """Is it framework/pevents/HOUR/END_ID_KIND.json?"""
    return "pevents" in filename and _plain(filename).endswith(".json") and len(os.path.basename(filename).split("_")) >= 3


def is_valid_tfprof_tracefilename(filename):
    """Is it what TensorFlow's own profiler has left?"""
    return filename.endswith("trace.json.gz") and "tensorflow/detailed_profiling" in filename


def validate_system_profiler_file(filename):
    """Is it system/.../SECONDS.NODE.json?"""
    return re.search(r"(?:^|/)system/(?:.+/)?\d+\.[^/]+\.json(?:\.gz)?$", filename) is not None


def _plain(filename):
    return filename[:-3] if filename.endswith(".gz") else filename


def get_node_id_from_tracefilename(filename):
    if is_valid_tracefilename(filename):
        return os.path.basename(filename).split("_")[1]
    return read_tf_profiler_metadata_file(filename)[0] or None


def get_timestamp_from_tracefilename(filename):
    """When its last event ended, in microseconds; 0: the name does not say."""
    if is_valid_tracefilename(filename):
        first = os.path.basename(filename).split("_")[0]
        return int(first) if first.isdigit() else 0
    return int(read_tf_profiler_metadata_file(filename)[2])


def get_node_id_from_system_profiler_filename(filename):
    found = _SAMPLES.match(os.path.basename(filename))
    return found[2] if found and validate_system_profiler_file(filename) else None


def get_utctimestamp_us_since_epoch_from_system_profiler_file(filename):
    """The minute that it begins with, in microseconds; None: it is none of them."""
    found = _SAMPLES.match(os.path.basename(filename))
    return int(found[1]) * 1000000 if found and validate_system_profiler_file(filename) else None


def read_tf_profiler_metadata_file(file_path):
    """(ID, begin, end), texts, of the file ID_BEGIN_END.metadata four folders above what TensorFlow's profiler has left."""
    if not is_valid_tfprof_tracefilename(file_path):
        return _NO_METADATA
    folder = Folder(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(file_path)))))
    name = next((name for name in folder.names() if name.endswith(".metadata")), "")
    parts = os.path.basename(name)[:-len(".metadata")].rsplit("_", 2)
    return tuple(parts) if len(parts) == 3 else _NO_METADATA


# ---- timelines

class ThreadInfo:
    def __init__(self, tid, thread_name):
        self.tid, self.thread_name = tid, thread_name

    def __repr__(self):
        return "tid:%s name:%s" % (self.tid, self.thread_name)


class ProcessInfo:
    """A row of a timeline, by its name, with its threads."""

    def __init__(self, id, name):  # noqa: A002
        self.id, self.name, self._threads = id, name, {}

    def add_thread(self, threadid, thread_name):
        self._threads.setdefault(threadid, ThreadInfo(threadid, thread_name))

    def get_thread_info(self, threadid):
        return self._threads[threadid]

    def __repr__(self):
        return "id:%s name:%s threads:%s" % (self.id, self.name, self._threads)


class TraceEvent:
    """What lasted from start_time to end_time, in microseconds since 1970. event_phase is the name of its row; pid and tid are those that the
    event itself speaks of, phase_pid and phase_tid those of the row in its file."""

    def __init__(self, ts, name, dur, phase_pid, phase_tid, event_args, node_id, phase, file_type, event_phase="", pid=0, tid=0,
                 process_info=None):
        self.start_time, self.event_name, self.duration, self.end_time = ts, name, dur, ts + dur
        self.phase_pid, self.phase_tid, self.pid, self.tid = phase_pid, phase_tid, pid, tid
        self.event_args, self.node_id, self.phase = event_args, node_id, phase
        self.file_type, self.event_phase, self.process_info = file_type, event_phase, process_info

    def argument(self, name, otherwise=None):
        return (self.event_args or {}).get(name, otherwise)

    def to_json(self):
        """As Chrome's trace format has it."""
        made = {"name": self.event_name, "pid": self.pid, "tid": self.tid, "ph": self.phase, "ts": self.start_time}
        arguments = dict(self.event_args or {})
        if self.phase == "X":
            made["dur"] = self.duration
        elif self.phase == "i":
            made["s"] = arguments.pop("s", "t")
        return json.dumps({**made, **({"args": arguments} if arguments else {})})

    def __repr__(self):
        return "<TraceEvent %s of %s at %s, %d us>" % (self.event_name, self.event_phase, self.node_id, self.duration)


class _Kept:
    """Events in a list, asked for by time."""

    def get_all_events(self):
        return self._events

    def clear_events(self):
        self._events = []


class TraceEventParser(_Kept):
    """The events of timelines. What begins and what ends it (B, E) are one event; rows and threads have the names that the file says."""

    def __init__(self, type=""):  # noqa: A002
        self.type, self._events = type, []
        self._processes, self._by_name, self._open, self._base = {}, {}, {}, 0

    def read_events_from_file(self, tracefile):
        """Says what is wrong with a file, and takes what is sound in it."""
        damaged = self.read_events_from_json_data(self._events_of(tracefile), self._node_of(tracefile))
        if damaged:
            _log.error("%s: %d events are damaged, and left out", tracefile, damaged)

    def _node_of(self, tracefile):
        return get_node_id_from_tracefilename(tracefile)

    def _events_of(self, tracefile):
        try:
            data = S3Handler.get_object(ReadObjectRequest(tracefile)) or b""
            data = gzip.decompress(data) if tracefile.endswith(".gz") else data
        except (OSError, EOFError, zlib.error) as error:
            _log.error("%s: not read: %s", tracefile, error)
            return []
        try:
            return json.loads(data)
        except ValueError as error:
            _log.warning("%s: it is damaged (%s); its whole lines count", tracefile, error)
        return list(_whole_lines(data))

    def read_events_from_json_data(self, trace_json_data, node_id):
        """Returns how many were damaged."""
        damaged = 0
        for event in trace_json_data.get("traceEvents", ()) if isinstance(trace_json_data, dict) else trace_json_data:
            try:
                self._read_event(event, node_id)
            except (AttributeError, KeyError, TypeError, ValueError):
                damaged += 1
        return damaged

    def _read_event(self, event, node_id=""):
        """Nodes 151-algo-1 are called algo-1-151, so that they stand together."""
        turned = re.match(r"(.*)-(algo.*)", node_id or "")
        node_id = "%s-%s" % (turned[2], turned[1]) if turned else node_id
        kind = event.get("ph")
        if kind == "M":
            self._read_row(event, node_id)
        elif kind == "X":
            self._add(event, event, event.get("dur", 0), node_id)
        elif kind == "B":
            self._open.setdefault(self._place(event), []).append(event)
        elif kind == "E":
            begun = self._open.get(self._place(event)) or self._open.get((event.get("pid"), None))
            if not begun:
                _log.info("an end without a begin, at %s of row %s", event.get("ts"), event.get("pid"))
            elif event["ts"] < begun[-1]["ts"]:
                _log.error("row %s: it ends at %s, before it begins at %s", event.get("pid"), event["ts"], begun.pop()["ts"])
            else:
                first = begun.pop()
                self._add(first, event, event["ts"] - first["ts"], node_id)

    @staticmethod
    def _place(event):
        return event.get("pid"), event.get("tid")

    def _read_row(self, event, node_id):
        arguments, pid = event.get("args") or {}, event.get("pid")
        self._base = arguments.get("start_time_since_epoch_in_micros", self._base)
        if event.get("name") == "process_name":
            row = self._by_name.setdefault(arguments.get("name", "Unknown"), ProcessInfo(pid, arguments.get("name", "Unknown")))
            self._processes[pid] = row
        elif event.get("name") == "thread_name":
            self._row(pid).add_thread(event.get("tid"), "%s_%s" % (node_id, arguments.get("name")))

    def _row(self, pid):
        return self._processes.setdefault(pid, ProcessInfo(pid, "Unknown"))

    def _add(self, begin, end, duration, node_id):
        pid, tid, arguments = begin["pid"], begin.get("tid", 0), end.get("args")
        row = self._row(pid)
        if tid not in row._threads:  # a file that names no threads: each node has one
            name = "%s_%s" % (node_id, tid)
            tid = zlib.crc32((name + row.name).encode("utf-8", "surrogateescape"))
            row.add_thread(tid, name)
        own = arguments or {}
        self._events.append(TraceEvent(begin["ts"] + self._base, begin["name"], duration, pid, tid, arguments, node_id, "X", self.type, row.name,
                                       own.get("pid", pid), own.get("thread_id", tid), row))

    def get_events_start_time_sorted(self):
        return sorted(self._events, key=lambda event: event.start_time)

    def get_events_end_time_sorted(self):
        return sorted(self._events, key=lambda event: event.end_time)

    def get_events_within_time_range(self, start_time, end_time, unit=TimeUnits.MICROSECONDS, event_type=None):
        """Those that were under way at some time from start_time to end_time."""
        del event_type
        first, last = (convert_utc_timestamp_to_microseconds(time, unit) for time in (start_time, end_time))
        return [event for event in self._events if event.end_time >= first and event.start_time <= last]

    def get_events_within_range(self, start_time, end_time):
        """The same, of datetimes."""
        return self.get_events_within_time_range(convert_utc_datetime_to_microseconds(start_time), convert_utc_datetime_to_microseconds(end_time))

    def get_processes(self):
        return self._processes

    def get_process_info(self, process_id):
        return self._processes[process_id]


def _whole_lines(data):
    for line in data.split(b"\n"):
        try:
            yield json.loads(line.strip().strip(b","))
        except ValueError:
            continue


class SMProfilerEvents(TraceEventParser):
    def __init__(self, type="PythontimelineMetrics"):  # noqa: A002
        super().__init__(type)


class HorovodProfilerEvents(TraceEventParser):
    def __init__(self):
        super().__init__("HorovodMetrics")


class SMDataParallelProfilerEvents(TraceEventParser):
    def __init__(self):
        super().__init__("SMDataParallelMetrics")


class TensorboardProfilerEvents(TraceEventParser):
    """What TensorFlow's profiler has left: HOST.trace.json.gz. Its times count from when the profiler began."""

    def __init__(self):
        super().__init__("TFProfilerMetrics")

    def read_events_from_file(self, tracefile):
        begin = int(read_tf_profiler_metadata_file(tracefile)[1])
        if not begin:
            _log.warning("%s: no file .metadata beside it says when it began: its times count from 1970", tracefile)
        self._read_row({"name": "process_name", "pid": 0, "args": {"start_time_since_epoch_in_micros": begin}}, "")
        super().read_events_from_file(tracefile)

    def _node_of(self, tracefile):
        return os.path.basename(tracefile).split(".")[0]

    def get_events_within_range(self, start_time, end_time):
        return None

    def get_complete_op_events(self, tracefile):
        """[(event, phase)] of the operators that are marked: aws_marker-ForwardPass/..."""
        self.read_events_from_file(tracefile)
        marked = [(event, re.match(r"aws_marker-(ForwardPass|ComputeGradient|ApplyGradient)(?:/|$)", event.event_name or "")) for event in self._events]
        return [(event, phase[1]) for event, phase in marked if phase and event.event_args is not None]

    def get_training_info(self, tracefile):
        """{phase: [[name, begin, duration]]}"""
        made = {"ForwardPass": [], "ComputeGradient": [], "ApplyGradient": []}
        for event, phase in self.get_complete_op_events(tracefile):
            made[phase].append([event.event_name, event.start_time, event.duration])
        return made


# ---- samples

class ProfilerSystemEvent:
    """A value of a metric of a machine at a time, in seconds."""

    def __init__(self, event_type, name, dimension, value, node_id, timestamp):
        self.type, self.name, self.dimension, self.value, self.node_id, self.timestamp = event_type, name, dimension, value, node_id, timestamp

    def __repr__(self):
        return "<ProfilerSystemEvent %s %s of %s: %s>" % (self.dimension, self.name, self.node_id, self.value)


class SystemProfilerEventParser(_Kept):
    """The samples of files of metrics, a JSON object in each line."""

    def __init__(self):
        self._events = []

    def read_event_from_dict(self, event):
        self._events.append(ProfilerSystemEvent(event["Type"], event.get("Name"), event["Dimension"], event["Value"], event["NodeId"],
                                                event["Timestamp"]))

    def read_events_from_json_data(self, system_profiler_json_data):
        for event in system_profiler_json_data:
            self.read_event_from_dict(event)

    def read_events_from_file(self, eventfile):
        """A damaged line is named and left out; the last one may be cut, of a writer that was killed."""
        data = S3Handler.get_object(ReadObjectRequest(eventfile)) or b""
        lines = (gzip.decompress(data) if eventfile.endswith(".gz") else data).rstrip(b"\n").split(b"\n")
        for number, line in enumerate(lines, 1):
            try:
                self.read_event_from_dict(json.loads(line)) if line.strip() else None
            except (ValueError, KeyError, TypeError) as error:
                _log.error("%s: line %d of %d is damaged, and left out: %s", eventfile, number, len(lines), error)

    def get_events_within_time_range(self, start_time, end_time, unit=TimeUnits.MICROSECONDS, event_type=None):
        first, last = (convert_utc_timestamp_to_nanoseconds(time, unit) for time in (start_time, end_time))
        return [event for event in self._events if event_type in (None, event.type)
                and first <= convert_utc_timestamp_to_nanoseconds(event.timestamp, TimeUnits.SECONDS) <= last]


class ProfilerSystemEvents(SystemProfilerEventParser):
    pass
