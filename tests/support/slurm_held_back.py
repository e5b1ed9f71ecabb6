"""slurm_held_back.py - jobs that really die under Slurm in ways that slurm_failures.py does not have, each with a healthy twin.

    for name, truth, ranks, healthy in under_slurm(folder): ...    folder/NAME has the job's files, folder/NAME-healthy those of its twin
"""
import shutil
import subprocess
import time

from endings import Truth
from failures import TORCHRUN
from failures_held_back import Case
from slurm import TESTBED, Slurm, need_slurm

HEAD = """#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=2 -o slurm-%j.out
export MASTER_ADDR=127.0.0.1 GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
env | grep ^SLURM_ > slurm.env
"""
PROCESS = "bash -c 'RANK=${SLURM_PROCID:-$OMPI_COMM_WORLD_RANK} WORLD_SIZE=${SLURM_NTASKS:-$OMPI_COMM_WORLD_SIZE} exec /usr/bin/python3 train.py'\n"
RUN = "/usr/bin/python3 -c \"$TORCHRUN\" --nnodes 2 --node_rank $SLURM_NODEID --nproc_per_node 2 --master_addr 127.0.0.1 --master_port $MASTER_PORT train.py"
AGENTS = "srun -l -K1 --ntasks-per-node=1 -n 2 bash -c '%s'\n" % RUN.replace("'", "'\\''")
WAIT = "time.sleep(100)"


def of_slurm(name, classes, ranks, does, well, text, options=("--no-requeue",), after=None, again=False, **more):
    one = Case(name, Truth(classes, ranks), does, well, None, again=again, **more)
    one.text, one.options, one.after = text, list(options), after
    return one


def requeue(slurm, job, place, healthy):
    until(place, "step 19")
    slurm.call("scontrol", "requeue", job)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(1)
        state = slurm.show(job)[0]
        if state["JobState"] == "PENDING":
            subprocess.run(["scontrol", "update", "job=" + job, "StartTime=now"], env=slurm.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if state.get("Restarts") == "1" and state["JobState"] not in ("PENDING", "REQUEUED", "COMPLETING"):
            return


def told(slurm, job, place, healthy):
    until(place, "step 19")
    time.sleep(1)
    slurm.call("scancel", "-s", "USR1", job)


def cancelled(slurm, job, place, healthy):
    if not healthy:
        until(place, "step 19")
        time.sleep(1)
        slurm.call("scancel", job)


def node_down(slurm, job, place, healthy):
    if healthy:
        return None
    until(place, "step 19")
    node = slurm.call("scontrol", "show", "hostnames", slurm.show(job)[0]["NodeList"]).split()[1]
    time.sleep(1)
    subprocess.run([str(TESTBED), "node-down", str(slurm.bed), node], check=True, stdout=subprocess.DEVNULL)
    return node


def until(place, text, seconds=240):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if any(text.encode() in out.read_bytes() for out in place.rglob("*.out")):
            return
        time.sleep(0.2)
    raise AssertionError("%s does not say %s: %s" % (place, text, [out.read_text(errors="replace")[-800:] for out in place.rglob("*.out")]))


JOBS = [
    of_slurm("slurm_after_requeue", "exception", [3], "if 'SLURM_RESTART_COUNT' not in os.environ: %s\nif rank == 3: {}['labels']" % WAIT, "if 'SLURM_RESTART_COUNT' not in os.environ: " + WAIT,
             "srun -l -K1 " + PROCESS, ("--requeue", "--open-mode=append"), requeue),
    of_slurm("slurm_signalled", "signal", None, WAIT, "time.sleep(5)", "srun -l " + PROCESS, after=told,
             first="import signal\nif os.path.exists('handled'): signal.signal(signal.SIGUSR1, lambda *a: say('got USR1: saved checkpoint-20, going on'))"),
    of_slurm("slurm_torchrun_cancelled", "cancelled", None, WAIT, "", AGENTS, after=cancelled, style=0),
    of_slurm("slurm_torchrun_text", {"data", "exception"}, [3], "if rank == 3: open('/bin/true').read()", "if rank == 3:\n  try: open('/bin/true').read()\n  except UnicodeDecodeError as error: say('vocabulary: %s; read as latin-1' % error)", AGENTS, style=1),
    of_slurm("slurm_mpirun_node", {"node_failure", "launcher"}, [2, 3], WAIT, "", "mpirun --tag-output " + PROCESS.replace("${SLURM_PROCID:-$OMPI_COMM_WORLD_RANK}", "$OMPI_COMM_WORLD_RANK").replace("${SLURM_NTASKS:-$OMPI_COMM_WORLD_SIZE}", "$OMPI_COMM_WORLD_SIZE"), after=node_down, timeout=120),
    of_slurm("slurm_import_of_a_node", "import", [2, 3], "", "", "srun -K1 -o task_%t.out -e task_%t.err " + PROCESS, timeout=12,
             first="if int(os.environ['SLURM_NODEID']) == 1 and not os.path.exists('handled'):\n    import fused_rope_kernels"),
    of_slurm("slurm_hang_in_files", "collective_timeout", [1], "if rank == 1: time.sleep(60)", "if rank == 1: time.sleep(2)", "srun -K1 -o task_%t.out " + PROCESS, timeout=6),
    of_slurm("slurm_hang_until_limit", {"time_limit", "collective_timeout"}, "any", "if rank == 1: time.sleep(600)", "if rank == 1: time.sleep(3)", "srun -l -t 1 " + PROCESS, timeout=900),
    of_slurm("slurm_too_many", "launcher", None, "", "", "if [ -e handled ]; then srun -l %selse srun -l -n 999 hostname; fi\n" % PROCESS, again=True),
    of_slurm("slurm_killed_in_files", "signal", [2], "if rank == 2: os.kill(os.getpid(), 9)", "", "srun -K1 -o task_%t.out -e task_%t.err " + PROCESS, again=True, style=2),
    of_slurm("slurm_torchrun_silent", {"launcher", "unknown"}, [1], "if rank == 1: os._exit(4)", "", AGENTS, again=True),
]


def under_slurm(folder, again=False, only=None):
    need_slurm()
    slurm = Slurm("assay")
    try:
        # the one that takes a node down comes last
        for number, one in enumerate(sorted((j for j in JOBS if j.again == again and (not only or j.name in only)), key=lambda j: j.after is node_down)):
            jobs = {}
            for healthy in (True, False):
                place = slurm.work / (one.name + "-healthy" * healthy)
                place.mkdir()
                one.write(place, healthy)
                if healthy:
                    (place / "handled").touch()
                (place / "job.sh").write_text(HEAD + one.text)
                job = slurm.sbatch(*one.options, "-t", "5", "-D", place, place / "job.sh", MASTER_PORT=str(29640 + 2 * number + healthy), TORCHRUN=TORCHRUN)
                jobs[healthy] = job
                node = one.after(slurm, job, place, healthy) if one.after else None
                if healthy and one.after is node_down:  # it may have the same nodes
                    slurm.wait(job)
                if node:
                    one.truth.nodes = [node]
            for healthy, job in jobs.items():
                slurm.wait(job)
                place = slurm.work / (one.name + "-healthy" * healthy)
                for left in ("train.py", "job.sh", "handled"):
                    (place / left).unlink(missing_ok=True)
                shutil.rmtree(folder / place.name, True)
                shutil.copytree(place, folder / place.name)
            yield one.name, one.truth, 4
    finally:
        slurm.stop()
