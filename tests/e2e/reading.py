#!/usr/bin/env python3
"""What people read: the first line of each answer, and lines that fit into a terminal of 60 columns.

    reading.py --assay PROGRAM

Every command is started on a terminal. A line may be longer than the terminal only where it is there to be pasted: commands, and
files that a command prints to be saved.
"""
import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from checkpoints import save_safetensors  # noqa: E402
from launch import ROOT, TRIALS, Checks, on_terminal, run  # noqa: E402

PROFILER = ROOT / "tests" / "data" / "events" / "profiler"
UTF8 = {"LC_ALL": "C.UTF-8"}
PASTED = re.compile(r"To see it: |^ {6}\{|^ {4}(sbatch |[A-Z_]+=)|^The report is in ")  # a command, a configuration of the hook, a path
SILENT = ("stats",)  # all others say something on standard output

# What `assay run` says first: a sentence that needs no knowledge of rules.
FIRST = {
    "ddp": "the workers began with different weights, and stay as far apart, since all get the same updates (all 4 weights) (GradientNotSynchronized)",
    "ddp_partial": "worker_2 wrote nothing at step 51 (MissingWorker); apart from it: the workers began with different weights, and "
                   "stay as far apart, since all get the same updates (all 4 weights) (GradientNotSynchronized)",
    "dead_relu": "units of act2_output_0 and 1 more were dead from the first step on: 100 % of them are never active (DeadRelu); "
                 "from it may follow UnchangedTensor, GradientUnderflow, PredictionCollapse and 1 more",
    "linreg_nan": "MSELoss_output_0 overflowed to Inf at step 0 (ExplodingTensor); from it may follow TensorVariance",
    "zero_init": "ConvNet_conv1.weight was zero at step 0 (AllZero); from it may follow DeadRelu, UnchangedTensor, GradientUnderflow "
                 "and 2 more",
}


def plain(text):
    return re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", text)


def make_checkpoints(where):
    """A series whose last checkpoint has a NaN, and one whose last file is cut."""
    names = ["decoder.layers.%d.self_attention.linear_projection.weight" % i for i in range(3)]
    for kind in ("nan", "cut"):
        for step in (10, 20):
            tensors = {n: numpy.full((4, 4), step + 0.5, "float32") for n in names}
            if kind == "nan" and step == 20:
                tensors[names[1]][2, 1] = numpy.nan
            save_safetensors(where / kind / ("step-%d.safetensors" % step), tensors)
    last = where / "cut" / "step-20.safetensors"
    last.write_bytes(last.read_bytes()[:-4])
    return where / "nan", where / "cut"


def check_first_lines(assay, checks, folder, nan, cut):
    for name, first in FIRST.items():
        said = run([assay, "run", TRIALS / name, "--out", folder / "first", "--quiet"]).out.split("\n", 1)[0]
        checks.expect(said == first, "%s: the first line is \"%s\", not \"%s\"" % (name, said, first))
    # What a cause explains may have been found at an earlier step: a loss is judged by its course.
    said = run([assay, "run", TRIALS / "dead_relu", "--out", folder / "first", "--quiet"]).out
    checks.expect(re.search(r"^    \d more rules? fired, perhaps because of it$", said, re.M), "dead_relu: what may follow is not introduced so")
    for command, path, first in (
            ("verify", nan, r"resume from step-10\.safetensors; 20: NaN in 1 tensor \(decoder\.layers\.1\S*\)$"),
            ("verify", cut, r"resume from step-10\.safetensors; 20: damaged \(offset \d+: the file ends early"),
            ("run", nan, r"an update made decoder\.layers\.1\S* NaN between steps 11 and 20"),
            ("run", cut, r"the checkpoint is damaged or incomplete at step 20 \(CheckpointStructure\); .*1 part of the trial is damaged "
                         r"or missing: step-20\.safetensors$")):
        said = run([assay, command, path, *(["--out", folder / "first"] if command == "run" else []), "--quiet"]).out.split("\n", 1)[0]
        checks.expect(re.match(first, said), "%s %s: the first line is \"%s\"" % (command, path.name, said))


def commands(assay, folder, nan, cut):
    """Every command, on what is small."""
    out = ["--out", folder / "out", "--quiet"]
    overview = run([assay, "--help"]).out
    names = re.findall(r"^  ([a-z]+) ", overview.split("Exit codes")[0], re.M)
    yield from ([["--help"], ["--version"], ["rules"], ["rules", "DeadRelu"], ["rules", "loss_curve"]])
    yield from (["help", name] for name in names)
    for trial in ("ddp", "ddp_partial", "dead_relu", "linreg_nan", "xgboost"):
        yield ["run", TRIALS / trial, *out]
        yield ["ls", TRIALS / trial]
    yield ["show", folder / "out" / "report.json"]
    yield ["history", folder / "out"]
    yield ["history", folder / "out", "--all"]
    yield ["show", TRIALS / "ddp", "ConvNet_fc1.bias"]
    yield ["show", TRIALS / "ddp", "ConvNet_fc1.bias", "--values"]
    yield ["show", TRIALS / "ddp", "--collection", "losses"]
    yield ["compare", TRIALS / "ddp", TRIALS / "ddp_partial", *out]
    for trial in (PROFILER, nan, cut):
        yield ["run", trial, *out]
        yield ["ls", trial, "--all"]
    yield ["show", PROFILER, "--metric", "cpu"]
    yield ["verify", nan, "--quiet"]
    yield ["verify", cut, "--quiet"]
    yield ["compare", nan, cut, *out[2:]]
    yield ["watch", TRIALS / "ddp_partial", "--every", "0.05", "--lag", "0.1", *out]
    yield ["stats", TRIALS / "ddp", "-o", folder / "stats.csv"]
    built_with = run([assay, "--version"]).out
    if "packed trials are read and not written" not in built_with:
        yield ["pack", TRIALS / "ddp", "-o", folder / "packed.h5"]
        yield ["unpack", folder / "packed.h5", "-o", folder / "unpacked"]
    job, state = folder / "notify.json", folder / "state.json"
    url = "http://127.0.0.1:9/a-path-that-is-longer-than-a-line-of-the-terminal/and-nobody-listens"
    job.write_text(json.dumps({"trials": ["x"], "rules": [{"rule": "DeadRelu"}], "actions": [{"on": "end", "notify": {
        "url": url, "retries": 0}}]}))
    if "no webhooks" not in built_with:
        yield ["notify", "--test", job]
    shutil.copy(ROOT / "jobs" / "pilot" / "state.json", state)
    yield ["pilot", "--status", state]
    yield ["pilot", "--dry-run", state]


def check_widths(assay, checks, folder, nan, cut):
    for command in commands(assay, folder, nan, cut):
        for columns in (60, 80):
            shutil.rmtree(folder / "unpacked", ignore_errors=True)
            done = on_terminal([assay, *command], columns, UTF8)
            long = [line for line in plain(done.out).split("\n") if len(line) > columns and not PASTED.search(line)]
            fits = done.code in (0, 1, 3, 4 if command[0] == "notify" else 0) and not long
            checks.expect(fits and (done.out or command[0] in SILENT), "%s on %d columns, exit %s: %s\n%s" % (
                " ".join(str(word) for word in command), columns, done.code, "\n".join(long[:3]), done.err))


def check_folded(assay, checks):
    """A row that is folded has all of its figures."""
    command = [assay, "show", TRIALS / "ddp", "ConvNet_fc1.bias"]
    whole, narrow = run(command).out.split(), plain(on_terminal(command, 60, UTF8).out).split()
    checks.expect(narrow[:len(whole)] == whole, "rows lost something when they were folded: %s" % narrow[:80])


def check_colours(assay, checks, nan, folder):
    for command in (["run", TRIALS / "ddp_partial", "--out", folder / "out", "--quiet"], ["verify", nan, "--quiet"]):
        for env, options, coloured in (({}, [], True), ({"NO_COLOR": "1"}, [], False), ({"NO_COLOR": "1"}, ["--color=always"], True),
                                       ({}, ["--color=never"], False)):
            done = on_terminal([assay, *command, *options], 80, dict(UTF8, **env))
            checks.expect(("\x1b[" in done.out) == coloured, "%s %s: colours are %s" % (command[0], [*options, *env], done))
        done = run([assay, *command])
        checks.expect("\x1b[" not in done.out, "%s: colours in a pipe: %s" % (command[0], done))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    assay, checks = parser.parse_args().assay, Checks()
    folder = Path(tempfile.mkdtemp(prefix="assay-reading-"))
    nan, cut = make_checkpoints(folder)
    check_first_lines(assay, checks, folder, nan, cut)
    check_widths(assay, checks, folder, nan, cut)
    check_folded(assay, checks)
    check_colours(assay, checks, nan, folder)
    shutil.rmtree(folder)
    checks.done()


if __name__ == "__main__":
    main()
