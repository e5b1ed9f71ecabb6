"""Charts of profiler data for notebooks, by the reference's names: histograms, courses in time, heat maps. drawings.py draws them."""
import re

import numpy

from . import events as e
from .drawings import Bars, Chart, Heat, Lines, Spans

MICROS, MOST = 1000000.0, 500  # events that are drawn of a time
EVER = 1 << 60  # the time of the latest file is when it begins: what is in it comes later
TOTAL = "total"


def _matching(patterns, names):
    """The names in which one of the patterns is found, in order of the names."""
    return [name for name in dict.fromkeys(names) if any(re.search(pattern, name) for pattern in patterns)]


def _histogram(values, bins):
    counts, edges = numpy.histogram(values, bins=bins)
    return {"top": counts.tolist(), "left": edges[:-1].tolist(), "right": edges[1:].tolist()}


class _OfSamples(Chart):
    """Samples by dimension, with the node if workers are shown, then by name: {dimension: {name: [(time, value)]}}, and `total`, their mean."""

    def _read(self, reader, starttime, endtime, show_workers):
        self.last_timestamp = reader.get_timestamp_of_latest_available_file() if endtime is None else endtime
        return self._sorted(reader.get_events(starttime, EVER if endtime is None else endtime), show_workers)

    def _sorted(self, samples, show_workers):
        made = {}
        for sample in samples:
            key = "%s-nodeid:%s" % (sample.dimension, sample.node_id) if show_workers else sample.dimension
            made.setdefault(key, {}).setdefault(str(sample.name), []).append((sample.timestamp, sample.value))
        for names in made.values():
            for name in names:
                names[name] = numpy.array(sorted(names[name]), dtype=float)
            shortest = min(len(values) for values in names.values())
            names[TOTAL] = numpy.mean([values[:shortest] for values in names.values()], axis=0)
        self.available_dimensions = list(made)
        self.available_events = list(dict.fromkeys(name for names in made.values() for name in names))
        return made

    def _choose(self):
        """(dimension, name, values) that the patterns choose."""
        self.filtered_dimensions = _matching(self.select_dimensions, self.available_dimensions)
        self.filtered_events = _matching(self.select_events, self.available_events)
        return [(dimension, name, self.system_metrics[dimension][name]) for dimension in self.filtered_dimensions
                for name in self.filtered_events if name in self.system_metrics[dimension]]


class MetricsHistogram(_OfSamples):
    """How often each metric had which value."""

    def __init__(self, metrics_reader):
        self.metrics_reader, self.system_metrics = metrics_reader, {}

    def plot(self, starttime=0, endtime=None, select_dimensions=(".*",), select_events=(".*",), show_workers=True):
        self.select_dimensions, self.select_events, self.show_workers = select_dimensions, select_events, show_workers
        self.system_metrics = self._read(self.metrics_reader, starttime, endtime, show_workers)
        self.create_plot()

    def create_plot(self):
        self.figures = [Bars("%s_%s" % (dimension, name), _histogram(values[:, 1], numpy.arange(0, 101, 2)), "percent", "samples")
                        for dimension, name, values in self._choose()]
        self._show()

    def update_data(self, current_timestamp):
        self.plot(0, current_timestamp, self.select_dimensions, self.select_events, self.show_workers)

    def clear(self):
        self.system_metrics, self.figures = {}, ()


class StepHistogram(Chart):
    """How long steps and what was in them took, in seconds, by row of the timelines, and by worker if these are shown."""

    def __init__(self, metrics_reader, width=500):
        self.metrics_reader, self.width, self.step_metrics = metrics_reader, width, {}
        self.last_timestamp = metrics_reader.get_timestamp_of_latest_available_file()

    def plot(self, starttime=0, endtime=None, select_metrics=("Step:ModeKeys", "Forward-node", r"Backward\(post-forward\)-node"), show_workers=True):
        self.select_metrics, self.show_workers, self._begin = select_metrics, show_workers, starttime
        self.last_timestamp = self.metrics_reader.get_timestamp_of_latest_available_file() if endtime is None else endtime
        found = {}
        for event in self.metrics_reader.get_events(starttime, EVER if endtime is None else endtime):
            row = "%s-nodeid:%s" % (event.event_phase, event.node_id) if show_workers else event.event_phase
            found.setdefault(row, []).append(event.duration / MICROS)
        self.step_metrics = {row: found[row] for row in _matching(select_metrics, found)}
        self.create_plot()

    def create_plot(self):
        self.figures = [Bars(row, _histogram(times, self._bins(times)), "seconds", "events") for row, times in self.step_metrics.items()]
        self._show()

    @staticmethod
    def _bins(times):
        """50 up to two deviations above the median: what is beyond makes the rest unreadable. One that took longest is drawn if all are alike."""
        low, high = min(times), numpy.median(times) + 2 * numpy.std(times)
        return numpy.linspace(low, high if high > low else low + 1e-6, 51)

    def update_data(self, current_timestamp):
        self.plot(self._begin, current_timestamp, self.select_metrics, self.show_workers)

    def clear(self):
        self.step_metrics, self.figures = {}, ()


class StepTimelineChart(Chart):
    """How long each step took, over time: steps_np has begin, duration in seconds, and number."""

    def __init__(self, metrics_reader=None, width=1000):
        self.metrics_reader, self.width = metrics_reader, width
        self.update_data(EVER)

    def update_data(self, current_timestamp):
        self.last_timestamp = current_timestamp
        steps = [event for event in self.metrics_reader.get_events(0, current_timestamp)
                 if event.event_name.startswith("Step") and event.argument("step_num") is not None]
        steps.sort(key=lambda event: event.start_time)
        self.metric_names = [event.event_name for event in steps]
        self.steps = [[event.start_time / MICROS, event.duration / MICROS, int(event.argument("step_num"))] for event in steps]
        self.steps_np = numpy.array(self.steps, dtype=float).reshape(-1, 3)
        self.start = self.steps_np[0, 0] if len(steps) else 0.0
        self.create_plot()

    def create_plot(self):
        shown = list(zip(self.metric_names, self.steps))[-self.width:]
        modes = {name: [step for own, step in shown if own == name] for name in dict.fromkeys(name for name, _ in shown)}
        data = {name: ([step[0] - self.start for step in steps], [step[1] for step in steps]) for name, steps in modes.items()}
        self.figures = [Lines("durations of steps", data, "seconds since the first", "seconds")] if data else []
        self._show()


class TimelineCharts(_OfSamples):
    """The course of each metric, and what was done at a time of it."""

    def __init__(self, system_metrics_reader, framework_metrics_reader, starttime=0, endtime=None, select_dimensions=(".*",), select_events=(".*",),
                 x=1000, show_workers=True):
        self.system_metrics_reader, self.framework_metrics_reader = system_metrics_reader, framework_metrics_reader
        self.select_dimensions, self.select_events, self.show_workers, self.width = select_dimensions, select_events, show_workers, x
        self._begin, self.start = starttime, 0
        self.system_metrics = self._read(system_metrics_reader, starttime, endtime, show_workers)
        self.create_plot()

    def create_plot(self):
        self.figures = self.plot_system_metrics()
        self._show()

    def plot_system_metrics(self):
        return [Lines("%s_%s" % (dimension, name), {name: (values[-self.width:, 0].tolist(), values[-self.width:, 1].tolist())}, "seconds since 1970")
                for dimension, name, values in self._choose()]

    def update_data(self, current_timestamp):
        self.system_metrics = self._read(self.system_metrics_reader, self._begin, current_timestamp, self.show_workers)
        self.create_plot()

    def _window(self, indexes):
        """Events from the first to the last of these samples of the CPUs; none where nothing was chosen."""
        indexes = list(indexes)
        if not indexes:
            print("no samples were chosen")
            return []
        course = max((names[TOTAL] for key, names in self.system_metrics.items() if key.startswith("CPUUtilization")), key=len)
        begin, end = course[min(indexes), 0], course[min(max(indexes), len(course) - 1), 0]
        print("from %s to %s" % (begin, end))
        return self.framework_metrics_reader.get_events(begin, end, unit=e.TimeUnits.SECONDS)

    def find_time_annotations(self, indexes):
        """Prints what was done from the first to the last of these samples, and returns it: {name: seconds}."""
        spent = {}
        for event in self._window(indexes):
            name = event.event_name if event.argument("step_num") is None else "%s_%s" % (event.event_name, event.argument("step_num"))
            spent[name] = spent.get(name, 0) + event.duration / MICROS
        for name, seconds in spent.items():
            print("%s: %s s in all" % (name, seconds))
        return spent

    @staticmethod
    def _is_loader(event):
        return event.argument("bytes_fetched") is not None or event.argument("worker_id") is not None

    def _drawn(self, events, name_of):
        """{name: [(begin, end)]} in milliseconds of the first events; says how many are left out."""
        made = {}
        for event in events[:MOST]:
            made.setdefault(name_of(event), []).append((event.start_time / 1000.0, event.end_time / 1000.0))
        if len(events) > MOST:
            print("%d events; the first %d are drawn" % (len(events), MOST))
        return made

    def plot_framework_events(self, events, begin_timestamp=None, end_timestamp=None):
        return self._drawn([event for event in events if not self._is_loader(event)], lambda event: event.event_phase)

    def plot_dataloaders(self, events, begin_timestamp=None, end_timestamp=None):
        return self._drawn([event for event in events if self._is_loader(event)],
                           lambda event: "%s %s" % (event.event_name, event.argument("worker_id", event.tid)))

    def plot_detailed_profiler_data(self, indexes):
        """Draws what was done from the first to the last of these samples: data loaders, and the rest by row."""
        events = self._window(indexes)
        parts = (("data loaders", self.plot_dataloaders(events)), ("events", self.plot_framework_events(events)))
        self.figures = [Spans(title, data, list(data), "milliseconds since 1970") for title, data in parts if data]
        self._show()


class Heatmap(Chart):
    """The use of each unit of each node over time, in percent: a row for each, one for their mean (total), and one for that of all nodes."""

    def __init__(self, metrics_reader, select_metrics=(), starttime=0, endtime=None, select_dimensions=(".*CPU", ".*GPU"), select_events=(".*",),
                 plot_height=350, show_workers=True):
        del select_metrics, plot_height
        self.metrics_reader, self.select_dimensions, self.select_events, self.show_workers = metrics_reader, select_dimensions, select_events, show_workers
        self.last_timestamp = metrics_reader.get_timestamp_of_latest_available_file() if endtime is None else endtime
        self.system_metrics = self.preprocess_system_metrics(metrics_reader.get_events(starttime, EVER if endtime is None else endtime), {})
        self.create_plot()

    def preprocess_system_metrics(self, events, system_metrics):
        """{node: {dimension: {name: values}}}; what is not in percent is divided by its largest."""
        for event in sorted(events, key=lambda event: event.timestamp):
            names = system_metrics.setdefault(event.node_id, {}).setdefault(event.dimension, {})
            names.setdefault(str(event.name), []).append(float(event.value))
        totals = {}
        for dimensions in system_metrics.values():
            for dimension, names in dimensions.items():
                for name, values in names.items():
                    most = max(values) if dimension in ("Algorithm", "Platform", "") else 0
                    names[name] = numpy.array(values) * (100 / most if most else 1)
                names[TOTAL] = self._mean(list(names.values()))
                totals.setdefault(dimension, []).append(names[TOTAL])
        if system_metrics:
            system_metrics["node_total"] = {dimension: {TOTAL: self._mean(courses)} for dimension, courses in totals.items()}
        self.available_dimensions = list(totals)
        self.available_events = list(dict.fromkeys(name for node in system_metrics.values() for names in node.values() for name in names))
        return system_metrics

    @staticmethod
    def _mean(courses):
        shortest = min(len(course) for course in courses)
        return numpy.mean([course[:shortest] for course in courses], axis=0)

    def create_plot(self):
        self.filtered_dimensions = _matching(self.select_dimensions, self.available_dimensions)
        self.filtered_events = _matching(self.select_events, self.available_events)
        rows = [("%s_%s_%s" % (dimension, name, node), values) for node, dimensions in self.system_metrics.items()
                for dimension, names in dimensions.items() if dimension in self.filtered_dimensions
                for name, values in names.items() if name in self.filtered_events]
        self.width = min((len(values) for _, values in rows), default=0)
        names = [name for name, _ in rows]
        data = {"rows": names, "values": [values[:self.width].tolist() for _, values in rows]}
        self.figures = [Heat("use over time", data, names, "samples")] if rows else []
        self._show()
