"""Profiler data as pandas DataFrames: a row for each sample of a machine, and one for each event of a process."""
import pandas

from . import events as e
from .readers import readers

SYSTEM = ["timestamp", "timestamp_us", "value", "system_metric", "dimension", "nodeID", "type"]
FRAMEWORK = ["start_time", "end_time", "start_time_us", "end_time_us", "tid", "pid", "framework_metric", "step", "bytes", "process", "nodeID"]
DATALOADER = ["start_time", "end_time", "start_time_us", "end_time_us", "duration_us", "pid", "framework_metric", "step", "worker_id", "num_workers",
              "pin_memory", "process", "node_id"]


def _step(event):
    return int(event.argument("step_num", -1))


def _name(event):
    return event.argument("layer_name", event.argument("name", event.event_name))


def _pinned(event):
    return "NA" if event.argument("pin_memory") is None else str(event.argument("pin_memory") is True)


def _times(event):
    return [e.us_since_epoch_to_human_readable_time(event.start_time), e.us_since_epoch_to_human_readable_time(event.end_time), event.start_time,
            event.end_time]


def _of_framework(event):
    return _times(event) + [event.tid, event.pid, _name(event), _step(event), event.argument("bytes_fetched", -1), event.event_phase, event.node_id]


def _of_dataloader(event):
    return _times(event) + [event.duration, event.pid, _name(event), _step(event), event.argument("worker_id", -1), event.argument("num_workers", -1),
                            _pinned(event), event.event_phase, event.node_id]


class PandasFrame:
    """The profiler data of a trial, here or in S3. Columns whose names end in _us count microseconds from the first file of system metrics;
    start_time is that file's time. A row that is there twice is left out. scan_interval changes nothing."""

    def __init__(self, path, use_in_memory_cache=False, scan_interval=5000000000):
        self.path, self.interval = path, scan_interval
        self.system_metrics_reader, self.framework_metrics_reader = readers(path, use_in_memory_cache)
        self.system_metrics, self.framework_metrics = [], []
        self.start_time = self.system_metrics_reader.get_timestamp_of_first_available_file()

    # -- all of it

    def get_all_system_metrics(self, selected_system_metrics=()):
        """`selected` are names of units, "cpu0": only these."""
        first, last = self.system_metrics_reader.get_current_time_range_for_event_query()
        return self._system(first, last + self.interval, selected_system_metrics, False)

    def get_all_framework_metrics(self, selected_framework_metrics=()):
        """`selected` are names of events or of rows: only these."""
        return self._framework(*self._all_of_it(), selected_framework_metrics, False)

    def get_all_dataloader_metrics(self, selected_framework_metrics=()):
        """`selected` are patterns of names of events or of rows."""
        pattern = "|".join("(?:%s)" % one for one in selected_framework_metrics)
        found = [event for event in self.framework_metrics_reader.get_events(*self._all_of_it())
                 if not pattern or any(pandas.Series([event.event_name, event.event_phase]).str.contains(pattern, regex=True))]
        return self._frame([_of_dataloader(event) for event in found], DATALOADER, ("start_time_us", "end_time_us"))

    def _all_of_it(self):
        return self.system_metrics_reader.get_timestamp_of_first_available_file(), self.framework_metrics_reader.get_timestamp_of_latest_available_file()

    def _frame(self, rows, columns, counted):
        made = pandas.DataFrame(rows, columns=columns)
        for column in counted:
            made[column] = made[column] - self.start_time
        return made[~made.astype(str).duplicated()] if len(made) else made

    def _system(self, first, last, selected, cache):
        rows = []
        for sample in self.system_metrics_reader.get_events(first, last):
            if not selected or sample.name in selected:
                at = int(sample.timestamp * 1000000)
                rows.append([e.us_since_epoch_to_human_readable_time(at), at, sample.value, sample.name, sample.dimension, sample.node_id, sample.type])
        return self._frame(self._kept(self.system_metrics, rows, cache), SYSTEM, ("timestamp_us",))

    def _framework(self, first, last, selected, cache):
        rows = [_of_framework(event) for event in self.framework_metrics_reader.get_events(first, last) if _chosen(event, selected)]
        return self._frame(self._kept(self.framework_metrics, rows, cache), FRAMEWORK, ("start_time_us", "end_time_us"))

    @staticmethod
    def _kept(before, rows, cache):
        """With `cache` all that was asked for so far."""
        if not cache:
            return rows
        before.extend(rows)
        return before

    # -- parts of it

    def get_profiler_data_by_time(self, start_time_us, end_time_us, cache_metrics=False, selected_framework_metrics=(), selected_system_metrics=(),
                                  get_framework_metrics=True, get_system_metrics=True):
        """(system, framework) from a time to another, microseconds since 1970."""
        system = self._system(start_time_us, end_time_us, selected_system_metrics, cache_metrics) if get_system_metrics else pandas.DataFrame(columns=SYSTEM)
        if not get_framework_metrics:
            return system, pandas.DataFrame(columns=FRAMEWORK)
        return system, self._framework(start_time_us, end_time_us, selected_framework_metrics, cache_metrics)

    def get_profiler_data_by_step(self, start_step, end_step, cache_metrics=False):
        """(system, framework) of the steps from start_step to end_step, both included: events that name such a step, and the samples meanwhile."""
        del cache_metrics
        system, framework = self.get_all_system_metrics(), self.get_all_framework_metrics()
        framework = framework[framework["step"].between(start_step, end_step)]
        return system[system["timestamp_us"].between(framework["start_time_us"].min(), framework["end_time_us"].max())], framework

    def convert_datetime_to_timestamp(self, timestamp):
        """Microseconds since 1970 of a time as the column start_time has it."""
        return round(pandas.to_datetime(timestamp, format="%Y-%m-%dT%H:%M:%S:%f", utc=True).timestamp() * 1e6)

    def get_framework_metrics_by_timesteps(self, timestep_list=(), selected_framework_metrics=()):
        """What was under way at some times: (time by row as a share of the longest, time by event, time by mode of steps)."""
        times = sorted(self.convert_datetime_to_timestamp(time) for time in timestep_list)
        rows, names = {}, {}
        for event in self._between(times[0], times[-1], selected_framework_metrics) if times else ():
            often = sum(event.start_time < time < event.end_time for time in times)
            if often:
                _add(rows, event.event_phase, often * event.duration)
                if "Step" not in event.event_name:
                    _add(names, event.event_name, often * event.duration)
        steps = {row: time for row, time in rows.items() if "Step" in row}
        return _shares({row: time for row, time in rows.items() if row not in steps}), names, steps

    def get_framework_metrics_by_begin_and_end_timesteps(self, begin_timestep_list, end_timestep_list, selected_framework_metrics=()):
        """What was under way during some intervals: (time by row, time by event), each as a share of its longest."""
        begins, ends = ([self.convert_datetime_to_timestamp(time) for time in times] for times in (begin_timestep_list, end_timestep_list))
        rows, names = {}, {}
        for event in self._between(min(begins), max(ends), selected_framework_metrics) if begins else ():
            often = sum(event.end_time >= begin and event.start_time <= end for begin, end in zip(begins, ends))
            if often and "Step" not in event.event_name:
                _add(rows, event.event_phase, often * event.duration)
                _add(names, event.event_name, often * event.duration)
        return _shares(rows), _shares(names)

    def _between(self, first, last, selected):
        return [event for event in self.framework_metrics_reader.get_events(first, last) if _chosen(event, selected)]


def _chosen(event, selected):
    return not selected or event.event_name in selected or event.event_phase in selected


def _add(times, name, time):
    times[name] = times.get(name, 0) + time


def _shares(times):
    most = max(times.values(), default=0)
    return {name: time / most for name, time in times.items()} if most else times


class PT_dataloader_analysis:  # noqa: N801 - the reference's name
    """What PyTorch's data loaders did, by PandasFrame: each method prints what it found, and returns the outliers (more than twice the median),
    longest first; None: there are none."""

    def __init__(self, pandas_frame):
        self.pd_data_frame = pandas_frame
        self.dataIter_metric = pandas_frame.get_all_dataloader_metrics([".*DataLoaderIter::GetNext"])
        self.initialize_metric = pandas_frame.get_all_dataloader_metrics(["DataLoaderIterInitialize"])
        self.dataWorker_metric = pandas_frame.get_all_dataloader_metrics(["DataLoaderWorker"])

    @staticmethod
    def _outliers(frame, column, shown, what, unit):
        median = frame[column].median()
        print("%s: %d; median %s %s, longest %s" % (what, len(frame), median, unit, frame[column].max()))
        found = frame.loc[frame[column] >= 2 * median, shown].sort_values(by=[column], ascending=False).reset_index(drop=True)
        print("%s that took at least twice the median: %d" % (what, len(found)))
        return found if len(found) else None

    def _took(self, frame, what, *more):
        if not len(frame):
            print("the timelines have no %s" % what)
            return None
        return self._outliers(frame, "duration_us", ["start_time", "end_time", "duration_us", *more], what, "us")

    def analyze_dataloaderIter_initialization(self):  # noqa: N802
        for kind in ("_MultiProcessingDataLoaderIter.__init__", "_SingleProcessDataLoaderIter.__init__"):
            made = self.initialize_metric[self.initialize_metric["framework_metric"] == kind]
            if len(made):
                print("%s: pin_memory = %s, num_workers = %s" % (kind, made["pin_memory"].iloc[0], made["num_workers"].iloc[0]))
            self._took(made, kind)

    def analyze_dataloaderWorkers(self):  # noqa: N802
        return self._took(self.dataWorker_metric, "processes of loaders", "worker_id")

    def analyze_dataloader_getnext(self):
        return self._took(self.dataIter_metric, "calls of GetNext", "worker_id")

    def analyze_batchtime(self):
        """From one call of GetNext of a process to its next one."""
        calls = self.dataIter_metric.sort_values(by=["node_id", "pid", "end_time_us"])
        if not len(calls):
            print("the timelines have no calls of GetNext")
            return None
        begun = calls.groupby(["node_id", "pid"])["start_time_us"]
        calls = calls.assign(BatchTime_in_seconds=begun.diff() / 1e6, previous_batch_start=calls.groupby(["node_id", "pid"])["start_time"].shift())
        return self._outliers(calls, "BatchTime_in_seconds", ["previous_batch_start", "start_time", "BatchTime_in_seconds", "worker_id"], "batches",
                              "s")

    def plot_the_window(self, start_timestamp, end_timestamp, select_events=(".*",), select_dimensions=(".*",)):
        from .charts import TimelineCharts
        frame = self.pd_data_frame
        return TimelineCharts(frame.system_metrics_reader, frame.framework_metrics_reader, starttime=start_timestamp, endtime=end_timestamp,
                              select_events=select_events, select_dimensions=select_dimensions)
