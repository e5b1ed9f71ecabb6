"""Statistics of the DataFrames that PandasFrame makes: of steps, of the use of machines, of the job."""
import enum
import logging

import pandas

_log = logging.getLogger("smdebug")
STEP, PERCENTILES = "Step:ModeKeys", [0.5, 0.95, 0.99]
FIGURES = ["mean", "min", "max", "50%", "95%", "99%"]
NAMES = ["mean", "min", "max", "p50", "p95", "p99"]


class StatsBy(enum.Enum):
    """What durations are grouped by."""
    TRAINING_PHASE = "training_phase"  # the modes of steps
    FRAMEWORK_METRICS = "framework_metric"  # the names of events
    PROCESS = "process"  # the rows of the timelines


class Resource(enum.Enum):
    """What a machine has, as samples name it."""
    CPU, GPU, IO, NETWORK, MEMORY = "cpu", "gpu", "i/o", "network", "memory"


class JobStats(dict):
    """Figures of a job by their names; shown as a table."""

    def __repr__(self):
        return repr(pandas.DataFrame.from_dict(dict(self), orient="index", columns=["value"]))


def _described(groups, by):
    """A row for each group: what it is called, and the figures of its values."""
    if not len(groups):
        return pandas.DataFrame(columns=[*by, *FIGURES])
    return groups.describe(percentiles=PERCENTILES).reset_index()[[*by, *FIGURES]]


class PandasFrameAnalysis:
    """Of what PandasFrame.get_all_system_metrics() and get_all_framework_metrics() gave. An event without a step gets the one during which it
    was; -1: during none."""

    def __init__(self, system_df, framework_df):
        self.sys_metrics_df, self.framework_metrics_df = system_df.copy(), framework_df.copy()
        frame = self.framework_metrics_df
        frame["duration_us"] = frame["end_time_us"] - frame["start_time_us"]
        steps = frame[frame["framework_metric"].str.contains(STEP, regex=False) & (frame["step"] != -1)]
        self.step_time_df = self._spans(steps, ["step"])
        self._name_steps(frame)

    @staticmethod
    def _spans(frame, by):
        """From the first begin to the last end of each group."""
        return frame.groupby(by).agg({"start_time_us": "min", "end_time_us": "max"}).reset_index()

    def _name_steps(self, frame):
        """The first of the steps, by number, that began before the event and ended behind it."""
        spans = self.step_time_df.sort_values("step", ascending=False)
        unknown = frame["step"] == -1
        first, last, found = frame.loc[unknown, "start_time_us"], frame.loc[unknown, "end_time_us"], frame.loc[unknown, "step"].copy()
        for step, begin, end in spans[["step", "start_time_us", "end_time_us"]].itertuples(index=False):
            found[(first > begin) & (last < end)] = step
        frame.loc[unknown, "step"] = found

    def _refused(self, value, what):
        _log.info("%s: expected %s", value, what)
        return None

    # -- of the job

    def get_job_statistics(self):
        """When it and its loop began and ended, and the shares of the parts of its time, in percent."""
        system, frame, made = self.sys_metrics_df, self.framework_metrics_df, JobStats()
        loop = frame[frame["framework_metric"].str.contains(STEP, regex=False) & (frame["step"] >= 0)].sort_values("start_time_us")
        if system.empty or loop.empty:
            return self._refused("get_job_statistics", "system metrics and steps")
        begin, end = system["timestamp_us"].min(), system["timestamp_us"].max()
        first, last, whole = loop["start_time_us"].iloc[0], frame["end_time_us"].max(), end - begin
        parts = {"initialization": first, "training_loop": last - first, "finalization": end - last}
        made.update(start_time=system["timestamp"].min(), end_time=system["timestamp"].max(), job_duration=whole,
                    training_loop_start=loop["start_time"].iloc[0], training_loop_end=frame["end_time"].max(),
                    training_loop_duration=parts["training_loop"], initialization=parts["initialization"], finalization=parts["finalization"])
        made.update({name + "_%": time / whole * 100 if whole else 0.0 for name, time in parts.items()})
        return made

    # -- of steps

    def get_step_statistics(self, by=StatsBy.TRAINING_PHASE):
        """How long things took in each step, from the first of a name to the last: mean, min, max and percentiles over steps, microseconds."""
        if not isinstance(by, StatsBy):
            return self._refused(by, "a StatsBy")
        frame, column = self.framework_metrics_df, by.value
        if by is StatsBy.TRAINING_PHASE:
            column = "framework_metric"
            frame = frame[frame[column].str.contains(STEP, regex=False)]
        spans = self._spans(frame, ["step", column])
        spans["duration_us"] = spans["end_time_us"] - spans["start_time_us"]
        made = _described(spans.groupby([column])["duration_us"], [column])
        made.columns = [by.value] + ["duration_%s_us" % name for name in NAMES]
        return made

    def get_training_phase_intervals(self, phase=None):
        """When steps of these modes were, and the times before, between and behind them: start_time_us, end_time_us, phase."""
        frame = self.framework_metrics_df
        rows = frame["process"].unique()
        wanted = [phase] if isinstance(phase, str) else [row for row in rows if STEP in row] if phase is None else phase
        if not isinstance(wanted, list):
            return self._refused(phase, "a list of names")
        wanted = [name for name in wanted if name in rows]
        if not wanted:
            return self._refused(phase, "names of rows: %s" % ", ".join(row for row in rows if STEP in row))
        steps = frame[frame["framework_metric"].isin(wanted)]
        if len(wanted) > 1:  # steps of a mode that follow one another are one interval
            turns = steps["framework_metric"].ne(steps["framework_metric"].shift()).cumsum()
            steps = steps.groupby(turns).agg({"start_time_us": "min", "end_time_us": "max", "framework_metric": "first"})
        spans = list(steps[["start_time_us", "end_time_us", "framework_metric"]].itertuples(index=False, name=None))
        if not spans:
            return self._refused(phase, "steps of these modes")
        made = [(self.sys_metrics_df["timestamp_us"].min(), spans[0][0] - 1, "Before " + spans[0][2])]
        for before, after in zip(spans, spans[1:] + [None]):
            made.append(before)
            if after is not None:
                made.append((before[1] + 1, after[0] - 1, "Between " + " and ".join(sorted([before[2], after[2]]))))
        made.append((spans[-1][1] + 1, self.sys_metrics_df["timestamp_us"].max(), "After " + spans[-1][2]))
        return pandas.DataFrame(made, columns=["start_time_us", "end_time_us", "phase"])

    # -- of machines

    @staticmethod
    def _resources(given, otherwise):
        """Their names as samples have them; None: it is neither a Resource nor a list of them."""
        if given is None:
            return [one.value for one in otherwise]
        given = [given] if isinstance(given, Resource) else given
        return [one.value for one in given] if isinstance(given, list) and all(isinstance(one, Resource) for one in given) else None

    def get_utilization_stats(self, resource=None, by=None, phase=None):
        """Use of what each node has: Resource, nodeID and figures; by StatsBy.TRAINING_PHASE, also for each time before, in, between and behind
        steps."""
        resources = self._resources(resource, (Resource.CPU, Resource.GPU, Resource.MEMORY, Resource.IO, Resource.NETWORK))
        if by is not None and not isinstance(by, StatsBy):
            return self._refused(by, "a StatsBy")
        if resources is None:
            return self._refused(resource, "a Resource, or a list of them")
        frame, by_phase = self.sys_metrics_df, by is StatsBy.TRAINING_PHASE
        if by_phase:
            intervals = self.get_training_phase_intervals(phase)
            for begin, end, name in intervals.itertuples(index=False) if intervals is not None else ():
                frame.loc[frame["timestamp_us"].between(begin, end), "phase"] = name
        groups = (["phase"] if by_phase and "phase" in frame else []) + ["nodeID"]
        parts = []
        for one in resources:
            own = frame[frame["type"].str.contains(one, regex=False)]
            if not own.empty:
                part = _described(own.groupby(groups)["value"], groups)
                part.insert(0, "Resource", one)
                parts.append(part)
        columns = ["Resource"] + (["Training_phase"] if len(groups) > 1 else []) + ["nodeID"] + ["utilization_" + name for name in NAMES]
        if not parts:
            return pandas.DataFrame(columns=columns)
        made = pandas.concat(parts).reset_index(drop=True)
        made.columns = columns
        return made

    def get_device_usage_stats(self, device=None, utilization_ranges=None):
        """How many samples lay in each range of use, by type and node: a column for each range that has some. A value on the edge of two ranges
        belongs to the first."""
        resources, ranges = self._resources(device, (Resource.CPU, Resource.GPU)), utilization_ranges
        ranges = [(90, 100), (10, 90), (0, 10)] if ranges is None else ranges
        if resources is None or not isinstance(ranges, list) or not ranges or any(len(one) != 2 for one in ranges):
            self._refused((device, utilization_ranges), "a Resource, or a list of them; and a list of (from, to)")
            return pandas.DataFrame()
        frame = self.sys_metrics_df[self.sys_metrics_df["type"].str.contains("|".join(resources))]
        chosen = pandas.Series([None] * len(frame), index=frame.index, dtype=object)
        for number, (begin, end) in reversed(list(enumerate(ranges))):
            chosen[frame["value"].astype(float).between(begin, end)] = number
        counts = frame.assign(ranges=chosen)[chosen.notna()].groupby(["type", "nodeID", "ranges"]).size().unstack(fill_value=0)
        if counts.empty:
            return pandas.DataFrame()
        counts = counts[sorted(counts.columns, key=lambda number: tuple(ranges[number]))]
        counts.columns = pandas.Index([tuple(ranges[number]) for number in counts.columns], name="ranges", tupleize_cols=False)
        return counts.reset_index()
