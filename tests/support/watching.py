"""watching.py - a running `assay watch`, and what it has printed so far.

    watch = Watch(assay, 3, job, [trial], out, "--lag", "1"); watch.wait_for_told(findings); watch.end()
"""
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from launch import LAUNCHER, environment

END = "training_job_end.ts"
PATIENCE = 90  # seconds for something that comes at once


def named_workers(text):
    """The names in "all 4 workers", or in "worker_0-2, worker_7"."""
    everyone = re.fullmatch(r"all (\d+) workers", text)
    if everyone:
        return ["worker_%d" % w for w in range(int(everyone[1]))]
    names = []
    for part in text.split(", "):
        run = re.fullmatch(r"worker_(\d+)-(\d+)", part)
        names += ["worker_%d" % w for w in range(int(run[1]), int(run[2]) + 1)] if run else [part]
    return names


class Watch:
    """A running watch and what it has told so far; ranks 0: without a launcher."""

    def __init__(self, assay, ranks, job, trials, out, *options, env=None):
        argv = [] if LAUNCHER == "none" or not ranks else [LAUNCHER, "-n", str(ranks)]
        argv += [assay, "watch", "--findings"] + ([job] if job else []) + ["--out", out, "--every", "0.1"] + list(options)
        for trial in trials:
            argv += ["--trial", trial]
        self.out, self.lines, self.noise = Path(out), [], []
        self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment(env), text=True, start_new_session=True)
        self.readers = [threading.Thread(target=self.read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.noise))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def told(self):
        """What was told and not withdrawn; None when something was told twice, or withdrawn without being told."""
        now = set()
        for line in self.lines:
            word, *columns = line.split("\t")
            if word not in ("finding", "withdrawn") or not columns:
                continue
            count = int(columns[8]) if word == "finding" else 1
            workers = named_workers(columns[3]) if count > 1 else [columns[3]]
            for worker in workers:
                one = (*columns[:3], worker, *columns[4:6])
                if (word == "finding") == (one in now) or len(workers) != count:
                    return None
                (now.add if word == "finding" else now.discard)(one)
        return now

    def wait_for(self, condition):
        """Until the condition holds; False when the watch ended before, or patience did."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if condition():
                return True
            if self.process.poll() is not None:
                return condition()
            time.sleep(0.02)
        return False

    def wait_for_told(self, findings):
        return self.wait_for(lambda: self.told() == findings)

    def end(self):
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            code = None
        for reader in self.readers:
            reader.join(10)
        return code

    def __str__(self):
        return "exit %s\n%s\n---\n%s" % (self.process.poll(), "\n".join(self.lines[-20:]), "\n".join(self.noise[-10:]))
