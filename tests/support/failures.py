"""failures.py - processes that really fail: torchrun with gloo on the CPU, and what they leave in a folder.

    truth, ranks = really(failure, folder)      truth is None where this machine cannot do it

Each failure is a function: its text says what rank 1 (or all) does at step 5 of a small training.
"""
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from endings import Truth

FAILURES = []
PYTHON = "/usr/bin/python3"  # to which Debian's python3-torch belongs
# torch 1.13 goes over the members of a flag, of which Python 3.11 leaves out 0 and 3.
TORCHRUN = ("from torch.distributed.elastic.multiprocessing.api import Std\n"
            "Std.from_str = classmethod(lambda std, text: std(int(text)))\n"
            "from torch.distributed.run import main\nmain()")
TRAIN = '''
import datetime, os, sys, time, logging
import torch
import torch.distributed as dist
rank = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s train: %(message)s", stream=sys.stderr)
{first}
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds={timeout}))
torch.manual_seed(1)
model = torch.nn.Linear(8, 1)
logging.info("rank %d of %d on %s", rank, dist.get_world_size(), os.uname().nodename)
def fail(step):
{fail}
for step in range(8):
    loss = model(torch.randn(4, 8)).pow(2).mean()
    loss.backward()
    if step == 3 and rank == 0:
        try:
            raise ConnectionResetError("tracker closed")
        except ConnectionResetError:
            logging.exception("could not send metrics, will retry")
    if step == 5:
        fail(step)
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.data -= 0.01 * p.grad
        p.grad = None
    logging.info("step %d loss %.4f", step, loss.item())
    time.sleep(0.02)
logging.info("training finished")
'''


def failure(classes, ranks=(1,), first="", timeout=20, world=3, known=True):
    """`first` comes before the ranks meet. The function's doc string is what is done at step 5."""
    def take(function):
        function.truth = Truth(classes, list(ranks) if isinstance(ranks, tuple) else ranks, known=known)
        function.first, function.timeout, function.world = first, timeout, world
        FAILURES.append(function)
        return function
    return take


def torchrun(function, folder, layout, before=(), port=None, meanwhile=None):
    (folder / "train.py").write_text(TRAIN.format(first=function.first, timeout=function.timeout, fail=textwrap.indent(textwrap.dedent(function.__doc__).strip("\n"), "    ")))
    how = {"files": ["--log_dir", "log", "--redirects", "3"], "tee": ["--log_dir", "log", "--tee", "3"], "mixed": []}[layout]
    if port is None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    env = dict(os.environ, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo", MASTER_ADDR="127.0.0.1", PYTHONDONTWRITEBYTECODE="1")
    argv = [*before, PYTHON, "-c", TORCHRUN, "--nproc_per_node", str(function.world), "--master_addr", "127.0.0.1", "--master_port", str(port), *how, "train.py"]
    with (folder / "slurm-4711.out").open("wb") as out:
        started = subprocess.Popen(argv, cwd=folder, env=env, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            if meanwhile:
                meanwhile(started, folder)
            started.wait(timeout=180)
        finally:
            if started.poll() is None:
                os.killpg(started.pid, signal.SIGKILL)
                started.wait()
    (folder / "train.py").unlink()
    shutil.rmtree(folder / "scratch", True)
    return started.returncode


def really(function, folder):
    folder = Path(folder)
    folder.mkdir(parents=True)
    layout = random.Random(function.__name__).choice(("files", "tee", "mixed"))
    code = function(folder, layout)
    if code is None:
        return None, 0
    if code == 0:
        raise AssertionError("%s did not fail" % function.__name__)
    return function.truth, function.world


@failure("exception")
def real_exception(folder, layout):
    """
    if rank == 1: [1, 2, 3][step]
    """
    return torchrun(real_exception, folder, layout)


@failure("exception")
def real_assertion(folder, layout):
    """
    if rank == 1: assert loss.item() < 0, "loss is positive at step %d" % step
    """
    return torchrun(real_assertion, folder, layout)


@failure("signal")
def real_kill(folder, layout):
    """
    if rank == 1: os.kill(os.getpid(), 9)
    """
    return torchrun(real_kill, folder, layout)


@failure("collective_timeout", timeout=4)
def real_hang(folder, layout):
    """
    if rank == 1: time.sleep(60)
    """
    return torchrun(real_hang, folder, layout)


@failure("collective_timeout", timeout=4)
def real_barrier(folder, layout):
    """
    if rank == 1: time.sleep(60)
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=2))
    """
    return torchrun(real_barrier, folder, layout)


@failure("port", "any")
def real_port(folder, layout):
    """
    pass
    """
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        return torchrun(real_port, folder, layout, port=taken.getsockname()[1])


@failure("missing_file")
def real_missing_file(folder, layout):
    """
    if rank == 1: open("shard-00017.bin", "rb")
    """
    return torchrun(real_missing_file, folder, layout)


@failure("disk", (0,))
def real_disk_full(folder, layout):
    """
    if rank == 0: torch.save({"w": torch.zeros(4 << 20)}, "scratch/checkpoint.pt")
    """
    (folder / "scratch").mkdir()
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"]).returncode:
        return None
    return torchrun(real_disk_full, folder, layout, before=("unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=1m none scratch && exec \"$@\"", "sh"))


@failure("disk", (0,))
def real_disk_write(folder, layout):
    """
    if rank == 0:
        with open("scratch/log", "wb") as out: out.write(bytes(4 << 20))
    """
    (folder / "scratch").mkdir()
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"]).returncode:
        return None
    return torchrun(real_disk_write, folder, layout, before=("unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=1m none scratch && exec \"$@\"", "sh"))


@failure("host_memory")
def real_memory(folder, layout):
    """
    import resource
    if rank == 1:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        torch.zeros(8 << 30)
    """
    return torchrun(real_memory, folder, layout)


@failure("host_memory")
def real_memory_python(folder, layout):
    """
    import resource
    if rank == 1:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        bytearray(16 << 30)
    """
    return torchrun(real_memory_python, folder, layout)


@failure("import", None, first="import fused_attention_that_nobody_has")
def real_import(folder, layout):
    """
    pass
    """
    return torchrun(real_import, folder, layout)


@failure("crash")
def real_segfault(folder, layout):
    """
    import ctypes
    if rank == 1: ctypes.string_at(8)
    """
    return torchrun(real_segfault, folder, layout)


@failure({"crash", "shared_memory"})
def real_bus_error(folder, layout):
    """
    import mmap
    if rank == 1:
        with open("cut.bin", "w+b") as out:
            out.truncate(8192)
            view = mmap.mmap(out.fileno(), 8192)
            out.truncate(0)
            view[5000]
    """
    return torchrun(real_bus_error, folder, layout)


@failure("crash")
def real_abort(folder, layout):
    """
    if rank == 1: os.abort()
    """
    return torchrun(real_abort, folder, layout)


@failure("checkpoint_load", None)
def real_load(folder, layout):
    """
    model.load_state_dict(torch.nn.Linear(9, 2).state_dict())
    """
    return torchrun(real_load, folder, layout)


@failure("checkpoint_load")
def real_load_cut(folder, layout):
    """
    if rank == 1:
        torch.save(model.state_dict(), "cut.pt")
        os.truncate("cut.pt", 400)
        torch.load("cut.pt")
    """
    return torchrun(real_load_cut, folder, layout)


@failure("worker_killed")
def real_loader_killed(folder, layout):
    """
    class Data(torch.utils.data.Dataset):
        def __len__(self): return 8
        def __getitem__(self, i):
            os.kill(os.getpid(), 9)
    if rank == 1:
        for batch in torch.utils.data.DataLoader(Data(), num_workers=1): pass
    """
    return torchrun(real_loader_killed, folder, layout)


@failure({"exception", "data"})
def real_loader_raises(folder, layout):
    """
    class Data(torch.utils.data.Dataset):
        def __len__(self): return 8
        def __getitem__(self, i): return {"a": 1}["labels"]
    if rank == 1:
        for batch in torch.utils.data.DataLoader(Data(), num_workers=1): pass
    """
    return torchrun(real_loader_raises, folder, layout)


@failure("nan_stop")
def real_nan(folder, layout):
    """
    if rank == 1:
        print("Loss is %s, stopping training" % (loss * float("nan")).item())
        sys.exit(1)
    """
    return torchrun(real_nan, folder, layout)


@failure("nan_stop")
def real_anomaly(folder, layout):
    """
    if rank == 1:
        with torch.autograd.set_detect_anomaly(True):
            x = torch.zeros(1, requires_grad=True)
            (torch.sqrt(x) * 0).backward()
    """
    return torchrun(real_anomaly, folder, layout)


@failure("permission")
def real_permission(folder, layout):
    """
    if rank == 1:
        os.setuid(65534)
        open("/etc/shadow")
    """
    return torchrun(real_permission, folder, layout) if os.geteuid() == 0 else None


@failure({"launcher", "unknown"}, known=False)
def real_silent(folder, layout):
    """
    if rank == 1: os._exit(3)
    """
    return torchrun(real_silent, folder, layout)


@failure("signal", "any")
def real_stopped(folder, layout):
    """
    time.sleep(60)
    """
    def stop(started, folder):
        for _ in range(600):
            time.sleep(0.1)
            if any(b"step 4 " in path.read_bytes() for path in folder.rglob("*") if path.is_file()):
                break
        started.send_signal(signal.SIGTERM)
    return torchrun(real_stopped, folder, layout, meanwhile=stop)


@failure("data")
def real_index(folder, layout):
    """
    if rank == 1: torch.nn.Embedding(10, 4)(torch.tensor([11]))
    """
    return torchrun(real_index, folder, layout)


@failure("host_memory")
def real_cgroup(folder, layout):
    """
    if rank == 1:
        kept = []
        while True: kept.append(torch.ones(16 << 20))
    """
    group = Path("/sys/fs/cgroup/memory/assay-endings-%d" % os.getpid())
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(2 << 30))
    except OSError:
        return None
    begin = subprocess.run(["dmesg"], stdout=subprocess.PIPE).stdout.count(b"\n")
    try:
        code = torchrun(real_cgroup, folder, layout, before=("sh", "-c", "echo $$ > %s/cgroup.procs && exec \"$@\"" % group, "sh"))
        kernel = subprocess.run(["dmesg"], stdout=subprocess.PIPE).stdout.split(b"\n")[begin:]
        (folder / "dmesg.txt").write_bytes(b"\n".join(line for line in kernel if b"oom" in line.lower() or b"out of memory" in line.lower()) + b"\n")
    finally:
        time.sleep(0.2)
        group.rmdir()
    return code


def mpirun(folder, does):
    """Four processes of a shell under mpirun, each line with whose it is."""
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_plm_rsh_agent="false", LC_ALL="C")
    some = 'for i in 1 2 3 4 5; do echo "step $i loss 2.$i"; sleep 0.1; done; r=$OMPI_COMM_WORLD_RANK; '
    with (folder / "train.out").open("wb") as out:
        return subprocess.run(["mpirun", "-n", "4", "--tag-output", "bash", "-c", some + does], env=env, cwd=folder, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=60).returncode


@failure("signal", (2,), world=4)
def real_mpi_kill(folder, layout):
    return mpirun(folder, "[ $r = 2 ] && kill -9 $$; sleep 3")


@failure("crash", (3,), world=4)
def real_mpi_crash(folder, layout):
    return mpirun(folder, "[ $r = 3 ] && kill -11 $$; sleep 3")


@failure({"launcher", "unknown"}, (1,), world=4, known=False)
def real_mpi_silent(folder, layout):
    return mpirun(folder, "[ $r = 1 ] && exit 7; sleep 3")


if __name__ == "__main__":  # failures.py FOLDER [NAME ...]: leaves them there
    for each in FAILURES:
        if len(sys.argv) == 2 or each.__name__ in sys.argv[2:]:
            began = time.time()
            print(each.__name__, really(each, Path(sys.argv[1]) / each.__name__)[0] is not None, "%.1f s" % (time.time() - began), flush=True)
