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


TRAINING = """
import math, torch
from torch import nn
torch.manual_seed(%(seed)d)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))
criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.05)
truth = torch.randn(32, 4)
%(open)s
for step in range(200):
    x = torch.randn(64, 32)
    y = (x @ truth).argmax(1)
    if step == 136 and "%(fault)s" == "input":
        x[3, 7] = math.nan
    if step == 136 and "%(fault)s" == "rate":
        optimizer.param_groups[0]["lr"] = 1e4
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    if step == 136 and "%(fault)s" == "gradient":
        model[2].weight.grad[0, 0] = math.nan
    optimizer.step()
%(close)s
"""


def readme():
    """README's lines record enough for what goes wrong at one step of 200, whatever the interval: said with its step and kind."""
    text = (ROOT / "README.md").read_text()
    opened, closed = re.search(r"```python\n(.*?)\n\.\.\. [^\n]*\n(.*?)```", text, re.S).groups()
    for number, (fault, says) in enumerate({
            "none": "nothing wrong", "input": r"fed NaN (at step|between steps \d+ and) 136", "gradient": r"the update before step 137 made Sequential_2\.weight NaN",
            "rate": "(weights changed far more than by any usual update|Loss_output_0 jumped) at TRAIN step 137"}.items()):
        where = fresh("readme-" + fault)
        os.makedirs(where)
        (Path(where) / "train.py").write_text(TRAINING % {"seed": number, "open": opened, "close": closed, "fault": fault})
        done = run([sys.executable, "train.py"], cwd=where)
        CHECKS.expect(done.code == 0, "README's lines: %s" % done)
        done = run([ASSAY, "run", "runs/17"], cwd=where)
        CHECKS.expect(re.search(says, done.out.splitlines()[0]), "%s: %s" % (fault, done.out[:300]))
    job = re.search(r"```json\n(.*?)```", text, re.S)[1]
    report = json.loads(job)
    report["trials"] = ["runs/17"]
    (Path(where) / "job.json").write_text(json.dumps(report))
    run([ASSAY, "run", "job.json"], cwd=where)
    with open(os.path.join(where, "report", "report.json")) as file:
        report = json.load(file)["trials"][0]
    CHECKS.expect(all(rule["status"] != "NoData" for rule in report["rules"]), "README's job: %s" % report["rules"])
    CHECKS.expect(samples_of(report, "labels")["samples"] >= 64, "README's job: %s" % report["aggregations"])


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
readme()
if TRAIN_MPI != "none":
    mpi()
CHECKS.done()
