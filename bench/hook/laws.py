"""laws.py - what laws="all" of the hook takes of a step, or laws=True of all steps, of the transformer of overhead.py.

Usage: laws.py DIRECTORY [--turns] [--steps N] [--threads N]     (with the library's folder in PYTHONPATH)

A training without the hook and one with it make steps in turn, in one thread each. Shown are the least and the median of both, by the clock, which takes
a free core for the thread that sums up; of the processor time of the training's thread; and of that of the whole process, which is what a step
takes where there is no free core. What a machine with other work measures is what that work leaves: the least of many steps counts there.
--threads 0: the training's thread sums up itself. --turns: laws=True, which leaves steps out; figures are then those of steps with laws and of others,
each as often as it came behind the first turns.
"""
import argparse
import os
import shutil
import statistics

import torch
from assay_recording import law_tasks

import overhead

SETTLED = 16  # steps


def measure(directory, steps, form):
    """For a training without and with laws: [seconds of each clock] of every step; and which steps had laws."""
    trainings = [overhead.Training(directory, kind, 1, 8) for kind in (None, form)]
    taken, had = [[], []], []
    trainings[1].hook._laws.turns.share = (trainings[1].hook._laws.turns.share or 0) / 2  # from one step of it to the next one, both trainings make one
    for _ in range(steps):
        for training, of in zip(trainings, taken):
            began = [clock() for clock in overhead.CLOCKS]
            training.step()
            of.append([clock() - before for clock, before in zip(overhead.CLOCKS, began)])
        had.append(trainings[1].hook._laws.wanted)
    trainings[1].hook.close()
    return taken, had


def weighed(figure, steps, had, i):
    """A figure of the steps with laws and one of those without, by how many there are of each."""
    groups = [[step[i] for step, has in zip(steps, had) if has == kind] for kind in (True, False)]
    return sum(figure(group) * len(group) for group in groups if group) / len(steps)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--turns", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    law_tasks.THREADS = arguments.threads
    directory = os.path.join(arguments.directory, "hook-laws")
    shutil.rmtree(directory, ignore_errors=True)
    (plain, laws), had = measure(directory, arguments.steps, "turns" if arguments.turns else "laws")
    written = sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(os.path.join(directory, "events")) for name in names)
    shutil.rmtree(directory, ignore_errors=True)
    print("%d steps without the hook and %d with it, %d of these with laws; %d kB a step, aim 1.03" % (arguments.steps, arguments.steps, sum(had), written / arguments.steps / 1000))
    first = SETTLED if arguments.turns else 0  # until what laws take is known, all steps have them
    plain, laws, had = plain[first:], laws[first:], had[first:]
    print("| | without, least | median | with, least | median | ratio of the least | of the medians | median of step by step |\n|" + "---|" * 8)
    for i, name in enumerate(("by the clock", "processor, the training's thread", "processor, all")):
        a, b = [step[i] for step in plain], [step[i] for step in laws]
        least, median = (weighed(figure, laws, had, i) for figure in (min, statistics.median))
        by_steps = weighed(statistics.median, [[y / x] for x, y in zip(a, b)], had, 0)
        print("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |" % (name, min(a), statistics.median(a), least, median, least / min(a),
              median / statistics.median(a), by_steps))


if __name__ == "__main__":
    main()
