#!/usr/bin/env python3
"""The templates of slurm/ do what they say, on a real Slurm that this test starts.

    templates.py --assay PROGRAM [--barrier PROGRAM] WHAT...     WHAT: templates, gate, hang, why, barrier, actions, watch, limits, failures

Exit code 77 where Slurm is not installed.
"""
import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import dumps  # noqa: E402
from checkpoints import save_safetensors  # noqa: E402
from launch import ROOT, SUITE, TRIALS, Checks, mpirun, run  # noqa: E402
from made import Made  # noqa: E402
from reports import body_of  # noqa: E402
from slurm import GOING, Slurm, need_slurm  # noqa: E402
from webhook import Webhook  # noqa: E402

SIX = ("ddp", "healthy", "ddp_partial", "dead_relu", "flip", "zero_init")


def bad_checkpoints(work):
    """A directory for each word on which the gate stops beside "damaged"."""
    for name in ("nan", "unfinished", "runs", "unread"):
        save_safetensors(work / name / "step-1.safetensors", {"w": numpy.full(5, numpy.nan if name == "nan" else 1, "float32")})
    (work / "unfinished/checkpoint-2").mkdir()
    (work / "runs/training_args.bin").write_bytes(b"\x80\x02cos\nsystem\nX\x02\0\0\0id\x85R.")
    (work / "unread/step-1.safetensors").unlink()
    with zipfile.ZipFile(work / "unread/step-1.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}q\0X\x01\0\0\0aq\x01K\x01s.")


class Expected:
    """Programs, and reports of runs without Slurm."""

    def __init__(self, assay, barrier, folder):
        self.assay, self.barrier, self.folder, self.known = assay, barrier, Path(folder), {}

    def of(self, *trials):
        if trials not in self.known:
            out = self.folder / str(len(self.known))
            words = [w for t in trials for w in ("--trial", t)]
            mpirun(1, [self.assay, "run", SUITE, *words, "--out", out, "--quiet"])
            self.known[trials] = body_of(out)
        return self.known[trials]


def has_issues(report):
    return b'"IssuesFound"' in report


def test_templates(checks, slurm, expected):
    train = slurm.work / "train.sbatch"
    train.write_text("#!/bin/bash\n#SBATCH --output=train.log\nsleep 2; cp -r %s run-$SLURM_JOB_ID; date +%%s.%%N >trained; exit 1\n"
                     % (TRIALS / "healthy"))
    after = slurm.work / "next.sbatch"
    after.write_text("#!/bin/bash\n#SBATCH --output=next.log\ndate +%s.%N >\"next-$SLURM_JOB_ID\"\n")
    healthy, ddp = TRIALS / "healthy", TRIALS / "ddp"
    checks.expect(has_issues(expected.of(ddp)), "ddp has findings")

    for name in ("whole", "cut"):
        path = slurm.work / name / "step-1.safetensors"
        save_safetensors(path, {"w": numpy.ones(5, "float32")})
    os.truncate(path, path.stat().st_size - 1)
    bad_checkpoints(slurm.work)
    one = {how: slurm.sbatch("one-trial.sbatch", TRIAL=str(ddp), OUT="one-" + how, LAUNCH=how) for how in ("srun", "mpirun")}
    nodes = {how: slurm.sbatch("--nodes=3", "--ntasks-per-node=2", "several-nodes.sbatch", TRIAL=str(ddp), OUT="nodes-" + how,
                               LAUNCH=how) for how in ("srun", "mpirun")}
    missing = slurm.sbatch("one-trial.sbatch", TRIAL=str(TRIALS / "absent"), OUT="absent")
    lines = slurm.call("./submit", "--next", after, train, "one-trial.sbatch", TRIAL="run-%j").split("\n")
    chain = dict(line.split() for line in lines)
    gate = slurm.sbatch("gate.sbatch", TRIAL=str(ddp), OUT="gate", FAIL_ON="info")
    barred = slurm.sbatch("--dependency=afterok:" + gate, "--kill-on-invalid-dep=yes", after)
    sound = slurm.sbatch("gate.sbatch", TRIAL=str(ddp), OUT="sound", FAIL_ON="error")
    let = slurm.sbatch("--dependency=afterok:" + sound, "--kill-on-invalid-dep=yes", after)
    project = slurm.work / "my project"  # as slurm/README.md says: the directory is copied, and jobs are submitted from anywhere
    shutil.copytree(ROOT / "slurm", project / "slurm")
    copied = slurm.call("env", "-C", project, "sbatch", "--parsable", "slurm/gate.sbatch", TRIAL=str(ddp), OUT="gate-%t")
    verified = {code: slurm.sbatch("verify.sbatch", TRIAL=str(slurm.work / name)) for code, name in (
        (0, "whole"), (1, "nan"), (3, "cut"), (5, "unfinished"), (6, "runs"), (7, "unread"))}
    dead = slurm.work / "dead"
    dead.mkdir()
    (dead / "slurm-4711.out").write_text("0: step 7 loss 1\nslurmstepd: error: *** STEP 4711.0 ON n1 CANCELLED AT 2026-11-27T04:00:00 DUE TO TIME LIMIT ***\n")
    why = slurm.sbatch("why.sbatch", TRIAL=str(dead), TRAIN_JOB_ID="4711")
    (slurm.work / "trials.txt").write_text("".join("%s\n" % (TRIALS / t) for t in SIX))
    array = slurm.sbatch("--array=1-6%3", "array.sbatch")
    comparison = slurm.sbatch("--dependency=afterany:" + array, "comparison.sbatch")

    for name, job in list(one.items()) + [("nodes-" + how, job) for how, job in nodes.items()]:
        checks.expect(slurm.ended(job) == ("COMPLETED", 0), "%s: %s\n%s" % (name, slurm.show(job), slurm.text(slurm.log(job))))
        out = name if "-" in name else "one-" + name
        checks.expect(body_of(slurm.work / out) == expected.of(ddp), "%s: the report differs" % out)
    checks.expect(slurm.ended(missing) == ("FAILED", 2), "a trial that is not there: %s" % slurm.show(missing))
    checks.expect(slurm.ended(chain["train"]) == ("FAILED", 1), "the training failed, as it should")
    checks.expect(slurm.ended(chain["analyse"]) == ("COMPLETED", 0), "analysed all the same: %s" % slurm.show(chain["analyse"]))
    checks.expect(slurm.ended(chain["next"]) == ("COMPLETED", 0), "then the next one: %s" % slurm.show(chain["next"]))
    trained, nexts = slurm.work / "trained", slurm.work / ("next-" + chain["next"])
    report = slurm.work / ("report-run-%s-%s" % (chain["train"], chain["analyse"])) / "report.json"
    checks.expect(slurm.show(chain["analyse"])[0]["JobName"] == "assay-run-" + chain["train"],
                  "the job is called after the trial: %s" % slurm.show(chain["analyse"]))
    checks.expect(trained.stat().st_mtime <= report.stat().st_mtime <= nexts.stat().st_mtime, "the chain keeps its order")
    checks.expect(slurm.ended(gate) == ("FAILED", 1), "the gate is shut: %s" % slurm.show(gate))
    checks.expect(slurm.ended(barred)[0] == "CANCELLED", "nothing comes through: %s" % slurm.show(barred))
    checks.expect(not (slurm.work / ("next-" + barred)).exists(), "the job behind the shut gate did not run")
    checks.expect(slurm.ended(sound) == ("COMPLETED", 0), "the gate is open: %s" % slurm.show(sound))
    checks.expect(slurm.ended(copied) == ("COMPLETED", 0), "a copy finds its job file: %s\n%s" % (slurm.show(copied), [
        p.read_text() for p in project.glob("*.log")]))
    checks.expect((project / "gate-ddp" / "report.json").exists(), "the report of a copy lies where it was submitted")
    for code, job in verified.items():
        checks.expect(slurm.ended(job) == ("FAILED" if code else "COMPLETED", code), "verified: %s\n%s" % (
            slurm.show(job), slurm.text(slurm.log(job))))
    checks.expect(slurm.ended(why) == ("FAILED", 1) and "ended at its time limit at 2026-11-27 04:00:00, step 7" in slurm.text(slurm.log(why)),
                  "why: %s\n%s" % (slurm.show(why), slurm.text(slurm.log(why))))
    checks.expect(slurm.ended(let) == ("COMPLETED", 0), "the job behind it ran: %s" % slurm.show(let))
    tasks = slurm.wait(array)
    checks.expect(len(tasks) == 6 and all(t["JobState"] == "COMPLETED" for t in tasks),
                  "the array: %s\n%s" % (tasks, slurm.logs()))
    for i, trial in enumerate(SIX):
        checks.expect(body_of(slurm.work / ("reports-" + array) / str(i + 1)) == expected.of(TRIALS / trial),
                      "report of task %d" % (i + 1))
    checks.expect(slurm.ended(comparison) == ("COMPLETED", 0), "the comparison: %s\n%s" % (slurm.show(comparison), slurm.logs()))
    checks.expect(body_of(slurm.work / ("comparison-" + comparison)) ==
                  expected.of(*(TRIALS / t for t in SIX)), "the report over all trials")


def test_why(checks, slurm, expected):
    """A training that dies: why.sbatch behind it and the epilog say the same, and the epilog none of a job that went well, nor of
    why.sbatch itself, which ends with 1 and lies in the same directory."""
    script = ("#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=2 -o slurm-%%j.out --no-requeue\nenv | grep ^SLURM_ >slurm.env\n"
              "srun -l -K1 bash -c 'for i in 1 2 3; do echo step $i loss 2; done; [ $SLURM_PROCID = $0 ] && kill -9 $$; sleep 1' %d\n")
    jobs = {}
    for name, rank in (("dead", 3), ("well", 9)):
        (slurm.work / name).mkdir()
        (slurm.work / name / "job").write_text(script % rank if rank < 4 else script.replace("-K1 ", "") % rank)
        jobs[name] = slurm.sbatch("-D", slurm.work / name, slurm.work / name / "job")
    dead, well = slurm.work / "dead", slurm.work / "well"
    why = slurm.sbatch("-D", dead, "--dependency=afterany:" + jobs["dead"], "why.sbatch", TRAIN_JOB_ID=jobs["dead"])
    checks.expect(slurm.ended(jobs["dead"])[0] == "FAILED" and slurm.ended(jobs["well"]) == ("COMPLETED", 0), "jobs: %s" % slurm.logs())
    checks.expect(slurm.ended(why) == ("FAILED", 1), "why: %s\n%s" % (slurm.show(why), slurm.logs()))
    cut = slurm.work / "cut"
    cut.mkdir()
    (cut / "job").write_text(script.replace("-K1 ", "").replace("sleep 1", "sleep 300") % 9)
    late = slurm.sbatch("-D", cut, cut / "job")
    slurm.wait(late, lambda tasks: "step 3" in slurm.text(cut / ("slurm-%s.out" % late)))
    slurm.call("scancel", late)  # as at a time limit its exit code says nothing
    said = dead / "assay-why.txt"
    for answer in (said, cut / "assay-why.txt"):
        end = time.monotonic() + 60
        while time.monotonic() < end and "What was looked at" not in slurm.text(answer):  # slurmctld does not wait for its end
            time.sleep(0.2)
    last = slurm.sbatch("-D", well, well / "job")  # what is behind it is behind the epilog of why.sbatch, too
    slurm.wait(last)
    texts = [said.read_text(), (dead / ("assay-why-%s.log" % why)).read_text()]
    for text in texts:
        checks.expect("rank 3 on n" in text.split("\n")[0] and "was killed by signal 9, step 3" in text, "it says who died: %s" % text)
    checks.expect("cancelled" in slurm.text(cut / "assay-why.txt").split("\n")[0], "one that was cancelled: %s" % [slurm.text(p) for p in cut.glob("assay-*")])
    checks.expect((dead / ("scontrol-%s.txt" % jobs["dead"])).exists() and not (dead / ("scontrol-%s.txt" % why)).exists()
                  and not (well / "assay-why.txt").exists(), "files: %s" % [p.name for p in (*dead.iterdir(), *well.iterdir())])


def test_gate(checks, slurm, expected):
    """The gate with its own job: NaN, damage and nothing at all stop the next job, a sound training does not. The other
    templates take the built-in set when they are given no job."""
    after = slurm.work / "next.sbatch"
    after.write_text("#!/bin/bash\n#SBATCH --output=next.log\ntouch \"next-$SLURM_JOB_ID\"\n")
    empty = Made(slurm.work / "empty").end()
    (slurm.work / "bare").mkdir()
    trials = {"sound": (TRIALS / "healthy", 0), "workers": (TRIALS / "ddp", 0), "nan": (TRIALS / "linreg_nan", 1),
              "empty": (empty, 1), "bare": (slurm.work / "bare", 2), "lost": (TRIALS / "ddp_partial", 1)}
    gates, behind = {}, {}
    for name, (trial, _) in trials.items():
        gates[name] = slurm.sbatch("--ntasks-per-node=2", "gate.sbatch", TRIAL=str(trial), OUT="gate-" + name, JOB="")
        behind[name] = slurm.sbatch("--dependency=afterok:" + gates[name], "--kill-on-invalid-dep=yes", after)
    allowed = slurm.sbatch("--ntasks-per-node=1", "gate.sbatch", TRIAL=str(empty), OUT="gate-allowed", JOB="", OPTIONS="--allow-no-data")
    plain = slurm.sbatch("--ntasks-per-node=2", "one-trial.sbatch", TRIAL=str(TRIALS / "ddp"), OUT="built-in", JOB="")
    for name, (_, code) in trials.items():
        checks.expect(slurm.ended(gates[name]) == ("FAILED" if code else "COMPLETED", code), "the gate on %s: %s\n%s" % (
            name, slurm.show(gates[name]), slurm.text(slurm.log(gates[name]))[-1500:]))
        state = slurm.ended(behind[name])[0]
        there = (slurm.work / ("next-" + behind[name])).exists()
        checks.expect((state, there) == (("CANCELLED", False) if code else ("COMPLETED", True)), "behind the gate on %s: %s" % (name, state))
    checks.expect(slurm.ended(allowed) == ("FAILED", 3),
                  "an empty trial that is allowed is still damage: %s" % slurm.show(allowed))
    checks.expect(slurm.ended(plain) == ("COMPLETED", 0), "without a job: %s" % slurm.show(plain))
    run([expected.assay, "run", TRIALS / "ddp", "--out", slurm.work / "here"])
    checks.expect(body_of(slurm.work / "built-in") == body_of(slurm.work / "here"), "without a job: the built-in set")


def test_barrier(checks, slurm, expected):
    """Ranks wait for those of other nodes when they start and when they end (without, some crash or hang, but seldom)."""
    for how in ("srun", "mpirun"):
        job = slurm.sbatch("--nodes=3", "--ntasks-per-node=2", "several-nodes.sbatch", ASSAY=expected.barrier, TRIAL="none",
                           OUT=str(slurm.work / ("barrier-" + how)), LAUNCH=how)
        checks.expect(slurm.ended(job) == ("COMPLETED", 0), "barrier under %s: %s" % (how, slurm.text(slurm.log(job))[-2000:]))


def test_actions(checks, slurm, expected):
    """jobs/act-on-findings.json stops a training that runs and submits the next one, once."""
    train = slurm.work / "train-once.sbatch"
    train.write_text("#!/bin/bash\n#SBATCH --output=train-once.log\nsleep 600\n")
    again = slurm.work / "train-again.sbatch"
    again.write_text("#!/bin/bash\n#SBATCH --output=again-%j.log\n"
                     "echo \"$ASSAY_EVENT|$ASSAY_RULE|$ASSAY_TRIAL|$SLURM_JOB_NAME|$*\"\n")
    training = slurm.sbatch(train)
    slurm.wait(training, lambda tasks: tasks[0]["JobState"] == "RUNNING")
    trial, argv = TRIALS / "dead_relu", [expected.assay, "run", ROOT / "jobs" / "act-on-findings.json", "--out", "acted"]
    with Webhook() as hook:
        env = dict(slurm.env, TRAIN_JOB_ID=training, ASSAY_WEBHOOK=hook.url("/"), no_proxy="127.0.0.1")
        done = [run(argv + ["--trial", trial], env, cwd=slurm.work) for _ in range(2)]
        told = len(hook.requests)
        unknown = run(argv[:-1] + ["none", "--trial", trial], dict(env, TRAIN_JOB_ID="99999"), cwd=slurm.work)
    checks.expect([d.code for d in done] == [0, 0] and told == 2, "run: %s, %d messages" % (done[0], told))
    checks.expect(slurm.ended(training)[0] == "CANCELLED", "the training is stopped: %s" % slurm.show(training))
    submitted = re.findall(r"submit train-again.sbatch: done: job (\d+)", done[0].err)
    checks.expect(len(submitted) == 1 and "submit" not in done[1].err, "once: %s, %s" % (done[0], done[1]))
    for job in submitted:
        checks.expect(slurm.ended(job) == ("COMPLETED", 0), "the next training: %s" % slurm.show(job))
        checks.expect(slurm.text(slurm.work / ("again-%s.log" % job)) ==
                      "finding|frozen weights|%s|again|--learning-rate 0.0001\n" % trial, "what it was told: %s" % slurm.logs())
    log = slurm.text(slurm.work / "none" / "actions.log")
    checks.expect(unknown.code == 0 and "Slurm does not know job 99999" in log, "a job that is not there: %s\n%s" % (unknown, log))


def test_watch(checks, slurm, expected):
    """watch.sbatch follows a training: stops it by action at a finding, ends with it, ends when it is cancelled itself."""
    source, job = TRIALS / "linreg_nan", slurm.work / "watch.json"
    train = slurm.work / "recorded.sbatch"
    train.write_text("#!/bin/bash\n#SBATCH --output=recorded-%%j.log\n"
                     "mkdir -p $TRIAL; cp -r %s/collections %s/index $TRIAL; sleep 2; cp -r %s/events $TRIAL\n"
                     "sleep $1; touch $TRIAL/training_job_end.ts\n" % (source, source, source))
    job.write_text('{"rules": [{"rule": "ExplodingTensor", "severity": "error"}],'
                   ' "actions": [{"cancel": {"job": {"env": "TRAIN_JOB_ID"}}, "severity": "error"}]}')
    more = {how: dict(TRIAL="run-" + how, OUT="watched-" + how, LAUNCH=how, JOB=str(job)) for how in ("srun", "mpirun")}
    trained = {how: slurm.sbatch(train, "600", **env) for how, env in more.items()}
    watch = {how: slurm.sbatch("watch.sbatch", OPTIONS="--until-finding error", TRAIN_JOB_ID=trained[how], **env)
             for how, env in more.items()}
    plain = dict(TRIAL="run-plain", OUT="watched-plain", JOB=str(job), OPTIONS="--no-actions", TRAIN_JOB_ID="1")
    short, followed = slurm.sbatch(train, "1", **plain), slurm.sbatch("watch.sbatch", **plain)
    waiting = slurm.sbatch("watch.sbatch", **dict(plain, TRIAL=str(slurm.work / "never"), OUT="watched-never"))
    for how in more:
        checks.expect(slurm.ended(watch[how]) == ("FAILED", 1), "watch under %s: %s" % (how, slurm.text(slurm.log(watch[how]))[-2000:]))
        checks.expect(slurm.ended(trained[how])[0] == "CANCELLED", "the training is stopped: %s" % slurm.show(trained[how]))
        checks.expect(has_issues(body_of(slurm.work / ("watched-" + how)) or b""), "its report (%s)" % how)
    checks.expect(slurm.ended(short) == ("COMPLETED", 0), "a training that ends: %s" % slurm.show(short))
    checks.expect(slurm.ended(followed) == ("COMPLETED", 0), "its watch ends with it: %s" % slurm.text(slurm.log(followed))[-2000:])
    whole = run([expected.assay, "run", job, "--trial", "run-plain", "--out", "ran", "--no-actions"], cwd=slurm.work)
    checks.expect(whole.code == 0 and body_of(slurm.work / "ran") ==
                  body_of(slurm.work / "watched-plain"), "the report of the watch is that of a run: %s" % whole)
    slurm.call("scancel", waiting)
    checks.expect(slurm.ended(waiting)[0] == "CANCELLED", "a watch of nothing is cancelled: %s" % slurm.show(waiting))


def expect_resumed(checks, slurm, job, out, report, name):
    checks.expect(slurm.ended(job) == ("COMPLETED", 0), "%s: %s\n%s" % (name, slurm.show(job), slurm.text(slurm.log(job))))
    checks.expect(slurm.show(job)[0]["Restarts"] != "0", "%s: was not requeued" % name)
    going = re.search(r"going on with (\d+) of (\d+)", slurm.text(slurm.log(job)))
    print("%s: %s" % (name, going and going.group(0)), flush=True)
    checks.expect(going and 0 < int(going.group(1)) < int(going.group(2)), "%s: did not go on\n%s" % (name, slurm.text(slurm.log(job))))
    checks.expect(body_of(slurm.work / out) == report, "%s: the report differs" % name)
    checks.expect(not list(slurm.work.glob("assay-%s*.checkpoint*" % job)), "%s: the checkpoint is still there" % name)


def test_limits(checks, slurm, expected):
    """The time limit of a minute comes with its signal after 10 to 25 s; scancel sends what preemption sends."""
    healthy = TRIALS / "healthy"
    limited = slurm.sbatch("--time=1", "--signal=B:USR1@50", "--ntasks-per-node=2", "one-trial.sbatch", TRIAL=str(healthy),
                           OUT="limit", ASSAY_FAULT="slow:3000")
    signalled = {how: slurm.sbatch("--nodes=2", "--ntasks-per-node=2", "several-nodes.sbatch", TRIAL=str(healthy), OUT="usr1-" + how,
                                   LAUNCH=how, ASSAY_FAULT="slow:2500") for how in ("srun", "mpirun")}
    cancelled = {how: slurm.sbatch("one-trial.sbatch", TRIAL=str(healthy), OUT="term-" + how, LAUNCH=how,
                                   ASSAY_FAULT="slow:2500") for how in ("srun", "mpirun")}
    (slurm.work / "trials.txt").write_text("%s\n%s\n" % (TRIALS / "ddp", healthy))
    array = slurm.sbatch("--array=2", "array.sbatch", OUT="array", ASSAY_FAULT="slow:2500")
    preempted = slurm.sbatch("one-trial.sbatch", TRIAL=str(healthy), OUT="preempted", ASSAY_FAULT="slow:2500")
    actions = {job: lambda j=job: slurm.call("scancel", j) for job in cancelled.values()}
    actions[array] = lambda: slurm.call("scancel", "-b", "-s", "USR1", array + "_2")
    actions[preempted] = lambda: slurm.call("scontrol", "requeue", preempted)  # what PreemptMode=REQUEUE does
    actions.update({job: lambda j=job: slurm.call("scancel", "-b", "-s", "USR1", j) for job in signalled.values()})
    slurm.when_started(actions)
    for how, job in cancelled.items():
        checks.expect(slurm.ended(job)[0] == "CANCELLED", "scancel under %s: %s" % (how, slurm.show(job)))
        kept = slurm.work / ("assay-%s.checkpoint" % job)
        checks.expect(kept.exists(), "scancel under %s leaves a checkpoint\n%s" % (how, slurm.text(slurm.log(job))))
        again = slurm.sbatch("--ntasks-per-node=3", "one-trial.sbatch", TRIAL=str(healthy), OUT="term-" + how, LAUNCH=how,
                             CHECKPOINT=str(kept))
        checks.expect(slurm.ended(again) == ("COMPLETED", 0) and "going on with" in slurm.text(slurm.log(again)),
                      "goes on by hand under %s: %s" % (how, slurm.text(slurm.log(again))))
        checks.expect(body_of(slurm.work / ("term-" + how)) == expected.of(healthy), "its report (%s)" % how)
    for how, job in signalled.items():
        expect_resumed(checks, slurm, job, "usr1-" + how, expected.of(healthy), "USR1 under " + how)
    expect_resumed(checks, slurm, limited, "limit", expected.of(healthy), "time limit")
    expect_resumed(checks, slurm, array, "array/2", expected.of(healthy), "USR1 to an array task")
    expect_resumed(checks, slurm, preempted, "preempted", expected.of(healthy), "preempted")


def test_failures(checks, slurm, expected):
    """A node dies under a run that writes checkpoints now and then."""
    healthy = TRIALS / "healthy"
    more = dict(TRIAL=str(healthy), OPTIONS="--checkpoint-every 0.01", ASSAY_FAULT="slow:1500")
    lost = slurm.sbatch("--nodes=2", "--ntasks-per-node=2", "several-nodes.sbatch", OUT="lost", **more)
    by_hand = slurm.sbatch("--nodes=2", "--ntasks-per-node=2", "--nodelist=n3,n4", "several-nodes.sbatch", OUT="hand",
                           LAUNCH="mpirun", **more)
    for job in (lost, by_hand):
        checkpoint = slurm.work / ("assay-%s.checkpoint" % job)
        slurm.wait(job, lambda tasks, there=checkpoint: there.exists() or tasks[0]["JobState"] not in GOING)
    checks.expect(slurm.show(lost)[0]["NodeList"] == "n[1-2]" and slurm.show(lost)[0]["BatchHost"] == "n1", "where the run is")
    slurm.node("node-down", "n4")
    slurm.node("node-down", "n2")
    state, code = slurm.ended(by_hand)
    print("a node lost under mpirun: %s, exit %d" % (state, code), flush=True)
    checks.expect(state in ("FAILED", "NODE_FAIL") and (code or state == "NODE_FAIL"), "a node lost under mpirun is a failure")
    expect_resumed(checks, slurm, lost, "lost", expected.of(healthy), "node lost under srun")


def test_hang(checks, slurm, expected):
    """A training that fails and leaves dumps: in the place that it was told, or on the disk of each of its nodes, which is a
    directory a node here."""
    ranks = dumps.stuck(stopped=(5,), ranks=8)
    made, disks = slurm.work / "made", slurm.work / "disks"
    dumps.write(made, ranks)
    old = dumps.stuck(stopped=(2,), ranks=8)
    dumps.write(slurm.work / "left", old)
    train = slurm.work / "train.sbatch"
    train.write_text("#!/bin/bash\n#SBATCH --output=train-%%j.log\nmkdir -p dumps-$SLURM_JOB_ID\n"
                     "for r in 0 1 2 3 4 5 6 7; do cp %s/_dump_$r dumps-$SLURM_JOB_ID/rank_$r; done\nexit 1\n" % made)
    told = slurm.sbatch(train)
    named = slurm.sbatch("--dependency=afternotok:" + told, "hang.sbatch", TRAIN_JOB_ID=told)
    # Of an earlier training there are dumps on the nodes, older than this one.
    for node in ("n1", "n2"):
        (disks / node).mkdir(parents=True)
        for rank in range(8):
            path = disks / node / ("nccl_trace_rank_%d" % rank)
            path.write_bytes((slurm.work / "left" / ("_dump_%d" % rank)).read_bytes())
            os.utime(path, (1, 1))
    spread = slurm.work / "spread.sbatch"
    spread.write_text("#!/bin/bash\n#SBATCH --output=spread-%%j.log\nsrun --mpi=none bash -c '"
                      "for r in 0 1 2 3; do r=$((r + 4 * SLURM_PROCID)); cp %s/_dump_$r %s/$SLURMD_NODENAME/nccl_trace_rank_$r; done'\n"
                      "exit 1\n" % (made, disks))
    where = ("--nodes=2", "--ntasks-per-node=1", "--nodelist=n1,n2")
    local = slurm.sbatch(*where, spread)
    # As each node sees only its own disk, and the nodes of this test bed see all: the prefix has the node's name.
    (slurm.work / "hang-local.sbatch").write_text((slurm.work / "hang.sbatch").read_text().replace(
        "assay_collect $DUMPS", "assay_collect %s/n1/nccl_trace_rank_ %s/n2/nccl_trace_rank_" % (disks, disks)))
    fetched = slurm.sbatch("--nodes=2", "--nodelist=n1,n2", "--dependency=afternotok:" + local, "hang-local.sbatch", TRAIN_JOB_ID=local)
    nothing = slurm.sbatch("hang.sbatch", TRIAL="none", DUMPS=str(slurm.work / "nothing" / "rank_"))
    for name, training, job in (("told", told, named), ("fetched", local, fetched)):
        checks.expect(slurm.ended(training)[0] == "FAILED", "%s: the training failed" % name)
        checks.expect(slurm.ended(job) == ("FAILED", 1), "%s: %s\n%s" % (name, slurm.show(job), slurm.text(
            slurm.work / ("assay-hang-%s.log" % job))))
        report = slurm.work / ("report-dumps-%s-%s" % (training, job)) / "report.json"
        rules = {r["name"]: r for t in json.loads(report.read_text())["trials"] for r in t["rules"]}
        found = [(f["test"], f["worker"]) for f in rules["HangCulprit"]["findings"]]
        checks.expect(found == [("behind", "worker_5")], "%s: %s" % (name, found))
    checks.expect(slurm.ended(nothing) == ("FAILED", 2), "no dumps: %s" % slurm.show(nothing))
    log = slurm.text(slurm.work / ("assay-hang-%s.log" % nothing))
    checks.expect("no dumps" in log, "which the log says: %s" % log)


def test_all_templates(checks, slurm, expected):
    test_templates(checks, slurm, expected)
    test_barrier(checks, slurm, expected)
    test_actions(checks, slurm, expected)
    test_watch(checks, slurm, expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--barrier")
    parser.add_argument("what", nargs="+")
    args = parser.parse_args()
    need_slurm()
    tests = {"templates": test_all_templates, "gate": test_gate, "barrier": test_barrier, "actions": test_actions, "watch": test_watch,
             "limits": test_limits, "failures": test_failures, "hang": test_hang, "why": test_why}
    checks = Checks()
    for what in args.what:
        with tempfile.TemporaryDirectory() as folder:
            slurm = Slurm(os.path.abspath(args.assay), epilog="epilog-why.sh" if what == "why" else None)
            try:
                tests[what](checks, slurm, Expected(args.assay, args.barrier, folder))
            finally:
                slurm.stop()
    checks.done()


if __name__ == "__main__":
    main()
