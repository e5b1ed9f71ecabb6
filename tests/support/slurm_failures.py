"""slurm_failures.py - jobs that really die under Slurm: what srun, its step daemons and the ranks leave.

    for name, truth, ranks in under_slurm(folder): ...        folder/NAME has the job's files; about two minutes
"""
import shutil
import subprocess
import textwrap
import time

import failures
from endings import Truth
from slurm import TESTBED, Slurm, need_slurm

SCRIPT = """#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=2 -o slurm-%j.out --no-requeue -t 5
export MASTER_ADDR=127.0.0.1 GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1
srun -l $STOPS bash -c "$1"
"""
SOME = 'for i in 1 2 3 4 5; do echo "step $i loss 2.$i"; sleep 0.2; done; '
LONG = 'for i in $(seq 300); do echo "step $i loss 2.$i"; sleep 0.5; done'
GLOO = "RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS exec /usr/bin/python3 train.py"
RANKS = 4  # two on each of two nodes
JOBS = {  # name: truth, what a rank does, does srun stop the rest, which failure of failures.py it trains
    "slurm_killed": (Truth("signal", [2]), SOME + "[ $SLURM_PROCID = 2 ] && kill -9 $$; sleep 2", True, None),
    "slurm_killed_alone": (Truth("signal", [1]), SOME + "[ $SLURM_PROCID = 1 ] && kill -9 $$; sleep 2", False, None),
    "slurm_silent": (Truth({"launcher", "unknown"}, [1], known=False), SOME + "[ $SLURM_PROCID = 1 ] && exit 3; sleep 2", False, None),
    "slurm_crash": (Truth("crash", [3]), SOME + "[ $SLURM_PROCID = 3 ] && kill -11 $$; sleep 2", True, None),
    "slurm_no_program": (Truth("missing_file"), "exec ./nothere", False, None),
    "slurm_exception": (Truth("exception", [1]), GLOO, False, failures.real_exception),
    "slurm_hang": (Truth("collective_timeout", [1]), GLOO, True, failures.real_hang),
    "slurm_cancelled": (Truth("cancelled"), LONG, False, None),
    "slurm_node": (Truth("node_failure", [2, 3]), LONG, False, None),
    "slurm_time": (Truth("time_limit"), LONG, False, None),
}


def until(slurm, job, text):
    """The job runs, and has said something."""
    for _ in range(300):
        out = slurm.work / slurm.names[job] / ("slurm-%s.out" % job)
        if out.exists() and text in out.read_text(errors="replace"):
            return
        time.sleep(0.2)
    raise AssertionError("%s does not run" % slurm.names[job])


def under_slurm(folder):
    need_slurm()
    slurm = Slurm("assay")
    slurm.names = {}
    try:
        (slurm.work / "job").write_text(SCRIPT)
        for port, (name, (truth, does, stops, trains)) in enumerate(JOBS.items(), 29610):
            place = slurm.work / name
            place.mkdir()
            if trains:
                (place / "train.py").write_text(failures.TRAIN.format(first="", timeout=trains.timeout, fail=textwrap.indent(textwrap.dedent(trains.__doc__).strip("\n"), "    ")))
            limit = ["-t", "1"] if name == "slurm_time" else []
            job = slurm.sbatch(*limit, "-D", place, slurm.work / "job", does, STOPS="-K1" if stops else "", MASTER_PORT=str(port))
            slurm.names[job] = name
        jobs = {name: job for job, name in slurm.names.items()}
        until(slurm, jobs["slurm_cancelled"], "step 3 ")
        slurm.call("scancel", jobs["slurm_cancelled"])
        until(slurm, jobs["slurm_node"], "step 3 ")
        nodes = slurm.call("scontrol", "show", "hostnames", slurm.show(jobs["slurm_node"])[0]["NodeList"]).split()
        for name in JOBS:  # what else runs there has to end first
            if name not in ("slurm_node", "slurm_time"):
                slurm.wait(jobs[name])
        if nodes[1] in slurm.call("scontrol", "show", "hostnames", slurm.show(jobs["slurm_time"])[0]["NodeList"]).split():
            slurm.wait(jobs["slurm_time"])
        subprocess.run([str(TESTBED), "node-down", str(slurm.bed), nodes[1]], check=True, stdout=subprocess.DEVNULL)
        JOBS["slurm_node"][0].nodes = [nodes[1]]
        for name, (truth, _, _, _) in JOBS.items():
            slurm.wait(jobs[name])
            (slurm.work / name / "train.py").unlink(missing_ok=True)
            shutil.rmtree(folder / name, True)
            shutil.copytree(slurm.work / name, folder / name)
            yield name, truth, RANKS
    finally:
        slurm.stop()
