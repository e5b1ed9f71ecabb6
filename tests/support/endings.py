"""endings.py - writes what jobs leave that ended: outputs of ranks, launcher, scheduler and kernels, with noise, and the truth.

    for ending in planted(seed): ending.name, ending.write(folder), ending.truth
    twin_of(ending).write(folder)        the same job and noise, and nothing happens

A seed decides how many ranks there are, which of them fails, how nodes are called, how lines are prefixed, which version's wording
they have, how far clocks are apart, and which noise comes between. What happens is in plots.py; this file is about who writes where.
"""
import math
import random
import re
from datetime import datetime, timedelta

NEVER = 10 ** 9
ESC = "\x1b"


class Truth:
    """classes: any of them is right. ranks: those of the cause (None: the whole job; "any": not told). nodes: where the cause is a node's."""

    def __init__(self, classes, ranks=None, nodes=None, step=None, known=True):
        self.classes = {classes} if isinstance(classes, str) else set(classes)
        self.ranks, self.nodes, self.step, self.known = ranks, nodes, step, known


NODE_NAMES = [lambda i: "n%04d" % (i + 101), lambda i: "gpu-%s%02d" % ("abcdefgh"[i // 32], i % 32 + 1), lambda i: "node-%d" % (i + 1),
              lambda i: "r%di%dn%d" % (i // 36 + 1, i // 9 % 4, i % 9), lambda i: "ip-10-0-%d-%d" % (i // 250, i % 250 + 4),
              lambda i: "nid%06d" % (i + 1040)]
# Where the lines of ranks go, and what tells whose they are.
LAYOUTS = ("srun", "tee", "files", "folders", "attempts", "mixed")
# The wording of torch: does a rank stand in front of tracebacks, and how does its watchdog speak?
TORCH = ("1.13", "2.1", "2.2", "2.4", "2.6")


class Job:
    def __init__(self, seed, ranks, layout=None, torch=None, per_node=8):
        self.random = random.Random("job %s" % seed)
        pick = self.random.choice
        self.ranks, self.per_node = ranks, min(per_node, ranks)
        self.nodes = math.ceil(ranks / self.per_node)
        name = pick(NODE_NAMES)
        self.names = [name(i) for i in range(self.nodes)]
        self.layout = layout or pick(LAYOUTS)
        if self.layout == "attempts" and self.nodes > 1:
            self.layout = "folders"
        self.torch = torch or pick(TORCH[2:] if self.layout == "mixed" else TORCH)
        self.launcher = "srun" if self.layout in ("srun", "files", "folders") else "torchrun"
        self.id = self.random.randrange(10000, 9999999)
        self.begin = datetime(2024, self.random.randrange(1, 13), self.random.randrange(1, 28), self.random.randrange(24), 7, 11)
        self.skew = [self.random.uniform(-3, 3) for _ in range(self.nodes)]
        self.pids = [self.random.randrange(3000, 4000000) for _ in range(ranks)]
        self.stamp = pick(("logging", "brackets", "none", "iso"))
        self.progress = pick(("loss", "megatron", "bar"))
        self.split = self.random.random() < 0.4  # what is printed goes to another file than errors
        self.domain = self.random.choice(("", "", ".cluster.local"))  # what the launcher puts behind the names of nodes
        self.collected = self.layout in ("files", "folders") and self.random.random() < 0.25  # by a container runtime, with its own time in front
        self.step_seconds = self.random.uniform(0.8, 4)
        self.first_step = self.random.randrange(0, 60000)
        self.steps = self.random.randrange(30, 50)
        self.said = []  # (time, order, rank or -1 - node, text, stamped)
        self.kernel = {}  # node: [(time, text)]
        self.dead = {}  # rank: time of its last line
        self.rest = []  # other files: (path, text)
        self.attempt = 0

    # ---- who is where
    def node(self, rank):
        return self.names[rank // self.per_node]

    def ranks_of(self, node):
        return [r for r in range(self.ranks) if self.node(r) == node]

    def others(self, *ranks):
        return [r for r in range(self.ranks) if r not in ranks]

    def some_rank(self):
        return self.random.randrange(self.ranks)

    # ---- when
    def time_of_step(self, step):
        return 40 + step * self.step_seconds

    @property
    def end(self):
        return self.time_of_step(self.steps)

    @property
    def last_step(self):
        return self.first_step + self.steps - 1

    # ---- saying
    def say(self, rank, time, text, stamped=False):
        for line in text.split("\n"):
            self.said.append((time, len(self.said), rank, line, stamped))

    def log(self, rank, time, text):
        self.say(rank, time, text, stamped=True)

    def launch(self, time, text, node=0):
        """What is nobody's line of the ranks: Slurm, or the launcher of a node."""
        self.say(-1 - node, time, text)

    def kernel_says(self, node, time, text):
        self.kernel.setdefault(node, []).append((time, text))

    def stop(self, rank, time):
        self.dead[rank] = min(time, self.dead.get(rank, NEVER))

    def clock(self, rank, time):
        return self.begin + timedelta(seconds=time + (self.skew[rank // self.per_node] if rank is not None and rank >= 0 else 0))

    def raised(self, rank, time, last, frames=3, chained=None):
        """A traceback, as Python writes it; torch from 2.2 on puts the rank in front of each line."""
        files = ["/opt/app/train.py", "/opt/app/engine/loop.py", "/opt/app/models/block.py", "/opt/env/lib/python3.11/site-packages/torch/nn/modules/module.py"]
        names = ["<module>", "main", "train_one_epoch", "forward", "_call_impl"]
        lines = []
        if chained:
            lines += ["Traceback (most recent call last):", '  File "%s", line 88, in fetch' % files[1], "    sample = self.read(index)",
                      chained, "", "During handling of the above exception, another exception occurred:", ""]
        lines.append("Traceback (most recent call last):")
        for i in range(frames):
            lines += ['  File "%s", line %d, in %s' % (files[i % 4], self.random.randrange(20, 900), names[i % 5]),
                      "    " + self.random.choice(("main()", "loss = model(batch)", "return self._call_impl(*args, **kwargs)", "trainer.fit()"))]
        lines += last.split("\n")
        head = "[rank%d]: " % rank if self.torch >= "2.2" and rank is not None else ""
        for line in lines:
            self.say(rank, time, head + line if line else head.rstrip(" ") if head else "")
        if rank is not None:
            self.stop(rank, time)

    def glog(self, rank, time, file, line, level="E"):
        """In front of a message of torch's C++ code."""
        when = self.clock(rank, time)
        head = {"1.13": "[%s %s:%d] ", "2.1": "[%s %s:%d] ", "2.2": "[rank{r}]:[%s %s:%d] "}.get(self.torch)
        if head:
            return (head % (level, file, line)).replace("{r}", str(rank))
        return "[rank%d]:[%s%d%02d %s%03d %s:%d] " % (rank, level, when.month, when.day, when.strftime("%H:%M:%S.%f"), self.random.randrange(1000), file, line)

    # ---- what follows when one rank is gone
    def watchdog(self, ranks, time, op="ALLREDUCE", seconds=600):
        """NCCL's watchdog ends ranks that waited in vain; a few thousand lines of it in large jobs."""
        seq = self.random.randrange(1000, 90000)
        named = [r % self.per_node for r in range(self.ranks)] if self.torch == "2.4" and self.random.random() < 0.5 else range(self.ranks)  # a group's own ranks
        numel = "" if self.torch == "1.13" else " NumelIn=%d, NumelOut=%d," % ((self.random.randrange(1, 10 ** 8),) * 2)
        for rank in ranks:
            t = time + self.random.uniform(0, 2)
            group = {"2.4": "[PG 0 Rank %d]", "2.6": "[PG ID 0 PG GUID 0(default_pg) Rank %d]"}.get(self.torch, "[Rank %d]") % named[rank]
            work = "WorkNCCL(SeqNum=%d, OpType=%s,%s Timeout(ms)=%d) ran for %d milliseconds before timing out." % (
                seq, op, numel, 1000 * seconds, 1000 * seconds + self.random.randrange(1, 90))
            head = self.glog(rank, t, "ProcessGroupNCCL.cpp", 607)
            self.say(rank, t, "%s[Rank %d] Watchdog caught collective operation timeout: %s" % (head, named[rank], work))
            if self.torch >= "2.4":
                self.say(rank, t, "%s%s Exception (either an error or timeout) detected by watchdog at work: %d, last enqueued NCCL work: %d, last completed NCCL work: %d." % (
                    self.glog(rank, t, "ProcessGroupNCCL.cpp", 1664), group, seq, seq + 2, seq - 1))
            if self.torch == "2.6":
                self.say(rank, t, "%s%s Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info." % (
                    self.glog(rank, t, "ProcessGroupNCCL.cpp", 1743), group))
            self.say(rank, t, "%s[Rank %d] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data." % (head, named[rank]))
            self.say(rank, t, "%s[Rank %d] To avoid data inconsistency, we are taking the entire process down." % (head, named[rank]))
            self.say(rank, t, "terminate called after throwing an instance of '%s'" % ("std::runtime_error" if self.torch < "2.2" else "c10::DistBackendError"))
            self.say(rank, t, "  what():  [Rank %d] NCCL watchdog thread terminated with exception: [Rank %d] Watchdog caught collective operation timeout: %s" % (named[rank], named[rank], work))
            self.stop(rank, t)

    def lost(self, ranks, time, backend=None):
        """The others notice that a peer is gone."""
        backend = backend or self.random.choice(("gloo", "nccl", "socket"))
        for rank in ranks:
            t = time + self.random.uniform(0.05, 3)
            if backend == "gloo":
                self.raised(rank, t, "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:%d] %s" % self.random.choice((
                    (598, "Connection closed by peer [10.4.0.%d]:%d" % (rank % 250 + 1, 10000 + rank)),
                    (534, "Connection closed by peer [10.4.0.%d]:%d" % (rank % 250 + 1, 20000 + rank)),
                    (589, "Read error [10.4.0.%d]:%d: Connection reset by peer" % (rank % 250 + 1, 10000 + rank)))))
            elif backend == "nccl":
                self.say(rank, t, "%s:%d:%d [%d] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer %s<%d>" % (
                    self.node(rank), self.pids[rank], self.pids[rank] + 99, rank % self.per_node, self.names[0], 41000 + rank))
                self.raised(rank, t + 0.1, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:275, remote process exited or there was a network error, NCCL version 2.19.3\n"
                            "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer %s<%d>" % (self.names[0], 41000 + rank))
            else:
                self.raised(rank, t, "torch.distributed.DistBackendError: [%d] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer" % rank)

    def ended(self, rank, time, code, also=(), stops=True):
        """The launcher reports the rank that ended first (code below 0: a signal), and stops the rest."""
        word = {-9: "Killed", -11: "Segmentation fault (core dumped)", -7: "Bus error (core dumped)", -6: "Aborted (core dumped)", -15: "Terminated"}.get(code)
        if self.launcher == "srun":
            self.launch(time, "srun: error: %s: task %d: %s" % (self.node(rank), rank, word or "Exited with exit code %d" % code))
            if stops and self.random.random() < 0.7:  # srun -K: the rest is stopped before it can end by itself
                self.launch(time + 0.1, "srun: Terminating StepId=%d.0" % self.id)
                self.launch(time + 0.2, "slurmstepd: error: *** STEP %d.0 ON %s CANCELLED AT %s ***" % (self.id, self.names[0], self.clock(None, time).isoformat()[:19]))
                for node in self.names[:40]:
                    told = [r for r in self.ranks_of(node) if r != rank]
                    if told:
                        self.launch(time + 1, "srun: error: %s: task%s %s: Terminated" % (node, "s" * (len(told) > 1), spell(told)))
            else:
                for other in also:
                    self.launch(time + 3, "srun: error: %s: task %d: Exited with exit code 1" % (self.node(other), other))
            return
        local, node = rank % self.per_node, rank // self.per_node
        agent = "WARNING:torch.distributed.elastic.multiprocessing.api:" if self.torch < "2.2" else "W%s torch/distributed/elastic/multiprocessing/api.py:900] " % self.clock(None, time).strftime("%m%d %H:%M:%S.%f 4711")
        for other in self.ranks_of(self.node(rank)):
            if other != rank:
                self.launch(time + 1, "%sSending process %d closing signal SIGTERM" % (agent, self.pids[other]), node)
        self.launch(time + 1.5, "%sfailed (exitcode: %d) local_rank: %d (pid: %d) of binary: /usr/bin/python3" % (agent.replace("WARNING", "ERROR").replace("W", "E", 1) if self.torch >= "2.2" else agent.replace("WARNING", "ERROR"), code, local, self.pids[rank]), node)
        signal = {-9: "SIGKILL", -11: "SIGSEGV", -7: "SIGBUS", -6: "SIGABRT", -15: "SIGTERM"}.get(code)
        block = ["Traceback (most recent call last):", '  File "/usr/lib/python3/dist-packages/torch/distributed/run.py", line 762, in main', "    run(args)",
                 '  File "/usr/lib/python3/dist-packages/torch/distributed/launcher/api.py", line 246, in launch_agent', "    raise ChildFailedError(",
                 "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "=" * 60, "train.py FAILED", "-" * 60, "Failures:"]
        for i, other in enumerate(also, 1):
            block += ["[%d]:" % i] + self.entry(other, time + 2, 1, None)
        block += ([] if also else ["  <NO_OTHER_FAILURES>"]) + ["-" * 60, "Root Cause (first observed failure):", "[0]:"] + self.entry(rank, time, code, signal) + ["=" * 60]
        self.launch(time + 2, "\n".join(block), node)

    def entry(self, rank, time, code, signal):
        return ["  time      : " + self.clock(None, time).strftime("%Y-%m-%d_%H:%M:%S"), "  host      : " + self.node(rank) + self.domain, "  rank      : %d (local_rank: %d)" % (rank, rank % self.per_node),
                "  exitcode  : %d (pid: %d)" % (code, self.pids[rank]), "  error_file: <N/A>",
                "  traceback : " + ("Signal %d (%s) received by PID %d" % (-code, signal, self.pids[rank]) if signal else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html")]

    def slurm_ends(self, time, why):
        self.launch(time, "slurmstepd: error: *** JOB %d ON %s CANCELLED AT %s%s ***" % (self.id, self.names[0], self.clock(None, time).isoformat()[:19], why))
        if self.random.random() < 0.6:
            self.launch(time, "slurmstepd: error: *** STEP %d.0 ON %s CANCELLED AT %s%s ***" % (self.id, self.names[0], self.clock(None, time).isoformat()[:19], why))
            self.launch(time + 0.1, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
        for rank in range(self.ranks):
            self.stop(rank, time)

    # ---- the training, which goes on until something stops it
    def train(self):
        talkers = [0] if self.ranks > 64 else [r for r in range(self.ranks) if self.progress != "bar" or r == 0]
        for rank in range(self.ranks) if self.ranks <= 64 or self.layout != "mixed" else [0]:
            self.say(rank, 8 + 0.001 * rank, "%s:%d:%d [%d] NCCL INFO comm 0x%x rank %d nranks %d cudaDev %d busId %x000 - Init COMPLETE" % (
                self.node(rank), self.pids[rank], self.pids[rank], rank % self.per_node, 0x55e0000 + rank, rank, self.ranks, rank % self.per_node, 0x18 + rank % self.per_node))
        for step in range(self.steps):
            t, number = self.time_of_step(step), self.first_step + step
            loss = 2 + 3 / (1 + step) + self.random.uniform(-0.02, 0.02)
            for rank in talkers:
                if self.progress == "loss":
                    self.log(rank, t, "step %d loss %.4f lr 2.5e-04 grad_norm %.3f" % (number, loss, self.random.uniform(0.3, 1)))
                elif self.progress == "megatron":
                    self.log(rank, t, " iteration %8d/  500000 | consumed samples: %12d | elapsed time per iteration (ms): %.1f | learning rate: 2.500E-04 | lm loss: %.6E | loss scale: 1.0 | grad norm: %.3f | number of skipped iterations:   0 | number of nan iterations:   0 |" % (
                        number, number * 512, 1000 * self.step_seconds, loss, self.random.uniform(0.3, 1)))
                else:
                    self.say(rank, t, "\rEpoch 0:  %2d%%|%-10s| %d/500000 [00:%02d<9:17:01,  1.31it/s, loss=%.3f]" % (2 * step, "#" * (step // 5), number, step % 60, loss))

    def finish(self):
        for rank in range(self.ranks) if self.ranks <= 64 else [0]:
            self.log(rank, self.end + 5, "training finished, saved checkpoint-%d" % self.last_step)

    # ---- files
    def dressed(self, rank, time, text, stamped):
        if not stamped or self.stamp == "none":
            return text
        when = self.clock(rank, time)
        return {"logging": when.strftime("%Y-%m-%d %H:%M:%S,") + "%03d INFO train: " % (when.microsecond // 1000), "brackets": when.strftime("[%Y-%m-%d %H:%M:%S] "),
                "iso": when.isoformat()[:23] + " | "}[self.stamp] + text

    def place(self, rank, printed=False):
        """The file of a rank's lines, and what stands in front of each."""
        name, prefix = self.usual_place(rank)
        if printed and self.split and rank >= 0:
            name = name.replace("stderr", "stdout") if "stderr" in name else name.replace(".log", ".out")
        elif self.split and name.startswith("slurm-"):
            name = name.replace(".out", ".err")
        return name, prefix

    def usual_place(self, rank):
        everything = "slurm-%d.out" % self.id
        if rank < 0:
            return everything, ""
        if self.layout == "srun":
            return everything, "%*d: " % (len(str(self.ranks - 1)), rank)
        if self.layout == "tee":
            return everything, ("%*d: " % (len(str(self.nodes - 1)), rank // self.per_node) if self.nodes > 1 else "") + "[default%d]:" % (rank % self.per_node)
        if self.layout == "files":
            return "logs/rank_%d.log" % rank, ""
        if self.layout == "folders":
            return "logs/rank_%d/stderr.log" % rank, ""
        if self.layout == "attempts":
            return "log/none_x%d/attempt_%d/%d/stderr.log" % (self.id % 997, self.attempt, rank), ""
        return everything, ""

    def write(self, folder):
        files = {}
        for time, order, rank, text, stamped in sorted(self.said, key=lambda s: (s[0] + (self.skew[s[2] // self.per_node] / 50 if s[2] >= 0 else 0), s[1])):
            if time > self.dead.get(rank, NEVER) + 0.5:
                continue
            if rank < 0 and self.layout == "tee" and self.nodes > 1 and not text.startswith(("srun", "slurm", "mpirun")):
                text = "%*d: " % (len(str(self.nodes - 1)), -1 - rank) + text
            name, prefix = self.place(rank, stamped or text.startswith("\r"))
            if self.collected and rank >= 0 and not text.startswith("\r"):
                prefix = self.clock(rank, time).strftime("%Y-%m-%dT%H:%M:%S.%f") + "%03dZ %s F " % (order % 1000, "stdout" if stamped else "stderr")
            files.setdefault(name, []).append(prefix + self.dressed(rank, time, text, stamped))
        for name, lines in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes("".join(cut(self, lines)).encode())
        for node, lines in self.kernel.items():
            path = folder / "logs" / ("kernel-%s.log" % node)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as out:
                for time, text in sorted(lines):
                    when = self.begin + timedelta(seconds=time + self.skew[self.names.index(node)])
                    out.write("%s %s kernel: [%.6f] %s\n" % (when.strftime("%b %d %H:%M:%S"), node, 91823 + time, text))
        for name, text in self.rest:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)


PLAIN = re.compile(r"NCCL INFO|Warning: |step \d+ loss|iteration +\d+/")


def cut(job, lines):
    """Lines that two processes write at once: one stands in the middle of the other. Only lines that nobody needs are cut."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if at + 1 < len(lines) and len(line) > 40 and PLAIN.search(line) and PLAIN.search(lines[at + 1]) and job.layout in ("srun", "mixed", "tee") and job.random.random() < 0.05:
            half = job.random.randrange(20, len(line))
            yield line[:half] + lines[at + 1] + "\n"
            yield line[half:] + "\n"
            at += 2
            continue
        yield line + ("" if line.startswith("\r") and job.random.random() < 0.8 else "\n")
        at += 1


def spell(ranks):
    """As Slurm writes a list: 0-3,7."""
    parts = []
    for rank in ranks:
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join("%d" % a if a == b else "%d-%d" % (a, b) for a, b in parts)


# ---- noise: looks like an error, and the job goes on
def noise_warnings(job):
    for rank in job.random.sample(range(job.ranks), min(4, job.ranks)):
        job.say(rank, 12, "/opt/env/lib/python3.11/site-packages/torch/optim/lr_scheduler.py:143: UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.\n  warnings.warn(\"Detected call of `lr_scheduler.step()`")
        job.say(rank, 13, "/opt/app/models/block.py:71: FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. An error will be raised in a future release.")
    job.launch(2, "*****************************************\nSetting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded\n*****************************************")
    job.say(0, 9, "%s:%d:%d [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or directory" % (job.node(0), job.pids[0], job.pids[0]))


def noise_retry(job):
    rank, t = job.some_rank(), job.time_of_step(job.steps // 3)
    job.say(rank, t, "WARNING:urllib3.connectionpool:Retrying (Retry(total=4, connect=None, read=None, redirect=None)) after connection broken by 'ConnectionResetError(104, 'Connection reset by peer')': /api/track")
    job.say(rank, t + 1, "fsspec: OSError: [Errno 5] Input/output error while reading shard-00017, retrying in 2.0 s")
    job.say(rank, t + 4, "shard-00017 read after 2 attempts")


def noise_handled(job):
    """An exception that the program catches, writes out whole, and lives on."""
    rank, t = job.some_rank(), job.time_of_step(job.steps // 2)
    for line in ["ERROR:tracker:could not send metrics", "Traceback (most recent call last):", '  File "/opt/app/tracker.py", line 61, in send', "    self.socket.sendall(payload)",
                 "ConnectionResetError: [Errno 104] Connection reset by peer"]:
        job.say(rank, t, line)
    job.log(rank, job.time_of_step(job.steps // 2 + 2), "tracker connected again")
    for step in range(job.steps // 2, job.steps):
        job.log(rank, job.time_of_step(step) + 0.2, "data queue %d/64" % job.random.randrange(40, 64))


def noise_overflow(job):
    for step in (2, 3, job.steps // 2):
        job.say(0, job.time_of_step(step), job.random.choice(("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
                                                             "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768")))


def noise_colour(job):
    for step in range(0, job.steps, 7):
        job.say(0, job.time_of_step(step) + 0.1, ESC + "[1;31mWARNING" + ESC + "[0m " + ESC + "[33mthroughput below target" + ESC + "[0m" + ESC + "]0;train" + "\x07")


def noise_store(job):
    """Ranks that come before the meeting point is there."""
    for rank in job.random.sample(range(job.ranks), min(6, job.ranks)):
        job.say(rank, 3, "[W socket.cpp:601] [c10d] The client socket has failed to connect to [%s]:29500 (errno: 111 - Connection refused)." % job.names[0])
        job.say(rank, 3, "[W socket.cpp:601] [c10d] The IPv6 network addresses of (%s, 29500) cannot be retrieved (gai error: -2 - Name or service not known)." % job.names[0])


def noise_kernel(job):
    node = job.random.choice(job.names)
    job.kernel_says(node, 15, "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1f00a7)")
    job.kernel_says(node, 16, "pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.0")


def noise_words(job):
    job.log(0, 10, "config: max_errors=0 on_error=raise error_rate_threshold=0.1 fail_fast=True")
    job.log(0, 11, "eval: reconstruction error 0.0312, error bars in plot.png; 0 errors, 0 failures")
    job.log(0, 12, "export HF_TOKEN=hf_%s WANDB_API_KEY=%s" % ("x" * 34, "0123456789abcdef" * 2 + "01234567"))


def noise_oom_caught(job):
    """A batch that was too large, and is tried again in halves."""
    rank, t = job.some_rank(), job.time_of_step(job.steps // 3)
    for line in ["WARNING:engine:batch did not fit", "Traceback (most recent call last):", '  File "/opt/app/engine/loop.py", line 210, in train_step', "    loss = model(batch)",
                 "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.14 GiB is free.", "halving the batch: 16 -> 8, going on"]:
        job.say(rank, t, line)
    for step in range(job.steps // 3, job.steps):
        job.log(rank, job.time_of_step(step) + 0.2, "tokens per second %d" % job.random.randrange(9000, 9900))


def noise_nan_skipped(job):
    job.log(0, job.time_of_step(job.steps // 2), "loss is nan in this batch, skipped (1 of at most 100)")
    job.log(0, job.time_of_step(job.steps // 2) + 0.1, "grad norm inf, clipped")


def noise_remapped(job):
    """A GPU had a row of its memory remapped when the job began, and works."""
    job.kernel_says(job.random.choice(job.names), 5, "NVRM: Xid (PCI:0000:b3:00): 63, Row Remapper: new row marked for remapping, reset gpu to activate.")


NOISES = [noise_oom_caught, noise_nan_skipped, noise_remapped, noise_warnings, noise_retry, noise_handled, noise_overflow, noise_colour, noise_store, noise_kernel, noise_words]


class Ending:
    def __init__(self, name, seed, plot, ranks, noises, layout=None, torch=None, healthy=False):
        self.name, self.seed, self.plot, self.ranks, self.noises = name, seed, plot, ranks, noises
        self.layout, self.torch, self.healthy, self.truth = layout, torch, healthy, None
        self.job = Job("%s %s" % (seed, name), ranks, layout, torch)
        for noise in noises:
            noise(self.job)
        self.job.train()
        if healthy and plot.early is None:  # a plot of a job that comes to a good end
            plot(self.job)
        if healthy:
            self.job.finish()
            return
        if plot.early:  # it never came to train
            self.job.said = [line for line in self.job.said if line[0] < 20]
        self.truth = plot(self.job)

    def write(self, folder):
        self.job.write(folder)


def twin_of(ending):
    return Ending(ending.name, ending.seed, ending.plot, ending.ranks, ending.noises, ending.layout, ending.torch, healthy=True)


# ---- which endings there are
def planted(seed, plots):
    """An ending of each plot; the seed decides everything else."""
    for number, plot in enumerate(plots):  # a plot that comes to a good end has no truth but that
        choose = random.Random("%s %s" % (seed, plot.__name__))
        layout = choose.choice(plot.layouts) if plot.layouts else LAYOUTS[(number + choose.randrange(2)) % len(LAYOUTS)]
        yield Ending(plot.__name__, seed, plot, choose.choice(plot.ranks), choose.sample(NOISES, choose.randrange(2, 6)), layout, choose.choice(plot.torch) if plot.torch else None, plot.early is None)
