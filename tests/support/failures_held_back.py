"""failures_held_back.py - processes that really fail, in ways that failures.py does not have, each with a healthy twin: written, with
what each comes to, before the program was asked about any of them.

    for case in CASES: code = case.run(folder, healthy)        None: this machine cannot do it

A case says what a rank does at step 20 of 30 of a small training (`does`), and what it does in its place where all is well (`well`).
Those under Slurm are in slurm_held_back.py.
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from endings import Truth
from failures import PYTHON, TORCHRUN

TRAIN = '''
import ctypes, datetime, gzip, json, logging, mmap, os, resource, sys, threading, time, warnings
import numpy as np
import torch
import torch.distributed as dist
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
style = {style}
def say(text):
    if style == 0: print("%s | INFO | train | %s" % (time.strftime("%Y-%m-%d %H:%M:%S"), text), flush=True)
    elif style == 1: print("| r%02d | %s" % (rank, text), flush=True)
    else: print(text, flush=True)
def progress(step, loss):
    if style == 2 and rank == 0:
        sys.stderr.write("\\rEpoch 0: %3d%%|%-10s| %d/30 [00:01<00:01, 9.1it/s, loss=%.3f]" % (100 * step // 30, "#" * (step // 3), step, loss)); sys.stderr.flush()
    elif style != 2:
        say("step %d/30 loss %.4f lr 1.0e-03" % (step, loss))
def noise(step):
    if step == 2: warnings.warn("error rate of the tokenizer is high, a RuntimeError may follow")
    if step == 4 and rank == world - 1: say("could not open the cache: [Errno 2] No such file or directory: '/cache/x.lock'; building it")
    if step == 6 and rank == 0: say("\\033[31mupload of metrics failed\\033[0m (ConnectionResetError), attempt 1/5 failed, retrying in 1 s"); say("upload of metrics ok")
    if step == 8 and rank == 1:
        try: {{}}["prefetch"]
        except KeyError: logging.exception("no prefetch for this shard, reading it directly")
    if step == 9: say("eval: reconstruction error 0.0312, 0 errors, 0 failures, fail_fast=True")
{first}
def at_fault(step, model):
{does}
def work():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds={timeout}))
    torch.manual_seed(1)
    model = torch.nn.Linear(8, 1)
    for step in range(1, 31):
        loss = model(torch.randn(4, 8)).pow(2).mean()
        loss.backward()
        noise(step)
        if step == 20: at_fault(step, model)
        for p in model.parameters():
            dist.all_reduce(p.grad); p.data -= 0.01 * p.grad; p.grad = None
        progress(step, loss.item())
        time.sleep(0.01)
    if rank == 0: say("saved checkpoint-30, training finished in 0:00:03")
{last}
'''
CASES = []


class Case:
    def __init__(self, name, truth, does, well, start, world=4, timeout=15, first="", last="work()", style=0, before=None, again=False):
        self.name, self.truth, self.does, self.well, self.start, self.world = name, truth, does, well, start, world
        self.timeout, self.first, self.last, self.style, self.before, self.again = timeout, first, last, style, before, again

    def write(self, folder, healthy, truth=None):
        does = textwrap.dedent(self.well if healthy else self.does).strip("\n") or "pass"
        (folder / "train.py").write_text(TRAIN.format(style=self.style, timeout=self.timeout, first=self.first, last=self.last, does=textwrap.indent(does, "    ")))

    def run(self, folder, healthy=False):
        shutil.rmtree(folder, True)
        folder.mkdir(parents=True)
        self.write(folder, healthy)
        code = self.start(self, folder, healthy)
        for left in ("train.py", "go.sh", "scratch", "data"):
            shutil.rmtree(folder / left, True) if (folder / left).is_dir() else (folder / left).unlink(missing_ok=True)
        for left in folder.rglob("__pycache__"):
            shutil.rmtree(left, True)
        return code


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def environment(**more):
    return dict(os.environ, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo", MASTER_ADDR="127.0.0.1", PYTHONDONTWRITEBYTECODE="1", LC_ALL="C", **more)


def until_end(argv, folder, out, limit=90, meanwhile=None, **env):
    with (folder / out).open("wb") as file:
        started = subprocess.Popen(argv, cwd=folder, env=environment(**env), stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            if meanwhile:
                meanwhile(started)
            started.wait(limit)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if started.poll() is None:
                os.killpg(started.pid, signal.SIGKILL)
                started.wait()
    return started.returncode


def shell(one_file=False, before=""):
    """A shell that starts a process a rank, as people do: each has its own file, what the shell says is in another."""
    def start(case, folder, healthy):
        port, where = free_port(), ">> train.log 2>&1" if one_file else "> logs/rank_%d.log 2>&1"
        (folder / "logs").mkdir()
        lines = [before] + ["RANK=%d WORLD_SIZE=%d LOCAL_RANK=%d MASTER_PORT=%d %s train.py %s & P%d=$!" % (r, case.world, r, port, PYTHON, where if one_file else where % r, r) for r in range(case.world)]
        lines += ["wait $P%d" % r for r in range(case.world)]
        (folder / "go.sh").write_text("\n".join(lines) + "\n")
        code = until_end([*(case.before or ()), "bash", "go.sh"], folder, "launch.log")
        if one_file:
            (folder / "logs").rmdir()
        return code
    return start


def torchrun(layout="tee", more=(), meanwhile=None):
    how = {"files": ["--log_dir", "log", "--redirects", "3"], "tee": ["--log_dir", "log", "--tee", "3"], "mixed": []}[layout]

    def start(case, folder, healthy):
        argv = [*(case.before or ()), PYTHON, "-c", TORCHRUN, "--nproc_per_node", str(case.world), "--master_addr", "127.0.0.1", "--master_port", str(free_port()), *how, *more, "train.py"]
        return until_end(argv, folder, "slurm-4711.out")
    return start


def case(name, classes, ranks, does, well="", start=None, **more):
    CASES.append(Case(name, Truth(classes, ranks), does, well, start or shell(), **more))


def is_root():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"]).returncode == 0


def two_agents(case, folder, healthy):
    """Two nodes were asked for, and one came."""
    port = free_port()
    argv = [PYTHON, "-c", TORCHRUN, "--nnodes", "2", "--nproc_per_node", "2", "--rdzv_backend", "c10d", "--rdzv_endpoint", "127.0.0.1:%d" % port, "--rdzv_id", "7", "--rdzv_conf", "join_timeout=8,timeout=8,last_call_timeout=1", "train.py"]
    second = None
    if healthy:
        with (folder / "node_1.log").open("wb") as out:
            second = subprocess.Popen(argv, cwd=folder, env=environment(), stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
    code = until_end(argv, folder, "node_0.log", 60)
    if second:
        second.wait(60)
    return code


TMPFS = ("unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=1m none %s && exec \"$@\"", "sh")


def mounted(where):
    return tuple(part % where if "%s" in part else part for part in TMPFS)


def in_folder(start, folder_name="scratch"):
    def begin(case, folder, healthy):
        (folder / folder_name).mkdir()
        return start(case, folder, healthy) if is_root() else None
    return begin


def with_group(kind, file, limit, start):
    """In a cgroup of version 1, into which the rank that fails goes by itself."""
    def begin(case, folder, healthy):
        group = Path("/sys/fs/cgroup/%s/assay-held-back-%d" % (kind, os.getpid()))
        try:
            group.mkdir()
            (group / file).write_text(str(limit))
        except OSError:
            return None
        os.environ["ASSAY_GROUP"] = str(group / "cgroup.procs")
        try:
            return start(case, folder, healthy)
        finally:
            time.sleep(0.3)
            group.rmdir()
    return begin


def with_server(start):
    """Somebody else listens at the port that rank 0 wants."""
    def begin(case, folder, healthy):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            os.environ["ASSAY_PORT"] = str(taken.getsockname()[1])
            return start(case, folder, healthy)
    return begin


def with_library(start):
    def begin(case, folder, healthy):
        (folder / "data").mkdir()
        (folder / "data" / "pack.c").write_text("#include <assert.h>\nint pack(int rows) { assert(rows > 0 && \"empty batch\"); return rows; }\n")
        if subprocess.run(["cc", "-shared", "-fPIC", "-g", "-o", "data/pack.so", "data/pack.c"], cwd=folder).returncode:
            return None
        return start(case, folder, healthy)
    return begin


case("rendezvous_alone", {"rendezvous", "network"}, "any", "", "", two_agents, world=2)
case("second_attempt_file", "missing_file", [0], """
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if rank == 1: raise ConnectionError("lost the parameter store")
        time.sleep(30)
    if rank == 0: open("data/train-00017.idx", "rb")
    """, """
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if rank == 1: raise ConnectionError("lost the parameter store")
        time.sleep(30)
    """, torchrun("files", ["--max_restarts", "1"]), world=3)
case("recorded_error", "exception", [2], "if rank == 2: raise ValueError('expected 128 features, got 96')", "", torchrun("mixed"), style=1,
     first="from torch.distributed.elastic.multiprocessing.errors import record", last="record(work)()")
case("no_more_threads", "limits", [1], """
    if rank == 1:
        open(os.environ["ASSAY_GROUP"], "w").write(str(os.getpid()))
        for i in range(64): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
    """, "if rank == 1: threading.Thread(target=time.sleep, args=(1,), daemon=True).start()", with_group("pids", "pids.max", 24, shell()))
case("loader_in_cgroup", {"worker_killed", "host_memory"}, [2], """
    class Data(torch.utils.data.Dataset):
        def __len__(self): return 8
        def __getitem__(self, i):
            open(os.environ["ASSAY_GROUP"], "w").write(str(os.getpid()))
            return len([bytearray(b"x" * (1 << 26)) for n in range(16)])
    if rank == 2:
        for batch in torch.utils.data.DataLoader(Data(), num_workers=1): pass
    """, "", with_group("memory", "memory.limit_in_bytes", 256 << 20, torchrun("tee")))
case("shared_memory_map", {"shared_memory", "crash"}, [0], """
    if rank == 0:
        view = np.memmap("/dev/shm/batches", dtype=np.uint8, mode="w+", shape=(8 << 20,))
        view[:] = 1
    """, "", in_folder(shell()), before=mounted("/dev/shm"), style=1)
case("not_finite", "nan_stop", [1], """
    if rank == 1: raise FloatingPointError("Loss became infinite or NaN at iteration=%d!\\nloss_dict = {'loss_cls': nan, 'loss_box': 0.41}" % step)
    """, "if rank == 1: say('loss is nan in one sample, sample dropped')", torchrun("mixed"))
case("port_of_metrics", "port", [0], """
    if rank == 0:
        import http.server
        http.server.HTTPServer(("127.0.0.1", int(os.environ["ASSAY_PORT"])), http.server.SimpleHTTPRequestHandler)
    """, """
    if rank == 0:
        import http.server
        try: http.server.HTTPServer(("127.0.0.1", int(os.environ["ASSAY_PORT"])), http.server.SimpleHTTPRequestHandler)
        except OSError as error: say("metrics: %s; took port 0" % error)
    """, with_server(shell()), style=2)
case("empty_checkpoint", "checkpoint_load", None, """
    open("empty-%d.pt" % rank, "wb").close()
    try: torch.load("empty-%d.pt" % rank)
    finally: os.unlink("empty-%d.pt" % rank)
    """, "", shell(one_file=True), style=1)
case("assertion_in_c", {"crash", "exception"}, [2], "if rank == 2: ctypes.CDLL('data/pack.so').pack(0)", "if rank == 2: ctypes.CDLL('data/pack.so').pack(1)", with_library(shell()))
case("shard_cut", "data", [3], """
    if rank == 3:
        open("part.gz", "wb").write(gzip.compress(os.urandom(4096))[:-900])
        try: gzip.open("part.gz").read()
        finally: os.unlink("part.gz")
    """, "", torchrun("tee"), style=2)
case("processor_time", {"limits", "time_limit", "signal"}, [1], """
    if rank == 1:
        used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used, used + 9))
        while True: pass
    """, "", shell())

# ---- kept for what the first ones change
case("ended_by_timeout", {"time_limit", "signal", "collective_timeout", "cancelled"}, "any", "if rank == 1: time.sleep(60)", "", shell(), before=("timeout", "--verbose", "-k", "2", "14"), timeout=60, again=True)
case("store_refused", "network", [2], """
    if rank == 2:
        import urllib.request
        urllib.request.urlopen("http://127.0.0.1:9/shard-000017.tar", timeout=3)
    """, "", torchrun("files"), again=True)
case("read_only", {"disk", "permission"}, [0], "if rank == 0: torch.save(model.state_dict(), 'scratch/checkpoint-20.pt')", "", in_folder(shell()),
     before=("unshare", "-m", "sh", "-c", "mount -t tmpfs -o ro none scratch && exec \"$@\"", "sh"), style=1, again=True)
case("no_value_for_shape", {"exception"}, [3], "if rank == 3: torch.zeros(4, 8) @ torch.zeros(4, 8)", "", shell(one_file=True), style=1, again=True)
