"""read_all.py - one script opens a trial and reads every value of it: through assay, and through another reader of the same files.

Usage: read_all.py TRIAL... [--runs N]        PYTHONPATH has assay, or an installed one

The other reader is the reference (smdebug) where it can be imported; else plain_reader.py, which is what one would write in Python. Each
reader runs in a process of its own, and reads N times (default 3); shown are the medians of the seconds of processor time until the
trial is open, of those for all values, and how many times as fast assay is. Everything lies in memory after the first run, which does
not count: nobody waits for a disk.
"""
import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def read_all(create_trial, modes, path):
    """(seconds until open, seconds for all values, values, bytes): the script that both readers run."""
    begin = time.process_time()
    trial = create_trial(path)
    names = trial.tensor_names()
    opened = time.process_time()
    values = size = 0
    for name in names:
        tensor = trial.tensor(name)
        for mode in (modes.TRAIN, modes.EVAL):
            for step in tensor.steps(mode):
                for worker in tensor.workers(step, mode):
                    value = tensor.value(step, mode, worker)
                    values, size = values + 1, size + value.nbytes
    return opened - begin, time.process_time() - opened, values, size


def run_reader(reader, path, runs):
    sys.path.insert(0, str(HERE))
    if reader == "assay":
        from assay import create_trial, modes
    elif reader == "smdebug":
        from smdebug import modes
        from smdebug.trials import create_trial
    else:
        from plain_reader import create_trial, modes
    rows = [read_all(create_trial, modes, path) for _ in range(runs + 1)][1:]
    print(json.dumps([statistics.median(row[i] for row in rows) for i in range(2)] + list(rows[0][2:])))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trials", nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--reader", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.reader:
        run_reader(args.reader, args.trials[0], args.runs)
        return
    other = "smdebug" if importlib.util.find_spec("smdebug") else "plain"
    print("| trial | values | MB | assay: open s | all s | %s: open s | all s | times as fast |\n|---|---|---|---|---|---|---|---|" % other)
    for trial in args.trials:
        found = {}
        for reader in ("assay", other):
            done = subprocess.run([sys.executable, __file__, trial, "--runs", str(args.runs), "--reader", reader], check=True,
                                  stdout=subprocess.PIPE, text=True)
            found[reader] = json.loads(done.stdout.splitlines()[-1])
        ours, theirs = found["assay"], found[other]
        if ours[2:] != theirs[2:]:
            sys.exit("%s: assay read %d values of %d bytes, %s %d of %d" % (trial, *ours[2:], other, *theirs[2:]))
        print("| %s | %d | %.1f | %.3f | %.3f | %.3f | %.3f | %.1f |" % (
            Path(trial).name, ours[2], ours[3] / 1e6, ours[0], ours[1], theirs[0], theirs[1], sum(theirs[:2]) / sum(ours[:2])), flush=True)


if __name__ == "__main__":
    main()
