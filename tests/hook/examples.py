"""examples.py - the examples run, and assay finds in their trials what such trainings are.

Usage: examples.py WORK_DIR ASSAY TRAIN_MPI        (TRAIN_MPI "none": the PyTorch example alone)
"""
import json
import os
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, Checks, mpirun, run  # noqa: E402

WORK, ASSAY, TRAIN_MPI = sys.argv[1:4]
CHECKS = Checks()


def fresh(name):
    path = os.path.join(WORK, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(WORK, exist_ok=True)
    return path


def analyse(job, trial, workers):
    """The trial of the report, after what every sound trial has been looked at."""
    out = fresh(os.path.basename(trial) + ".report")
    done = run([ASSAY, "run", job, "--trial", "example=" + trial, "--out", out])
    if not CHECKS.expect(done.code == 0, "assay run on %s: %s" % (trial, done)):
        CHECKS.done()
    with open(os.path.join(out, "report.json")) as file:
        report = json.load(file)["trials"][0]
    CHECKS.expect(report["ended"] and not report["problems"] and not report["incomplete"], "%s: %s %s %s" % (
        trial, report["ended"], report["problems"], report["incomplete"]))
    CHECKS.expect(report["workers"] == ["worker_%d" % w for w in range(workers)], "workers %s" % report["workers"])
    for rule in report["rules"]:
        said = "%s: %s: %s" % (trial, rule["name"], rule["status"])
        CHECKS.expect(rule["status"] in ("NoIssuesFound", "IssuesFound"), said)
        if rule["rule"] in ("ExplodingTensor", "VanishingGradient", "DeadRelu", "AllZero", "UnchangedTensor"):
            CHECKS.expect(rule["status"] == "NoIssuesFound", said)
    return report


def expect_steps(report, train, evaluation):
    steps = {mode: report["modes"][mode]["steps"] for mode in ("TRAIN", "EVAL")}
    CHECKS.expect(steps == {"TRAIN": train, "EVAL": evaluation}, "%s" % report["modes"])


def expect_labels(report, count):
    CHECKS.expect(sum(samples_of(report, "classes in training")["classes"].values()) == count, "labels of training")


def samples_of(report, name):
    return next(a for a in report["aggregations"] if a["name"] == name)


def right_share(confusion):
    matrix = confusion["matrix"]
    return sum(matrix[i][i] for i in range(len(matrix))) / sum(map(sum, matrix))


def pytorch():
    trial = fresh("pytorch")
    done = run([sys.executable, ROOT / "jobs" / "examples" / "train_pytorch.py", trial])
    CHECKS.expect(done.code == 0 and re.fullmatch(
        r"assay: .*/pytorch: recorded 40 of 200 TRAIN steps \(every 5th\), as configured.*\n", done.err), "%s" % done)
    report = analyse(ROOT / "jobs" / "image-classifier.json", trial, 1)
    expect_steps(report, 40, 4)
    expect_labels(report, 40 * 32)
    CHECKS.expect(right_share(samples_of(report, "confusion in evaluation")) > 0.5, "it did not learn")


def ddp():
    """The command of docs/hook.md as it stands there, in a folder that looks like the source tree and an installed assay."""
    text = (ROOT / "docs" / "hook.md").read_text()
    command = re.search(r"```sh\n([^`]*torch\.distributed\.run[^`]*)\n```", text)[1]
    where = fresh("ddp")
    os.makedirs(os.path.join(where, "prefix", "share", "assay"))
    os.makedirs(os.path.join(where, "bin"))
    os.symlink(ROOT / "jobs", os.path.join(where, "jobs"))
    os.symlink(os.environ["PYTHONPATH"], os.path.join(where, "prefix", "share", "assay", "python"))
    os.symlink(sys.executable, os.path.join(where, "bin", "python3"))
    done = run(["sh", "-c", command], cwd=where, env=dict(os.environ, PREFIX=os.path.join(where, "prefix"),
                                                          PATH=os.path.join(where, "bin") + ":" + os.environ["PATH"]))
    CHECKS.expect(done.code == 0, "%s: %s" % (command, done))
    report = analyse(ROOT / "jobs" / "image-classifier.json", os.path.join(where, "runs", "ddp"), 2)
    expect_steps(report, 40, 4)
    expect_labels(report, 2 * 40 * 32)


def mpi():
    trial = fresh("mpi")
    done = mpirun(3, [TRAIN_MPI, trial])
    CHECKS.expect(done.code == 0, "train_mpi: %s" % done)
    report = analyse(ROOT / "jobs" / "examples" / "train_mpi.json", trial, 3)
    expect_steps(report, 30, 6)
    expect_labels(report, 30 * 64 * 3)
    CHECKS.expect(right_share(samples_of(report, "confusion in evaluation")) > 0.5, "it did not learn")


pytorch()
ddp()
if TRAIN_MPI != "none":
    mpi()
CHECKS.done()
