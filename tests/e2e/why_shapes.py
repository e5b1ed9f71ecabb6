#!/usr/bin/env python3
"""assay why: outputs as they are found: several runs in one file, tracebacks that lost their head, tools that scripts call, launchers that
name a local rank, words of C++ programs. Each with a twin that is healthy, or says something else.

    why_shapes.py --assay PROGRAM
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launch import Checks, mpirun, run, LAUNCHER  # noqa: E402

HEAD = ["Loading module python/3.11", "INFO reading /data/train.jsonl", "INFO model with 125 M parameters"]


def steps(first, last):
    return ["step %d loss %.3f" % (n, 2.0 / (n + 1)) for n in range(first, last)]


def raised(last, where="main"):
    return ["Traceback (most recent call last):", '  File "/src/main.py", line 9, in <module>', "    main()",
            '  File "/src/train.py", line 120, in %s' % where, "    loss.backward()", last]


def caught(last):
    """Written out by who caught it: it begins where that stands."""
    return ["ERROR:root:no prefetch", "Traceback (most recent call last):", '  File "/src/train.py", line 22, in fetch', '    return {}["prefetch"]', last]


def body(last):
    return raised(last)[1:]


USAGE = ["usage: train.py [-h] [--lr LR]", "               [--batch BATCH]", "               [--epochs EPOCHS]"]
CHILD = ["Child process 4711 (local_rank 3) FAILED (exitcode 1)", "Error msg: Process failed with exitcode 1"]
TORCHRUN = "E1127 03:12:07.000000 4700 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: %s) local_rank: 3 (pid: 4711) of binary: /usr/bin/python3"
CLOSING = "W1127 03:12:06.000000 4700 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 4710 closing signal SIGTERM"
DEEPSPEED = "[2026-11-27 03:12:07,112] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py', '--local_rank=3', '--lr', '1'] exits with return code = %s"
STEPS4 = ["[rank%d]: step %d loss 0.1" % (r, n) for n in range(90, 99) for r in range(4)]

AGENTS = (["%d: | r%02d | step %d loss 0.1" % (r // 2, r, n) for n in range(90, 99) for r in range(4)] + ["1: " + line for line in raised("UnicodeDecodeError: 'utf-8' codec can't decode byte 0xd0 in position 2: invalid")]
          + ["%d: %s" % (node, line) for node in (0, 1) for line in raised("RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:4711")]
          + ["1: ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 1 (pid: 274) of binary: /usr/bin/python3"])
ROOT_CAUSE = ["1: " + line for line in ("Root Cause (first observed failure):", "[0]:", "  time      : 2026-12-01_02:38:12", "  host      : n2", "  rank      : 3 (local_rank: 1)", "  exitcode  : 1 (pid: 274)",
                                        "  error_file: <N/A>", "  traceback : none", "====")]
SRUN4 = ["%d: step %d loss 0.1" % (r, n) for n in range(90, 99) for r in range(4)]
CAUGHT = ["1: " + line for line in caught("KeyError: 'prefetch'")]
CHAIN = [*raised("%s", "fetch"), "", "During handling of the above exception, another exception occurred:", "", *raised("%s")]

# name: (lines, class or None where no failure is to be found, ranks, text in the answer, text that must not be in it)
CASES = {
    "appended, the last run is well": (HEAD + steps(0, 40) + raised("KeyError: 'a'") + HEAD + ["file %d is read" % n for n in range(40)], None, [], "An earlier run in the same output, which raised KeyError: 'a' (slurm-7.out:49), counts for none", None),
    "appended, with steps": (HEAD + steps(0, 40) + raised("KeyError: 'a'") + HEAD + steps(0, 40), None, [], "", None),
    "appended, the last run fails": (HEAD + steps(0, 40) + raised("KeyError: 'a'") + HEAD + steps(0, 40) + raised("ValueError: b"), "exception", [], "ValueError", None),
    "appended, the same twice": (HEAD + raised("KeyError: 'a'") + HEAD + steps(0, 40) + raised("KeyError: 'b'"), "exception", [], "KeyError: 'b'", "'a'"),
    "appended, no step of its own": (HEAD + steps(0, 40) + raised("KeyError: 'a'") + ["srun: error: n1: task 0: Exited with exit code 1"] + HEAD
                                     + ["file %d is read" % n for n in range(40)], None, [], "found in 1 output. An earlier run in the same output", "the last step"),
    "appended, the last run has just begun": (2 * (HEAD + ["file %d is read" % n for n in range(40)] + raised("KeyError: 'a'")) + HEAD + ["file 0 is read"], "exception", [], "KeyError", None),
    "appended, the last run has just begun, and a launcher": (2 * (HEAD + steps(0, 40) + raised("KeyError: 'a'") + ["srun: error: n1: task 0: Exited with exit code 1"]) + HEAD,
                                                              "exception", [], "KeyError", None),
    "not appended": (HEAD + steps(0, 3) + raised("KeyError: 'a'") + ["INFO %s is left" % w for w in "one two three four five six".split()], "exception", [], "KeyError", None),
    "appended arguments": (2 * (USAGE + ["train.py: error: unrecognized arguments: --lrr"] + ["hint %d" % n for n in range(40)])
                           + USAGE + ["train.py: error: unrecognized arguments: --batches"], "arguments", [], "--batches", None),
    "several ranks begin late": (HEAD + ["[rank0]: " + line for line in raised("KeyError: 'a'")] + STEPS4[:1] + HEAD + [line for line in STEPS4 if "rank0" not in line]
                                 + ["srun: error: n1: task 0: Exited with exit code 1"], "exception", [0], "KeyError", None),
    "a job behind another one": (HEAD + STEPS4 + ["slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-27T03:12:07 DUE TO TIME LIMIT ***"] + HEAD + STEPS4
                                 + ["slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-11-28T03:12:07 ***"], "cancelled", [], "2026-11-28", None),
    "two jobs and nothing else": (["slurmstepd: error: *** JOB %d ON n1 CANCELLED AT 2026-11-2%dT03:12:07 DUE TO TIME LIMIT ***" % (j, j) for j in (7, 8)], "time_limit", [], "2026-11-28", "2026-11-27"),
    "an error of the job before": (steps(0, 40) + raised("KeyError: 'a'") + ["slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-27T03:12:07 ***"] + steps(3, 40)
                                   + ["slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-11-28T03:12:07 DUE TO TIME LIMIT ***"], "time_limit", [], "2026-11-28", "KeyError"),
    "a frame is first": (body("ValueError: b") + ["srun: error: n1: task 3: Exited with exit code 1"], "exception", [3], "train.py:120", None),
    "a frame of each rank": (["[rank%d]: %s" % (r, line) for line in body("IndexError: out") for r in (0, 1)], "exception", [0, 1], "train.py:120", None),
    "syntax": (["%d: %s" % (r, line) for r in (0, 1) for line in ('  File "/src/train.py", line 3', "    if x", "       ^", "SyntaxError: expected ':'")]
               + ["srun: error: n1: tasks 0-1: Exited with exit code 1"], "exception", [0, 1], "SyntaxError", None),
    "a stack is shown": (HEAD + steps(0, 50) + ["Stack (most recent call last):", '  File "/src/main.py", line 9, in <module>', "    main()", "still here", "Error: none"] + steps(50, 90), None, [], "", None),
    "a frame and no end": (HEAD + steps(0, 50) + ['  File "/src/main.py", line 9, in <module>', "    main()"] + steps(50, 60), None, [], "", None),
    "a tool of the script": (["rm: cannot remove '/usr/local/x': Read-only file system", "3: /usr/bin/cp: cannot stat '/y': No such file or directory"] + HEAD + STEPS4[:4]
                             + ["[rank1]: %s" % line for line in raised("ValueError: b")] + ["srun: error: n1: task 1: Exited with exit code 1"], "exception", [1], "ValueError", "read only"),
    "tools of a healthy script": (["mkdir: cannot create directory '/x': Permission denied"] + HEAD + ["all is well"] * 6, None, [], "", None),
    "a tool at the end": (HEAD + ["cp: error writing '/ckpt/a': No space left on device"], "disk", [], "full", None),
    "local rank, torchrun": ([CLOSING, TORCHRUN % 1], "launcher", [3], "exit code 1", None),
    "local rank, crash": ([CLOSING, TORCHRUN % -11], "crash", [3], "signal 11", None),
    "local rank, not on this node": (["[rank%d]: step %d" % (r, n) for n in (1, 2) for r in range(8, 16)] + [CLOSING, TORCHRUN % 1], "launcher", [], "", "rank 3"),
    "local rank, before files of errors": (CHILD, "launcher", [3], "exit code 1", None),
    "local rank, DeepSpeed": (["[2026-11-27 03:12:06,112] [INFO] [launch.py:315:sigkill_handler] Killing subprocess 271", DEEPSPEED % -9], "signal", [3], "signal 9", None),
    "killed behind another one": (["srun: error: n1: task 0: Exited with exit code 1", "srun: Terminating job step 7.0", "srun: error: n1: tasks 1,3: Terminated",
                                   "srun: error: n1: tasks 2,6: Killed"], "launcher", [0], "exit code 1", None),
    "a code of gRPC": (raised("jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: failed to connect to all addresses"), "network", [], "UNAVAILABLE", None),
    "glog": (HEAD + ["F1127 03:12:07.000000  4711 net.cpp:12] no such layer", "*** Check failure stack trace: ***", "    @     0x7f64489dc428 (unknown)",
                     "*** Aborted at 1500432842 (unix time) ***", "*** SIGABRT (@0x9ec) received by PID 2540 (TID 0x7f642c526700) from PID 2540; stack trace: ***"], "crash", [], "", None),
    "TensorFlow 1": (HEAD + ["NotFoundError (see above for traceback): /data/x.rec; No such file or directory"], "missing_file", [], "", None),
    "Horovod": (["Caused by op 'HorovodBroadcast_0', defined at:", '  File "run.py", line 429, in <module>', "    run()", "",
                 "AbortedError (see above for traceback): Horovod has been shut down. This was caused by an exception on one of the ranks"], "launcher", [], "not known", None),
    "Ascend": (["[rank1]: " + line for line in raised("RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64")], "network", [1], "", None),
    # numbers that srun put in front of what launchers of nodes pass on are none of ranks
    "launchers of nodes": (AGENTS + ROOT_CAUSE, "data", [3], "encoding", None),
    "launchers of nodes, and no root cause": (AGENTS, "data", [], "encoding", "rank 1"),
    "launchers of nodes, one rank silent": (["%d: | r%02d | step %d loss 0.1" % (r // 2, r, n) for n in range(90, 99) for r in range(4)]
        + ["%d: %s" % (node, line) for node in (0, 1) for line in raised("RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:4711")]
        + ["0: " + line for line in ("Failures:", "[1]:", "  time      : 2026-12-01_02:38:12", "  host      : n1", "  rank      : 1 (local_rank: 1)", "  exitcode  : 4 (pid: 225)", "  error_file: <N/A>", "  traceback : none", "----")]
        + [line.replace("1: ", "0: ", 1).replace("n2", "n1").replace("rank      : 3 (local_rank: 1)", "rank      : 0 (local_rank: 0)") for line in ROOT_CAUSE] + ["srun: error: n1: task 0: Exited with exit code 1"],
        "launcher", [1], "exit code 4", None),
    "a job of one task a node, cancelled": (["0: step %d" % n for n in range(9)] + ["srun: error: n1: task 0: Exited with exit code 1", "srun: error: n2: task 1: Exited with exit code 1",
                                            "0: slurmstepd-n1: error: *** JOB 7 ON n1 CANCELLED AT 2026-12-01T02:37:38 ***"], "cancelled", [], "the job was cancelled", "rank 0 was"),
    # who sends such a signal wants what ends by it to end
    "a signal of the user's": (SRUN4[:20] + CAUGHT + SRUN4[20:] + ["srun: error: n1: tasks 0-1: User defined signal 1", "srun: error: n2: tasks 2-3: User defined signal 1"], "signal", [0, 1, 2, 3], "User defined", "prefetch'"),
    "a signal, said by a shell": (HEAD + ["go.sh: line 7: 10212 User defined signal 1   RANK=1 WORLD_SIZE=4 python3 train.py"], "signal", [1], "signal 1", None),
    "processor time, said by a shell": (HEAD + ["go.sh: line 6:  6211 CPU time limit exceeded RANK=1 WORLD_SIZE=4 python3 train.py"], "time_limit", [1], "processor time", None),
    "a daemon of mpirun": (["[1,0]<stdout>:step %d" % n for n in range(9)] + ["-" * 76, "ORTE has lost communication with a remote daemon.", "", "  HNP daemon   : [[6695,0],0] on node n1", "  Remote daemon: [[6695,0],1] on node n2", "",
                            "This is usually due to either a failure of the network", "connection to the node, or possibly an internal failure of", "the daemon itself. We cannot recover from this failure, and",
                            "therefore will terminate the job.", "-" * 76], "node_failure", [], "node n2", None),
    "a watcher ends what stands still": (HEAD + ["[ERROR] watch: rank 28 has no heartbeat, terminating it with SIGKILL"], "signal", [28], "possibly", None),
    "a barrier names who is missing": (["[rank%d]: %s" % (r, line) for r in (0, 2) for line in (*raised("jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: a. Timed out task names:"),
                                                                                                "/job:jax_worker/replica:0/task:1")], "network", [1], "rank 1", None),
    "a command with a limit": (HEAD + steps(0, 9) + ["timeout: sending signal TERM to command 'bash'"], "time_limit", [], "timeout", None),
    "a daemon of PALS": (["[rank%d]: %s" % (r, line) for r in (0, 1) for line in raised("RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:4711")] + ["n2: shepherd died from signal 9"],
                         "node_failure", [], "n2", None),
    # who was stopped by its launcher did not end of what it wrote before
    "a remark, and stopped": (["3: could not open the cache: [Errno 2] No such file or directory: '/cache/x.lock'; building it", "3: mesh: opened", "srun: error: n2: task 2: Killed", "srun: error: n2: task 3: Terminated",
                               "srun: error: n1: tasks 0-1: Terminated"], "signal", [2], "signal 9", None),
    # of exceptions one behind the other the first one whose kind is known
    "a chain whose second kind is known": (("\n".join(CHAIN) % ("EOFError: short", "tarfile.ReadError: unexpected end of data")).split("\n"), "data", [], "archive", "EOFError"),
    "a chain that begins with a fault of the program": (("\n".join(CHAIN) % ("KeyError: 'x'", "tarfile.ReadError: unexpected end of data")).split("\n"), "exception", [], "KeyError", None),
    # words that no signature knows: of whom, and of what kind, as far as they say
    "last words": (HEAD + ["[lattice 4711] ERROR    mesh:open   could not reserve buffers on the accelerator device: allocation failure"], "gpu_memory", [], "possibly", "probably"),
    "last words of a rank": (["[rank%d]: mesh: opened" % r for r in range(2)] + ["[rank1]: mesh: fatal: lost the fabric, code -11"], "crash", [1], "possibly", None),
    "last words name a rank": (HEAD + ["launcher: task 12 (rank 12) exited, exit code: 137"], "signal", [12], "possibly", None),
    "last words that say no kind": (HEAD + ["mesh: error: gizmo 7 is out of order"], "launcher", [], "why is not known", None),
    "last words behind others": (HEAD + ["mesh: error: no route to host 10.0.0.7", "mesh: error: giving up", "closing", "closed"], "network", [], "no route", None),
    "last words before a stack": (HEAD + ["mesh: fatal: address already in use"] + ["    @     0x7f64489dc%03d (unknown)" % n for n in range(40)], "port", [], "could not listen", None),
    "words before a class that says nothing": (HEAD + ["mesh: error: driver of the accelerator device not found"] + raised("RuntimeError: see above"), "gpu_fault", [], "driver", None),
    "words that the training outlived": (HEAD + ["mesh: error: no route to host 10.0.0.7"] + steps(0, 9), None, [], "no failure", None),
    "words of one of several ranks": (STEPS4 + ["[rank2]: mesh: error: sample 7 left out"], None, [], "no failure", None),
    "a measure": (HEAD + steps(0, 9) + ["validation error: 0.0213", "mean squared error 0.4"], None, [], "no failure", None),
    "a warning at the end": (HEAD + steps(0, 9) + ["WARNING could not reach the tracker", "INFO failed uploads: 0"], None, [], "no failure", None),
    "an error, and it came to its end": (HEAD + steps(0, 9) + ["mesh: error: could not send mail", "Training finished"], None, [], "no failure", None),
    "a story": (HEAD + ["Once there was a boy who could not find his razor. He died of shame, and his mother said that he can't have lost it."], None, [], "no failure", None),
    "a remark": (HEAD + steps(0, 9) + ["Please look at the scores for the true difference in performance."], None, [], "no failure", None),
    "words in names": (HEAD + ["Namespace(on_error='abort', fail_fast=True)", "trainer.exit_on_error: True", "final: train_error 12"], None, [], "no failure", None),
    "options of a usage": (["usage: train.py [-h]", "  --abort-on-error   stop at the first error", "  --exit-code N      exit code to use"], None, [], "no failure", None),
    "headings": (HEAD + ["name        error   std_error", "layer1      0.0213  0.001", "| model | error | time |", "errors by class:"], None, [], "no failure", None),
    "labels of samples": (HEAD + ["classes: ['exception', 'error', 'panic']", "class names: fatal, injury, none", "caught exceptions: none"], None, [], "no failure", None),
    "a bar": (HEAD + ["Evaluating error cases: 100%|##########| 10/10 [00:01<00:00]"], None, [], "no failure", None),
    "measures in other forms": (HEAD + ["quantization error 3e-4", "final error 12%", "max relative error: 1e-5 OK"], None, [], "no failure", None),
    "tests that are well": (["tests/test_a.py::test_raises_error PASSED", "XFAIL tests/test_a.py::test_b - RuntimeError: CUDA error", "[ RUN      ] Abort.SigSegv", "[       OK ] Abort.SigSegv (0 ms)",
                             "test_abort (t.T) ... ok", "2/2 Test #2: abort ..   Passed    0.02 sec"], None, [], "no failure", None),
    "what a shell does": (["checking whether to abort on error... no", "+ trap cleanup SIGTERM", "installed handler for SIGTERM", "+ echo exit code"], None, [], "no failure", None),
    "an error that is tried again": (HEAD + ["ERROR: download failed, trying again (1/3)", "downloaded 12 files"], None, [], "no failure", None),
    "a library in front of an error": (HEAD + ["it said: HCCL error 7"], "network", [], "possibly", None),
    "a noun that says so": (HEAD + ["got an error while opening the mesh"], "launcher", [], "why is not known", None),
    "a number that is none of HTTP": (HEAD + ["mesh: ERROR: line 401 of 503 is bad"], "launcher", [], "why is not known", None),
    "a number of HTTP": (HEAD + ["mesh: ERROR: status 503"], "network", [], "possibly", None),
    "an error that was met": (HEAD + ["2026-11-27 03:12:07,112 - mylib - ERROR - upload failed: gizmo 7", "2026-11-27 03:12:09,112 - mylib - INFO - upload succeeded at attempt 2"], None, [], "no failure", None),
    "an error that was met, by its level": (HEAD + ["2026-11-27 03:12:07.112 | ERROR    | sync:push:88 - no gizmo", "2026-11-27 03:12:08.000 | SUCCESS  | sync:push:91 - pushed"], None, [], "no failure", None),
    "conflicts that pip tells of": (["ERROR: pip's resolver does not take into account all the packages.", "a 0.1 requires b==1.0, but you have b 2.0.", "Successfully installed b-2.0"], None, [], "no failure", None),
    "an error, and no success": (HEAD + ["mesh: error: no route to host 10.0.0.7", "0 uploads succeeded", "process 271 exits successfully"], "network", [], "possibly", None),
    "an error behind a success": (HEAD + ["Successfully opened the mesh", "mesh: error: no route to host 10.0.0.7"], "network", [], "possibly", None),
    # what stands in front of lines in a way that only a traceback shows
    "a front of words": (["Rank %d: step %d loss 1.0" % (r, n) for n in range(9) for r in range(3)] + ["Rank 2: " + line for line in raised("KeyError: 'labels'")], "exception", [2], "train.py:120", None),
    "a front with a number": (["%d| step %d loss 1.0" % (r, n) for n in range(9) for r in range(3)] + ["1| " + line for line in raised("KeyError: 'labels'")], "exception", [1], "train.py:120", None),
    "a front among others": (["R%d> step %d loss 1.0" % (r, n) for n in range(9) for r in range(3)] + [f for n, line in enumerate(raised("KeyError: 'labels'")) for f in ("R2> " + line, "R0> waits, " + "abcdef"[n], "R1> waits, " + "ghijkl"[n])], "exception", [2], "train.py:120", None),
    "words before steps of others": (["[1,0]<stdout>:step %d loss 1.0" % n for n in range(9)] + ["[1,0]<stdout>:mesh: ERROR quota of the project exceeded"] + ["[1,2]<stdout>:step %d loss 1.0" % n for n in range(9)]
                                     + ["  Process name: [[2752,1],0]", "  Exit code:    5"], "disk", [0], "possibly", None),
    "a front with a node": (["n%d.cluster: 1: step %d loss 1.0" % (r, n) for n in range(9) for r in range(3)] + ["n2.cluster: 7: " + line for line in raised("KeyError: 'labels'")], "exception", [7], "on n2", None),
    "a front of a root cause": (["[2026-11-27T03:12:07.%06dZ] 8de2ca81 || %s" % (n, line) for n, line in enumerate(["Root Cause (first observed failure):", "[0]:", "  time      : 2026-11-27_03:12:07", "  host      : n5", "  rank      : 5 (local_rank: 1)", "  exitcode  : 1 (pid: 36)", "  error_file: <N/A>", "  traceback : none", "===="])], "launcher", [5], "n5", None),
    "Slurm does not know who asks": (["srun: error: Munge encode failed: Failed to access \"/run/munge.socket\": No such file or directory"], "launcher", [], "could not be started", None),
    "sbatch": (["sbatch: error: fetch_config: DNS SRV lookup failed", "sbatch: fatal: Could not establish a configuration source"], "launcher", [], "could not be submitted", None),
    "hydra and an exit code": (["=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", "=   PID 4711 RUNNING AT n1", "=   EXIT CODE: 134", "=   CLEANING UP REMAINING PROCESSES", "=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES", "====", "This typically refers to a problem", "See the FAQ"], "crash", [], "134", None),
    "a class that nobody knows": (raised("acme.grid.GridFault: no space left on device"), "disk", [], "", None),
    "Docker": (["docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]]."], "launcher", [], "could not be started", None),
    "pyxis": (["srun: job 7 has been allocated resources", "srun: error: task 0 launch failed: Plugin initialization failed"], "launcher", [0], "could not be started", None),
}


def tracker(checks, assay):
    """What wandb writes of itself is no output of the job; an environment that is a log is one."""
    with tempfile.TemporaryDirectory() as top:
        logs = Path(top) / "wandb" / "run-1" / "logs"
        logs.mkdir(parents=True)
        (logs / "debug.log").write_text("\n".join(raised("wandb.sdk.interface.router.MessageRouterClosedError")) + "\n")
        (Path(top) / "environment.log").write_text("\n".join(HEAD + steps(0, 9)) + "\n")
        done = run([assay, "why", top, "--json", "--quiet"])
        checks.expect(done.code == 0 and [f["path"] for f in json.loads(done.out)["used"]] == ["environment.log"], "what a tracker writes of itself: %s" % done)
        (Path(top) / "debug.log").write_text("\n".join(raised("KeyError: 'a'")) + "\n")
        done = run([assay, "why", top, "--json", "--quiet"])
        checks.expect(done.code == 1 and json.loads(done.out)["cause"]["file"] == "debug.log", "a debug.log of the job: %s" % done)


def attempts(checks, assay):
    """What torchrun says of an attempt counts for none where the next one goes well; where that fails it gives up, and says so."""
    files = {"log/none_x/attempt_%d/%d/stderr.log" % (a, r): [] for a in (0, 1) for r in (0, 1)}
    for (name, lines), (a, r) in zip(files.items(), ((a, r) for a in (0, 1) for r in (0, 1))):
        lines += raised("ConnectionError: lost") if (a, r) == (0, 1) else caught("KeyError: 'prefetch'") if (a, r) == (1, 1) else []
    said = ["ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 1 (pid: 20462) of binary: /usr/bin/python3"]
    for gives_up in (False, True):
        with tempfile.TemporaryDirectory() as top:
            for name, lines in (files | {"job.out": said + gives_up * (said + ["torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "])}
                                | {name.replace("stderr", "stdout"): steps(0, 30) for name in files}).items():
                (Path(top) / name).parent.mkdir(parents=True, exist_ok=True)
                (Path(top) / name).write_text("\n".join(lines) + "\n")
            done = run([assay, "why", top, "--json", "--quiet"])
            cause = json.loads(done.out)["cause"] or {}
            checks.expect((done.code, cause.get("ranks")) == ((1, [1]) if gives_up else (0, None)), "torchrun gives up: %s: %s" % (gives_up, done))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as top:
        for number, (name, (lines, kind, ranks, said, unsaid)) in enumerate(CASES.items()):
            directory = Path(top) / str(number)
            directory.mkdir()
            (directory / "slurm-7.out").write_text("\n".join(lines) + "\n")
            done = run([args.assay, "why", directory, "--json", "--quiet"])
            checks.expect(done.code == (kind is not None), "%s: %s" % (name, done))
            answer = json.loads(done.out)
            cause = answer["cause"] or {}
            checks.expect(cause.get("class") == kind and cause.get("ranks", []) == ranks, "%s: %s" % (name, done))
            checks.expect(said in answer["answer"] and not (unsaid and unsaid in answer["answer"]), "%s: %s" % (name, done))
            if cause:
                place = lines[cause["line"] - 1] if cause["line"] else ""
                checks.expect(cause["quote"][:40] == place[:40], "%s: the line that is named: %s" % (name, done))
            if LAUNCHER != "none" and (number % 7 == 0 or "appended" in name):
                checks.expect(mpirun(3, [args.assay, "why", directory, "--json", "--quiet"]).out == done.out, "%s at 3 ranks" % name)
    tracker(checks, args.assay)
    attempts(checks, args.assay)
    checks.done()


if __name__ == "__main__":
    main()
