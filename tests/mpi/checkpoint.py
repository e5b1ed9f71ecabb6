#!/usr/bin/env python3
"""A run that is stopped by a signal and resumed gives the report of one that was not, whoever gets the signal, at any ranks.

    checkpoint.py --assay PROGRAM --ranks 1 2 3 ... -- WHAT...     WHAT: signals, killed, refused

--kills 50, or ASSAY_KILLS=50, sets how many runs are interrupted in `signals` and `killed` (12 and 6 otherwise), ASSAY_SEED what is drawn.
"""
import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import LAUNCHER, SUITE, TRIALS, Checks, environment, mpirun  # noqa: E402
from reports import digest_of  # noqa: E402
from slow_run import MILLISECONDS, STOPPED, TIMEOUT, Run, ranks_of  # noqa: E402

NAMES = ("ddp", "healthy", "ddp_partial")


def command(assay, where, *more):
    trials = [word for name in NAMES for word in ("--trial", TRIALS / name)]
    return [assay, "run", SUITE, *trials, "--out", where / "out", "--digest", "--progress", "0", *more]


def checkpointed(assay, where, *more):
    return command(assay, where, "--checkpoint", where / "run.ckpt", *more)


def interrupt(run, how, number, rng):
    pids = run.wait_until_listening()
    time.sleep(rng.uniform(0, 1.1 * 43 * MILLISECONDS / 1000 / run.ranks))
    if how == "launcher":
        targets = [run.process.pid]
    else:
        targets = pids if how == "all" else [rng.choice(pids)] if pids else []
    for pid in targets:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass  # the run was faster


def test_signals(checks, args, where, expected, kills):
    rng = random.Random(args.seed)
    ends = {0: 0, STOPPED: 0}
    partly = 0
    while ends[STOPPED] < kills and ends[0] < 4 * kills + 20:
        resumed = (where / "run.ckpt").exists()
        ranks, how = rng.choice(args.ranks), rng.choice(("one", "all", "launcher"))
        number = rng.choice((signal.SIGUSR1, signal.SIGTERM))
        run = Run(partial(command, args.assay, where), where, ranks, "--resume")
        interrupt(run, how, number, rng)
        code, out, err = run.end()
        name = "%s to %s of %d ranks, %s" % (number.name, how, ranks, "resumed" if resumed else "anew")
        said = re.search(r"stopped with (\d+) of (\d+) chunks done", err)
        print("%-50s exit %s %s" % (name, code, said.group(0) if said else ""), flush=True)
        if how == "launcher" and LAUNCHER != "none" and (number == signal.SIGTERM and code != 0 or code == -number):
            # mpirun gives its ranks a second to end and has an exit code of its own: the checkpoint may be the one before.
            # At its own end it takes its handlers back first: any signal then ends it, behind ranks that are done.
            checks.expect(code is not None and digest_of(out) in (None, expected), "%s: %s, another report" % (name, code))
        elif code == STOPPED:
            ends[STOPPED] += 1
            partly += bool(said) and 0 < int(said.group(1)) < int(said.group(2))
            checks.expect(said, "%s: stopped without saying where: %s" % (name, err))
            checks.expect((where / "run.ckpt").exists() and not digest_of(out), "%s: no checkpoint, or a report" % name)
        elif checks.expect(code == 0 and digest_of(out) == expected, "%s: %s %s\n%s" % (name, code, digest_of(out), err)):
            ends[0] += 1
            checks.expect(not (where / "run.ckpt").exists(), "%s: the checkpoint was not removed" % name)
        if resumed:
            checks.expect("going on with" in err, "%s: does not say that it goes on: %s" % (name, err))
    done = mpirun(rng.choice(args.ranks), checkpointed(args.assay, where, "--resume"))
    checks.expect(done.code == 0 and digest_of(done.out) == expected, "the last part: %s" % done)
    checks.expect(partly >= kills // 2, "only %d of %d stops were in the middle" % (partly, ends[STOPPED]))


def test_killed(checks, args, where, expected, kills):
    """kill -9: the last checkpoint is used, or the run starts from the beginning and says so."""
    rng = random.Random(args.seed + 1)
    gone_on = 0
    for _ in range(kills):
        run = Run(partial(command, args.assay, where), where, rng.choice(args.ranks), "--resume", "--checkpoint-every", "0.003")
        pids = run.wait_until_listening()  # none: it was faster
        while gone_on == 0 and run.process.poll() is None and not (where / "run.ckpt").exists():
            time.sleep(0.02)  # one kill at least finds a checkpoint, however slow the machine is
        for pid in rng.sample(pids, min(1, len(pids))):
            time.sleep(rng.uniform(0, 0.5))
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        code, out, _ = run.end()
        checks.expect(code not in (None, STOPPED), "killed: exit %s" % code)
        there = (where / "run.ckpt").exists()
        done = mpirun(rng.choice(args.ranks), checkpointed(args.assay, where, "--resume"))
        says = "going on with" if there else "starting from the beginning"
        print("killed with exit %s, then: %s" % (code, says), flush=True)
        checks.expect(done.code == 0 and digest_of(done.out) == expected and says in done.err, "after kill -9: %s" % done)
        gone_on += there
    checks.expect(gone_on > 0, "no kill left a checkpoint")


def sealed(body):
    return body + hashlib.sha256(body).hexdigest().encode()


def variants(good):
    """{name: (bytes, what the refusal says)}"""
    middle = len(good) // 2
    version = good.index(b"0.")
    return {
        "empty": (b"", "not a checkpoint"),
        "foreign": (b"x" * 1000, "not a checkpoint"),
        "a bit": (good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:], "damaged"),
        "cut": (good[:middle], "damaged"),
        "cut and sealed": (sealed(good[:-64][:middle]), "damaged"),
        "longer and sealed": (sealed(good[:-64] + b"more"), "damaged"),
        "format": (sealed(good[:8] + struct.pack("<I", 99) + good[12:-64]), "format 99"),
        "version": (sealed(good[:version] + b"7" + good[version + 1:-64]), "written by assay 7"),
    }


def expect_refused(checks, name, done, says):
    errors = [line for line in done.err.splitlines() if line.startswith("assay: error:")]
    checks.expect(done.code == 2 and len(errors) == 1 and says in errors[0] and not digest_of(done.out),
                  "%s: not refused with \"%s\": %s" % (name, says, done))


def test_refused(checks, args, where, expected, kills):
    del kills
    ranks = args.ranks[-1]
    trials = where / "trials"
    for name in NAMES:
        shutil.copytree(TRIALS / name, trials / name)
    job = where / "job.json"
    shutil.copy(SUITE, job)
    base = [args.assay, "run", job, "--out", where / "out", "--digest", "--checkpoint", where / "run.ckpt"]
    for name in NAMES:
        base += ["--trial", trials / name]

    def resume(*more):
        return mpirun(ranks, base + ["--resume", *more])

    whole = digest_of(mpirun(ranks, base).out)
    stopping = subprocess.Popen([str(a) for a in ([LAUNCHER, "-n", str(ranks)] if LAUNCHER != "none" else []) + base],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=environment({"ASSAY_FAULT": "slow:%d" % MILLISECONDS}), start_new_session=True)
    while len(ranks_of(str(where / "run.ckpt"))) < ranks and stopping.poll() is None:
        time.sleep(0.02)
    time.sleep(0.3)
    for pid in ranks_of(str(where / "run.ckpt")):
        os.kill(pid, signal.SIGUSR1)
    checks.expect(stopping.wait(TIMEOUT) == STOPPED, "there is a checkpoint to be refused")
    good = (where / "run.ckpt").read_bytes()
    for name, (content, says) in variants(good).items():
        (where / "run.ckpt").write_bytes(content)
        expect_refused(checks, name, resume(), says)
        checks.expect((where / "run.ckpt").read_bytes() == content, "%s: the refused file was changed" % name)
    (where / "run.ckpt").write_bytes(good)
    expect_refused(checks, "other options", resume("--max-findings", "7"), "another job")
    expect_refused(checks, "other steps", resume("--steps", "1:"), "another job")
    text = job.read_text()
    job.write_text(text + "\n")
    expect_refused(checks, "other job file", resume(), "another job")
    job.write_text(text)
    last = sorted((trials / "ddp" / "index").rglob("*.json"))[-1]
    content = last.read_bytes()
    last.unlink()
    expect_refused(checks, "a file less", resume(), "another state of the trial")
    last.write_bytes(re.sub(rb'"start_idx": *\d+', b'"start_idx": 1', content, count=1))
    checks.expect(last.read_bytes() != content, "the index file was changed")
    expect_refused(checks, "an index file changed", resume(), "another state of the trial")
    last.write_bytes(content)
    done = resume("--reports", "json,html")
    checks.expect(done.code == 0 and digest_of(done.out) == whole, "as it was, it is accepted, for another form of report, too: %s" % done)
    done = mpirun(1, command(args.assay, where, "--resume"))
    checks.expect(done.code == 2 and "--checkpoint FILE" in done.err, "--resume alone: %s" % done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ASSAY_SEED", "1")))
    parser.add_argument("--kills", type=int, default=int(os.environ.get("ASSAY_KILLS", "0")))
    parser.add_argument("what", nargs="+")
    args = parser.parse_args()
    tests = {"signals": (test_signals, 12), "killed": (test_killed, 6), "refused": (test_refused, 0)}
    checks = Checks()
    for what in args.what:
        test, kills = tests[what]
        with tempfile.TemporaryDirectory() as folder:
            expected = digest_of(mpirun(1, command(args.assay, Path(folder))).out)
            checks.expect(expected, "a run without interruption has a digest")
            test(checks, args, Path(folder), expected, args.kills or kills)
    checks.done()


if __name__ == "__main__":
    main()
