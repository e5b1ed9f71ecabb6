"""profiler.py - profiler data in Python: DataFrames, statistics, charts, the merged timeline, profiles of Python, and what is damaged.

Usage: profiler.py EVENTS WORK_DIR ASSAY        (EVENTS: the trial tests/data/events/profiler; pandas)
"""
import cProfile
import gzip
import json
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

EVENTS, WORK = sys.argv[1], Path(sys.argv[2])
shutil.rmtree(WORK, ignore_errors=True)
WORK.mkdir(parents=True)

from assay import profiler  # noqa: E402
from assay.profiler.drawings import Bars, Lines  # noqa: E402

said = []
handler = logging.Handler()
handler.emit = lambda record: said.append(record.getMessage())
logging.getLogger("smdebug").addHandler(handler)
T0 = 1600000000000000  # when the trial that this makes begins, microseconds


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def sample(at, value, name="cpu0", dimension="CPUUtilization", node="algo-1"):
    return json.dumps({"Type": dimension[:3].lower(), "Name": name, "Dimension": dimension, "NodeId": node, "Timestamp": (T0 + at) / 1e6, "Value": value})


def event(name, begin, duration, **arguments):
    return json.dumps({"name": name, "ph": "X", "pid": 1, "ts": begin, "dur": duration, **({"args": arguments} if arguments else {})})


def row(name, pid=1, **more):
    return json.dumps({"name": "process_name", "ph": "M", "pid": pid, "args": dict({"name": name}, **more)})


def made():
    """Five steps of 100 ms, each 1 s after the other, with a forward pass in each; a loader's event before all; samples every half a second."""
    trial = WORK / "trial"
    base = row("", 0, start_time_since_epoch_in_micros=T0)
    steps = [event("Step:ModeKeys.TRAIN", 1000000 * n, 100000 + 1000 * n, step_num=str(n)) for n in range(1, 6)]
    write(trial / "framework/pevents/2020091312" / ("%d_151-algo-1_pythontimeline.json" % (T0 + 5200000)),
          "[\n%s\n]" % ",\n".join([base, row("Step:ModeKeys.TRAIN"), *steps]))
    inside = [event("conv", 1000000 * n + 100, 5000) for n in range(1, 6)] + [event("fetch", 10, 20, bytes_fetched=7, worker_id=3)]
    write(trial / "framework/pevents/2020091312" / ("%d_151-algo-1_model_timeline.json" % (T0 + 5200001)),
          "[\n%s\n]" % ",\n".join([base, row("Forward-node"), *inside]))
    lines = [sample(500000 * n, 10.0 * (n % 10)) for n in range(12)]
    lines += [sample(500000 * n + 1000, 90.0 if n > 4 else 20.0, "gpu0", "GPUUtilization") for n in range(12)]
    write(trial / "system/incremental/2020091312" / ("%d.algo-1.json" % (T0 // 1000000)), "\n".join(lines) + "\n")
    return trial


def frames_have_every_row():
    frame = profiler.PandasFrame(EVENTS)
    samples = sum(len(path.read_text().splitlines()) for path in Path(EVENTS).rglob("system/**/*.json"))
    system = frame.get_all_system_metrics()
    assert list(system.columns) == ["timestamp", "timestamp_us", "value", "system_metric", "dimension", "nodeID", "type"]
    assert len(system) == samples and "algo-1" in set(system.nodeID)
    texts = [path.read_text() for path in Path(EVENTS).rglob("*timeline.json")]
    whole, ends = (sum(len(re.findall(r'"ph": ?"%s"' % kind, text)) for text in texts) for kind in "XE")
    events = frame.get_all_framework_metrics()
    assert events.shape[1] == 11 and whole <= len(events) <= whole + ends, (len(events), whole, ends)
    assert {"algo-1-0", "algo-2-1"} == set(events.nodeID)


def the_program_has_the_same_events(trial):
    """`assay stats --events`, event for event; one that begins in a file and ends in the next is one."""
    import pandas
    for place in (EVENTS, str(trial)):
        done = subprocess.run([sys.argv[3], "stats", place, "--events", "-o", WORK / "events.csv"], stderr=subprocess.PIPE, text=True)
        ours = pandas.read_csv(WORK / "events.csv", keep_default_na=False)
        theirs = profiler.PandasFrame(place)
        times = [(int(e.start_time + 0.5), e.duration, e.node_id, e.event_phase, e.event_name) for e in theirs.framework_metrics_reader.get_events(0, 1 << 60)]
        rows = list(ours[["start_us", "duration_us", "worker", "row", "name"]].itertuples(index=False, name=None))
        assert sorted(rows) == sorted(times) and len(rows) > 9, (len(rows), len(times), sorted(set(rows) ^ set(times))[:4])
        assert done.returncode == (3 if place == EVENTS else 0), (place, done)  # whose data has damage
    for wrong in (["--events", "--metrics", "-o", "x.csv"], ["--events", "-o", "x.h5"]):
        assert subprocess.run([sys.argv[3], "stats", str(trial), *wrong], stderr=subprocess.PIPE, cwd=WORK).returncode == 2
    done = subprocess.run([sys.argv[3], "stats", str(WORK / "trial" / "system"), "--events", "-o", WORK / "none.csv"], stderr=subprocess.PIPE)
    assert done.returncode != 0 and not (WORK / "none.csv").exists()


def parts_by_time_and_step(trial):
    frame = profiler.PandasFrame(str(trial))
    assert frame.start_time == T0
    system, events = frame.get_profiler_data_by_time(T0 + 1050000, T0 + 2050000)
    assert sorted(events.framework_metric) == ["Step:ModeKeys.TRAIN"] * 2 + ["conv"] and sorted(events.step) == [-1, 1, 2]
    assert list(system[system.system_metric == "cpu0"].timestamp_us) == [1500000, 2000000]
    system, events = frame.get_profiler_data_by_step(2, 3)
    assert list(events.step) == [2, 3] and system.timestamp_us.between(2000000, 3103000).all() and len(system) == 6
    only = frame.get_all_framework_metrics(["Forward-node"])
    assert set(only.framework_metric) == {"conv", "fetch"} and set(only.bytes) == {-1, 7}
    assert len(frame.get_all_system_metrics(["gpu0"])) == 12
    rows, names, steps = frame.get_framework_metrics_by_timesteps(["2020-09-13T12:26:41:001000", "2020-09-13T12:26:42:050000"])
    assert (rows, names, steps) == ({"Forward-node": 1.0}, {"conv": 5000}, {"Step:ModeKeys.TRAIN": 101000 + 102000})
    rows, names = frame.get_framework_metrics_by_begin_and_end_timesteps(["2020-09-13T12:26:40:000000"], ["2020-09-13T12:26:41:500000"])
    assert rows == {"Forward-node": 1.0} and names == {"conv": 1.0, "fetch": 20 / 5000}
    loaders = profiler.PT_dataloader_analysis(frame)
    assert loaders.analyze_dataloader_getnext() is None and len(frame.get_all_dataloader_metrics(["^fet"])) == 1


def statistics(trial):
    frame = profiler.PandasFrame(str(trial))
    analysis = profiler.PandasFrameAnalysis(frame.get_all_system_metrics(), frame.get_all_framework_metrics())
    own = analysis.framework_metrics_df
    assert sorted(own[own.framework_metric == "conv"].step) == [1, 2, 3, 4, 5] and list(own[own.framework_metric == "fetch"].step) == [-1]
    steps = analysis.get_step_statistics().iloc[0]
    assert (steps.duration_mean_us, steps.duration_min_us, steps.duration_max_us, steps.duration_p50_us) == (103000, 101000, 105000, 103000)
    assert set(analysis.get_step_statistics(profiler.StatsBy.PROCESS).process) == {"Step:ModeKeys.TRAIN", "Forward-node"}
    assert analysis.get_step_statistics("step") is None and analysis.get_utilization_stats(resource="cpu") is None
    used = analysis.get_utilization_stats(profiler.Resource.CPU).iloc[0]
    assert (used.Resource, used.utilization_max, used.utilization_min) == ("cpu", 90, 0)
    by_phase = analysis.get_utilization_stats(by=profiler.StatsBy.TRAINING_PHASE)
    assert {"Before Step:ModeKeys.TRAIN", "Step:ModeKeys.TRAIN"} <= set(by_phase.Training_phase) and by_phase.shape[1] == 9
    between = analysis.get_training_phase_intervals()
    assert len(between) == 5 + 4 + 2 and list(between.start_time_us)[:2] == [0, 1000000] and analysis.get_training_phase_intervals("no") is None
    ranges = analysis.get_device_usage_stats(profiler.Resource.GPU)
    assert ranges.iloc[0].tolist() == ["gpu", "algo-1", 5, 7] and analysis.get_device_usage_stats("gpu").empty
    job = analysis.get_job_statistics()
    assert job["training_loop_duration"] == 4105000 and job["initialization"] == 1000000
    assert "training_loop_%" in repr(job)


def charts(trial):
    system, events = profiler.PandasFrame(str(trial)).system_metrics_reader, profiler.PandasFrame(str(trial)).framework_metrics_reader
    histogram = profiler.MetricsHistogram(system)
    histogram.plot(select_dimensions=["CPU"], select_events=["cpu0"])
    assert len(histogram.figures) == 1 and isinstance(histogram.figures[0], Bars) and sum(histogram.figures[0].data["top"]) == 12
    steps = profiler.StepHistogram(events)
    steps.plot(select_metrics=["Step:"])
    assert [len(times) for times in steps.step_metrics.values()] == [5] and sum(steps.figures[0].data["top"]) == 5
    line = profiler.StepTimelineChart(events)
    assert line.steps_np[:, 2].tolist() == [1, 2, 3, 4, 5] and isinstance(line.figures[0], Lines)
    course = profiler.TimelineCharts(system, events, select_dimensions=["CPU"], select_events=["total"])
    assert course.figures[0].data["total"][1] == [10.0 * (n % 10) for n in range(12)]
    spent = course.find_time_annotations([2, 3])
    assert set(spent) == {"Step:ModeKeys.TRAIN_1", "conv"} and course.find_time_annotations([]) == {}
    course.plot_detailed_profiler_data([0, 11])
    assert [figure.title for figure in course.figures] == ["data loaders", "events"]
    heat = profiler.Heatmap(system)
    assert heat.figures[0].names[:2] == ["CPUUtilization_cpu0_algo-1", "CPUUtilization_total_algo-1"]
    assert "CPUUtilization_total_node_total" in heat.figures[0].names
    for chart in (histogram, steps, line, course, heat):
        shown = chart._repr_html_()
        assert "<svg" in shown and "nan" not in shown and "http" not in shown, shown
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        try:
            heat.figures[0].plot()
        except ImportError as error:
            assert "matplotlib" in str(error)
        else:
            raise AssertionError("plot() without matplotlib")


def merged(trial):
    writer = profiler.MergedTimeline(str(trial), output_directory=str(WORK))
    lines = json.loads(Path(writer.merge_timeline(T0, T0 + 6000000)).read_text())
    kinds = [line["ph"] for line in lines]
    assert kinds.count("X") == 11 and kinds.count("C") == 24 and kinds.count("i") == 5
    times = [line["ts"] for line in lines if "ts" in line]
    assert times == sorted(times) and min(times) == T0
    names = {line["pid"]: line["args"]["name"] for line in lines if line["name"] == "process_name"}
    assert names[1] == "Step:ModeKeys.TRAIN" and names[10000] == "Forward-node"
    two = json.loads(Path(writer.merge_timeline(2, 4, unit=profiler.MergeUnit.STEP, sys_metrics_filter=None)).read_text())
    assert [line["name"] for line in two if line["ph"] == "X"] == ["Step:ModeKeys.TRAIN", "conv"] * 2
    again = profiler.SMProfilerEvents()
    again.read_events_from_json_data(two, "x")
    assert len(again.get_all_events()) == 4


def damage_is_named(trial):
    bad = WORK / "bad"
    shutil.copytree(trial, bad)
    path = next(bad.rglob("*model_timeline.json"))
    path.write_text(path.read_text()[:-120] + ',\n{"name": "x", "ph": "X", "pid": 1}')
    write(bad / "framework/pevents/other.json", "[]")
    path = next(bad.rglob("*algo-1.json"))
    path.write_text(path.read_text() + '{"Type": "cpu"}\n' + sample(6000000, 1.0) + "\n" + '{"Ty')
    said.clear()
    frame = profiler.PandasFrame(str(bad))
    assert len(frame.get_all_system_metrics()) == 25
    assert 5 < len(frame.get_all_framework_metrics()) < 11
    text = "\n".join(said)
    assert "other.json: not read" in text and "line 25 of 27" in text and "line 27 of 27" in text and "1 events are damaged" in text, text
    assert profiler.PandasFrame(str(WORK / "nothing")).get_all_framework_metrics().empty


def a_folder_of_tensorflow():
    place = WORK / "tf/framework/tensorflow/detailed_profiling/2020091312/000000003"
    write(place / ("7-host_%d_%d.metadata" % (T0, T0 + 1000)), "")
    trace = {"traceEvents": [json.loads(row("/host:CPU", 49)), {"name": "aws_marker-ForwardPass/x", "ph": "X", "pid": 49, "ts": 5.5, "dur": 2.5,
                                                                "args": {"a": 1}}]}
    write(place / "plugins/profile/2020_09_13/host.trace.json.gz", gzip.compress(json.dumps(trace).encode()))
    reader = profiler.LocalAlgorithmMetricsReader(str(WORK / "tf"))
    found = reader.get_events(0, T0 + 10 ** 9)
    assert len(found) == 1 and found[0].start_time == T0 + 5.5 and found[0].event_phase == "/host:CPU" and found[0].node_id == "host"
    parser = profiler.TensorboardProfilerEvents()
    assert len(parser.get_training_info(str(next(WORK.rglob("*.trace.json.gz"))))["ForwardPass"]) == 1


def profiles_of_python():
    place = WORK / "stats/pytorch/cprofile/algo-1"
    for number, name in enumerate(["prestepzero-*-start-%d_train-1-stepstart-%d", "train-1-stepstart-%d_train-1-stepend-%d",
                                   "train-2-stepstart-%d_posthookclose-*-end-%d"]):
        folder = place / (name % (T0 + number, T0 + number + 1))
        folder.mkdir(parents=True)
        measured = cProfile.Profile()
        measured.runcall(sorted, list(range(100 * (number + 1))))
        measured.dump_stats(folder / "python_stats")
    write(WORK / "stats/pytorch/pyinstrument/algo-1" / ("train-1-stepstart-%d_train-1-stepend-%d" % (T0, T0 + 1)) / "python_stats.json", '{"duration": 1}')
    write(place / "elsewhere/python_stats", "")
    said.clear()
    found = profiler.cProfileAnalysis(str(place.parent))
    assert len(found.list_profile_stats()) == 3 and any("elsewhere" in text for text in said)
    assert found.fetch_profile_stats_by_step(1).get_function_stats()["# of total calls"].sum() > 0
    assert found.fetch_profile_stats_by_step(7) is None and found.fetch_pre_step_zero_profile_stats() is not None
    assert sorted(found.fetch_profile_stats_by_job_phase()) == ["finalization", "initialization", "training_loop"]
    assert len(found.fetch_profile_stats_by_training_phase()) == 3
    other = profiler.PyinstrumentAnalysis(str(WORK / "stats/pytorch/pyinstrument")).fetch_profile_stats_by_step(1)
    assert other[0].json_stats == {"duration": 1} and other[0].html_file_path is None


def the_configuration():
    from assay.profiler.configuration import MetricsCategory, ProfilerConfigParser
    os.environ["SMPROFILER_CONFIG_PATH"] = str(write(WORK / "profilerconfig.json", json.dumps({"ProfilingParameters": {
        "LocalPath": "/x", "DetailedProfilingConfig": "{'StartStep': 3, 'NumSteps': 2}", "PythonProfilingConfig": {"ProfilerName": "no"},
        "DataloaderProfilingConfig": "{'StartStep': 1, 'MetricsRegex': 'Load'}"}})))
    said.clear()
    parser = ProfilerConfigParser()
    assert [parser.should_save_metrics(MetricsCategory.DETAILED_PROFILING, step) for step in (2, 3, 4, 5)] == [False, True, True, False]
    assert parser.should_save_metrics(MetricsCategory.DATALOADER_PROFILING, 1, "loader") and not parser.is_python_profiling_enabled()
    assert any("there is no profiler 'no'" in text for text in said), said
    assert not parser.should_save_metrics(MetricsCategory.DATALOADER_PROFILING, 1, "other")


frames_have_every_row()
trial = made()
for test in (the_program_has_the_same_events, parts_by_time_and_step, statistics, charts, merged, damage_is_named):
    test(trial)
a_folder_of_tensorflow()
profiles_of_python()
the_configuration()
shutil.rmtree(WORK)
