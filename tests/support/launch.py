"""launch.py - starts assay under mpirun for the tests, with a limit on every wait.

    sys.path.insert(0, ...tests/support); from launch import mpirun
    done = mpirun(3, [assay, "run", ...], env={"ASSAY_SIMD": "scalar"})
    done.code, done.out, done.err, done.hung, done.seconds
"""
import atexit
import fcntl
import itertools
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRIALS = Path(os.environ.get("ASSAY_TRIALS") or ROOT / "tests" / "data" / "trials")
SUITE = TRIALS / "suite.json"
LAUNCHER = os.environ.get("ASSAY_MPIRUN", "mpirun")  # "none" in builds without MPI: one rank, started directly


def job_of(path):
    """A job file as json reads it: without comments and commas at the end, of which no string in jobs/ has any."""
    text = re.sub(r"//.*|/\*.*?\*/", "", Path(path).read_text(), flags=re.M)
    return json.loads(re.sub(r",(\s*[\]}])", r"\1", text))


class Done:
    def __init__(self, code, out, err, hung, seconds):
        self.code, self.out, self.err, self.hung, self.seconds = code, out, err, hung, seconds

    def __str__(self):
        how = "hung" if self.hung else "exit %s" % self.code
        return "%s after %.1f s\n--- stdout\n%s\n--- stderr\n%s" % (how, self.seconds, self.out[-2000:], self.err[-4000:])


SESSIONS = Path(tempfile.mkdtemp(prefix="mpi-"))  # where Open MPI has its files, a folder each start
atexit.register(shutil.rmtree, SESSIONS, True)
starts = itertools.count()


def environment(extra=None):
    env = dict(os.environ, LC_ALL="C.UTF-8")
    # More ranks than cores is what these tests are about; root is who runs in a container.
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1",
               OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
    # Without looking for a fast network first, and without a daemon for one process, a start takes half the time or less.
    env.update(OMPI_MCA_pml="ob1", OMPI_MCA_ess_singleton_isolated="1")
    # Nothing here depends on disks, networks and graphics cards: hwloc, which each rank and mpirun start, need not look for them, nor
    # load what would. The same of what Open MPI only loads to find that another component is better.
    env.update(HWLOC_COMPONENTS="-linux:pci,-linux:io,-linux:misc,-linux:annotate", HWLOC_PLUGINS_PATH="/nonexistent",
               OMPI_MCA_coll="^adapt,han,monitoring,sync", OMPI_MCA_osc="^monitoring,rdma")
    # Processes without a daemon all call themselves job 0: two of them at a time, also of two tests, would make and remove the
    # same folder, and MPI_Init fails.
    env["OMPI_MCA_orte_tmpdir_base"] = str(SESSIONS / str(next(starts)))
    env.update(ASSAY_CONFIG="", ASSAY_PAGER="")  # what whoever runs the tests has set for themselves
    env.update(extra or {})
    return env


looked = set()  # the commands under mpirun, with their ranks, whose leaks were looked for


def sanitizer(argv, ranks=0):
    """AddressSanitizer's options of a start; 0 ranks: not by mpirun() below. Open MPI leaks, and only stacks that are walked by unwind
    tables tell its blocks from ours, which makes a start five times as slow: under mpirun, leaks are looked for the first time that a
    test starts a command on so many ranks. What does not start MPI needs no such stacks: all but commands that write HDF5."""
    options = os.environ.get("ASAN_OPTIONS")
    argv = [str(a) for a in argv]
    if options is None:
        return {}
    command = (ranks, *argv[:2])
    if command in looked:
        return {"ASAN_OPTIONS": options + ":fast_unwind_on_malloc=1:detect_leaks=0"}
    if ranks:
        looked.add(command)
    words = " ".join(argv).split()
    starts_mpi = ranks or argv[0] == LAUNCHER or "pack" in words or "--mpi" in words or any("hdf5" in word for word in words)
    return {} if starts_mpi else {"ASAN_OPTIONS": options + ":fast_unwind_on_malloc=1"}


def run(argv, env=None, timeout=120, cwd=None):
    """Runs argv in a process group of its own; after `timeout` seconds the whole group is killed and `hung` is set."""
    began = time.monotonic()
    process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment({**sanitizer(argv), **(env or {})}), cwd=cwd,
                               start_new_session=True)
    hung = False
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        hung = True
        os.killpg(process.pid, signal.SIGTERM)  # mpirun passes it on to ranks outside its group
        try:
            out, err = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
    return Done(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), hung,
                time.monotonic() - began)


END_OF_OUTPUT = b"\0no more\0"


def on_terminal(argv, columns, env=None):
    """As run(), with standard output on a terminal of so many columns. Variables whose value is None are unset."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    began = time.monotonic()
    environ = {k: v for k, v in environment(dict({"TERM": "xterm", "COLUMNS": None, "NO_COLOR": None}, **(env or {}))).items()
               if v is not None}
    process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE,
                               env=environ)
    err = b""

    def end():
        nonlocal err
        err = process.communicate()[1]
        os.write(theirs, END_OF_OUTPUT)

    # The end is a mark, not the closing of the other side: Linux may answer a read with EIO when a program writes its last
    # lines and ends at that moment, although those lines can still be read.
    ending = threading.Thread(target=end)
    ending.start()
    out = b""
    while not out.endswith(END_OF_OUTPUT):
        out += os.read(ours, 1 << 16)
    ending.join()
    os.close(ours)
    os.close(theirs)
    return Done(process.returncode, out[:-len(END_OF_OUTPUT)].decode("utf-8", "replace").replace("\r\n", "\n"),
                err.decode("utf-8", "replace"), False, time.monotonic() - began)


# Runs "$@" as one rank and writes its exit code beside the others'. mpirun lets two seconds pass after a rank that ends with
# another code than 0, so it is only told of codes that assay does not have: those of crashes.
RANK = """"$@"; code=$?; [ $code -le 75 ] || exit $code; echo $code >"$0/$OMPI_COMM_WORLD_RANK" """


alone = set()  # the commands that were started by mpirun on one rank


def mpirun(ranks, argv, env=None, timeout=120, cwd=None):
    """As run(), on so many ranks; `code` is the exit code of all of them, None when they do not agree on one. On one rank, a test starts
    a command by mpirun once, and then directly, which takes a tenth of the time."""
    if LAUNCHER == "none" and ranks != 1:
        raise SystemExit("this build has no MPI: %d ranks cannot be tested" % ranks)
    command = tuple(str(a) for a in argv[:2])
    if LAUNCHER == "none" or (ranks == 1 and command in alone):
        return run(argv, env, timeout, cwd)
    if ranks == 1:
        alone.add(command)
    env = {**sanitizer(argv, ranks), **(env or {})}
    with tempfile.TemporaryDirectory() as codes:
        done = run([LAUNCHER, "-n", str(ranks), "sh", "-c", RANK, codes, *argv], env, timeout, cwd)
        if done.code == 0:
            ends = [int(path.read_text()) for path in Path(codes).iterdir()]
            done.code = ends[0] if len(ends) == ranks and len(set(ends)) == 1 else None
            if done.code is None:
                done.err += "\nthe exit codes of %d ranks: %s" % (ranks, ends)
    return done


class Checks:
    """Counts what was checked; `done()` ends the script, and no check at all is a failure."""

    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, condition, what):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print("FAILED: %s" % what, flush=True)
        return bool(condition)

    def done(self):
        print("%d checks, %d failed" % (self.passed + self.failed, self.failed))
        sys.exit(1 if self.failed or not self.passed else 0)
