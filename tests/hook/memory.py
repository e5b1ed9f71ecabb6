"""memory.py - the hook's memory is bounded by its queue, however much is saved and however slow the files are.

Usage: memory.py STEADY WORK_DIR
"""
import os
import shutil
import subprocess
import sys

STEADY, WORK = sys.argv[1:3]
STEPS, TENSORS, ELEMENTS = 40, 8, 1 << 18  # 320 MiB in tensors of 1 MiB
SLACK = 16  # MiB of the program itself


def peak_of(memory):
    trial = os.path.join(WORK, "memory")
    shutil.rmtree(trial, ignore_errors=True)
    os.makedirs(WORK, exist_ok=True)
    process = subprocess.Popen([STEADY, trial, str(STEPS), str(TENSORS), str(ELEMENTS), "queue_memory", str(memory << 20)],
                               stdout=subprocess.PIPE)
    said = process.stdout.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    shutil.rmtree(trial)
    assert status == 0 and "errors 0 dropped 0 steps %d " % STEPS in said, said
    return used.ru_maxrss / 1024


base = peak_of(1)  # each tensor is larger than half of that: all are lent to the writer
for memory in (16, 64):
    peak = peak_of(memory)
    print("queue of %d MiB: %.1f MiB at most, %.1f without one" % (memory, peak, base))
    assert peak < memory + SLACK, "%.1f MiB" % peak
assert base < SLACK
