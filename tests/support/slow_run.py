"""slow_run.py - a slow run with a checkpoint, which a test can stop halfway."""
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from launch import LAUNCHER, environment

MILLISECONDS = 60  # a chunk takes so much longer, so that there is a middle to be stopped in
STOPPED = 75  # the exit code of a run that a signal stopped
LISTENING = 1 << (signal.SIGUSR1 - 1) | 1 << (signal.SIGTERM - 1)
TIMEOUT = 40


def ranks_of(mark):
    """The ranks that listen for signals: processes of assay whose command line has the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if os.fsencode(mark) not in words or os.path.basename(words[0]) != b"assay":
                continue
            caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", (entry / "status").read_text(), re.M)
            if int(caught.group(1), 16) & LISTENING == LISTENING:
                found.append(int(entry.name))
        except (OSError, AttributeError):
            continue
    return sorted(found)


class Run:
    """A run with a checkpoint under way on so many ranks, slowed down; `command` gives the words that start it."""

    def __init__(self, command, where, ranks, *more):
        self.mark, self.ranks = str(where / "run.ckpt"), ranks
        argv = command("--checkpoint", self.mark, *more)
        if LAUNCHER != "none":
            argv = [LAUNCHER, "-n", str(ranks), *argv]
        env = environment({"ASSAY_FAULT": "slow:%d" % MILLISECONDS})
        self.err = tempfile.TemporaryFile()
        self.out = tempfile.TemporaryFile()
        self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=self.err, env=env, start_new_session=True)

    def wait_until_listening(self):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end and self.process.poll() is None:
            pids = ranks_of(self.mark)
            if len(pids) == self.ranks:
                return pids
            time.sleep(0.02)
        return []

    def end(self):
        """(exit code, stdout, stderr); a run that does not end is killed and has the code None."""
        try:
            code = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            for pid in ranks_of(self.mark):
                os.kill(pid, signal.SIGKILL)
            code = None
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
            file.close()
        return (code, *texts)
