#!/usr/bin/env python3
"""why.py - the speed of `assay why` over outputs of many kinds of lines, as a share of the speed of `grep -cF` with one string.

    bench/why.py --assay PROGRAM [--megabytes 12] [--times 5] [--only KIND ...] [--folder FOLDER]
    bench/why.py --assay PROGRAM --jobs --megabytes 1000 [--times 3]

Each kind is written twice: lines that repeat but for their digits, and lines of which none is like another. Both programs are
measured by processor time, the least of several runs in turn, without the time that it takes to start (over an output of one line); of
grep the median of five strings. The last column has instructions for each line where `perf` counts them. The folder
should be in memory. `--jobs` writes whole jobs instead: hundreds of outputs of steps, bars, warnings and a few tracebacks.
"""
import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

STRINGS = ("CUDA out of memory", "NVRM: Xid", "Traceback (most recent call last)", "Segmentation fault", "DUE TO TIME LIMIT")
AIM = 0.25


class Words:
    """Words that do not come again, or the same ones all the time: then only digits differ."""

    def __init__(self, unlike):
        self.random, self.unlike, self.number = random.Random(7), unlike, 0

    def word(self, least=3, most=10):
        if not self.unlike:
            return "sample"[:most]
        return "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz", k=self.random.randint(least, most)))

    def text(self, words):
        return " ".join(self.word() for _ in range(words))

    def hex(self, digits):
        return "%0*x" % (digits, self.random.getrandbits(4 * digits)) if self.unlike else "a0" * (digits // 2)

    def below(self, most):
        return self.random.randrange(most)

    def one_of(self, choices):
        return self.random.choice(choices) if self.unlike else choices[0]


def clock(w):
    w.number += 1
    return "2026-11-27 %02d:%02d:%02d,%03d" % (w.number // 360000 % 24, w.number // 6000 % 60, w.number // 100 % 60, w.number % 1000)


def steps(w):
    return "%s [INFO] step %d loss %.4f lr 2.5e-04 tokens per second %d %s\n" % (clock(w), w.number, w.random.random(), w.below(10000), w.text(4) if w.unlike else "grad norm")


def ranks(w):
    return "%d: [default%d]:step %d loss %.4f tokens per second %d %s\n" % (w.below(8), w.below(8), w.number, w.random.random(), w.below(10000), w.text(5) if w.unlike else "grad norm ok")


def requests(w):
    return "WARNING:urllib3.connectionpool:Retrying (Retry(total=%d, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ReadTimeoutError(\"HTTPSConnectionPool(host='%s.co', port=443): Read timed out. (read timeout=10)\")': /%s/%s\n" % (w.below(9), w.word(), w.word(), w.hex(12))


def survived(w):
    return "%s - %s - ERROR - could not read %s.tar: FileNotFoundError: [Errno 2] No such file or directory: '/data/%s/%s', skipped\n" % (clock(w), w.word(), w.word(), w.word(), w.hex(16))


def hashes(w):
    return "ERROR:dataset:[Errno 2] No such file or directory: '/data/shards/%s.bin', skipped\n" % w.hex(32)


def warnings(w):
    return "/opt/%s/%s/%s.py:%d: UserWarning: %s is deprecated, RuntimeError: %s will be raised\n" % (w.word(), w.word(), w.word(), w.below(2000), w.word(), w.text(3))


def colours(w):
    return "\x1b[31m\x1b[1mERROR\x1b[0m \x1b[36m%s\x1b[0m:\x1b[33m%d\x1b[0m ValueError: \x1b[1m%s\x1b[0m\n" % (w.word(), w.below(900), w.text(4))


def nccl_trace(w):
    rank = w.below(8)
    return "n0123:47%d:48%d [%d] NCCL INFO %s/%s : %d[%d] -> %d[%d] via P2P/%s\n" % (rank, rank, rank, w.one_of(("Channel", "Ring", "Trees")), w.word() if w.unlike else "00", rank, rank, rank + 1, rank + 1, w.word() if w.unlike else "CUMEM")


def nccl_trace_1024(w):
    rank = w.below(1024)
    return "n%04d:%d:%d [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] via P2P/%s\n" % (rank // 8, 40000 + rank, 41000 + rank, rank % 8, w.below(32), rank, rank % 8, rank + 1, (rank + 1) % 8, w.word() if w.unlike else "CUMEM")


def nccl_timeouts(w):
    rank = w.below(8)
    return "[rank%d]:[E1127 03:12:07.%06d ProcessGroupNCCL.cpp:616] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=%d, NumelOut=%d, Timeout(ms)=600000) ran for %d milliseconds before timing out.%s\n" % (
        rank, w.below(1000000), rank, w.below(90000), w.one_of(("ALLREDUCE", "ALLGATHER", "BROADCAST")), w.below(9999999), w.below(9999999), w.below(700000), " " + w.text(3) if w.unlike else "")


def tracebacks(w):
    rank = w.below(8)
    front = "[rank%d]: " % rank
    return "".join(front + line + "\n" for line in (
        "Traceback (most recent call last):", '  File "/srv/train/%s.py", line %d, in <module>' % (w.word(), w.below(400)), "    %s" % w.text(3),
        '  File "/srv/train/%s.py", line %d, in %s' % (w.word(), w.below(400), w.word()), "    %s" % w.text(3), "ValueError: %s" % w.text(4)))


def one_traceback(w):
    return "    %s = %s(%s)\n" % (w.word(), w.word(), w.text(3))


def frames(w):
    return '  File "/srv/train/%s/%s.py", line %d, in %s\n' % (w.word(), w.word(), w.below(900), w.word())


def empty(w):
    return "%d: \n" % w.below(8)


def exceptions(w):
    return "ValueError: %s\n" % w.text(4)[:27]


def compose(w):
    return "train-%d  | ValueError: %s\n" % (w.below(8), w.text(5))


def torchrun(w):
    return "[default%d]:RuntimeError: %s\n" % (w.below(8), w.text(6))


def bars(w):
    return "\r %2d%%|%s| %d/10000 [00:12<01:10, %d.%02dit/s]%s" % (w.below(100), "#" * 10, w.number, w.below(99), w.below(99), "/opt/%s.py:%d: FutureWarning: %s\n" % (w.word(), w.below(900), w.text(4)) if w.below(4) == 0 else "")


def srun_warnings(w):
    return "%d: /opt/%s.py:%d: UserWarning: %s raises ValueError: %s\n" % (w.below(8), w.word(), w.below(900), w.word(), w.text(4))


def json_errors(w):
    return '{"ts": %d.%06d, "level": "error", "logger": "%s", "msg": "ConnectionResetError: [Errno 104] Connection reset by peer, %s", "rank": %d}\n' % (1764000000 + w.number, w.below(1000000), w.word(), w.text(5), w.below(8))


def docker(w):
    return '{"log":"ValueError: %s\\n","stream":"stderr","time":"2026-11-27T03:12:07.%06dZ"}\n' % (w.text(6), w.below(1000000))


def long_lines(w):
    return w.text(6500) + "\n" if w.unlike else "sample %d " % w.below(1000) * 4000 + "\n"


KINDS = (steps, ranks, requests, survived, hashes, warnings, colours, nccl_trace, nccl_trace_1024, nccl_timeouts, tracebacks, one_traceback, frames, empty, exceptions, compose, torchrun, bars, srun_warnings, json_errors, docker, long_lines)


# ---- whole jobs: what a training of 256 ranks leaves, in shares as they are met ----

RANKS = 256
NOW_AND_THEN = (
    "/opt/conda/lib/python3.11/site-packages/torch/utils/checkpoint.py:87: UserWarning: None of the inputs have requires_grad=True. Gradients will be None\n  warnings.warn(\n",
    "WARNING:urllib3.connectionpool:Retrying (Retry(total=4, connect=None, read=None)) after connection broken by 'ReadTimeoutError'\n",
    "FutureWarning: `torch.load` with `weights_only=False` is deprecated, RuntimeError may follow\n",
    "[rank%d]:[W1127 02:12:09.118201 ProcessGroupNCCL.cpp:4115] Warning: using GPU %d to perform barrier\n")


def nccl_begin(w, rank, lines=60):
    return "".join("n%04d:%d:%d [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] via %s\n" % (
        rank // 8, 40000 + rank, 41000 + rank, rank % 8, i % 32, rank, rank % 8, (rank + 1) % RANKS, (rank + 1) % 8, w.random.choice(("P2P/CUMEM", "NET/IB/0/GDRDMA", "SHM/direct/direct"))) for i in range(lines))


def lost_others(rank):
    return "".join("[rank%d]: %s\n" % (rank, line) for line in (
        "Traceback (most recent call last):", '  File "/w/train.py", line 301, in <module>', "    main(cfg)", '  File "/w/train.py", line 266, in main', "    dist.all_reduce(loss)",
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2250, remote process exited or there was a network error"))


def logger(w, rank, step):
    return "%s - trainer - INFO - [rank %d] step %d loss %.4f lr %.2e tokens/s %d mem %.1fGB\n" % (clock(w), rank, step, w.random.random() * 3, w.random.random() * 1e-4, w.below(10000), w.random.random() * 80)


def megatron(w, rank, step):
    return " [%s] iteration %8d/  500000 | consumed samples: %12d | elapsed time per iteration (ms): %.1f | learning rate: %.6E | global batch size:  1024 | lm loss: %.6E | loss scale: 1.0 | grad norm: %.3f | number of skipped iterations:   0 | number of nan iterations:   0 |\n" % (
        clock(w)[:19], step, step * 1024, w.random.uniform(8000, 8200), w.random.random() * 1e-4, w.random.random() * 3, w.random.random())


def trainer(w, rank, step):
    return "{'loss': %.4f, 'grad_norm': %.6f, 'learning_rate': %.12g, 'epoch': %.2f}\n" % (w.random.random() * 3, w.random.random(), w.random.random() * 1e-4, step / 1000)


def trainer_bar(w, rank, step):
    drawn = "".join("\r %2d%%|%-10s| %d/100000 [%02d:%02d<2:13:04,  %.2fit/s]" % (s // 1000, "\u2588" * (s // 10000), s, s // 60 % 60, s % 60, w.random.random() * 3) for s in range(10 * step, 10 * step + 10))
    return drawn + "\n" + trainer(w, rank, step)


def deepspeed(w, rank, step):
    return "[%s] [INFO] [logging.py:128:log_dist] [Rank 0] step=%d, skipped=0, lr=[%.6e], mom=[[0.9, 0.95]]\n[%s] [INFO] [timer.py:264:stop] epoch=0/micro_step=%d/global_step=%d, RunningAvgSamplesPerSec=%.4f, CurrSamplesPerSec=%.4f, MemAllocated=16.2GB, MaxMemAllocated=44.1GB\n" % (
        clock(w), step, w.random.random(), clock(w), step * 4, step, w.random.random() * 100, w.random.random() * 100)


def much_nccl(w, rank, step):
    return nccl_begin(w, rank, 20) + logger(w, rank, step)


JOBS = {  # name: what it writes each step, and what stands before lines where all ranks share one file
    "a file a rank, a logger": (logger, None), "a file a rank, Megatron": (megatron, None), "a file a rank, bars of tqdm": (trainer_bar, None),
    "a file a rank, DeepSpeed": (deepspeed, None), "srun -l, a logger": (logger, "%3d: "), "torchrun, the Trainer": (trainer, "[default%d]:"),
    "a file a rank, NCCL's trace all the time": (much_nccl, None)}


def write_job(name, size, folder):
    step_of, prefix = JOBS[name]
    w, written = Words(True), 0
    folder.mkdir(parents=True, exist_ok=True)

    def put(out, rank, text):
        return out.write(text if prefix is None else "".join((prefix % rank) + line + "\n" for line in text.splitlines()))
    outs = [(folder / ("rank_%d.log" % rank)).open("w") for rank in range(RANKS)] if prefix is None else [(folder / "slurm-7.out").open("w")] * RANKS
    for rank, out in enumerate(outs):
        written += put(out, rank, nccl_begin(w, rank))
    step = 0
    while written < size:
        step += 1
        for rank in range(RANKS) if prefix is None else w.random.sample(range(RANKS), 32):
            w.number += rank == 0
            written += put(outs[rank], rank, step_of(w, rank, step))
            if w.below(250) == 0:
                warning = w.random.choice(NOW_AND_THEN)
                written += put(outs[rank], rank, warning % (rank, rank % 8) if "%d" in warning else warning)
    for rank, out in enumerate(outs):
        written += put(out, rank, lost_others(rank))
    for out in set(outs):
        out.close()
    return written


def measure_jobs(args, folder, why):
    """The whole of both programs, as somebody would time them, with what they take to start."""
    short = 0
    print("%-42s %6s %9s %9s %6s" % ("job of %d ranks" % RANKS, "MB", "grep s", "assay s", "share"))
    for name in JOBS:
        if args.only and not any(word in name for word in args.only):
            continue
        place = folder / name
        if not place.exists():
            write_job(name, int(args.megabytes * 1e6), place)
        files = sorted(str(path) for path in place.iterdir())
        size = sum(os.path.getsize(path) for path in files)
        grep = statistics.median(min(seconds(["grep", "-cF", string] + files) for _ in range(args.times)) for string in STRINGS)
        assay = min(seconds(why + [str(place)]) for _ in range(args.times))
        short += grep / assay < AIM
        print("%-42s %6.0f %9.3f %9.3f %6.2f" % (name, size / 1e6, grep, assay, grep / assay))
        sys.stdout.flush()
        if not args.folder:
            shutil.rmtree(place)
    print("%d below %.2f" % (short, AIM))


def write(kind, unlike, size, path):
    w, written = Words(unlike), 0
    with path.open("w") as out:
        if kind in (one_traceback, frames):
            written += out.write("Traceback (most recent call last):\n")
        while written < size:
            w.number += 1
            written += out.write(kind(w))
    return path.stat().st_size


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False, env={**os.environ, "LC_ALL": "C"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def instructions(command):
    """Of the command in user mode; 0 where they are not counted."""
    if not shutil.which("perf"):
        return 0
    done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u"] + command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    counts = [line.split(",")[0] for line in done.stderr.splitlines() if "instructions" in line]
    return int(counts[0]) if counts and counts[0].isdigit() else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay", required=True)
    parser.add_argument("--megabytes", type=float, default=12)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--unlike", action="store_true", help="only lines of which none is like another")
    parser.add_argument("--jobs", action="store_true", help="whole jobs of many outputs in place of files of one kind of lines; with --megabytes 1000 or so")
    parser.add_argument("--folder", help="where to write to; it is kept, and what lies there is used again")
    args = parser.parse_args()
    folder = Path(args.folder or tempfile.mkdtemp(prefix="why-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    why = [args.assay, "why", "--json"]
    short = 0
    try:
        if args.jobs:
            measure_jobs(args, folder, why)
            return 0
        start = folder / "start" / "train.log"
        start.parent.mkdir(parents=True, exist_ok=True)
        start.write_text("step 1 loss 2.0\n")
        begin = min(seconds(why + [str(start.parent)]) for _ in range(2 * args.times))
        grep_begin = min(seconds(["grep", "-cF", STRINGS[0], str(start)]) for _ in range(2 * args.times))
        begun = instructions(why + [str(start.parent)])
        print("%-18s %-7s %6s %9s %9s %6s %12s" % ("lines", "", "MB", "grep s", "assay s", "share", "instr/line"))
        for kind in KINDS:
            for unlike in (True,) if args.unlike else (False, True):
                if args.only and kind.__name__ not in args.only:
                    continue
                path = folder / (kind.__name__ + ("-unlike" if unlike else "")) / "train.log"
                path.parent.mkdir(parents=True, exist_ok=True)
                size = path.stat().st_size if path.exists() else write(kind, unlike, int(args.megabytes * 1e6), path)
                bytes_of = path.read_bytes()
                lines = max(1, bytes_of.count(b"\n") + bytes_of.count(b"\r"))
                command = why + [str(path.parent)]
                greps, ours = {string: [] for string in STRINGS}, []
                for _ in range(args.times):
                    for string in STRINGS:
                        greps[string].append(seconds(["grep", "-cF", string, str(path)]))
                    ours.append(seconds(command))
                grep = statistics.median(min(each) for each in greps.values()) - grep_begin
                assay = max(min(ours) - begin, 1e-6)
                short += grep / assay < AIM
                print("%-18s %-7s %6.1f %9.4f %9.4f %6.2f %12.0f" % (kind.__name__, "unlike" if unlike else "repeat", size / 1e6, grep, assay, grep / assay, (instructions(command) - begun) / lines))
                sys.stdout.flush()
    finally:
        if not args.folder:
            shutil.rmtree(folder, True)
    print("%d below %.2f; to start takes %.4f s" % (short, AIM, begin))
    return 0


if __name__ == "__main__":
    sys.exit(main())
