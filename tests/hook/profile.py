"""profile.py - the hook records what the machine did, and steps and phases in time: as files that `assay` reads back.

Usage: profile.py WORK_DIR ASSAY FAKE_NVML
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

WORK, ASSAY, NVML = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
TRAIN = """
import ctypes, glob, sys, time
import numpy, assay_hook
trial, interval = sys.argv[1], int(sys.argv[2])
hook = assay_hook.Hook(trial, node="algo-1", include_workers="all", include_collections=["default"],
                       save_config=assay_hook.SaveConfig(save_interval=1), system_metrics_interval=interval)
for step in range(6):
    with hook.phase("data"):
        with hook.phase("a \\"part\\" of it"):
            time.sleep(0.01)
    hook.set_mode(assay_hook.modes.EVAL if step == 3 else assay_hook.modes.TRAIN)
    hook.step()
    with hook.phase("forward"):
        hook.save_tensor("w", numpy.full(3, step, numpy.float32))
    hook.step_end()
while interval and sum(open(f).read().count("MemoryUsedPercent") for f in glob.glob(trial + "/system/incremental/*/*.json")) < 5:
    time.sleep(0.01)
hook.close()
"""
# Two workers of one machine: one of them samples it.
WORKERS = """
import ctypes, sys, assay_hook
lib, hooks = assay_hook._lib, []
for rank in range(2):
    hook = ctypes.c_void_p()
    assert lib.assay_hook_open(sys.argv[1].encode(), rank, 2, ctypes.byref(hook), None) == 0
    for key, value in ((b"include_workers", b"all"), (b"system_metrics_interval", b"1000"), (b"node", b"algo-1")):
        assert lib.assay_hook_set(hook, key, value) == 0
    assert lib.assay_hook_step(hook) == 0
    hooks.append(hook)
for hook in hooks:
    assert lib.assay_hook_close(hook) == 0
"""


def train(name, text, *more, nvml=True):
    """A run in a process of its own: its trial, and what it said."""
    trial = WORK / name
    shutil.rmtree(trial, ignore_errors=True)
    (WORK / "lib").mkdir(parents=True, exist_ok=True)
    shutil.copy(NVML, WORK / "lib" / "libnvidia-ml.so.1")
    environment = dict(os.environ, LD_LIBRARY_PATH=str(WORK / "lib") if nvml else "")
    done = subprocess.run([sys.executable, "-c", text, str(trial), *more], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return trial, done.stderr


def profile_of(trial):
    out = WORK / "report"
    done = subprocess.run([ASSAY, "run", trial, "--out", out], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr + done.stdout
    found = json.loads((out / "report.json").read_text())["trials"][0]
    assert found["problems_total"] == 0 and found["ended"], found["problems"]
    return found["profile"]


def test_recorded_and_read_back():
    trial, said = train("recorded", TRAIN, "20")
    assert "no GPUs" not in said, said
    profile = profile_of(trial)
    use = {(row["metric"], row["unit"]): row for row in profile["system"]}
    assert use["GPU", "gpu0"]["mean"] == 37 and use["GPU", "gpu1"]["max"] == 38 and use["GPU memory", ""]["p50"] == 25, use
    assert 0 < use["CPU memory", ""]["mean"] < 100 and use["Network", ""]["min"] >= 0, use
    assert 0 <= use["CPU", ""]["min"] <= use["CPU", ""]["max"] <= 100 and use["CPU memory", ""]["n"] >= 5, use
    assert {"IOPS disk", "ReadThroughputInBytesPerSecond disk"} <= {o["name"] for o in profile["other"]}, profile["other"]
    framework = profile["framework"]
    modes = {m["mode"]: m["steps"] for m in framework["phases"]["modes"]}
    assert modes == {"TRAIN": 5, "EVAL": 1}, modes
    general = {g["phase"]: g["time_us"] for g in framework["general"]}
    assert set(general) == {"DataIterator", "Forward", "a \"part\" of it"}, general
    assert general["DataIterator"] >= general["a \"part\" of it"] >= 60000 and framework["data_us"] == general["DataIterator"], framework
    assert profile["trial"]["workers"] == [{"worker": "algo-1-0", "node": "algo-1"}], profile["trial"]
    files = [p for p in trial.rglob("*.json") if "pevents" in str(p)]
    events = json.loads(files[0].read_text())  # one array, for readers that want one
    assert len(files) == 1 and [e["args"]["step_num"] for e in events if "Step:" in e["name"] and e["ph"] == "X"] == list("012034"), events


def test_without_gpus_and_off():
    trial, said = train("alone", TRAIN, "20", nvml=False)
    assert "no GPUs are recorded: libnvidia-ml.so.1 is not there" in said, said
    assert not any(row["metric"] == "GPU" for row in profile_of(trial)["system"])
    trial, _ = train("phases", TRAIN, "0")  # phases start the timeline, and nothing samples the machine
    assert not (trial / "system").exists() and profile_of(trial)["framework"]["data_us"] > 0
    shutil.rmtree(WORK / "refused", ignore_errors=True)
    refused = subprocess.run([sys.executable, "-c", TRAIN, str(WORK / "refused"), "5"], capture_output=True, text=True)
    assert "0, or milliseconds from 10 to 3600000" in refused.stderr and not (WORK / "refused" / "system").exists(), refused.stderr


def test_one_sampler_a_machine():
    trial, _ = train("workers", WORKERS)
    lines = [json.loads(line) for p in trial.glob("system/incremental/*/*.json") for line in p.read_text().splitlines()]
    assert [line["Name"] for line in lines].count("MemoryUsedPercent") == 1, lines
    assert len(list(trial.glob("framework/pevents/*/*.json"))) == 2


WORK.mkdir(parents=True, exist_ok=True)
for test in (test_recorded_and_read_back, test_without_gpus_and_off, test_one_sampler_a_machine):
    test()
