#!/usr/bin/env python3
"""Profiler data: known answers of every rule on made files, the same bytes at any number of ranks; what is damaged is named; a trial of
tensors and profiler data has one report. Where the shared profiler trials lie beside the recorded ones, their expected reports.

    profiler.py --assay PROGRAM --ranks 1 2 3 ...
"""
import argparse
import gzip
import json
import math
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import TRIALS, Checks, mpirun  # noqa: E402
from launch import run as cli  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of, report_of  # noqa: E402
from watching import Watch  # noqa: E402

T0 = 1700006400  # a full minute
SHARED = TRIALS.parent / "profiler_trials"


class Profile:
    """Event files, kept in memory until write()."""

    def __init__(self, folder):
        self.folder, self.files = Path(folder), {}

    def sample(self, second, name, dimension, value, node="algo-1", path=None):
        minute = int(second) // 60 * 60
        path = path or "system/incremental/%d.%s.json" % (T0 + minute, node)
        self.files.setdefault(path, []).append(json.dumps(
            {"Type": "x", "Name": name, "Dimension": dimension, "Value": value, "NodeId": node, "Timestamp": T0 + second}))
        return self

    def events(self, worker, events):
        """Events as (phase, name, start in seconds, duration, args), one file."""
        phases = {}
        lines = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"start_time_since_epoch_in_micros": T0 * 1000000}}]
        for phase, name, start, duration, args in events:
            if phase not in phases:
                phases[phase] = len(phases) + 1
                lines.append({"ph": "M", "name": "process_name", "pid": phases[phase], "args": {"name": phase}})
            lines.append({"ph": "X", "name": name, "pid": phases[phase], "ts": round(start * 1e6), "dur": round(duration * 1e6), "args": args})
        path = "framework/pevents/2023111500/%d_%s_pythontimeline.json" % (T0 * 1000000 + len(self.files), worker)
        self.files[path] = ["["] + [json.dumps(line) + "," for line in lines]
        return self

    def write(self, packed=False):
        for path, lines in self.files.items():
            target = self.folder / (path + (".gz" if packed else ""))
            target.parent.mkdir(parents=True, exist_ok=True)
            text = ("\n".join(lines) + "\n").encode()
            target.write_bytes(gzip.compress(text) if packed else text)
        return self.folder


def run(checks, args, where, trial, rules, codes=(0,), what=""):
    """The report of the rules over a trial: the same bytes at every number of ranks."""
    job, bodies = where / "job.json", set()
    job.write_text(json.dumps({"rules": rules}))
    for ranks in args.ranks:
        done = mpirun(ranks, [args.assay, "run", job, "--trial", trial, "--out", where / "out"])
        if not checks.expect(done.code in codes, "%s at %d ranks: %s" % (what, ranks, done)):
            return None
        bodies.add(body_of(where / "out"))
    checks.expect(len(bodies) == 1, "%s: the ranks differ" % what)
    return report_of(where / "out")["trials"][0]


def step(start, duration, number=0, mode="TRAIN"):
    return ("Step:ModeKeys." + mode, "Step:ModeKeys." + mode, start, duration, {"step_num": str(number)})


def known_answers(checks, args, where):
    """Arithmetic on paper: section by section what each rule has to say."""
    p = Profile(where / "known")
    for i in range(20):  # nine values of 0, then 51; a GPU beside it that is always unused
        p.sample(i * 0.5, "gpu0", "GPUMemoryUtilization", 0 if i < 9 else 51)
        p.sample(i * 0.5, "gpu0", "GPUUtilization", 0)
    for i in range(60):  # half the time busy, half idle
        p.sample(i, "gpu0", "GPUUtilization", 100 if i < 30 else 0, node="algo-2")
        p.sample(i, "gpu1", "GPUUtilization", 70, node="algo-2")
    for i, (gpu, cpu) in enumerate(((5, 95), (5, 95), (50, 95))):  # two of three snapshots are bottlenecks, one group is alone
        p.sample(i, "gpu0", "GPUUtilization", gpu, node="algo-3").sample(i + 0.02, "cpu0", "CPUUtilization", cpu, node="algo-3")
        p.sample(i, "cpu1", "I/OWaitPercentage", 10 * i, node="algo-3")
    p.sample(3, "gpu0", "GPUUtilization", 5, node="algo-3").sample(3.020001, "cpu1", "CPUUtilization", 95, node="algo-3")
    for i in range(4):
        p.sample(200, "cpu%d" % i, "CPUUtilization", 1, node="algo-4")
    # 100 steps of 100 us and one of 1100; eleven seconds in which two loaders fetch
    events = [step(70 + i * 0.5, 0.0011 if i == 50 else 0.0001, i) for i in range(101)]
    events += [("DataLoaderIter", "next", 70 + s, 0.001, {"pid": 300 + k}) for s in range(11) for k in range(2)]
    p.events("7-algo-4", events)
    trial = p.write()
    rules = [("memory", "GPUMemoryIncrease", dict(patience=0, window=10, worker="algo-1")),
             ("unused", "LowGPUUtilization", dict(patience=0, worker="algo-1")),
             ("flips", "LowGPUUtilization", dict(patience=0, window=60, worker="algo-2")),
             ("bottleneck", "CPUBottleneck", dict(patience=0, worker="algo-3")),
             ("waits", "IOBottleneck", dict(patience=2, worker="algo-3", io_threshold=5, threshold=60)),
             ("outliers", "StepOutlier", dict(n_outliers=0, mode="step:modekeys.train")),
             ("late", "MaxInitializationTime", dict(threshold="1", scan_interval_us=15000000)),
             ("few", "Dataloader", {}), ("balance", "LoadBalancing", dict(patience=0, worker="algo-2")),
             ("batch", "BatchSize", {}), ("usage", "OverallSystemUsage", dict(worker="none")), ("events", "OverallFrameworkMetrics", {}),
             ("all", "ProfilerReport", dict(gpumemoryincrease_patience=0, CPUBottleneck_patience=0, opt_out_telemetry=True))]
    found = run(checks, args, where, trial, [dict(name=n, rule=r, parameters=q) for n, r, q in rules], (0, 1, 3), "known answers")
    if not found:
        return
    rule = {r["name"]: r for r in found["rules"]}

    def expect(name, status, datapoints, findings, **first):
        got = rule[name]
        there = (got["status"], got["datapoints"], got["findings_total"])
        checks.expect(there == (status, datapoints, findings), "%s: %s" % (name, there))
        for key, value in first.items():
            seen = (got["first"] or {}).get(key)
            same = math.isclose(seen, value, rel_tol=1e-9) if isinstance(value, float) and seen is not None else seen == value
            checks.expect(same, "%s: %s is %r, not %r" % (name, key, seen, value))

    expect("memory", "IssuesFound", 9, 8, value=5.1, unit="gpu0", slice=0, time_us=(T0 * 2 + 11) * 500000)
    expect("unused", "IssuesFound", 1, 1, test="unused", value=0.0)
    expect("flips", "IssuesFound", 2, 1, test="fluctuating", unit="gpu0", value=0.0)  # 70 of 70 is silent
    expect("bottleneck", "IssuesFound", 1, 1, value=200 / 3, worker="algo-3")
    checks.expect(rule["bottleneck"]["details"]["nodes"][0]["unpaired"] == 2, "a group is 20 ms: %s" % rule["bottleneck"]["details"])
    expect("waits", "NoIssuesFound", 1, 0)
    expect("outliers", "IssuesFound", 1, 1, value=1.0, unit="TRAIN", limit_us=406.93069306930693)
    checks.expect(rule["outliers"]["details"]["steps"][0]["step_numbers"] == [50], "outliers: %s" % rule["outliers"]["details"])
    expect("late", "IssuesFound", 5, 1, slice=4, value=70 / 60, worker="*")
    expect("few", "IssuesFound", 1, 1, test="too_few", value=2.0, threshold=2.8)
    expect("balance", "IssuesFound", 1, 1, value=math.sqrt(math.log(2)), unit2="gpu1")
    expect("batch", "NoData", 0, 0)
    expect("usage", "NoIssuesFound", 12, 0)
    expect("events", "NoIssuesFound", 123, 0)
    expect("all", "IssuesFound", 7, 3)
    checks.expect(rule["batch"]["message"], "no data is explained: %s" % rule["batch"])
    profile = found["profile"]
    checks.expect(profile["trial"]["nodes"] == ["algo-%d" % i for i in range(1, 5)], "nodes: %s" % profile["trial"]["nodes"])
    done = cli([args.assay, "topology", trial])
    checks.expect(done.code == 2 and "no worker saved tensors" in done.err, "a topology without tensors: %s" % done)
    checks.expect(profile["summary"][0]["triggered"] >= profile["summary"][-1]["triggered"], "the summary is in order")
    packed = Profile(where / "packed")
    packed.files = p.files
    again = run(checks, args, where, packed.write(packed=True), [dict(name=n, rule=r, parameters=q) for n, r, q in rules], (0, 1, 3), "packed")
    checks.expect(again and again["rules"] == found["rules"], "packed files say the same")


def bad_input(checks, args, where):
    """Lines that are none, clocks that jump, values that no machine has: named, and the rest counts."""
    p = Profile(where / "bad")
    for i in range(8):
        p.sample(i, "gpu0", "GPUUtilization", 1e9 if i == 3 else 40).sample(i, "x", "SomethingNew", 5)
    path = next(iter(p.files))
    p.sample(2, "gpu0", "GPUUtilization", 99, path=path)  # the clock went back: the first of a time counts
    p.files[path][5:5] = ["{\"Dimension\": ", "[1, 2", json.dumps({"Dimension": "GPUUtilization", "Value": True, "NodeId": "a", "Timestamp": 1})]
    p.events("1-algo-1", [step(1 + i, 0.5, i) for i in range(4)]).events("2-algo-2", [step(8.5 + i, 0.5, i) for i in range(4)])
    trial = p.write()
    with open(trial / path, "a") as out:
        out.write("{\"Name\": \"gpu0\", \"Dim")
    (trial / "system" / "1700006460.algo-1.json").write_text("")
    (trial / "framework" / "1-algo-1_pythontimeline.json.tmp").write_text("[\n")
    found = run(checks, args, where, trial, [dict(name="low", rule="LowGPUUtilization", parameters=dict(patience=0))], (1, 3, 0), "bad input")
    if not found:
        return
    profile = found["profile"]
    kinds = [(x["kind"], x["line"]) for x in profile["trial"]["problems"]]
    checks.expect(kinds == [("unfinished", 0), ("empty_file", 0), ("damaged_line", 6), ("damaged_line", 7), ("damaged_line", 8),
                            ("truncated_line", 21)], "problems: %s" % kinds)
    texts = [(x["kind"], x["text"]) for x in found["problems"]]
    checks.expect(found["problems_total"] == 9 and "line 6" in texts[2][1], "in the report: %s" % texts)
    checks.expect([kind for kind, _ in texts[6:]] == ["clock", "beyond-percent", "clock"] and "line 20: the time of gpu0 on algo-1 goes back by 5 s" in
                  texts[6][1] and "line 10: gpu of gpu0 on algo-1 is 1e+09 percent" in texts[7][1] and
                  "other times than on algo-1-1: algo-2-2 7.5 s later;" in texts[8][1], "odd: %s" % texts)
    trial_part = profile["trial"]
    checks.expect((trial_part["used_samples"], trial_part["duplicates"], trial_part["other_samples"]) == (8, 1, 8), "samples: %s" % trial_part)
    checks.expect([(o["name"], o["n"], o["mean"]) for o in profile["other"]] == [("SomethingNew x", 8, 5.0)], "other: %s" % profile["other"])
    checks.expect(profile["system"][0]["max"] == 1e9, "a value that no machine has is shown: %s" % profile["system"][0])
    clock = {x["worker"]: x for x in profile["clock"]}
    checks.expect(clock["algo-2-2"]["offset_us"] == 7500000 and clock["algo-2-2"]["skewed"], "clocks: %s" % clock)


def with_tensors(checks, args, where):
    """One job and one report over tensors and profiler data; what the tensors say stays as it was."""
    rules = [dict(name="x", rule="ExplodingTensor", parameters={}), dict(name="low", rule="LowGPUUtilization", parameters=dict(patience=0))]
    made = Made(where / "both")
    for number in range(3):
        made.step(number, "TRAIN", number, {"w": [1.0, math.nan if number == 2 else 2.0]})
    trial = made.end()
    alone = run(checks, args, where, trial, rules, (0, 1, 3), "tensors alone")
    checks.expect(alone and "profile" not in alone and alone["rules"][1]["status"] == "NoData", "without profiler data: %s" % alone)
    p = Profile(trial)
    for i in range(5):
        p.sample(i, "gpu0", "GPUUtilization", 3)
    p.write()
    both = run(checks, args, where, trial, rules, (0, 1, 3), "tensors and profiler data")
    checks.expect(both and alone and both["rules"][0] == alone["rules"][0], "the tensors' rule differs")
    checks.expect(both and both["rules"][1]["status"] == "IssuesFound" and both["profile"]["system"], "both: %s" % both)
    forms = mpirun(1, [args.assay, "run", where / "job.json", "--trial", trial, "--reports", "text,html", "--out", where / "forms"])
    text, page = ((where / "forms" / name).read_text() if forms.code in (0, 1) else "" for name in ("report.txt", "report.html"))
    checks.expect("\nProfile\n" in text and re.search(r"GPU +gpu0", text), "the profile in the text: %s" % text)
    checks.expect(page.count('<svg class="strip heat-strip') == 2 and 'id="profile"' in page and "1700006" not in page, "the profile's page")
    text = mpirun(1, [args.assay, "show", where / "out" / "report.json"]).out
    checks.expect("2023-11-15 00:01:00 UTC" in text and "1700006" not in text, "times in the text: %s" % text)


def at_steps(checks, args, where):
    """Findings of tensors say what the hardware did at their step, and the first cause which step was slow before it, in all forms."""
    made = Made(where / "steps", workers=2)
    p = Profile(made.folder)
    for number in range(40):
        made.step(number, "TRAIN", number, {w: {"w": [1.0, math.nan if number >= 33 and w == "worker_1" else 2.0]} for w in made.workers})
    made.end()
    for node, slow in (("algo-1", -1), ("algo-2", 31)):
        at, events = 5.0, []
        for number in range(40):
            events.append(step(at, 2 if number == slow else 0.1, number))
            at += 2.02 if number == slow else 0.12
        p.events("151-" + node, events)
        for i in range(40):
            stalled = slow >= 0 and 8.7 < 5 + i * 0.2 < 10.7
            p.sample(5 + i * 0.2, "gpu0", "GPUUtilization", 3 if stalled else 90, node=node)
            p.sample(5 + i * 0.2, "cpu0", "CPUUtilization", 99 if stalled else 40, node=node)
            p.sample(5 + i * 0.2, "nvme0", "IOPS", i, node=node)
    p.write()
    rules = [dict(name="x", rule="ExplodingTensor", parameters={}), dict(name="low", rule="LowGPUUtilization", parameters=dict(patience=0))]
    found = run(checks, args, where, made.folder, rules, (0, 1, 3), "steps of tensors in time")
    if not found:
        return
    exploding = found["rules"][0]
    hardware = exploding["first"].get("hardware")
    wanted = {"worker": "algo-2-151", "node": "algo-2", "start_us": T0 * 1000000 + 10860000, "duration_us": 100000, "median_us": 100000,
              "use": {"cpu": 40, "gpu": 90}}
    checks.expect(hardware == wanted, "the hardware at step 33: %s" % hardware)
    checks.expect(all("hardware" in f for f in exploding["findings"]), "every finding says so")
    slow = exploding.get("slow_before", {})
    said = (slow.get("kind"), slow.get("number"), slow.get("steps_before"), slow.get("length_us"), slow.get("use"))
    checks.expect(said == ("outlier", 31, 2, 2000000, {"cpu": 99, "gpu": 3}), "the slow step before: %s" % slow)
    checks.expect("slow_before" not in found["rules"][1] and "hardware" not in (found["rules"][1]["first"] or {}), "findings in time: %s" % found)
    other = found["profile"]["other"]
    checks.expect([(o["node"], o["name"], o["n"], o["mean"], o["last"]) for o in other] ==
                  [("algo-1", "IOPS nvme0", 40, 19.5, 39), ("algo-2", "IOPS nvme0", 40, 19.5, 39)], "other metrics: %s" % other)
    job = where / "job.json"
    forms = mpirun(1, [args.assay, "run", job, "--trial", made.folder, "--reports", "json,text,html,markdown,csv,junit", "--out", where / "forms"])
    checks.expect(forms.code in (0, 1, 3) and "took 2 s for TRAIN step 31, 2 steps earlier" in forms.out.splitlines()[0], "first line: %s" % forms)
    for name in ("report.txt", "report.html", "report.md", "junit.xml", "findings.csv"):
        text = " ".join((where / "forms" / name).read_text().split())
        checks.expect("0.1 s (median 0.1 s), GPU 90 %, CPU 40 %" in text, "%s: no hardware" % name)
        checks.expect(name == "findings.csv" or "took 2 s for TRAIN step 31" in text, "%s: no slow step" % name)
    rows = [line.split(",") for line in (where / "forms" / "findings.csv").read_text().splitlines()]
    timed = [dict(zip(rows[0], row)) for row in rows if row[1] == "low"]
    checks.expect(timed and all(r["step"] == "" and int(r["time_us"]) > T0 * 1000000 for r in timed), "times in findings.csv: %s" % timed)


def first_lines(checks, args, where):
    """The built-in rules do not blame a job for what it did before its first step, and say which GPUs idle, how many steps were slow."""
    for idle, slow, steps in ((False, False, True), (False, False, False), (True, False, True), (True, False, False), (False, True, True)):
        p = Profile(where / "lines")
        for i in range(560):  # two minutes to load, then eight times as much memory at once
            busy = i >= 240
            for node in ("algo-1", "algo-2"):
                for unit in ("gpu0", "gpu1", "gpu2"):
                    p.sample(i * 0.5, unit, "GPUUtilization", 92 if busy and not (idle and node == "algo-2") else 0, node=node)
                    p.sample(i * 0.5, unit, "GPUMemoryUtilization", 80 if busy else 2, node=node)
                p.sample(i * 0.5, "cpu0", "CPUUtilization", 60 if busy else 99, node=node)
        if steps:
            for worker in ("1-algo-1", "2-algo-2"):
                p.events(worker, [step(120 + i, 0.9 if slow and worker[0] == "2" and i % 13 == 5 else 0.2, i) for i in range(150)])
        trial = p.write()
        done = mpirun(1, [args.assay, "run", trial, "--out", where / "lines-out"])
        told = " ".join(done.out.split("Trial")[0].split())
        wanted = ("gpu0 and 2 more of algo-2 did no work by 2023-11-15 00:03:00 UTC (LowGPUUtilization)" if idle else
                  "12 TRAIN steps of algo-2-2 took far longer than the rest by" if slow else "nothing wrong in ")
        checks.expect(done.code == 0 and told.startswith(wanted), "idle %s, slow %s, steps %s: %s" % (idle, slow, steps, told))
        for path in sorted(trial.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    rules = [dict(name=n, rule="LowGPUUtilization", parameters=dict(patience=100, **q)) for n, q in
             (("all", {}), ("training", dict(skip_initialization=True)))]
    p.write()
    found = run(checks, args, where, p.folder, rules, (0,), "from the first step on")
    both = {r["name"]: r for r in found["rules"]} if found else {}
    checks.expect(both and both["all"]["findings_total"] == 30 and both["training"]["findings_total"] == 0, "the beginning: %s" % both)
    checks.expect(both and "skip_initialization" not in both["all"]["parameters"], "parameters: %s" % both)


def beginnings(checks, args, where):
    """The built-in rules name a start that takes more than 20 minutes. Steps that were recorded in a window hide nothing before it."""
    for name, begin, seconds, gpu, steps, wanted in (
            ("slow start", 22 * 60, 26 * 60, 92, range(150), {"MaxInitializationTime"}),
            ("not so slow", 18 * 60, 22 * 60, 92, range(150), set()),
            ("idle in a window", 0, 280, 20, range(1000, 1010), {"LowGPUUtilization"}),
            ("busy in a window", 120, 280, 92, range(1000, 1010), set())):
        p = Profile(where / name)
        for second in range(0, 2 * seconds):
            busy = second >= 2 * begin
            p.sample(second / 2, "gpu0", "GPUUtilization", gpu if busy else 0).sample(second / 2, "cpu0", "CPUUtilization", 60 if busy else 99)
            p.sample(second / 2, "gpu0", "GPUMemoryUtilization", 80 if busy else 2)
        p.events("1-algo-1", [step((250 if steps[0] else begin) + i, 0.2, number) for i, number in enumerate(steps)])
        done = mpirun(1, [args.assay, "run", p.write(), "--out", where / "beginning"])
        rules = report_of(where / "beginning")["trials"][0]["rules"] if done.code == 0 else []
        fired = {r["rule"] for r in rules if r["status"] == "IssuesFound"}
        checks.expect(rules and fired == wanted, "%s: %s, not %s: %s" % (name, fired, wanted, done))


def gaps(checks, args, where):
    """A node or worker that recorded nothing for longer than 30 seconds stands in the first line: rules passed over the rest."""
    for name, node, held, wanted in (
            ("all along", "algo-2", lambda second: True, None),
            ("ends a little early", "algo-2", lambda second: second < 95, None),
            ("ends early", "algo-2", lambda second: second < 60, "but algo-2 recorded nothing from 2023-11-15 00:00:59 UTC to "),
            ("begins late", "algo-1", lambda second: second > 50, "but algo-1 recorded nothing from 2023-11-15 00:00:00 UTC to "),
            ("hole", "algo-2", lambda second: not 30 < second < 80, "but algo-2 recorded nothing from 2023-11-15 00:00:30 UTC to "),
            ("no metrics", "algo-2", lambda second: False, "but algo-2 has no system metrics")):
        p = Profile(where / name)
        for second in range(0, 120):
            for of in ("algo-1", "algo-2"):
                if of != node or held(second):
                    p.sample(second, "gpu0", "GPUUtilization", 90, of).sample(second, "cpu0", "CPUUtilization", 60, of)
        for of in ("algo-1", "algo-2"):
            p.events("1-" + of, [step(i, 0.9, i) for i in range(118)])
        trial = run(checks, args, where, p.write(), [{"rule": "CPUBottleneck", "parameters": {"patience": 10}}], (0,), name)
        said = (report_of(where / "out")["verdict"]) if trial else ""
        checks.expect(trial and (wanted in said if wanted else "recorded nothing" not in said and "metrics" not in said), "%s: %s" % (name, said))


HEALTHY = {"healthy", "healthy_gpus", "healthy_nodes", "healthy_two", "system_only", "horovod", "truncated", "damaged", "clock_skew",
           "missing_worker", "slow_start"}  # it starts within MaxInitializationTime's 20 minutes: what was idle until then is no fault
PLANTED = {"cpu_bottleneck": "CPUBottleneck", "io_bottleneck": "IOBottleneck", "dataloader": "Dataloader", "small_batch": "BatchSize",
           "gpu_memory_leak": "GPUMemoryIncrease", "load_imbalance": "LoadBalancing", "load_imbalance_nodes": "LoadBalancing",
           "low_gpu": "LowGPUUtilization", "step_outliers": "StepOutlier"}


def built_in(checks, args, where):
    """Without a job file: planted faults are named, healthy twins are silent, and tensors get no noise from rules over time."""
    made = Made(where / "tensors")
    made.step(0, "TRAIN", 0, {"w": [1.0, 2.0]})
    done = mpirun(1, [args.assay, "run", made.end(), "--out", where / "tensors-alone"])
    alone = report_of(where / "tensors-alone")["trials"][0]["rules"] if done.code in (0, 1, 3) else []
    checks.expect(len(alone) > 20 and not [r for r in alone if "slice" in str(r["findings"]) or r["rule"] == "CPUBottleneck"],
                  "rules of tensors alone: %s" % [r["rule"] for r in alone])
    if not SHARED.is_dir():
        return
    trials = [SHARED / name for name in sorted(HEALTHY | set(PLANTED))]
    done = mpirun(1, [args.assay, "run", *trials, "--out", where / "all"])
    if not checks.expect(done.code in (0, 1, 3), "the built-in rules: %s" % done):
        return
    for trial in report_of(where / "all")["trials"]:
        fired = {r["rule"] for r in trial["rules"] if r["status"] == "IssuesFound"}
        if trial["name"] in PLANTED:
            checks.expect(PLANTED[trial["name"]] in fired, "%s: %s" % (trial["name"], fired))
        else:
            checks.expect(not fired, "%s is healthy: %s" % (trial["name"], fired))
        checks.expect(len(trial["rules"]) == 9, "%s: %d rules" % (trial["name"], len(trial["rules"])))
    for name, wanted in (("missing_worker", "but algo-3 recorded nothing from 2023-11-15 00:01:27 UTC to "), ("healthy_nodes", "")):
        done = mpirun(1, [args.assay, "run", SHARED / name, "--out", where / "alone"])
        first = done.out.splitlines()[0]
        checks.expect(wanted in first and ("recorded nothing" in first) == bool(wanted), "%s: %s" % (name, first))
    done = mpirun(1, [args.assay, "run", trials[0], made.folder, "--out", where / "mixed"])
    checks.expect(done.code in (0, 1, 3) and "CPUBottleneck" not in done.out.split("Not tested")[-1], "a mixed run: %s" % done)


def commands(checks, args, where):
    """ls, show, stats, compare and watch know metrics."""
    p = Profile(where / "one")
    for i in range(150):
        p.sample(i * 0.4, "gpu0", "GPUUtilization", 5).sample(i * 0.4, "cpu0", "CPUUtilization", 95).sample(i * 0.4, "nvme0", "IOPS", i)
    trial = p.events("151-algo-1", [step(2 + i, 0.5 if i == 3 else 0.25, i) for i in range(8)]).write()
    p.folder = where / "other"
    p.write()

    def ask(*words, code=0):
        done = mpirun(1, [args.assay, *words])
        checks.expect(done.code == code, "%s: %s" % (words, done))
        return done.out

    listed = json.loads(ask("ls", trial, "--json"))["profiler"]
    checks.expect([(w["worker"], w["data"], w["files"], [m["metric"] for m in w["metrics"]]) for w in listed] ==
                  [("algo-1", "system", 1, ["cpu", "gpu", "gpu", "IOPS nvme0"]), ("algo-1-151", "python", 1, [])], "ls: %s" % listed)
    checks.expect("algo-1 measured cpu, gpu (1), IOPS nvme0" in ask("ls", trial), "ls names metrics")
    rows = [json.loads(line) for line in ask("show", trial, "--metric", "gpu", "--worker", "algo-1-151", "--json").splitlines()]
    checks.expect(len(rows) == 300 and {r["unit"] for r in rows} == {"", "gpu0"} and {r["value"] for r in rows} == {5}, "show: %s" % rows[:2])
    drawn = ask("show", trial, "--metric", "step", "--draw", "always")
    checks.expect(re.search(r"algo-1-151 +step +TRAIN +seconds +8 ", drawn) and "algo-1-151 TRAIN\n" in drawn, "show draws: %s" % drawn)
    checks.expect(ask("show", trial, "--metric", "IOPS", "--csv").count("\n") == 151, "show of another metric")
    for wrong in (("--metric", "gpv"), ("--metric", "gpu", "--worker", "algo-7"), ("--metric", "gpu", "--step", "1")):
        ask("show", trial, *wrong, code=2)
    ask("stats", trial, "--metrics", "-o", where / "metrics.csv")
    table = (where / "metrics.csv").read_text().splitlines()
    checks.expect(len(table) == 1 + 4 * 150 + 8 and "%d,algo-1-151,step,TRAIN,0.5" % (T0 * 1000000 + 5000000) in table, "stats: %s" % table[:3])
    ask("compare", trial, where / "other", "--out", where / "compared")
    paces = report_of(where / "compared")["comparison"]["paces"]
    checks.expect([(x["trial"], x["steps"], x["median_s"], x["gpu"], x["cpu"]) for x in paces] ==
                  [(name, 8, 0.25, 5, 95) for name in ("one", "other")], "compare: %s" % paces)
    growing = where / "growing"
    (growing / "framework").mkdir(parents=True)
    rules = where / "watched.json"
    rules.write_text(json.dumps({"rules": [dict(name="low", rule="LowGPUUtilization", parameters=dict(patience=0))]}))
    watch = Watch(args.assay, 0, rules, [growing], where / "watched", "--idle", "60")
    p.folder = growing
    p.write()
    checks.expect(watch.wait_for(lambda: any(line.startswith("finding\tgrowing") for line in watch.lines)), "watch tells: %s" % watch.lines)
    (growing / "system" / "training_job_end.ts").write_text("")
    checks.expect(watch.end() in (0, 1) and report_of(where / "watched")["trials"][0]["profile"], "watch ends: %s" % watch)


def same(a, b):
    if isinstance(b, dict):
        return isinstance(a, dict) and all(k in a and same(a[k], v) for k, v in b.items())
    if isinstance(b, list):
        return isinstance(a, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(b, float) and isinstance(a, (int, float)):
        return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return a == b


def shared(checks, args, where, names):
    for name in names:
        expected = json.loads((SHARED / (name + ".expected.json")).read_text())
        found = run(checks, args, where, SHARED / name, json.loads((SHARED / "rules.json").read_text())["rules"], (0, 1, 3), name)
        for key, value in expected.items() if found else ():
            if key == "rules":
                for rule, wanted in zip(found["rules"], value):
                    wanted = {k: wanted[k] for k in ("name", "status")} if wanted["status"] == "Error" else wanted
                    checks.expect(same(rule, wanted), "%s: rule %s differs" % (name, wanted["name"]))
            elif key != "schema":
                checks.expect(same(found["profile"].get(key), value), "%s: %s differs" % (name, key))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    args = parser.parse_args()
    checks = Checks()
    for case in (known_answers, bad_input, with_tensors, at_steps, first_lines, beginnings, gaps, built_in, commands):
        with tempfile.TemporaryDirectory() as folder:
            case(checks, args, Path(folder))
    if SHARED.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            shared(checks, args, Path(folder), ("damaged", "clock_skew", "horovod"))
    checks.done()


if __name__ == "__main__":
    main()
