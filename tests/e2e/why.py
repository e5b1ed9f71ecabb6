#!/usr/bin/env python3
"""assay why: planted endings get their class, ranks and step; healthy jobs are silent; the same bytes at 1 and 3 ranks; secrets and
escapes of logs stay out of what is printed.

    why.py --assay PROGRAM [--show]
"""
import argparse
import gzip
import json
import math
import re
import shutil
import struct
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import logs  # noqa: E402
from dumps import stuck, write as write_dumps  # noqa: E402
from made_traces import job, write as write_traces  # noqa: E402
from hostile_world import peak_of  # noqa: E402
from launch import LAUNCHER, ROOT, Checks, mpirun, run  # noqa: E402
from why_rows import table  # noqa: E402


def clock(second):
    return "2026-11-27 03:%02d:%02d,123" % (second // 60, second % 60)


def steps(rank, first, last, at=0):
    return ["%d: %s INFO step %d loss %.3f" % (rank, clock(at + s - first), s, 2.0 / s) for s in range(first, last)]


OOM = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which "
       "512.00 MiB is free. Process 7 has 78.6 GiB memory in use.")


def traceback(prefix, last, place="train.py", outside=('  File "/src/main.py", line 9, in <module>', "    main()")):
    """Without what is outside, something caught it and wrote it out."""
    return [prefix + line for line in (
        "Traceback (most recent call last):", *outside, '  File "/src/%s", line 120, in step' % place, "    loss.backward()", last)]


def watchdog(rank, number, at):
    return ["%d: [rank%d]:[E1127 03:%02d:%02d.000000 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600026 milliseconds before timing out."
            % (rank, rank, at // 60, at % 60, rank, number)]


def root_cause(rank, node, code, at):
    return ["============================================================", "train.py FAILED", "Root Cause (first observed failure):",
            "[0]:", "  time      : 2026-11-27_03:%02d:%02d" % (at // 60, at % 60), "  host      : %s.cluster" % node,
            "  rank      : %d (local_rank: %d)" % (rank, rank), "  exitcode  : %d (pid: 4711)" % code, "  error_file: <N/A>",
            "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
            "============================================================"]


LOST = traceback("", "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:4711")
NOPE = "FileNotFoundError: [Errno 2] No such file or directory: '/nope'"


def interleave(*lists):
    out = []
    for row in range(max(map(len, lists))):
        out += [one[row] for one in lists if row < len(one)]
    return out


def every(first, last, ranks=4):
    return interleave(*[steps(r, first, last) for r in range(ranks)])


WARN = ["1: /usr/lib/python3/x.py:7: UserWarning: No device id is provided", "2: ConnectionError: hub is busy, retrying in 5 s",
        "\x1b[31m3: WARNING\x1b[0m Traceback ahead? no", "  9%|\u2588   | 12/130 [00:07<01:01]\r 10%|\u2588   | 13/130 [00:08<01:00]\r"]

CASES = {  # name: (files, class, ranks, step, exit code)
    "oom": ({"slurm-7.out": WARN + every(100, 110) + traceback("2: ", OOM) + ["0: RuntimeError: [1] Connection closed by peer [10.0.0.3]:4711",
             "1: RuntimeError: [1] Connection reset by peer", "srun: error: n1: task 2: Exited with exit code 1",
             "srun: error: n1: tasks 0-1,3: Exited with exit code 1"]}, "gpu_memory", [2], 109, 1),
    "exception": ({"slurm-7.out": every(100, 110) + traceback("3: ", "KeyError: 'labels'") + watchdog(0, 7, 700) + watchdog(1, 7, 700) + watchdog(2, 7, 700)
                   + ["srun: error: n1: tasks 0-2: Aborted"]}, "exception", [3], 109, 1),
    "everybody": ({"logs/rank_%d/stderr.log" % r: traceback("", "ModuleNotFoundError: No module named 'flash_attn'") for r in range(4)}, "import", [0, 1, 2, 3], None, 1),
    "xid": ({"slurm-7.out": every(100, 110) + watchdog(0, 7, 700) + watchdog(1, 7, 700) + ["srun: error: n1: tasks 0-1: Aborted"],
             "messages-n2.log": ["Nov 27 03:00:12 n2 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=88, GPU has fallen off the bus."]}, "gpu_fault", [], 109, 1),
    "cgroup": ({"slurm-7.out": every(100, 110) + ["slurmstepd-n1: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.",
                "srun: error: n1: task 1: Out Of Memory"]}, "host_memory", [1], 109, 1),
    "time limit": ({"slurm-7.out": every(100, 110) + ["slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-27T04:00:00 DUE TO TIME LIMIT ***"]}, "time_limit", [], 109, 1),
    "hang": ({"slurm-7.out": every(100, 110) + watchdog(0, 7, 700) + watchdog(1, 7, 701) + watchdog(3, 7, 702)}, "collective_timeout", [2], 109, 1),
    "killed": ({"attempt_0/%d/stderr.log" % r: [line[3:] for line in steps(r, 100, 110)] for r in range(4)} | {"slurm-7.out": root_cause(1, "n1", -9, 15)}, "signal", [1], 109, 1),
    "disk": ({"slurm-7.out": every(100, 110) + traceback("0: ", "OSError: [Errno 28] No space left on device", "save.py") + ["srun: error: n1: task 0: Exited with exit code 1"]}, "disk", [0], 109, 1),
    "shell": ({"train.log": [line[3:] for line in steps(0, 100, 110)] + ["./run.sh: line 3:  4711 Segmentation fault      (core dumped) python train.py"]}, "crash", [], 109, 1),
    "colours": ({"train.log": [line[3:] for line in steps(0, 100, 110)] + ["\x1b]0;title\x07\x1b[1;31mTraceback (most recent call last):\x1b[0m", "\x1b[35m  File \"a.py\", line 1, in f\x1b[0m",
                "\x1b[1;35m" + OOM + "\x1b[0m"]}, "gpu_memory", [], 109, 1),
    "clean": ({"slurm-7.out": WARN + every(100, 130)}, None, None, None, 0),
    "retried": ({"slurm-7.out": WARN + every(100, 110) + traceback("2: ", "ConnectionError: hub is busy") + every(110, 130)}, None, None, None, 0),
    "completed": ({"slurm-7.out": WARN + every(100, 130), "sacct.txt": ["JobID|State|ExitCode|NodeList", "7|COMPLETED|0:0|n1"]}, None, None, None, 0),
    "on a while, ended": ({"job.out": [line.split(": ", 1)[1] for line in every(100, 110)] + traceback("", "KeyError: 'ids'") + ["step 110 loss 2.1", "step 110 loss 2.1", "step 111 loss 2.1",
                           "srun: error: n1: task 3: Exited with exit code 1"]}, "exception", [3], 109, 1),
    "printed, crashed": ({"slurm-7.out": every(100, 110), "slurm-7.err": ["1: caught %s; again with micro batch 4" % OOM,
                          "srun: error: n1: task 1: Segmentation fault (core dumped)"]}, "crash", [1], 109, 1),
    "saved again, killed": ({"slurm-7.out": every(100, 110), "slurm-7.err": traceback("2: ", "OSError: [Errno 28] No space left on device", "save.py") + [
                             "srun: error: n1: task 2: Killed", "srun: error: n1: tasks 0-1,3: Terminated"]}, "signal", [2], 109, 1),
    "written again, waited": ({"slurm-7.out": every(100, 110), "slurm-7.err": ["3: WARNING shard 3: No space left on device; freed 40 GB, wrote it again",
                               "srun: error: n1: task 1: Segmentation fault (core dumped)"] + watchdog(3, 7, 700)}, "crash", [1], 109, 1),
    "in halves, lost": ({"slurm-7.out": every(100, 110), "slurm-7.err": traceback("3: ", OOM) + ["srun: error: n1: task 1: Exited with exit code 3"] + traceback("3: ", "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:4711")},
                            "launcher", [1], 109, 1),
    "caught, at the limit": ({"slurm-7.out": every(100, 110), "slurm-7.err": traceback("2: ", OOM, outside=()) + ["2: emptied the cache, going on",
                              "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-27T03:00:20 DUE TO TIME LIMIT ***"]}, "time_limit", [], 109, 1),
    "caught, no ranks": ({"train.log": traceback("", OOM, outside=()) + traceback("", "ValueError: bad sample")}, "exception", [], None, 1),
    "chained": ({"slurm-7.out": every(100, 110) + traceback("1: ", "KeyError: 'labels'", outside=()) + ["1: ", "1: During handling of the above exception, another exception occurred:", "1: "]
                 + traceback("1: ", "RuntimeError: no batch") + ["srun: error: n1: tasks 0-3: Exited with exit code 1"]}, "exception", [1], 109, 1),
    "behind a bar": ({"slurm-7.out": [" 12/130 [00:07<01:01, loss=2.1]" + traceback("[rank3]: ", "acme.StopTraining: above limit")[0]]
                      + traceback("[rank3]: ", "acme.StopTraining: above limit")[1:] + watchdog(1, 7, 700)}, "exception", [3], None, 1),
    "said by a number": ({"slurm-7.out": every(100, 110) + traceback("1: ", "RuntimeError: FATAL ERROR :: MODULE:PT_BRIDGE Exception in Lowering thread...") + ["1: synStatus=26 [Generic failure] Device acquire failed."]
                          + ["srun: error: n1: task 1: Exited with exit code 1"]}, "gpu_code", [1], 109, 1),
    "no thread, crashed": ({"slurm-7.out": ["2: OpenBLAS blas_thread_init: pthread_create failed for thread %d of 64: Resource temporarily unavailable" % i for i in range(50, 60)]
                            + ["srun: error: n1: task 2: Segmentation fault (core dumped)"]}, "limits", [2], None, 1),
    "no service": ({"slurm-7.out": every(100, 110) + traceback("1: ", "acme.client.ReadTimeout: no answer") + ["srun: error: n1: task 1: Exited with exit code 1"]}, "network", [1], 109, 1),
    "caught by somebody, barrier": ({"slurm-7.out": [line[3:] for line in every(100, 110)], "slurm-7.err": traceback("", OOM, outside=()) + ["halving the batch"]
                                     + traceback("[rank0]: ", "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 30000 ms")
                                     + traceback("[rank2]: ", "RuntimeError: [gloo/pair.cc:534] Connection closed by peer [10.4.0.3]:20002")}, "collective_timeout", [1], 109, 1),
    "local ranks, all lost": ({"train.log": ["[default%d]:%s" % (r, line[3:]) for r in range(8) for line in steps(r, 100, 110)]
                               + ["[default3]:ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 3 at iteration #111 invocation #1 (message='found NaN in local grad norm')",
                                  "[default3]:ERROR:megatron.core.rerun_state_machine:Rank 3, node n1, device 3, iteration #111: First rerun"]
                               + sum((traceback("[default%d]:" % r, "torch.distributed.DistBackendError: NCCL error in: a.cpp:2006, remote process exited or there was a network error") for r in range(8) if r != 3), [])},
                              "nan_stop", [3], 111, 1),
    "all listed, one had lost nobody": ({"attempt_0/%d/stderr.log" % r: [line[3:] for line in steps(r, 100, 110)] + (traceback("", "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:4711") if r != 2 else [])
                                         for r in range(3)} | {"job.out": ["============================================================", "train.py FAILED", "Failures:"]
                                         + sum((["[%d]:" % (r - 1), "  time      : 2026-11-27_03:00:15", "  host      : n1", "  rank      : %d (local_rank: %d)" % (r, r), "  exitcode  : %d (pid: 471%d)" % (2 * r - 1, r),
                                                 "  error_file: <N/A>", "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"] for r in (1, 2)), []) + root_cause(0, "n1", 1, 15)[2:]},
                                        "launcher", [2], 109, 1),
    "a step stopped": ({"slurm-7.out": every(100, 110) + ["slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-27T03:00:20 ***", "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."]},
                       "cancelled", [], 109, 1),
    "a step stopped, one ended": ({"slurm-7.out": every(100, 110) + ["srun: error: n1: task 2: Exited with exit code 3", "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-27T03:00:20 ***"]},
                                  "launcher", [2], 109, 1),
    "one did not wait": ({"slurm-7.out": [line[3:] for line in every(100, 110)] + traceback("", OOM), "slurm-7.err": watchdog(0, 7, 700) + watchdog(1, 7, 701) + watchdog(3, 7, 702)}, "gpu_memory", [2], 109, 1),
    "two did not wait": ({"slurm-7.out": [line[3:] for line in every(100, 110)] + traceback("", OOM), "slurm-7.err": watchdog(0, 7, 700) + watchdog(3, 7, 702)}, "gpu_memory", [], 109, 1),
    "locked memory": ({"slurm-7.out": every(100, 110) + ["1: n1:105:311 [1] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory",
                       "srun: error: n1: task 1: Exited with exit code 1"]}, "limits", [1], 109, 1),
    "a model wrote it": ({"slurm-7.out": every(100, 110) + ["0: === sample 3 ===", "0: You will see", "0: "] + traceback("0: ", "NameError: name 'f' is not defined", "x.py", ('  File "main.py", line 3, in <module>',))[:2]
                          + ["0: NameError: name 'f' is not defined"]}, None, None, None, 0),
    "a model wrote of a crash": ({"slurm-7.out": every(100, 110) + ["0: prompt: why is this?", "0: $ ./a.out", "0: Segmentation fault (core dumped)"]}, None, None, None, 0),
    "no model wrote, one process": ({"train.log": [line[3:] for line in steps(0, 100, 110)] + ["=== sample 3 ===", "once upon a time", "Segmentation fault (core dumped)"]}, "crash", [], 109, 1),
    "no model wrote, one traceback": ({"train.log": [line[3:] for line in steps(0, 100, 110)] + ["prompt: tell me", "Traceback (most recent call last):", '  File "x.py", line 3, in <module>', "KeyError: 'ids'"]}, "exception", [], 109, 1),
    "a model wrote, and it ended": ({"slurm-7.out": every(100, 110) + ["0: === sample 3 ==="] + traceback("0: ", "KeyError: 'ids'")}, "exception", [0], 109, 1),
    "a model wrote, and a crash": ({"slurm-7.out": every(100, 110) + ["2: prompt: why is this?", "2: Segmentation fault (core dumped)", "srun: error: n1: task 2: Exited with exit code 139"]}, "crash", [2], 109, 1),
    "caught by one of several": ({"logs/rank_%d.out" % r: [line[3:] for line in steps(r, 100, 110)] for r in range(4)}
                                 | {"logs/rank_2.err": traceback("", OOM, outside=()) + ["halving the batch: 16 -> 8"]}, None, None, None, 0),
    "caught by somebody, killed": ({"slurm-7.out": [line[3:] for line in every(100, 110)], "slurm-7.err": traceback("", OOM, outside=()) + ["halving the batch: 16 -> 8",
                                    "ERROR:composer.cli.launcher:Rank 2 crashed with exit code -9."]}, "signal", [2], 109, 1),
    "waited, ranks of a group": ({"slurm-7.out": every(100, 110) + traceback("[rank1]: ", "RuntimeError: shapes differ") + sum(([line[3:].replace("] [Rank %d]" % r, "] [Rank %d]" % (r % 2)),
                                  "terminate called after throwing an instance of 'c10::DistBackendError'", "  what():  [Rank %d] NCCL watchdog thread terminated with exception: [Rank %d] " % (r % 2, r % 2)
                                  + line.split("] ", 2)[2]] for r in (2, 3) for line in watchdog(r, 7, 700)), [])}, "exception", [1], 109, 1),
    "crash on a node, another was seen": ({"slurm-7.out": ["n1:47:47 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 busId 18000", "n2:48:48 [0] NCCL INFO comm 0x5 rank 1 nranks 2 cudaDev 0 busId 18000"]
                                           + every(100, 110, 2) + watchdog(0, 7, 700) + root_cause(0, "n1", -6, 705),
                                           "messages-n2.log": ["Nov 27 03:00:12 n2 kernel: traps: python3[4711] general protection fault ip:7f2a sp:7ffd error:0 in libtorch_cpu.so"]}, "crash", [], 109, 1),
    "said in full": ({"slurm-7.out": every(100, 110) + traceback("1: ", "OSError: You are trying to access a gated repo.") + ["1: 401 Client Error. (Request ID: 7)"]
                      + ["srun: error: n1: task 1: Exited with exit code 1"]}, "permission", [1], 109, 1),
    "no word of the limit": ({"slurm-7.out": every(100, 110), "sacct.txt": ["JobID|State|ExitCode|NodeList", "7|TIMEOUT|0:0|n1", "7.0|CANCELLED|0:15|n1"]}, "time_limit", [], 109, 1),
    "no word of memory": ({"slurm-7.out": every(100, 110), "sacct.txt": ["JobID|State|ExitCode|NodeList", "7|OUT_OF_ME+|0:125|n1"]}, "host_memory", [], 109, 1),
    "no word of a failure": ({"slurm-7.out": every(100, 110), "sacct.txt": ["JobID|State|ExitCode|NodeList", "7|FAILED|1:0|n1"]}, None, None, None, 1),
    "put back, completed": ({"slurm-7.out": every(100, 110) + ["slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-27T03:00:20 DUE TO NODE FAILURE ***"] + every(108, 111),
                  "sacct.txt": ["JobID|State|ExitCode|NodeList", "7|NODE_FAIL|1:0|n1", "7.0|NODE_FAIL|1:0|n1", "7|COMPLETED|0:0|n2", "7.0|FAILED|1:0|n2"]}, None, None, None, 0),
    "begun anew": ({"slurm-7.out": every(100, 120) + traceback("2: ", OOM) + ["E1127 03:12:07.000000 71 api.py:826] failed (exitcode: 1) local_rank: 2 (pid: 4711) of binary: python3"]
                    + every(110, 121)}, None, None, None, 0),
    "launched again": ({"slurm-7.out": ["srun: error: Task launch for StepId=7.0 failed on node n3: Communication connection failure", "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", "again"]}
                       | {"rank_%d.log" % r: [line[3:] for line in steps(r, 100, 130)] for r in range(2)}, None, None, None, 0),
    "launched in vain": ({"slurm-7.out": every(100, 110) + ["srun: error: Task launch for StepId=7.1 failed on node n3: Communication connection failure"]}, "launcher", [], 109, 1),
    "tidied up": ({"slurm-7.out": every(100, 110) + ["1: Exception ignored in: <function _Iter.__del__ at 0x7f>"] + traceback("1: ", "AttributeError: 'NoneType' object")},
                  None, None, None, 0),
    "tidied up, then for good": ({"slurm-7.out": every(100, 110) + ["1: Exception ignored in: <function _Iter.__del__ at 0x7f>"] + traceback("1: ", "AttributeError: 'NoneType' object")
                                  + every(110, 112) + traceback("1: ", "AttributeError: 'Tensor' object")}, "exception", [1], 111, 1),
    "caught one, ended by another": ({"slurm-7.out": every(100, 110) + traceback("2: ", "KeyError: 'a'", "io.py", ()) + every(110, 120) + traceback("2: ", "KeyError: 'b'", "fit.py")
                                      + ["srun: error: n1: task 2: Exited with exit code 1"]}, "exception", [2], 119, 1),
    "drawn at the end": ({"train.log": [" 10%%|#  | %d/500 [00:07<01:01]" % s for s in range(40, 50)] + traceback("", "KeyError: 'labels'") + [" 10%|#  | 50/500 [00:07<01:01]"]},
                         "exception", [], 49, 1),
    "others went on": ({"slurm-7.out": every(100, 110) + traceback("3: ", "KeyError: 'labels'") + [x for x in every(110, 119) if x[0] != "3"] + watchdog(0, 7, 700) + watchdog(1, 7, 700)
                        + watchdog(2, 7, 700) + ["srun: error: n1: task 3: Exited with exit code 1", "srun: error: n1: tasks 0-2: Aborted"]}, "exception", [3], 109, 1),
    "containers": ({"train.log": interleave(*[["train-%d  | " % n + x for x in ["step %d loss 2" % s for s in range(100, 110)]
                    + (traceback("", "ValueError: bad shard") if n == 2 else traceback("", "RuntimeError: Connection closed by peer [10.0.0.3]:4711", "ring.py"))] for n in (1, 2)])},
                   "exception", [], 109, 1),
    "docker": ({"%d-json.log" % n: ['{"log":"%s\\n","stream":"stderr","time":"2026-11-27T03:12:%02d.1Z"}' % (line.replace('"', '\\"'), 7 + s) for s, line in enumerate(
                ["step %d loss 2" % s for s in range(100, 110)] + traceback("", OOM if n == 2 else "RuntimeError: Connection closed by peer [10.0.0.3]:4711"))]
                for n in (1, 2)}, "gpu_memory", [], 109, 1),
    "errors by number": ({"slurm-7.out": every(100, 110) + traceback("3: ", "OSError: [Errno 127] Key has expired: '/afs/cell/data/shard-12.tar'") + ["srun: error: n1: task 3: Exited with exit code 1"]},
                         "permission", [3], 109, 1),
    "a reader of data": ({"slurm-7.out": every(100, 110) + traceback("1: ", "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Terminated. ") + ["srun: error: n4: task 1: Exited with exit code 1"],
                          "messages-n4.log": ['Nov 27 03:00:12 n4 earlyoom[8]: sending SIGTERM to process 4711 uid 7 "pt_data_worker": badness 912, VmRSS 81234 MiB']}, "host_memory", [1], 109, 1),
    "flux": ({"flux.out": every(100, 110) + ["812.4s: job.exception type=node-failure severity=0 lost contact with job shell on broker n103 (rank 3)", "flux-job: task(s) exited with exit code 1"]},
             "node_failure", [], 109, 1),
    "lsf": ({"lsf.out": [line[3:] for line in steps(0, 100, 110)] + ["TERM_ADMIN: job killed by root or LSF administrator.", "Exited with exit code 143."]}, "cancelled", [], 109, 1),
    "pbs": ({"train.o4711": [line[3:] for line in steps(0, 100, 110)] + ["=>> PBS: job killed: cput 360012 exceeded limit 360000"]}, "time_limit", [], 109, 1),
    "paddle": ({"log/workerlog.%d" % r: [line[3:] for line in steps(r, 100, 110)] + ["ResourceExhaustedError: ", "", "Out of memory error on GPU 2. Cannot allocate 4.0GB memory on GPU 2, 38.5GB memory "
                "has been allocated and available memory is only 1.1GB."] * (r == 2) for r in range(4)}, "gpu_memory", [2], 109, 1),
    "not placed": ({"events.txt": ["12m   Warning   FailedScheduling   pod/train-0   0/12 nodes are available: 12 Insufficient nvidia.com/gpu."]}, "launcher", [], None, 1),
    "evicted for its disk": ({"train-worker-%d.log" % r: [line[3:] for line in steps(r, 100, 110)] for r in range(4)}
                             | {"events.txt": ["3m   Warning   Evicted   pod/train-worker-2   The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 8Gi."]}, "disk", [2], 109, 1),
    "placed later": ({"events.txt": ["12m   Warning   FailedScheduling   pod/train-0   0/12 nodes are available: 12 Insufficient nvidia.com/gpu."],
                      "train.log": [line[3:] for line in steps(0, 100, 130)]}, None, None, None, 0),
    "no such mpi": ({"slurm-7.out": ["srun: error: cannot create mpi context for mpi/pmix_v4", "srun: error: Invalid MPI type 'pmix_v4', --mpi=list for acceptable types"]}, "launcher", [], None, 1),
    "one left, the others lost it": ({"out/rank%d.log" % r: [line[3:] for line in steps(r, 100, 110)] + (["no more batches"] if r == 1 else LOST) for r in range(4)}, "launcher", [1], 109, 1),
    "one was stopped, the others lost it": ({"out/rank%d.log" % r: [line[3:] for line in steps(r, 100, 110)] + ([] if r == 1 else LOST) for r in range(4)}
                                            | {"launch.log": ["rank %d ended with %d" % (r, 143 if r == 1 else 1) for r in range(4)]}, "signal", [1], 109, 1),
    "a shell says whom": ({"out/rank%d.log" % r: [line[3:] for line in steps(r, 100, 110)] for r in range(4)}
                          | {"launch.log": ["go.sh: line 7: 10212 Killed                  RANK=1 WORLD_SIZE=4 LOCAL_RANK=0 python3 train.py > out/rank1.log 2>&1"]}, "signal", [1], 109, 1),
    "codes of ranks": ({"out/rank%d.log" % r: [line[3:] for line in steps(r, 100, 110)] for r in range(4)}
                       | {"launch.log": ["Global rank 2 (PID 5122) exited with code -9", "Global rank 3 (PID 5123) exited with code -15"]}, "signal", [2], 109, 1),
    "copies of one caught": ({"train.log": interleave(*[["[default%d]:step %d loss 2" % (r, s) for s in range(100, 110)] + traceback("[default%d]:" % r, NOPE)
                                                        + ["[default%d]:step %d loss 2" % (r, s) for s in range(110, 120)] for r in range(2)])}
                             | {"log/none_1/attempt_0/%d/stderr.log" % r: traceback("", NOPE) for r in range(2)}
                             | {"log/none_1/attempt_0/%d/stdout.log" % r: ["step %d loss 2" % s for s in range(100, 120)] for r in range(2)}, None, None, None, 0),
    "no copies, the last one ended it": ({"train.log": interleave(*[["[default%d]:step %d loss 2" % (r, s) for s in range(100, 110)] for r in range(2)])}
                                         | {"log/none_1/attempt_0/%d/stderr.log" % r: traceback("", NOPE) for r in range(2)}, "missing_file", [0, 1], 109, 1),
    "everybody, one after the other": ({"train.log": sum((traceback("[rank%d]: " % r, "ValueError: bad shape") + ["[rank%d]: a hint: see %s" % (r, "x" * n) for n in range(12)] for r in range(16)), [])},
                                       "exception", list(range(16)), None, 1),
    "heartbeats": ({"logs/rank_%d.log" % r: [line[3:] for line in steps(r, 100, 110)] + (["F1127 04:12:33.103011    1811 client.h:81] Terminating process because the JAX distributed service detected fatal errors.",
                    "/job:jax_worker/replica:0/task:2", "The tasks have crashed.", "", "RPC: /tensorflow.CoordinationService/PollForError"] if r != 2 else []) for r in range(4)}, "network", [2], 109, 1),
    "flux, of a job": ({"flux.out": every(100, 110) + ["812.4s: job.exception \u0192 2WXq9 type=timeout severity=0".replace(" 2", "2"), "flux-job: task(s) exited with exit code 142"]}, "time_limit", [], 109, 1),
    "lent": ({"slurm-7.out": every(100, 110) + ["0: sequence 7 was preempted, and is computed again", "azureml: The compute node vmss_3 was preempted by the platform"]}, "preempted", [], 109, 1),
    "a sequence gave way": ({"slurm-7.out": every(100, 110) + ["0: sequence 7 was preempted, and is computed again"]}, None, None, None, 0),
    "a file by its number": ({"slurm-7.out": every(100, 110) + traceback("3: ", "OSError: [Errno 113] No such place: '/scratch/x'") + ["srun: error: n1: task 3: Exited with exit code 1"]}, "disk", [3], 109, 1),
    "ray": ({"driver.log": ["(TorchTrainer pid=1311, ip=10.0.4.7) Started distributed worker processes: "] + ["(TorchTrainer pid=1311, ip=10.0.4.7) - (node_id=ab, ip=10.0.4.%d, pid=%d) world_rank=%d, local_rank=%d, node_rank=%d"
             % (7 + r // 2, 1400 + r % 2, r, r % 2, r // 2) for r in range(4)] + ["\x1b[36m(RayTrainWorker pid=%d, ip=10.0.4.%d)\x1b[0m step %d loss 2" % (1400 + r % 2, 7 + r // 2, s) for s in range(100, 110) for r in range(4)]
             + traceback("(RayTrainWorker pid=1401, ip=10.0.4.8) ", "KeyError: 'mask'") + ["ray.train.base_trainer.TrainingFailedError: The Ray Train run failed. Please inspect the previous error messages for a cause."]},
            "exception", [3], 109, 1),
    "ray, where it started them is not said": ({"driver.log": ["(RayTrainWorker pid=%d, ip=10.0.4.%d) step %d loss 2" % (1400 + r % 2, 7 + r // 2, s) for s in range(100, 110) for r in range(4)]
             + traceback("(RayTrainWorker pid=1401, ip=10.0.4.8) ", "KeyError: 'mask'")}, "exception", [], 109, 1),
    "lines of two kinds": ({"logs/rank_%d.log" % r: interleave(["%s loss=0.%03d" % (clock(s), 7 * s) for s in range(20)], ["%s queue %d/64" % (clock(s), s) for s in range(20)])
                            [:32] + ["%s caught %s, again in halves" % (clock(16), OOM)] * (r == 2) + ["%s loss=0.%d\n%s queue %d/64" % (clock(s), s, clock(s), s) for s in (17, 18)]
                            for r in range(4)} | {"slurm-7.out": ["slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-27T03:00:40 DUE TO TIME LIMIT ***"]}, "time_limit", [], None, 1),
}


def write(directory, files):
    for name, lines in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


def planted(checks, assay, top, show):
    together = []
    for name, (files, kind, ranks, step, code) in CASES.items():
        directory = top / name.replace(" ", "-")
        write(directory, files)
        done = run([assay, "why", directory, "--json", "--quiet"])
        try:
            answer = json.loads(done.out)
        except ValueError:
            checks.expect(False, "%s: %s" % (name, done))
            continue
        cause = answer["cause"] or {}
        got = (cause.get("class"), cause.get("ranks"), cause.get("step"), done.code)
        checks.expect(got == (kind, ranks, step, code), "%s: %s in place of %s: %s" % (name, got, (kind, ranks, step, code), answer["answer"]))
        if name in ("a model wrote it", "a model wrote of a crash", "caught by one of several"):
            checks.expect("counts for none: it " in answer["answer"], "%s: it is named: %s" % (name, answer["answer"]))
        checks.expect(not name.startswith("no model wrote") or cause["certainty"] == "possible", "%s: %s" % (name, answer))
        checks.expect("\x1b" not in done.out, "%s: an escape: %s" % (name, done.out))
        table(checks, assay, directory, done)
        checks.expect(name != "chained" or "KeyError" in cause["text"], "the first of a chain: %s" % done)
        for last in ("'b'", "'Tensor'"):
            checks.expect(last not in str(files) or last in cause["text"], "the one that ended it: %s" % done)
        if show:
            print("%-12s %s %s\n    %s" % (name, cause.get("certainty"), answer["reasons"], answer["answer"]))
        if kind == "exception" and cause["certainty"] == "certain":
            checks.expect("KeyError" in cause["text"] or "AttributeError" in cause["text"], "certain, and why it was raised is not known: %s" % done)
        if len(files) > 1:
            together.append((directory, done.out))
    for directory, out in together if LAUNCHER != "none" else []:
        done = mpirun(3, [assay, "why", directory, "--json", "--quiet"])
        checks.expect(done.out == out, "%s: three ranks say %s" % (directory.name, done))


KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"  # a line of a private key
SECRETS = {"hf_abcdefghijklmnopqrstuvwx": "HF_TOKEN=%s", "hunter2hunter2": "MYSQL_PASSWORD=%s", "AKIAABCDEFGHIJKLMNOP": "key %s in use",
           "abc.def-ghi_jkl": "Authorization: Bearer %s", "s3cr3tkey": "WANDB_API_KEY='%s'", "pa55w0rd": "https://user:%s@host/x"}


def secrets(checks, assay, top):
    """Lines with secrets are the cause's own line, and the last lines of a rank."""
    for number, (secret, line) in enumerate(SECRETS.items()):
        directory = top / ("secret-%d" % number)
        said = line % secret
        write(directory, {"slurm-1.out": steps(0, 1, 5) + traceback("0: ", "ValueError: " + said) + ["0: " + said],
                          "slurm-1.err": root_cause(0, "n1", 1, 9)})
        for form in ("--json", "--csv", "--format=text", "--format=html", "--format=markdown"):
            done = run([assay, "why", directory, "--quiet"] + form.split("="))
            checks.expect(done.code == 1 and secret not in done.out + done.err, "%s, %s: %s" % (said, form, done))
    directory = top / "unsaid"
    write(directory, {"slurm-1.out": steps(0, 1, 5) + ["0: " + line % secret for secret, line in SECRETS.items()] + ["0: " + KEY] + root_cause(0, "n1", 1, 9)})
    done = run([assay, "why", directory, "--quiet"])
    checks.expect(done.code == 1 and "last lines" in done.out and not any(s in done.out for s in (*SECRETS, KEY)), "last lines: %s" % done)


def wide(checks, assay, top):
    """Outputs in UTF-16, as a shell of Windows writes what is redirected, read as the same in UTF-8: packed, at any number of ranks, and
    with their last lines where nothing is known of the end."""
    texts = {"known": "\n".join(steps(0, 1, 50) + ["\u00e9\U0001f600" * 1200000] + steps(0, 51, 90) + traceback("0: ", OOM)),
             "unknown": "\n".join(steps(0, 1, 50) + ["0: caf\u00e9 closes"] + root_cause(0, "n1", 1, 9))}
    for name, text in texts.items():
        said = {}
        for form, data in {"utf-8": text.encode(), "utf-16-le": ("\ufeff" + text).encode("utf-16-le"), "utf-16-be": ("\ufeff" + text).encode("utf-16-be"),
                           "gz": gzip.compress(("\ufeff" + text).encode("utf-16-le"))}.items():
            place = top / ("wide-%s-%s" % (name, form))
            place.mkdir()
            (place / ("train.log.gz" if form == "gz" else "train.log")).write_bytes(data)
            for ranks in (1, 3) if form != "utf-8" and LAUNCHER != "none" else (1,):
                done = mpirun(ranks, [assay, "why", place, "--json", "--quiet"])
                checks.expect(done.code == 1, "%s of %s: %s" % (form, name, done))
                said[form, ranks] = done.out.replace("train.log.gz", "train.log")
        checks.expect(len(set(said.values())) == 1, "UTF-16 reads as UTF-8: %s" % {key: value[:600] for key, value in said.items()})
        cause = json.loads(said["utf-8", 1])
        checks.expect("caf\u00e9 closes" in said["utf-8", 1] if name == "unknown" else cause["cause"]["class"] == "gpu_memory", "%s: %s" % (name, said["utf-8", 1]))
    half = top / "wide-half"
    half.mkdir()
    (half / "train.log").write_bytes(("\ufeff" + "\n".join(steps(0, 1, 50) + traceback("0: ", OOM))).encode("utf-16-le") + b"\n")
    done = run([assay, "why", half, "--json", "--quiet"])
    checks.expect(done.code == 1 and json.loads(done.out)["cause"]["class"] == "gpu_memory", "half a character at the end: %s" % done)


def forms(checks, assay, top):
    """gzip, a line of megabytes, NUL bytes and a file that is cut read as what they are."""
    directory = top / "odd"
    directory.mkdir()
    lines = steps(0, 1, 50) + ["x" * 5000000, "\0" * 70000] + traceback("0: ", OOM)
    (directory / "train.log.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    done = run([assay, "why", directory, "--json", "--quiet"])
    answer = json.loads(done.out)
    checks.expect(answer["cause"] and answer["cause"]["class"] == "gpu_memory" and answer["cause"]["line"] == len(lines), "gzip: %s" % done)
    packed = (directory / "train.log.gz").read_bytes()
    second = bytearray(packed)
    second[0] ^= 1  # of several members one has another first byte
    for behind in (second, b"xx"):
        (directory / "train.log.gz").write_bytes(gzip.compress(b"step 1 loss 2.0\n") + behind)
        done = run([assay, "why", directory, "--quiet"])
        checks.expect(done.code == 3 and "train.log.gz" in done.out and "damaged before byte" in done.out, "gzip, and what follows it: %s" % done)
    (directory / "train.log.gz").write_bytes(packed[:len(packed) // 2])
    done = run([assay, "why", directory, "--json", "--quiet"])
    checks.expect(done.code == 3 and json.loads(done.out)["problems"], "cut: %s" % done)
    wide(checks, assay, top)
    for name, content in {"zeros": bytes(3000), "a few zeros": bytes(40), "zeros behind": b"step 7 loss 2\n" * 50 + bytes(300000), "zeros between": b"step 7 loss 2\n" + bytes(70000) + b"step 8 loss 2\n"}.items():
        (top / name).mkdir()
        (top / name / "train.log").write_bytes(content)
        done = run([assay, "why", top / name, "--json", "--quiet"])
        said = json.loads(done.out)
        checks.expect(done.code == 3 and "bytes are NUL, from byte %d on" % content.index(bytes(40)) in said["problems"][0] and "not all of it could be read: train.log" in said["answer"], "%s: %s" % (name, done))
    spoilt = top / "spoilt"
    write(spoilt, {"slurm-7.out": steps(0, 100, 110)})
    for step in (1, 2):
        shutil.copytree(ROOT / "tests" / "data" / "formats" / "checkpoint" / "step-20", spoilt / ("checkpoint-%d" % step))
        (spoilt / ("checkpoint-%d" % step) / "model-00001-of-00002.safetensors").write_bytes(b"x")
    (spoilt / "checkpoint-2" / "model-00002-of-00002.safetensors").write_bytes(b"x")
    done = run([assay, "why", spoilt, "--json", "--quiet"])
    checks.expect(done.code == 3 and "checkpoints .: 3 damaged" in str(json.loads(done.out)["problems"]), "two damaged checkpoints: %s" % done)
    job = top / "run"
    write(job, CASES["oom"][0])
    done = run([assay, "run", job, "--out", top / "report"])
    checks.expect(done.code == 1 and done.out.startswith("the job failed: probably rank 2 on n1 ran out of GPU memory") and "not judged" not in done.out and "Of what it recorded: nothing wrong in 1 loss" in
                  done.out.replace("\n", " ") and "assay why %s" % job in done.out.replace("\n", " "), "assay run, steps in the outputs: %s" % done)
    both = top / "both"
    shutil.copytree(ROOT / "tests" / "data" / "events" / "flight", both)
    done = run([assay, "run", both, "--json"])
    checks.expect(done.code != 2 and "assay why" not in done.out + done.err, "assay run, dumps alone: %s" % done)
    write(both, {"slurm-7.out": CASES["oom"][0]["slurm-7.out"]})
    said = run([assay, "run", both, "--json"])
    checks.expect(said.code == 1 and "the job failed: probably rank 2 on n1 ran out of GPU memory" in json.loads(said.out)["verdict"], "assay run, dumps beside outputs: %s" % said)
    (job / "job.json").write_text(json.dumps({"outputs": ["elsewhere"], "slurm": "facts"}))
    write(job, {"elsewhere/said": CASES["disk"][0]["slurm-7.out"], "facts": ["SLURM_JOB_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=2(x2)", "SLURM_DISTRIBUTION=block"]})
    done = run([assay, "why", job, "--json", "--quiet"])
    checks.expect(done.code == 3 and '"problems": []' in done.out, "a directory without outputs: %s" % done)
    (job / "job.json").write_text(json.dumps({"outputs": ["elsewhere/said"], "slurm": "facts"}))
    done = run([assay, "why", job, "--json", "--quiet"])
    checks.expect(json.loads(done.out)["cause"]["class"] == "disk" and json.loads(done.out)["cause"]["nodes"] == ["n1"], "job.json: %s" % done)
    (job / "job.json").write_text('{"outputs": "../x"}')
    done = run([assay, "why", job, "--json", "--quiet"])
    checks.expect(done.code == 2 and "job.json" in done.err, "a path that leads out: %s" % done)
    (job / "job.json").unlink()
    (job / "said_by_ranks").write_text("\n".join(CASES["disk"][0]["slurm-7.out"]))
    done = run([assay, "why", job, "--json", "--quiet"])
    checks.expect("3 files were not looked at" in done.out and "first elsewhere/said)" in done.out, "names of no source: %s" % done)
    aside = top / "aside"
    write(aside, {"slurm-7.out": every(100, 110)})
    (aside / "slurm-7.err").mkdir()
    (aside / "logs").mkdir()
    done = run([assay, "why", aside, "--json", "--quiet"])
    checks.expect(done.code == 3 and json.loads(done.out)["problems"] == ["slurm-7.err is an empty directory, and its name is that of a file of the job"], "a directory for an output: %s" % done)
    (aside / "slurm-7.err").rmdir()
    shutil.copytree(ROOT / "tests" / "data" / "formats" / "smdebug", aside / "records")
    (aside / "records" / "index").rename(aside / "records" / "index.old")
    done = run([assay, "why", aside, "--json", "--quiet"])
    checks.expect(done.code == 3 and {"kind": "records", "path": "records"} in json.loads(done.out)["used"] and json.loads(done.out)["problems"], "records without an index: %s" % done)
    empty = top / "empty"
    empty.mkdir()
    done = run([assay, "why", empty, "--quiet"])
    checks.expect(done.code == 3 and "no output of a job" in done.out, "empty: %s" % done)
    done = run([assay, "why", top / "absent", "--quiet"])
    checks.expect(done.code == 2, "absent: %s" % done)


def dead_trials(checks, assay, top):
    """assay run begins with how the job failed, names what it did not look at, and exits with 1; a job that ended well changes nothing."""
    healthy = ROOT / "tests" / "data" / "trials" / "healthy"
    oom = traceback("", OOM)
    for name, place in (("beside", "stderr.log"), ("named", "train.log"), ("below", "logs/rank_0.err"), ("text", "train_log.txt"), ("above", "../stderr.log")):
        trial = top / ("dead-" + name) / "rec"
        trial.parent.mkdir()
        shutil.copytree(healthy, trial)
        write(trial, {place: oom})
        directory = trial if name != "above" else trial.parent
        bodies = []
        for ranks in (1, 3) if LAUNCHER != "none" else (1,):
            done = mpirun(ranks, [assay, "run", directory, "--out", top / "out", "--reports", "json,junit,text,html", "--quiet"])
            bodies.append((top / "out" / "report.json").read_text().split('\n "run":')[0])
        said = done.out.replace("\n", " ")
        checks.expect(done.code == 1 and re.match("the job failed: probably (a process|rank 0) ran out of GPU memory", done.out), "%s: %s" % (name, done))
        checks.expect(len(set(bodies)) == 1, "%s: another report at three ranks" % name)
        checks.expect(("No trial was read" in said and "Not looked at: rec (records)" in said) if name == "above" else "Of what it recorded: " in said,
                      "%s: what was read is not said: %s" % (name, done.out))
        checks.expect("JobFailed" in (top / "out" / "junit.xml").read_text(), "%s: no failure in junit.xml" % name)
        several = run([assay, "run", directory, healthy, "--quiet", "--out", top / "several"])
        checks.expect(several.code == 1 and "belongs to a job that failed: " in several.out.split("\n")[0], "%s: beside another: %s" % (name, several))
    well = top / "ended-well"
    shutil.copytree(healthy, well)
    before = run([assay, "run", well, "--quiet", "--out", top / "out"])
    words = ["ERROR uploader: server: terminated"]  # nothing says that this is an end
    write(well, {"stderr.log": steps(0, 1, 40) + words, "train.txt": oom, "catalog.txt": oom})  # data, by their names
    asked = run([assay, "why", well, "--quiet"])
    checks.expect("uploader" in asked.out.split("\n")[0], "who asks why hears of last words: %s" % asked)
    after = run([assay, "run", well, "--quiet", "--out", top / "out"])
    checks.expect(before.code == after.code and before.out.split("\n")[0] == after.out.split("\n")[0], "a job that ended well: %s" % after)


DESCRIBED = """Name:             train-worker-%(n)d
Namespace:        ml
Node:             gke-%(n)d/10.0.0.%(n)d
Controlled By:    PyTorchJob/train
Containers:
  pytorch:
    Args:
      %(args)s
    State:          Terminated
      Reason:       %(reason)s
      Exit Code:    %(code)d
      Finished:     Fri, 27 Nov 2026 03:12:07 +0000
    Environment:
      RANK:        %(n)d
      WORLD_SIZE:  4
Events:            <none>"""
AS_YAML = """- apiVersion: v1
  kind: Pod
  metadata:
    labels:
      job-name: train
    name: train-%(n)d-x7k2p
    ownerReferences:
    - apiVersion: batch/v1
      name: train
  spec:
    containers:
    - env:
      - name: RANK
        value: "%(n)d"
      name: pytorch
  status:
    containerStatuses:
    - name: pytorch
      state:
        terminated:
          exitCode: %(code)d
          reason: %(reason)s"""


def pods(checks, assay, top):
    """The rank of a pod that used more memory than it was given, where the records of Kubernetes tell it, and none where they do not."""
    def say(text, args="python train.py"):
        return "\n".join(text % {"n": n, "args": args, "reason": "OOMKilled" if n == 2 else "Error", "code": 137 if n == 2 else 1} for n in range(4)).split("\n")

    def table(front=""):
        return [front + "NAME             READY   STATUS      RESTARTS   AGE"] + [front + "train-worker-%d   0/1     %s   0          5h12m" % (n, "OOMKilled" if n == 2 else "Error    ") for n in range(4)]

    def ranks(each, name):
        return {name % p: [line for local in range(each) for line in ["[rank%d]: step %d loss 2" % (p * each + local, s) for s in range(100, 140)] + (
            [] if p == 2 else ["[rank%d]: torch.distributed.DistBackendError: NCCL error in: a.cpp:2250, remote process exited or there was a network error" % (p * each + local)])] for p in range(4)}
    plain, apart = "log%d.txt", "logs/train-worker-%d.log"
    for name, files, expected, node in (
            ("described", {"describe.txt": say(DESCRIBED), **ranks(1, plain)}, [2], "train-worker-2"),
            ("described-several", {"describe.txt": say(DESCRIBED, "torchrun --nproc_per_node=4 train.py"), **ranks(4, plain)}, [8, 9, 10, 11], "train-worker-2"),
            ("described-unclear", {"describe.txt": say(DESCRIBED, "torchrun --nproc_per_node=gpu train.py"), **ranks(4, plain)}, [], "train-worker-2"),
            ("as-yaml", {"pods.txt": ["apiVersion: v1", "items:"] + say(AS_YAML), **ranks(1, plain)}, [2], "train-2-x7k2p"),
            ("table", {"pods.txt": table(), **ranks(1, apart)}, [2], "train-worker-2"),
            ("table-several", {"pods.txt": table("ml   "), **ranks(4, "train-worker-%d/pytorch.log")}, [8, 9, 10, 11], "train-worker-2"),
            ("table-unclear", {"pods.txt": table(), **ranks(1, plain)}, [], "train-worker-2")):
        directory = top / ("pods-" + name)
        write(directory, files)
        done = run([assay, "why", directory, "--json", "--quiet"])
        cause = json.loads(done.out)["cause"]
        checks.expect(cause and cause["class"] == "host_memory" and cause["ranks"] == expected and cause["nodes"] == [node], "%s: %s" % (name, done))


def entries(checks, assay, top):
    """What a log of metrics says of a step has a place: the line of a text, the record of others."""
    rows = [(s, 2.0 / (s + 1) if s != 25 else math.nan, None) for s in range(40)]
    for name, put, place in (("csv", logs.csv, ("metrics.csv", 27, None)), ("tb", logs.tfevents, (None, None, "record 27")), ("wandb", logs.wandb, (None, None, "record 27"))):
        directory = top / ("entries-" + name)
        write(directory, {"slurm-7.out": steps(0, 1, 40) + traceback("0: ", OOM)})
        put(directory / "log", rows)
        done = run([assay, "why", directory, "--json", "--quiet"])
        said = [r for r in json.loads(done.out)["timeline"] if r["source"] == "metrics" and r["step"] == 25]
        checks.expect(said and (said[0]["line"], said[0]["entry"]) == place[1:] and (not place[0] or said[0]["file"].endswith(place[0])), "%s: %s" % (name, done))
    values = ["%d,%r" % (s, v) for s, v, _ in rows]
    resumed = values[:20] + ["", *values[15:]]  # an empty line, and steps that come again: the last value is the report's
    for name, path, lines in (("csv-resumed", "log/metrics.csv", ["step,loss", *resumed]),
                              ("csv-note", "log/metrics.csv", ['"step","loss","a note"', *['%s,"of\ntwo lines"' % v for v in values]])):
        directory = top / ("entries-" + name)
        write(directory, {"slurm-7.out": steps(0, 1, 40) + traceback("0: ", OOM), path: lines})
        done = run([assay, "why", directory, "--json", "--quiet"])
        said = [r for r in json.loads(done.out)["timeline"] if r["source"] == "metrics" and r["step"] == 25]
        text = (directory / path).read_text().split("\n")
        last = max((n for n, line in enumerate(text, 1) if line.startswith("25,")))
        checks.expect(said and (said[0]["file"], said[0]["line"]) == (path, last), "%s: not line %d: %s" % (name, last, done))
    for number in (10, 40):  # the first checkpoint's log ends before what is said; its lines are those of a program that writes for people
        write(top / "entries-hf", {"slurm-7.out": steps(0, 1, 40) + traceback("0: ", OOM),
                                   "checkpoint-%d/trainer_state.json" % number: json.dumps({"global_step": number, "log_history": [
                                       {"epoch": 0.1, "loss": math.nan if s == 25 else 2.0 / s, "step": s} for s in range(1, number + 1)]}, indent=2).split("\n")})
    done = run([assay, "why", top / "entries-hf", "--json", "--quiet"])
    said = [r for r in json.loads(done.out)["timeline"] if r["source"] == "metrics" and r["step"] == 25]
    text = (top / "entries-hf" / "checkpoint-40" / "trainer_state.json").read_text().split("\n")
    checks.expect(said and said[0]["file"] == "checkpoint-40/trainer_state.json" and text[said[0]["line"] - 1].strip() == '"loss": NaN,', "hf: %s" % done)


def sources(checks, assay, top):
    """Dumps name who hung where outputs do not, and the newest sound checkpoint is where to go on."""
    directory = top / "sources"
    write(directory, {"slurm-7.out": every(100, 110) + ["slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-27T04:00:00 DUE TO TIME LIMIT ***"]})
    shutil.copytree(ROOT / "tests" / "data" / "events" / "flight", directory / "dumps")
    shutil.copytree(ROOT / "tests" / "data" / "events" / "profiler", directory / "profile")
    (directory / "system").mkdir()  # of that name, and no profiler's
    for step, value in ((10, 1.0), (20, 2.0), (30, math.nan)):
        head = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
        path = directory / "saved" / ("checkpoint-%d" % step) / "model.safetensors"
        path.parent.mkdir(parents=True)
        path.write_bytes(struct.pack("<Q", len(head)) + head + struct.pack("<4f", 1, 2, 3, value))
    done = run([assay, "why", directory, "--json", "--quiet"])
    answer = json.loads(done.out)
    table(checks, assay, directory, done)
    checks.expect(answer["cause"]["signature"] == "hang" and answer["cause"]["ranks"] and answer["chain"][1]["class"] == "time_limit", "dumps: %s" % done)
    checks.expect([r.split(" from ")[0] for r in answer["records"] if r.startswith("system")] ==
                  ["system metrics profile: nothing wrong in 1 rule, but algo-1 recorded nothing"]
                  and {"kind": "system metrics", "path": "profile"} in answer["used"]
                  and not any("not looked at" in text for text in answer["missing"]), "system metrics: %s" % done)
    checks.expect(answer["resume"] == {"checkpoint": "saved/checkpoint-20", "state": "sound"}, "checkpoints: %s" % done)
    killed = top / "memory-before-a-hang"  # a rank that Slurm killed is what the others hung for
    write(killed, {"slurm-7.out": every(100, 110), "sacct.txt": ["JobID|State|ExitCode|NodeList", "7|OUT_OF_ME+|0:125|n1"]})
    shutil.copytree(directory / "dumps", killed / "dumps")
    answer = json.loads(run([assay, "why", killed, "--json", "--quiet"]).out)
    checks.expect(answer["cause"]["class"] == "host_memory" and answer["cause"]["certainty"] == "likely" and any(r.startswith("dumps of flight recorders say: ") for r in answer["reasons"]),
                  "out of memory beside dumps: %s" % answer)
    history = [{key: 2.0 / s if s < 25 else math.nan, "step": s} for s in range(1, 31) for key in ("loss", "eval_loss")[:1 + (s % 5 == 0)]]
    write(directory, {"saved/checkpoint-30/trainer_state.json": [json.dumps({"global_step": 30, "log_history": history})]})
    done = run([assay, "why", directory, "--json", "--quiet"])
    answer = json.loads(done.out)
    rows = [(r["source"], r.get("step"), r.get("file")) for r in answer["timeline"] if r["source"] != "output"]
    checks.expect(answer["resume"] == {"checkpoint": "saved/checkpoint-20", "state": "sound"} and "became NaN at TRAIN step 25" in answer["answer"]
                  and rows == [("checkpoints", 20, "saved/checkpoint-20"), ("metrics", 25, "saved/checkpoint-30/trainer_state.json"), ("checkpoints", 30, "saved/checkpoint-30/model.safetensors"),
                               ("system metrics", None, "profile")], "a log beside checkpoints: %s, %s" % (rows, done))
    places = [(r["line"], r["entry"]) for r in answer["timeline"] if r["source"] != "output"]
    checks.expect(places == [(None, "1 file, 1 tensor"), (1, "entry 29"), (None, "w"), (None, None)], "places: %s" % places)
    text = run([assay, "why", directory, "--quiet"]).out
    checks.expect("(saved/checkpoint-30/model.safetensors, w)" in " ".join(text.split()), "places in the text: %s" % text)
    checks.expect(text.index("step 20  ") < text.index("step 25  ") < text.index("cause: "), "the timeline: %s" % text)
    if LAUNCHER != "none":
        checks.expect(mpirun(3, [assay, "why", directory, "--json", "--quiet"]).out == done.out, "sources at three ranks: %s" % done)
    done = run([assay, "why", directory, "--json", "--quiet", "--outputs"])
    checks.expect(json.loads(done.out)["cause"]["class"] == "time_limit", "--outputs: %s" % done)


def names(checks, assay, top):
    """Who wrote an output is told by names of several files together, by those of nodes, and by how Slurm deals out ranks."""
    waits = traceback("", "RuntimeError: [../gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete")
    dead = [line[3:] for line in steps(0, 100, 110)] + traceback("", OOM)
    alive = [line[3:] for line in steps(0, 100, 110)] + waits
    xid = "[Fri Nov 27 03:00:12 2026] NVRM: Xid (PCI:0000:3b:00): 79, pid=88, GPU has fallen off the bus."
    slurm = {"slurm.env": ["SLURM_JOB_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=2(x2)", "SLURM_NTASKS=4"]}
    ranks = {"slurm-7.out": every(100, 110) + sum((watchdog(r, 7, 700) for r in range(4)), [])}
    rows = {  # name: files, ranks, nodes
        "workers": ({"worker%d.err" % r: dead if r == 2 else alive for r in range(4)}, [2], []),
        "processes": ({"out/process_%d.log" % r: dead if r == 2 else alive for r in range(4)}, [2], []),
        "absent": ({"log_%d.txt" % r: alive[:10 if r == 3 else None] for r in range(4)}, [3], []),
        "attempts": ({"log_0.txt": alive[:-len(waits)], "log_1.txt": [line[3:] for line in steps(0, 100, 110, 600)] + traceback("", OOM)}, [], []),
        "not from 0 on": ({"worker%d.err" % r: dead if r == 2 else alive for r in range(1, 4)}, [], []),
        "parts": ({"part%d.log" % r: dead if r == 2 else alive for r in range(4)}, [], []),
        "nodes": ({"log_%d.txt" % n: every(100, 110) + (traceback("[rank%d]: " % (2 * n), OOM) if n else []) for n in range(2)}, [2], []),
        "by its file's name": ({"dmesg-n2.txt": [xid]} | ranks, [], ["n2"]),
        "by its line": ({"dmesg-old.txt": ["Nov 27 03:00:12 n2 kernel: " + xid[27:]]} | ranks, [], ["n2"]),
        "in blocks": ({"dmesg-n2.txt": [xid]} | ranks | slurm, [2, 3], ["n2"]),
        "not in blocks": ({"dmesg-n2.txt": [xid], "slurm-7.err": ["n2:47:47 [0] NCCL INFO comm 0x5 rank 0 nranks 4 cudaDev 0 busId 18000"]} | ranks | slurm, [], ["n2"]),
        "numbers of nodes": ({"node_%d.log" % n: interleave(*[["[default%d]:step %d loss 2" % (r, s) for s in range(100, 110)] for r in range(2)]) + (traceback("[default1]:", OOM) if n == 1 else []) for n in range(3)}, [3], ["node_1"]),
        "numbers of nodes, directories": ({"node_%d/local_rank_%d.log" % (n, r): [line[3:] for line in steps(r, 100, 110)] + (traceback("", OOM) if (n, r) == (2, 1) else []) for n in range(3) for r in range(2)}, [5], ["node_2"]),
        "nodes of unlike sizes": ({"node_%d.log" % n: interleave(*[["[default%d]:step %d loss 2" % (r, s) for s in range(100, 110)] for r in range(2 + n)]) + (traceback("[default1]:", OOM) if n == 1 else []) for n in range(2)}, [], ["node_1"]),
        "a daemon of the job": ({"slurm-7.out": every(100, 110) + ["slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-27T03:00:40 DUE TO TIME LIMIT ***"]}, [], []),
        "more ranks than tasks": ({"dmesg-n2.txt": [xid]} | ranks | {"slurm.env": slurm["slurm.env"][:1] + ["SLURM_TASKS_PER_NODE=1(x2)", "SLURM_DISTRIBUTION=block"]}, [], ["n2"]),
    }
    for name, (files, who, nodes) in rows.items():
        directory = top / ("names, " + name)
        write(directory, files)
        done = run([assay, "why", directory, "--json", "--quiet"])
        cause = json.loads(done.out)["cause"]
        checks.expect(done.code == 1 and cause and [cause["ranks"], cause["nodes"]] == [who, nodes], "%s: %s" % (name, done))
        checks.expect(not name.startswith("numbers") or cause["certainty"] != "certain", "%s: certain: %s" % (name, done))
    directory = top / "torn behind a timeout"
    write(directory, {"slurm-7.out": every(100, 110) + traceback("2: ", OOM) + watchdog(0, 7, 700) + ["0: Fatal Python error: Ab"] + watchdog(1, 7, 700)})
    done = run([assay, "why", directory, "--json", "--quiet"])
    checks.expect(json.loads(done.out)["cause"]["certainty"] == "likely", "torn behind a timeout: %s" % done)
    directory = top / "two kinds of logs"
    write(directory, {"train.log": dead, "metrics.csv": ["step,loss"] + ["%d,%s" % (s, "nan" if s > 60 else 2.0 / s) for s in range(1, 70)],
                      "checkpoint-30/trainer_state.json": [json.dumps({"global_step": 30, "log_history": [{"loss": 2.0 / s, "step": s} for s in range(1, 31)]})]})
    done = run([assay, "why", directory, "--json", "--quiet"])
    checks.expect("became NaN at TRAIN step 61" in json.loads(done.out)["answer"], "two kinds of logs: %s" % done)


def clocks(checks, assay, top):
    """A node's clock is 40 s behind: its error seems to be first, and traces say that it is not."""
    def loses(rank, at, text):
        return ["2026-11-27 03:%02d:%02d,000 step 9" % ((at - 1) // 60, (at - 1) % 60), "2026-11-27 03:%02d:%02d,000 %s" % (at // 60, at % 60, text)]
    files = {"out/rank%d.log" % r: loses(r, 320 if r else 350, "FileNotFoundError: x" if r else "torch.OutOfMemoryError: CUDA out of memory") for r in range(2)}
    for name, skews, expected in (("apart", (0, -40 * 10 ** 9), ["gpu_memory", [0], -40.0]), ("alone", None, ["missing_file", [1], None])):
        directory = top / ("clocks-" + name)
        write(directory, files)
        if skews:
            write_traces(directory / "traces", job(ranks=2, skews=skews))
        answer = json.loads(run([assay, "why", directory, "--json", "--quiet"]).out)
        clock = answer["clock"] and round(answer["clock"]["ahead"], 1)
        checks.expect(answer["cause"] and [answer["cause"]["class"], answer["cause"]["ranks"], clock] == expected, "clocks %s: %s" % (name, answer))
    files = {"out/rank%d.log" % r: loses(r, 320 - r, "FileNotFoundError: x" if r else "torch.OutOfMemoryError: CUDA out of memory") for r in range(2)}
    for name, form, skew, expected in (("none", None, 0, [1, 0]), ("same", "pickle", 0, [1, 0]), ("behind", "pickle", -3, [0, 1]), ("json", "json", -3, [0, 1])):
        directory = top / ("clocks-of-dumps-" + name)
        write(directory, {**files, "slurm.env": ["SLURM_JOB_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=1(x2)", "SLURM_DISTRIBUTION=block"]})
        if form:
            ranks = stuck(stopped=(), ranks=2, steps=9)
            for entry in ranks[1].entries:
                entry["time_created_ns"] += skew * 10 ** 9
                if entry["time_discovered_completed_ns"]:
                    entry["time_discovered_completed_ns"] += skew * 10 ** 9
            write_dumps(directory / "dumps", ranks, form)
        answer = json.loads(run([assay, "why", directory, "--json", "--quiet"]).out)
        order = [r["ranks"][0] for r in answer["chain"] if r["class"] in ("gpu_memory", "missing_file")]
        clock = answer["clock"] and [answer["clock"]["rank"], round(answer["clock"]["ahead"], 1), answer["clock"]["source"]]
        checks.expect(order == expected and clock == ([1, -3.0, "dumps"] if skew else None), "clocks of dumps, %s: %s" % (name, answer))
    text = " ".join(run([assay, "why", top / "clocks-of-dumps-behind", "--quiet"]).out.split())
    checks.expect("The clock of rank 1 on n2 is 3.0 s behind that of rank 0, by " in text and " collectives in the dumps that all end together" in text, "the clock of dumps: %s" % text)
    checks.expect("40.0 s behind" in run([assay, "why", top / "clocks-apart", "--quiet"]).out.replace("\n", " "), "the clock is not named")


def memory(checks, assay, top):
    """Events that there is no room for are counted, on any number of ranks the same; what began it and what ended it stays. Nothing is
    certain then."""
    directory = top / "memory"
    noise = [line for rank in range(600) for line in traceback("%d: " % rank, "ConnectionError: hub is busy")]
    write(directory, {"slurm-7.out": every(100, 110) + noise + every(110, 130) + traceback("2: ", OOM) + ["srun: error: n1: task 2: Exited with exit code 1"],
                      "slurm-7.err": every(100, 110) + noise[:800] + every(110, 130)})
    done = run([assay, "why", directory, "--json", "--quiet"])
    whole = json.loads(done.out)
    checks.expect(whole["cause"]["class"] == "gpu_memory" and whole["cause"]["certainty"] == "certain" and not whole["problems"], "memory for all: %s" % done)
    done = run([assay, "why", directory, "--json", "--quiet", "--outputs", "--memory", "1M"])
    answer = json.loads(done.out)
    checks.expect(answer["cause"]["class"] == "gpu_memory" and answer["cause"]["ranks"] == [2] and answer["cause"]["certainty"] == "likely"
                  and done.code == 1 and any("events were left out" in p for p in answer["problems"]), "memory for few: %s" % done)
    for ranks in (2, 3) if LAUNCHER != "none" else ():
        several = mpirun(ranks, [assay, "why", directory, "--json", "--quiet", "--outputs", "--memory", "1M"])
        checks.expect(several.out == done.out, "memory for few at %d ranks: %s" % (ranks, several))


def many_in_little(checks, assay, top):
    """Hundreds of outputs of which two events each are too many: any number of ranks keeps the same ones."""
    directory = top / "many in little"
    write(directory, {"rank_%d.log" % r: [line for k in range(2 + r % 3) for line in traceback("", "%sError: bad" % ("Value", "Key", "Type", "Index")[k], "a%d.py" % k)] for r in range(200)})
    done = run([assay, "why", directory, "--json", "--quiet", "--outputs", "--memory", "1M"])
    checks.expect("events were left out" in done.out, "many in little: %s" % done)
    for ranks in (2, 3, 5) if LAUNCHER != "none" else ():
        several = mpirun(ranks, [assay, "why", directory, "--json", "--quiet", "--outputs", "--memory", "1M"])
        checks.expect(several.out == done.out, "many in little at %d ranks: %s" % (ranks, several))


def within(checks, assay, top):
    """What is left out is given back: thousands of outputs, each with more events than there is room for, stay within the memory."""
    directory = top / "within"
    text = "\n".join("step %d loss 2\nTraceback (most recent call last):\n  File \"/w/train_%s.py\", line %d, in <module>\nAbcError%d: %s" % (k, "x" * 60, k, k, "no " * 130) for k in range(12))
    write(directory, {"rank_%d.log" % rank: [text] for rank in range(6000)})
    for memory in (48, 64):
        done, peak = peak_of([assay, "why", directory, "--json", "--quiet", "--memory", "%dM" % memory])
        checks.expect(done.code == 1 and any("events were left out" in p for p in json.loads(done.out)["problems"]), "within: %s" % done)
        checks.expect(peak < memory << 20 or "__asan_init" in run(["nm", "-D", assay]).out, "%d bytes of %d MiB" % (peak, memory))


def passed_over(checks, assay, top):
    """A link out of the directory, and an output behind a point, are not looked at, and it says so."""
    folder, outside = top / "passed-over", top / "elsewhere"
    logs.csv(folder / "metrics", logs.curve(3))
    write(outside, {"slurm-1.out": "RuntimeError: CUDA out of memory"})
    write(folder, {".slurm-2.out": "step 1"})
    (folder / "attempt_0").symlink_to(outside)
    (folder / "attempt_1").symlink_to("/dev/zero")
    done = run([assay, "why", folder, "--quiet", "--json"])
    said = json.loads(done.out)["missing"]
    checks.expect(any("2 links lead out of the directory" in line and "(first attempt_0)" in line for line in said) and
                  any("(first .slurm-2.out)" in line for line in said), "what was passed over: %s" % said)


def many(checks, assay, top):
    """A thousand outputs that each hold an error: who finished, who crashed and who waited is told by rank, whatever the others did."""
    directory = top / "many"
    write(directory, {"rank_%d.err" % r: [line[3:] for line in steps(0, 100, 110)] + traceback("", "ValueError: sample %d is bad" % r)
                      + (["[n1:04711] Signal: Segmentation fault (11)"] if r == 7 else ["INFO training finished"] if r == 3 else
                         [line.partition(": ")[2] for line in watchdog(r, 7, 700)] if r > 20 else []) for r in range(1000)})
    done = run([assay, "why", directory, "--json", "--quiet", "--outputs"])
    cause = json.loads(done.out)["cause"]
    checks.expect(cause and cause["class"] == "exception" and cause["ranks"] == [r for r in range(21) if r not in (3, 7)], "many: %s" % done)
    together = top / "together"
    blocks = [traceback("%d: " % r, "KeyError: 'label'", "part%d.py" % (r % 7)) for r in range(300)]
    write(together, {"slurm-7.out": every(100, 110, 300) + interleave(*blocks[:200]) + interleave(*reversed(blocks[200:]))})
    done = run([assay, "why", together, "--json", "--quiet", "--outputs"])
    cause = json.loads(done.out)["cause"]
    checks.expect(cause and cause["class"] == "exception" and cause["ranks"] == list(range(300)) and cause["certainty"] == "certain", "together: %s" % done)
    checks.expect("part0.py:120" in done.out, "the frame of its own rank: %s" % done)


def last_lines(checks, assay, top):
    """Who stopped without a word, long before the others: its last lines are printed, wherever they stand in the file."""
    directory = top / "last"
    lines = every(100, 110, 3) + ["2: shutting down %d password=hunter2hunter2" % n for n in range(20)]
    lines += ["%d: queue of data %d/64 %s" % (n % 2, n, "." * 100) for n in range(60000)] + ["srun: error: n1: task 2: Exited with exit code 3"]
    directory.mkdir()
    with gzip.open(directory / "slurm-7.out.gz", "wt", compresslevel=1) as out:
        out.write("\n".join(lines) + "\n")
    done = run([assay, "why", directory, "--json", "--quiet", "--outputs"])
    endings = json.loads(done.out)["unknown_endings"]
    checks.expect([(e["rank"], e["file"]) for e in endings] == [(2, "slurm-7.out.gz")] and "hunter2" not in done.out
                  and [line[:19] for line in endings[0]["lines"].split("\n") if line] == [("2: shutting down %d p" % n)[:19] for n in range(8, 20)], "last lines: %s" % done)


def pieces(checks, assay, top):
    """One output larger than two pieces: what goes over the cut is whole, lines are counted through, and any number of ranks says the
    same."""
    directory, cut, path = top / "pieces", 64 << 20, top / "pieces" / "slurm-7.out"
    directory.mkdir()
    filler = "".join("%d: step %d of the warm up %s\n" % (n % 4, n % 90, "." * 100) for n in range(9000))
    end = interleave(*[traceback("%d: " % r, "ValueError: bad sample") for r in range(3)])
    with open(path, "w") as out:
        while out.tell() < cut - 2 * len(filler):
            out.write(filler)
        out.write("\r3: 10%|#" * ((cut - out.tell() - 300) // 9) + "\n" + "\n".join(end) + "\n")
        while out.tell() < 2 * cut + 1000:
            out.write("3: waits for others %s\n" % ("." * 1000))
        out.write("srun: error: n1: tasks 0-2: Exited with exit code 1\n")
    lines = sum(1 for _ in open(path, newline="\n"))
    place = next(n for n, line in enumerate(open(path, newline="\n"), 1) if "ValueError" in line)
    done = run([assay, "why", directory, "--json", "--quiet", "--outputs"])
    answer = json.loads(done.out)
    cause = answer["cause"]
    checks.expect(cause and cause["ranks"] == [0, 1, 2] and cause["class"] == "exception" and cause["line"] == place and answer["lines"] == lines, "pieces: %s" % done)
    for ranks in (2, 3, 7) if LAUNCHER != "none" else ():
        checks.expect(mpirun(ranks, [assay, "why", directory, "--json", "--quiet", "--outputs"]).out == done.out, "pieces at %d ranks" % ranks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--show", action="store_true", help="print all answers")
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as top:
        planted(checks, args.assay, Path(top), args.show)
        secrets(checks, args.assay, Path(top))
        forms(checks, args.assay, Path(top))
        dead_trials(checks, args.assay, Path(top))
        pods(checks, args.assay, Path(top))
        entries(checks, args.assay, Path(top))
        sources(checks, args.assay, Path(top))
        names(checks, args.assay, Path(top))
        clocks(checks, args.assay, Path(top))
        memory(checks, args.assay, Path(top))
        many_in_little(checks, args.assay, Path(top))
        within(checks, args.assay, Path(top))
        passed_over(checks, args.assay, Path(top))
        last_lines(checks, args.assay, Path(top))
        many(checks, args.assay, Path(top))
        pieces(checks, args.assay, Path(top))
    checks.done()


if __name__ == "__main__":
    main()
