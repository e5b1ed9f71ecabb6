"""laws.py - what laws=True of the hook takes of a step, of the transformer of overhead.py.

Usage: laws.py DIRECTORY [--steps N] [--threads N]     (with the library's folder in PYTHONPATH)

A training without the hook and one with it make steps in turn, in one thread each. Shown are the least and the median of both, by the clock, which takes
a free core for the thread that sums up; of the processor time of the training's thread; and of that of the whole process, which is what a step
takes where there is no free core. What a machine with other work measures is what that work leaves: the least of many steps counts there.
--threads 0: the training's thread sums up itself.
"""
import argparse
import os
import shutil
import statistics

import torch
from assay_recording import law_tasks

import overhead


def measure(directory, steps):
    """For a training without and with laws: [seconds of each clock] of every step."""
    trainings = [overhead.Training(directory, form, 1, 8) for form in (None, "laws")]
    taken = [[], []]
    for _ in range(steps):
        for training, of in zip(trainings, taken):
            began = [clock() for clock in overhead.CLOCKS]
            training.step()
            of.append([clock() - before for clock, before in zip(overhead.CLOCKS, began)])
    trainings[1].hook.close()
    return taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    law_tasks.THREADS = arguments.threads
    directory = os.path.join(arguments.directory, "hook-laws")
    shutil.rmtree(directory, ignore_errors=True)
    plain, laws = measure(directory, arguments.steps)
    written = sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(os.path.join(directory, "events")) for name in names)
    shutil.rmtree(directory, ignore_errors=True)
    print("%d steps with and %d without laws; %d kB a step, aim 1.03" % (arguments.steps, arguments.steps, written / arguments.steps / 1000))
    print("| | without, least | median | with, least | median | ratio of the least | of the medians | median of step by step |\n|" + "---|" * 8)
    for i, name in enumerate(("by the clock", "processor, the training's thread", "processor, all")):
        a, b = [step[i] for step in plain], [step[i] for step in laws]
        print("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |" % (name, min(a), statistics.median(a), min(b), statistics.median(b), min(b) / min(a),
              statistics.median(b) / statistics.median(a), statistics.median(y / x for x, y in zip(a, b))))


if __name__ == "__main__":
    main()
