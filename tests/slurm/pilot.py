#!/usr/bin/env python3
"""assay pilot brings the example of jobs/pilot to a clean run, on a real Slurm that this test starts.

    pilot.py --assay PROGRAM --train PROGRAM WHAT...

straight: one pilot, from the first launch to the end. killed: a pilot that dies by SIGKILL at every point of every launch, and is
started again each time. random: that dies at any moment. sbatch: that dies while sbatch is under way. twice: a submission that Slurm
has taken twice. ends: ends without a clean run. Always, a training is launched once. Exit code 77 where Slurm is not installed.
"""
import argparse
import http.server
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import ROOT, Checks, environment, run  # noqa: E402
from slurm import GOING, Slurm, need_slurm  # noqa: E402

EXAMPLE = ROOT / "jobs" / "pilot"
POINTS = ("name-written", "submit-done", "submit-written", "release-done", "release-written", "observe-done", "observe-written",
          "stop-cancelled", "stop-written", "notify-sent", "notify-written")


class Webhook:
    """Keeps what is posted to it."""

    def __init__(self):
        posted = self.posted = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d/" % self.server.server_port

    def of(self, event):
        return [p for p in self.posted if p["event"] == event]


def replace_command(slurm, name, script):
    """A PATH in which this shell script stands before the command."""
    directory = slurm.work / "bin"
    directory.mkdir(exist_ok=True)
    (directory / name).write_text("#!/bin/sh\n%s\n" % script)
    (directory / name).chmod(0o755)
    return "%s:%s" % (directory, slurm.env["PATH"])


class Example:
    """The example in a directory of its own; every start of the training program leaves a line in `starts`."""

    def __init__(self, slurm, train, webhook, **changes):
        self.slurm, self.work, self.webhook = slurm, slurm.work, webhook
        self.state_file = self.work / "state.json"
        wrapper = self.work / "train"
        wrapper.write_text('#!/bin/sh\necho "$ASSAY_PILOT_NAME $SLURM_JOB_ID" >>starts\nexec "%s" "$@"\n' % train)
        wrapper.chmod(0o755)
        state = json.loads(self.state_file.read_text())
        state["monitor"]["poll_seconds"] = 0.3
        state["notify"] = [{"notify": {"url": webhook.url}}]
        state.update(changes)
        self.state_file.write_text(json.dumps(state))
        rules = json.loads((self.work / "rules.json").read_text())
        rules["rules"].append({"rule": "TreeDepth"})  # never has data, which is no finding
        (self.work / "rules.json").write_text(json.dumps(rules))

    def state(self):
        return json.loads(self.state_file.read_text())

    def pilot(self, *options, **env):
        return run([self.slurm.env["ASSAY"], "pilot", self.state_file, *options], env=dict(self.slurm.env, **env), timeout=150,
                   cwd=self.work)

    def starts(self):
        path = self.work / "starts"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def analyse(self, name):
        out = self.work / "again" / name
        return run([self.slurm.env["ASSAY"], "run", self.work / "rules.json", "--trial", self.work / "runs" / name, "--out", out,
                    "--fail-on", "warning", "--allow-no-data", "--quiet"])

    def check_end(self, checks, done):
        state, history, spec = self.state(), self.state()["history"], self.state()["run_spec"]
        print(json.dumps(history), json.dumps(spec), flush=True)
        checks.expect(done.code == 0 and done.out.startswith("clean run: "), "ends clean: %s" % done)
        checks.expect((state["next_action"], state["job_status"], state["rule_status"]) == ("end", "Completed", "NoIssuesFound"),
                      "the end: %s" % state)
        adjustments = [history["num_%s_adjustments" % n] for n in ("warmup", "batch_layer", "learning_rate")]
        checks.expect(adjustments[:2] == [2, 1] and 1 <= adjustments[2] <= 3, "adjustments of every kind: %s" % adjustments)
        checks.expect(history["num_retraining"] == 1 + sum(adjustments), "a launch each: %s" % history)
        checks.expect(history["num_monitor_transitions"] >= history["num_retraining"], "looked at each: %s" % history)
        checks.expect(spec["warmup_learning_rate"] == 0.4 / 16 and spec["add_batch_norm"] == 1 and
                      spec["learning_rate"] == 0.6 / 4 ** adjustments[2], "settings: %s" % spec)
        names = [name for name, _ in self.starts()]
        launches = [launch["name"] for launch in state["launches"]]
        checks.expect(launches == names, "the record of the launches: %s, not %s" % (launches, names))
        checks.expect(len(names) == len(set(names)) == history["num_retraining"], "each training started once: %s" % self.starts())
        checks.expect(names and names[-1] == history["latest_job_name"], "the last one: %s" % names)
        marks = {p.name[:-len(".job")]: os.readlink(p) for p in (self.work / "runs").glob("*.job")}
        checks.expect(marks == {name: job for name, job in self.starts()}, "the marks of the trainings: %s" % marks)
        jobs = self.slurm.call("squeue", "--noheader", "--states=all", "--format=%j %A %T").splitlines()
        checks.expect(not [j for j in jobs if j.split()[2] in GOING], "nothing is left in the queue: %s" % jobs)
        checks.expect(len(jobs) == len(names), "a job each: %s" % jobs)
        for name in names:
            again = self.analyse(name)
            checks.expect(again.code == (0 if name == names[-1] else 1), "%s: the rules say the same now: %s" % (name, again))
        return names


def test_straight(checks, slurm, train):
    webhook = Webhook()
    example = Example(slurm, train, webhook)
    before = example.state_file.read_bytes()
    dry = example.pilot("--dry-run")
    checks.expect(dry.code == 0 and "RUN_SPEC_WARMUP_LEARNING_RATE=0.4" in dry.out and "sbatch --job-name=deep-residual-1-" in dry.out,
                  "dry run: %s" % dry)
    checks.expect(example.state_file.read_bytes() == before and not example.starts(), "a dry run does nothing")
    once = example.pilot("--once")
    checks.expect(once.code == 0 and example.state()["next_action"] == "monitor", "one transition launches: %s" % once)
    checks.expect("on findings: stop job" in example.pilot("--dry-run").out, "a dry run before a look")
    rest = subprocess.Popen([slurm.env["ASSAY"], "pilot", str(example.state_file)], env=environment(slurm.env), cwd=slurm.work,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    beside = example.pilot("--status")
    checks.expect(beside.code == 0 and "launch 1 of at most" in beside.out, "the status beside a pilot at work: %s" % beside)
    while rest.poll() is None and example.state()["history"]["num_monitor_transitions"] == 0:
        time.sleep(0.05)
    second = example.pilot()
    checks.expect(second.code == 2 and "another pilot is at work" in second.err, "one pilot at a time: %s" % second)
    rest.terminate()
    rest.communicate(timeout=60)
    checks.expect(rest.returncode == 75, "SIGTERM stops the pilot between two steps: exit %d" % rest.returncode)
    done = example.pilot()
    print(done.err, flush=True)
    names = example.check_end(checks, done)
    relaunches, ends = webhook.of("relaunch"), webhook.of("end")
    checks.expect(len(relaunches) == len(names) - 1 and len(ends) == 1, "messages: %s" % [p["event"] for p in webhook.posted])
    checks.expect(all("next: " in p["reason"] and p["rule_status"] == "IssuesFound" for p in relaunches), "relaunches: %s" % relaunches)
    checks.expect(ends and ends[0]["rule_status"] == "NoIssuesFound" and "clean run" in ends[0]["subject"] and
                  "without issues: 3 rules passed" in ends[0]["reason"], "end: %s" % ends)
    stopped = [n for n in names[:-1] if "CANCELLED" in slurm.call("squeue", "--noheader", "--states=all", "--name=" + n, "--format=%T")]
    checks.expect(stopped, "trainings with findings were stopped before their end")
    ended = example.pilot()
    checks.expect(ended.code == 0 and len(example.starts()) == len(names), "an ended pilot does nothing: %s" % ended)


def test_killed(checks, slurm, train):
    """Every point of every launch, until each has been died at once or the launch is over."""
    webhook = Webhook()
    example = Example(slurm, train, webhook)
    died, kills = {}, 0
    while True:
        launch = example.state().get("history", {}).get("num_retraining", 0)
        left = [p for p in POINTS if p not in died.setdefault(launch, set())]
        done = example.pilot(ASSAY_FAULT=",".join("die:" + p for p in left))
        point = re.findall(r"^assay: dies at (\S+)$", done.err, re.M)
        if not point:
            break
        checks.expect(done.code == -9 or done.code == 137, "killed: %s" % done)
        died[launch].add(point[-1])
        kills += 1
        if kills > 120:
            break
    everywhere = set.union(*died.values())
    print("%d kills; points: %s" % (kills, {n: len(p) for n, p in died.items()}), flush=True)
    checks.expect(everywhere >= set(POINTS), "never died at %s" % (set(POINTS) - everywhere))
    names = example.check_end(checks, done)
    checks.expect(len(webhook.of("relaunch")) >= len(names) - 1 and webhook.of("end"), "no message was lost")


def test_random(checks, slurm, train):
    """Killed at random moments, also while sbatch, scancel or assay run are under way."""
    example = Example(slurm, train, Webhook())
    chance = random.Random(6)
    kills = 0
    while kills < 60 and example.state().get("next_action") != "end":
        pilot = subprocess.Popen([slurm.env["ASSAY"], "pilot", str(example.state_file)], env=environment(slurm.env), cwd=slurm.work,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 0.6))
        pilot.kill()
        pilot.wait()
        kills += 1
    print("%d kills" % kills, flush=True)
    for _ in range(100):
        done = example.pilot()
        if done.code != 2: # 2: what the last one had started is still under way
            break
        time.sleep(0.1)
    example.check_end(checks, done)


def test_slow_sbatch(checks, slurm, train):
    """The pilot dies while sbatch is under way: the next one refuses until it is known what came of it."""
    webhook = Webhook()
    example = Example(slurm, train, webhook)
    real = slurm.call("which", "sbatch")
    path = replace_command(slurm, "sbatch", 'touch "%s/called"; sleep 3; exec "%s" "$@"' % (slurm.work, real))
    env = dict(slurm.env, PATH=path)
    first = subprocess.Popen([slurm.env["ASSAY"], "pilot", str(example.state_file)], env=environment(env), cwd=slurm.work,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (slurm.work / "called").exists():
        time.sleep(0.02)
    first.kill()
    first.wait()
    refused = example.pilot("--once")
    checks.expect(refused.code == 2 and "a killed one had started" in refused.err, "refused: %s" % refused)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        again = example.pilot("--once")
        if again.code == 0:
            break
        time.sleep(0.2)
    state = example.state()
    checks.expect(again.code == 0 and "was submitted already" in again.err and state["next_action"] == "monitor", "goes on: %s" % again)
    jobs = slurm.call("squeue", "--noheader", "--states=all", "--format=%A").split()
    checks.expect(jobs == [state["pilot"]["job_id"]], "one job: %s" % jobs)
    slurm.call("scancel", jobs[0])


def test_twice(checks, slurm, train):
    """Slurm has taken a submission twice, as when a machine dies while sbatch is under way: one of the two jobs trains."""
    example = Example(slurm, train, Webhook())
    example.pilot(ASSAY_FAULT="die:submit-done")
    name = example.state()["history"]["latest_job_name"]
    slurm.sbatch("--hold", "--job-name=" + name, "train.sbatch")
    done = example.pilot("--once")
    chosen = example.state()["pilot"]["job_id"]
    states = dict(line.split() for line in slurm.call("squeue", "--noheader", "--states=all", "--format=%A %T").splitlines())
    checks.expect(done.code == 0 and len(states) == 2 and chosen in states, "takes one of them: %s %s" % (done, states))
    checks.expect([s for job, s in states.items() if job != chosen] == ["CANCELLED"], "the other is cancelled: %s" % states)
    slurm.call("scancel", chosen)


def test_ends(checks, slurm, train):
    """Ends that are no clean runs, and what can be mended."""
    example = Example(slurm, train, Webhook(), strategies=[])
    done = example.pilot()
    state = example.state()
    checks.expect(done.code == 1 and done.out.startswith("no clean run: ExplodingTensor") and
                  state["pilot"]["reason"].endswith("every strategy is used up"), "nothing to try: %s" % done)
    checks.expect((state["job_status"], state["rule_status"]) == ("Stopped", "IssuesFound"), "stopped: %s" % state)
    checks.expect(slurm.ended(state["pilot"]["job_id"])[0] == "CANCELLED", "its job is cancelled")
    checks.expect([p["event"] for p in example.webhook.posted] == ["end"], "told of the end: %s" % example.webhook.posted)

    sound = dict(state["run_spec"], warmup_learning_rate=0.025, learning_rate=0.0375, add_batch_norm=1)
    again = dict(state, next_action="launch_new", run_spec=sound)
    example.state_file.write_text(json.dumps(again))
    waits = example.work / "waits"
    waits.write_text("#!/bin/sh\nexec sleep 600\n")  # cancelled before it records, whatever is slow
    waits.chmod(0o755)
    checks.expect(example.pilot("--once", TRAIN=str(waits)).code == 0, "goes on after the end when it is told to")
    slurm.call("scancel", example.state()["pilot"]["job_id"])
    done = example.pilot()
    checks.expect(done.code == 1 and example.state()["job_status"] == "Stopped" and "ended as CANCELLED" in done.out,
                  "cancelled by somebody: %s" % done)

    example.state_file.write_text(json.dumps(dict(example.state(), next_action="launch_new")))
    done = example.pilot(TRAIN="false")
    checks.expect(done.code == 1 and example.state()["job_status"] == "Failed" and "ended as FAILED" in done.out, "failed: %s" % done)
    log = re.search(r"before it recorded anything; its log: (\S+)", done.out)
    checks.expect(log and Path(log[1]).is_file(), "the log of a training that recorded nothing: %s" % done)
    status = example.pilot("--status")
    blocks = status.out.split("\n\n")
    checks.expect(status.code == 0 and blocks[0].startswith("ended after 3 launches: job ") and len(blocks) == 4, "status: %s" % status)
    for block, said in zip(blocks[1:], (("Stopped, IssuesFound", "findings:  ExplodingTensor: ", "learning_rate 0.6"),
                                        ("Stopped, Error", "learning_rate 0.0375, was 0.6"), ("Failed, Error", "as before", "log:       "))):
        checks.expect(all(text in block for text in said), "status: %s in %s" % (said, block))

    state = dict(example.state(), next_action="launch_new")
    wrong = dict(state, launch=dict(state["launch"], sbatch_options=["--partition=nowhere"]))
    example.state_file.write_text(json.dumps(wrong))
    done = example.pilot("--once")
    checks.expect(done.code == 4 and "invalid partition" in done.err, "sbatch refuses: %s" % done)
    example.state_file.write_text(json.dumps(dict(example.state(), launch=state["launch"])))
    done = example.pilot("--once")
    checks.expect(done.code == 0 and example.state()["next_action"] == "monitor", "mended: %s" % done)
    slurm.call("scancel", example.state()["pilot"]["job_id"])

    wrong = dict(example.state(), monitor={"job": "absent.json"})
    right = example.state_file.read_text()
    example.state_file.write_text(json.dumps(wrong))
    done = example.pilot("--once")
    checks.expect(done.code == 2 and "monitor.job" in done.err and "absent.json" in done.err, "no job file: %s" % done)

    example.state_file.write_text(right)
    path = replace_command(slurm, "scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    done = example.pilot(PATH=path)
    checks.expect(done.code == 1 and example.state()["job_status"] == "Failed" and "ended as unknown to Slurm" in done.out,
                  "a job that Slurm has forgotten, of a training that did not end: %s" % done)

    state = json.loads(right)
    trial = example.work / "runs" / state["launches"][-1]["name"]
    shutil.rmtree(trial, ignore_errors=True)
    shutil.copytree(ROOT / "tests" / "data" / "trials" / "healthy", trial)
    launcher = example.work / "launcher"
    example.state_file.write_text(json.dumps(dict(state, monitor=dict(state["monitor"], command=[str(launcher)]))))
    for script, code, said in (('"%s" "$@"; exit 1' % slurm.env["ASSAY"], 1, "Damaged"), ("exit 0", 4, "but an older one"), ("exit 1", 4, "but an older one")):
        launcher.write_text("#!/bin/sh\n%s\n" % script)
        launcher.chmod(0o755)
        before = example.state_file.read_text()
        done = example.pilot("--once", PATH=path)
        checks.expect(done.code == 4 if code == 4 else example.state()["next_action"] == "end", "%s: %s" % (script, done))
        checks.expect(said in (done.err if code == 4 else example.state()["rule_status"]), "%s: %s %s" % (script, done, example.state()))
        example.state_file.write_text(before)


def main():
    tests = {"straight": test_straight, "killed": test_killed, "sbatch": test_slow_sbatch, "twice": test_twice, "ends": test_ends,
             "random": test_random}
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--train", required=True)
    parser.add_argument("what", nargs="+", choices=sorted(tests))
    args = parser.parse_args()
    need_slurm()
    checks = Checks()
    for what in args.what:
        slurm = Slurm(os.path.abspath(args.assay), EXAMPLE)
        try:
            began = time.monotonic()
            tests[what](checks, slurm, os.path.abspath(args.train))
            print("%s: %.1f s" % (what, time.monotonic() - began), flush=True)
        finally:
            slurm.stop()
    checks.done()


if __name__ == "__main__":
    main()
