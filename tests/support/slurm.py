"""slurm.py - a Slurm of the test's own, started by slurm-testbed."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from launch import ROOT, SUITE

TESTBED = ROOT / "tests" / "support" / "slurm-testbed"
GOING = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED", "REQUEUE_HOLD", "STAGE_OUT")
NODES, PATIENCE = 4, 150


def need_slurm():
    if not all(shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin:/sbin") for p in ("sbatch", "slurmctld", "slurmd", "munged")):
        print("Slurm is not installed: slurm-wlm, munge")
        sys.exit(77)


class Slurm:
    """A cluster, and a working directory with a copy of what users copy."""

    def __init__(self, assay, copied=ROOT / "slurm", epilog=None):
        """epilog: a script that slurmctld runs behind each job, with this Slurm and this assay."""
        self.directory = Path(tempfile.mkdtemp(prefix="sl", dir="/tmp"))
        self.bed, self.work = self.directory / "b", self.directory / "w"
        shutil.copytree(copied, self.work)
        self.env = dict(os.environ, LC_ALL="C.UTF-8", ASSAY=str(assay), JOB=str(SUITE), TB_CPUS="8")
        if epilog:
            behind = self.directory / "epilog"
            behind.write_text("#!/bin/bash\nSLURM_CONF=%s/slurm.conf ASSAY=%s exec bash %s\n" % (self.bed, assay, self.work / epilog))
            behind.chmod(0o755)
            self.env["TB_EXTRA"] = "EpilogSlurmctld=%s" % behind
        started = subprocess.run([str(TESTBED), "start", str(self.bed), str(NODES)], env=self.env, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, timeout=120)
        if started.returncode:
            self.stop()
            raise SystemExit("slurm-testbed did not start: %s" % started.stdout.decode())
        shown = subprocess.run(["bash", "-c", '. "$0" && env -0', str(self.bed / "env")], env=self.env,
                               stdout=subprocess.PIPE, check=True).stdout
        self.env = dict(line.split("=", 1) for line in shown.decode().split("\0") if "=" in line)

    def call(self, *argv, **env):
        done = subprocess.run([str(a) for a in argv], cwd=self.work, env=dict(self.env, **env), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        if done.returncode:
            raise SystemExit("%s: exit %d\n%s" % (argv, done.returncode, done.stderr.decode()))
        return done.stdout.decode().strip()

    def sbatch(self, *argv, **env):
        return self.call("sbatch", "--parsable", *argv, **env)

    def show(self, job):
        """One dictionary for each task of the job."""
        lines = self.call("scontrol", "-o", "show", "job", job).splitlines()
        return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]

    def wait(self, job, until=lambda tasks: all(t["JobState"] not in GOING for t in tasks)):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            tasks = self.show(job)
            if until(tasks):
                return tasks
            time.sleep(0.3)
        raise SystemExit("job %s: still %s after %d s\n%s" % (job, tasks, PATIENCE, self.logs()))

    def ended(self, job):
        """(state, exit code) of a job without tasks."""
        task = self.wait(job)[0]
        return task["JobState"], int(task["ExitCode"].split(":")[0])

    def when_started(self, actions):
        """{job: what to do}: each is done once the run of its job has been under way for a moment."""
        left, since, end = dict(actions), {}, time.monotonic() + PATIENCE
        while left and time.monotonic() < end:
            for job in list(left):
                if "starting from the beginning" in self.text(self.log(job)):
                    since.setdefault(job, time.monotonic())
                if time.monotonic() > since.get(job, end) + 1:
                    left.pop(job)()
            time.sleep(0.2)

    def log(self, job):
        return self.show(job)[0]["StdOut"]

    def text(self, path):
        return Path(path).read_text(errors="replace") if Path(path).exists() else ""

    def logs(self):
        return "\n".join("--- %s\n%s" % (p.name, p.read_text(errors="replace")[-3000:]) for p in sorted(self.work.glob("*.log")))

    def node(self, what, node):
        self.call(TESTBED, what, self.bed, node)

    def stop(self):
        subprocess.run([str(TESTBED), "stop", str(self.bed)], env=self.env, stdout=subprocess.DEVNULL, timeout=120)
        shutil.rmtree(self.directory, ignore_errors=True)
