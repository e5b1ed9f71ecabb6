#!/usr/bin/env python3
"""Nothing is left out without a word: a law over every format in formats.def and event_formats.def, each kind of metric log, sealed
checkpoints, the directory of a job, and reports.

    omissions.py --assay PROGRAM --shim LIBRARY [--ranks N...] [--long] [--only FORMAT...]

The small trial of a format lies in tests/data/formats/NAME or tests/data/events/NAME, logs are those of tests/support/logs.py; `verify`
holds sealed checkpoints against their seals, `why` reads what a job left, and `history` reads reports. To each of their files and directories happens
  fault    a stat, an open, or both say ENOENT, EACCES or EIO, though its directory lists it; reading it says EIO
  server   in S3, the object is refused (403, 500) or gone (404)
  hide     it is taken away
  rename   one bit of its name is another, or ".bak" stands behind it
  file     a file stands in the place of a directory, a directory or a pipe in that of a file
  key      one bit of a key in it is another: of JSON, of YAML, of a CSV file's header
A fault has to be named, by the problem of a report, or by the error or the output of a command, or all is as without it: then nothing was
lost. What is hidden or renamed has to show in the report, and what is renamed or damaged has to be named, unless it is documented as not
needed (NOT_NEEDED). Without --long each path has one fault, each key one flipped bit, and commands other than `run` and other numbers of
ranks a part of the paths; with it, all of all.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import logs  # noqa: E402
import s3  # noqa: E402
from launch import ROOT, Checks, mpirun, run  # noqa: E402
from reports import body_of  # noqa: E402
from s3_server import Server  # noqa: E402

PLAIN = ROOT / "tests" / "data" / "trials" / "ddp"
SAYS = ("ls", "verify", "diff", "show", "metric", "topology", "groups", "history", "why")  # what these say is what they found
IN_REPORTS = ("schema", "trials", "verdict", "name", "rules", "status", "severity", "findings_total", "aggregations")  # is read of a report
NOT_TRIED = {"verify": (), "history": ("servers",), "why": ("changes", "keys")}  # `why` goes by names, and rules read what it finds
ERRORS = {"ENOENT": 2, "EACCES": 13, "EIO": 5}
FAULTS = list(itertools.product(("both", "stat", "open"), ERRORS)) + [("read", "EIO")]
JSON_KEY = rb'"([A-Za-z_]+)" ?:'
KEYS = {".json": JSON_KEY, ".yaml": rb"(?m)^([a-z_]+):", ".csv": rb"(?<![^,])([a-z_]+)(?=,)"}
RULES = [{"rule": "ExplodingTensor"}, {"rule": "CheckpointStructure"}, {"rule": "MissingWorker"}]

# What docs/format.md, profiler.md, traces.md, logs.md and checkpoints-as-trials.md say is not needed: of files the paths, of keys PATH:KEY.
NOT_NEEDED = [
    r"collections/.*:(save_config|reduction_config|save_histogram|TRAIN|EVAL|PREDICT|GLOBAL|save_\w+|start_step|end_step|reductions)",
    r"hidden:collections/.*/.*",  # workers agree
    r"hidden:.*\.index\.json",  # names of shards say how many there are
    r".*_timeline.json:(tid|sort_index|worker_id)", r".*timeline.json:(tid|sort_index|worker_id)", r"system/.*:Type",
    r".*\.trace\.json(\.gz)?:schemaVersion",
    r"hidden:.*assay-seal\.sha256",  # for sha256sum
    r"night-./\.assay-files",  # what the next run removes there
    r".*trainer_state\.json:(?!log_history).*",  # a loss of another name is another series; settings
    r"_dump_.:(record_id|retired|timeout_ms|time_(created|discovered_completed)_ns|nccl_version|name|last_started_collective)",
    r".*\.safetensors:scale",  # a tensor of another name
    r"instead:metrics(/metrics\.csv)?",  # beside traces: nothing says that there was a log
    r".*dump\.json:(dtype|shape)", r".*\.csv:(?!step|module_name).*",
]


def is_not_needed(what):
    return any(re.fullmatch(pattern, what) for pattern in NOT_NEEDED)


def names_of(table):
    return re.findall(r"^X\((\w+)\)", (ROOT / "src" / "format" / table).read_text(), re.M)


class Subject:
    """A copy of a format's trial, and what the commands say of it while it is sound."""

    def __init__(self, args, checks, folder, name, source, main="run", parallel=True):
        self.args, self.checks, self.name, self.source, self.main, self.parallel = args, checks, name, source, main, parallel
        self.trial, self.out = folder / "trial", folder / "out"
        self.job = folder / "job.json"
        self.job.write_text(json.dumps({"rules": RULES}))
        self.restore()
        self.paths = sorted(self.trial.rglob("*"))
        self.sound = {}

    def restore(self):
        shutil.rmtree(self.trial, True)
        shutil.copytree(self.source, self.trial)

    def commands(self):
        if self.main == "history":
            yield "history", ["history", self.trial / "night-1", self.trial / "night-2", "--all"]
            yield "show", ["show", self.trial / "night-2"]
            return
        yield "run", ["run", self.job, "--trial", self.trial, "--out", self.out, "--reports", "json", "--quiet"]
        yield "watch", ["watch", self.job, "--trial", self.trial, "--out", self.out, "--reports", "json", "--quiet", "--every", "0.2", "--idle", "0.4"]
        yield "ls", ["ls", self.trial, "--json"]
        yield "stats", ["stats", self.trial, "--out", self.out / "stats.csv"]
        yield "pack", ["pack", self.trial, self.out / "packed.h5", "--quiet"]
        yield "compare", ["compare", "a=%s" % self.trial, "b=%s" % self.source, "--out", self.out, "--reports", "json", "--quiet"]
        yield "verify", ["verify", self.trial]
        yield "diff", ["compare", "--tensors", self.trial, self.source]
        yield "show", ["show", self.trial, "--regex", "."]
        yield "metric", ["show", self.trial, "--metric", "step"]
        yield "metrics", ["stats", self.trial, "--metrics", "--out", self.out / "stats.csv"]
        yield "topology", ["topology", self.trial]
        yield "groups", ["topology", PLAIN, "--groups", self.trial]
        yield "hang", ["hang", self.trial, "--out", self.out, "--reports", "json", "--quiet"]
        yield "seal", ["seal", self.trial]
        yield "why", ["why", self.trial, "--json", "--quiet"]

    def once(self, command, ranks=1, env=None, trial=None):
        """The exit code, what was said, and the body of the report or of the file that was written."""
        shutil.rmtree(self.out, True)
        self.out.mkdir()
        argv = [self.args.assay] + [str(trial or a) if a == self.trial else a for a in dict(self.commands())[command]]
        done = run(argv, env=env, timeout=60) if ranks == 1 else mpirun(ranks, argv, env=env, timeout=60)
        if done.hung or done.code is None or not 0 <= done.code <= 7:
            self.checks.expect(False, "%s: %s: %s" % (self.name, command, done))
        body = body_of(self.out) or b""
        stats = self.out / "stats.csv"
        table = stats.read_bytes() if stats.is_file() else b""
        if command == "seal":
            table = b"".join(p.read_bytes() for p in sorted(self.trial.rglob("*assay-seal*")))
            self.restore()
        return done.code, done.out, done.err, body, table

    def sound_of(self, command, ranks=1):
        key = command, ranks
        if key not in self.sound:
            self.sound[key] = self.once(command, ranks)
        return self.sound[key]

    def same(self, got, command, ranks=1):
        sound = self.sound_of(command, ranks)
        return got[0] == sound[0] and got[3:] == sound[3:] and (command not in SAYS or got[1] == sound[1])

    @staticmethod
    def names(got, path):
        """Does a problem, the error or the output have the path, or the directory that it is in?"""
        text = (got[1] + got[2] + got[3].decode()).replace("\n", " ")
        text = re.sub(r"\s+", " ", text)
        return path.name in text

    def judge(self, what, path, got, command, ranks=1):
        if not self.same(got, command, ranks):
            self.checks.expect(got[0] != 0 and self.names(got, path), "%s: %s %s, %s on %d: exit %d, not named: %s"
                               % (self.name, what, path.relative_to(self.trial), command, ranks, got[0], (got[1] + got[2])[-800:]))
        else:
            self.checks.expect(True, "")

    def fault(self, path, how, command, ranks=1, rank=None):
        calls, error = how
        env = {"LD_PRELOAD": self.args.shim, "FAIL_PATH": str(path), "FAIL_CALLS": calls, "FAIL_ERRNO": str(ERRORS[error])}
        if rank is not None:
            env["FAIL_RANK"] = str(rank)
        self.judge("%s %s" % how, path, self.once(command, ranks, env), command, ranks)

    def faults(self):
        others = [name for name, _ in self.commands() if name != self.main and self.sound_of(name)[0] == 0]
        for i, path in enumerate(self.paths):
            for how in FAULTS if self.args.long else [FAULTS[i % len(FAULTS)]]:
                self.fault(path, how, self.main)
            for k, command in enumerate(others):
                if self.args.long or i % len(others) == k:
                    self.fault(path, FAULTS[i % 3], command)
            for ranks in self.args.ranks if self.parallel else []:
                for rank in range(ranks):
                    if self.args.long or i % (3 * ranks) == rank:
                        self.fault(path, FAULTS[i % len(FAULTS)], self.main, ranks, rank)

    def changes(self):
        sound = self.sound_of(self.main)
        before = sound[1] + sound[3].decode()
        for path in self.paths:
            relative = path.relative_to(self.trial)
            if is_not_needed(str(relative)):
                continue
            aside = self.trial.parent / "aside"
            path.rename(aside)
            if not is_not_needed("hidden:%s" % relative):
                self.checks.expect(not self.same(self.once(self.main), self.main), "%s: without %s the report is the same" % (self.name, relative))
            middle = max(i for i in range(len(path.name)) if i <= len(path.name) // 2 and path.name[i].isalnum())
            for at in (middle, len(path.name) - 1, len(path.name)):  # another digit at the end is another step or rank
                name = path.name[:at] + chr(ord(path.name[at]) ^ 1) + path.name[at + 1:] if at < len(path.name) else path.name + ".bak"
                other = path.with_name(name)
                if other.exists() or path.name[at:].isdigit():
                    continue
                aside.rename(other)
                got = self.once(self.main)
                word = next((m.group() for m in re.finditer(r"[^\W_]+|[^\w]", name) if m.end() > at + (at == len(path.name))))  # what is another now
                text = got[1] + got[2] + got[3].decode() + (self.once("ls")[1] if self.main == "run" else "")
                missed = path.name in text and path.name not in before
                self.checks.expect(self.same(got, self.main) or word in text or missed or got[0] == 2, "%s: %s is called %s, and nothing says so: %s"
                                   % (self.name, relative, other.name, (got[1] + got[2])[-800:]))
                other.rename(aside)
            path.write_text("x") if aside.is_dir() else path.mkdir()
            got = self.once(self.main)
            self.checks.expect(is_not_needed("instead:%s" % relative) or self.same(got, self.main) or self.names(got, path) or got[0] == 2, "%s: %s is a %s, and nothing says so: %s"
                               % (self.name, relative, "file" if aside.is_dir() else "directory", (got[1] + got[2])[-800:]))
            path.unlink() if aside.is_dir() else path.rmdir()
            if aside.is_file():
                os.mkfifo(path)
                got = self.once(self.main)
                self.checks.expect(is_not_needed("instead:%s" % relative) or self.same(got, self.main) or self.names(got, path) or got[0] == 2, "%s: %s is a pipe, and nothing says so: %s"
                                   % (self.name, relative, (got[1] + got[2])[-800:]))
                path.unlink()
            (shutil.rmtree if aside.is_dir() else os.unlink)(aside)
            self.restore()

    def keys(self):
        self.sound_of(self.main)
        for path in self.paths:
            data = path.read_bytes() if path.is_file() else b""
            seen = set()
            known = KEYS.get(path.suffix, JSON_KEY if self.args.long or data[:1] == b"{" else None)
            for found in re.finditer(known, data.partition(b"\n")[0] if path.suffix == ".csv" else data) if known else ():
                key = found.group(1).decode()
                if key in seen or (self.main == "history" and key not in IN_REPORTS) or is_not_needed("%s:%s" % (path.relative_to(self.trial), key)):
                    continue
                seen.add(key)
                middle = (found.start(1) + found.end(1)) // 2
                for at in range(found.start(1), found.end(1)) if self.args.long else [middle]:
                    for bit in range(8) if self.args.long else [1]:
                        changed = bytearray(data)
                        changed[at] ^= 1 << bit
                        if changed[at] == 92 or (path.suffix == ".csv" and changed[at:at + 1].lower() == data[at:at + 1].lower()):
                            continue  # a backslash means the character behind it; columns are found in any case
                        path.write_bytes(changed)
                        got = self.once(self.main)
                        self.checks.expect(not self.same(got, self.main) and (got[0] in (2, 3) or path.name in got[1] + got[2] + got[3].decode()),
                                           "%s: bit %d of byte %d of %s, in \"%s\": exit %d, not named"
                                           % (self.name, bit, at, path.relative_to(self.trial), key, got[0]))
            if data:
                path.write_bytes(data)

    def servers(self):
        with Server() as server:
            server.client.make_bucket("b")
            for path in self.paths:
                if path.is_file():
                    server.put("b", "t/%s" % path.relative_to(self.trial), path.read_bytes())
            environment = s3.environment(server.port, server.key, server.secret, AWS_MAX_ATTEMPTS="1")
            def once(command):
                return self.once(command, env=environment, trial="s3://b/t")
            sound = {}
            others = [c for c in ("ls", "stats", "verify", "diff", "show", "topology", "groups") if c != self.main and self.sound_of(c)[0] == 0]
            for i, path in enumerate(p for p in self.paths if p.is_file()):
                status = (403, 404, 500)[i % 3]
                for command in [self.main] + (others if self.args.long else others[i % len(others):][:1]):
                    if command not in sound:
                        server.decide = None
                        sound[command] = once(command)
                    before = sound[command]
                    server.decide = lambda number, method, target: status if target.split("?")[0].endswith("/" + path.name) else None
                    got = once(command)
                    same = got[0] == before[0] and got[3:] == before[3:] and (command not in SAYS or got[1] == before[1])
                    self.checks.expect(same or (got[0] != 0 and self.names(got, path)), "%s in S3: %s answers %d, %s: exit %d, not named: %s"
                                       % (self.name, path.name, status, command, got[0], (got[1] + got[2])[-800:]))
            server.decide = None


def job(folder):
    """What a job left that ended well: outputs of ranks, what Slurm says, dumps, checkpoints, a log, records."""
    data = ROOT / "tests" / "data"
    for name, text in (("slurm-7.out", "0: step 1 loss 2.0\n"), ("attempt_0/0/stderr.log", "step 2 loss 1.0\n"), ("slurm.env", "SLURM_NNODES=1\n"),
                       ("sacct.txt", "JobID|State|ExitCode|NodeList\n7|COMPLETED|0:0|n1\n")):
        logs.write(folder / name, text)
    shutil.copytree(data / "events" / "flight", folder / "dumps")
    shutil.copytree(data / "formats" / "smdebug", folder / "records")
    logs.csv(folder / "metrics", logs.curve(4))
    for step in (1, 2):
        shutil.copytree(data / "formats" / "checkpoint" / "step-20", folder / "saved" / ("checkpoint-%d" % step))


def subjects(args, place):
    """Of each subject its name, what is copied, the command that all is done to, and whether several ranks run that."""
    for kind, make in logs.KINDS.items():
        make(place / "logs-source" / kind, logs.curve(2))
        yield "log-" + kind, place / "logs-source" / kind, "run", kind in ("mlflow", "dump")
    for i in range(2):  # several runs in a place
        logs.mlflow(place / "runs-source/mlflow", logs.curve(2), "0a1b%d" % i, "owl-%d" % i)
        logs.csv(place / ("runs-source/csv/version_%d" % i), logs.curve(2))
    for kind in ("mlflow", "csv"):
        yield "runs-" + kind, place / "runs-source" / kind, "run", False
    beside = place / "beside-source"  # a log below what is a trial without it
    shutil.copytree(ROOT / "tests" / "data" / "events" / "traces", beside)
    logs.csv(beside / "metrics", logs.curve(2))
    yield "traces-log", beside, "run", True
    job(place / "job-source")
    yield "job", place / "job-source", "why", True
    for table, folder in (("formats.def", "formats"), ("event_formats.def", "events")):
        for name in names_of(table):
            yield name, ROOT / "tests" / "data" / folder / name, "run", True
    sealed, reports = place / "sealed-source", place / "reports-source"
    shutil.copytree(ROOT / "tests" / "data" / "formats" / "checkpoint", sealed)
    run([args.assay, "seal", sealed])
    yield "sealed", sealed, "verify", True
    for name in ("night-1", "night-2"):
        run([args.assay, "run", PLAIN, "--out", reports / name, "--reports", "json", "--quiet"])
    yield "reports", reports, "history", False


def try_subject(args, place, name, source, main_command, parallel):
    checks = Checks()
    if (not args.only or name in args.only) and checks.expect(source.is_dir(), "%s has no small trial %s" % (name, source)):
        (place / name).mkdir()
        subject = Subject(args, checks, place / name, name, source, main_command, parallel)
        for part in args.parts:
            if main_command == "run" or part not in NOT_TRIED[main_command]:
                getattr(subject, part)()
    return checks.passed, checks.failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--ranks", type=int, nargs="*", default=[])
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--parts", nargs="+", default=["faults", "changes", "keys", "servers"])
    args = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(3) as pool:
        # Most of the time passes while launchers wait: a few at a time.
        for passed, failed in pool.map(lambda one: try_subject(args, Path(os.path.realpath(place)), *one), list(subjects(args, Path(place)))):
            checks.passed += passed
            checks.failed += failed
    checks.done()


if __name__ == "__main__":
    main()
