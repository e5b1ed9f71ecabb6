"""killed.py - kill -9 at 50 random moments: every step that was on disk is readable, and no half file has a final name.

Usage: killed.py STEADY WORK_DIR [COUNT]
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tfevents  # noqa: E402

TENSORS, ELEMENTS = 6, 3000


def final_files(trial):
    for folder, _, files in os.walk(trial):
        for file in files:
            if not file.endswith(".tmp"):
                yield os.path.join(folder, file)


def check(trial, on_disk):
    """The steps found, after every file under a final name has been read to its end."""
    events = set()
    for path in final_files(trial):
        if path.endswith(".tfevents"):
            with open(path, "rb") as file:
                kept = list(tfevents.records(file.read(), path, check=False))
            assert len(kept) == TENSORS, "%s holds %d records" % (path, len(kept))
            events.add(os.path.relpath(path, trial))
        elif path.endswith(".json"):
            with open(path) as file:
                text = json.load(file)
            if os.path.basename(os.path.dirname(path)) == "run":
                assert text["schema"] == "assay-run/1", path
            elif "_collections" in path:
                assert text["_meta"]["num_workers"] == 1
            else:
                assert os.path.exists(os.path.join(trial, text["meta"]["event_file_name"])), path
        else:
            assert ".assay-hook-1" in path, path
    found = tfevents.Trial(trial, check=False)
    steps = sorted(step for step, _ in found.steps)
    assert steps == list(range(len(steps))), "steps %s" % steps
    assert not steps or found.collections, "steps without collections"
    assert len(steps) > on_disk, "step %d was on disk, %d steps are left" % (on_disk, len(steps))
    for (number, _), step in found.steps.items():
        for t, (_, array) in enumerate(step.tensors.values()):
            assert array.shape == (ELEMENTS,) and (array == numpy.float32(number + t / 1024)).all(), "step %d" % number
    assert len(events) - len(steps) in (0, 1)  # the event file comes before its index
    return len(steps)


def main():
    steady, work, count = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 50
    random.seed(20)
    os.makedirs(work, exist_ok=True)
    total = halves = 0
    for i in range(count):
        trial = os.path.join(work, "killed")
        shutil.rmtree(trial, ignore_errors=True)
        process = subprocess.Popen([steady, trial, "1000000", str(TENSORS), str(ELEMENTS)], stdout=subprocess.PIPE)
        begun = process.stdout.readline() if i % 5 else b""  # however slow the machine is
        time.sleep(random.uniform(0.0, 0.08) if i % 5 else random.uniform(0.0, 0.005))
        process.send_signal(signal.SIGKILL)
        lines = (begun + process.communicate()[0]).decode().splitlines()
        on_disk = max([int(line.split()[2]) for line in lines if line.count(" ") == 2], default=-1)
        if os.path.isdir(trial):
            total += check(trial, on_disk)
            halves += sum(file.endswith(".tmp") for _, _, files in os.walk(trial) for file in files)
    print("%d kills: %d steps readable, %d files under temporary names" % (count, total, halves))
    shutil.rmtree(os.path.join(work, "killed"), ignore_errors=True)
    sys.exit(0 if total > count and halves else 1)  # a test that never caught a step under way tests nothing


if __name__ == "__main__":
    main()
