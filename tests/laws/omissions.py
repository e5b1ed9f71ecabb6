#!/usr/bin/env python3
"""Nothing is left out without a word: a law over every format in formats.def and event_formats.def, each kind of metric log, sealed
checkpoints, the directory of a job, and reports.

    omissions.py --assay PROGRAM --shim LIBRARY [--ranks N...] [--long] [--only NAME...] [--but NAME...]

The small trial of a format lies in tests/data/formats/NAME or tests/data/events/NAME, logs are those of tests/support/logs.py; `verify`
holds sealed checkpoints against their seals, `why` reads what a job left, and `history` reads reports. To each of their files and directories happens
  fault    a stat, an open, or both say ENOENT, EACCES, EIO or ESTALE, though its directory lists it; reading it says EIO
  server   in S3, the object is refused (403, 500), gone (404), its content ends early each time, or it is another one than was listed: of
           another ETag, shorter, longer, whatever the request's If-Match says
  hide     it is taken away
  rename   one bit of its name is another, or ".bak" stands behind it
  file     a file stands in the place of a directory, a directory or a pipe in that of a file
  more     a file has something behind its end
  key      one bit of a key in it is another: of JSON, of YAML, of a CSV file's header
A fault has to be named, by the problem of a report, or by the error or the output of a command, or all is as without it: then nothing was
lost. What is hidden or renamed has to show in the report, and what is renamed or damaged has to be named, unless it is documented as not
needed (NOT_NEEDED). One `run` reads many copies of the trial, each with its own fault; what does not hold there is tried again by itself.
Without --long each path has one fault, each key one flipped bit, and commands other than `run` and other numbers of
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
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import logs  # noqa: E402
import s3  # noqa: E402
from launch import ROOT, Checks, mpirun, run  # noqa: E402
from left_behind import JSON_KEY, KEYS, PLAIN, job  # noqa: E402
from reports import body_of  # noqa: E402
from s3_server import Server, in_place  # noqa: E402

SAYS = ("ls", "verify", "diff", "show", "metric", "topology", "groups", "history", "why")  # what these say is what they found
IN_REPORTS = ("schema", "trials", "verdict", "name", "rules", "status", "severity", "findings_total", "aggregations")  # is read of a report
NOT_TRIED = {"verify": (), "history": ("servers",), "why": ("changes", "keys")}  # `why` goes by names, and rules read what it finds
ANSWERS = {403: ("status", 403, {}, b""), 404: ("status", 404, {}, b""), 500: ("status", 500, {}, b""), "cut": "cut"}
OTHERS = {"etag": lambda data: data, "short": lambda data: data[:-1], "long": lambda data: data + b"\n"}  # another object than was listed
MANY = 40  # copies that one command reads
ERRORS = {"ENOENT": 2, "EACCES": 13, "EIO": 5, "ESTALE": 116}
FAULTS = list(itertools.product(("both", "stat", "open"), ERRORS)) + [("read", "EIO")]
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
    r"more:.*(training_job_end\.ts|assay-seal\.sha256)", r"more:events/.*",  # nobody reads what stands there
    r"more:.*(\.log|\.out|\.wandb|events\.out\.tfevents[^/]*)",  # a record that is being written, which is counted
    r".*dump\.json:(dtype|shape)", r".*\.csv:(?!step|module_name).*",
]


LOSSES = set(re.findall(r'^    X\(\w+, "([^"]+)", true\)', (ROOT / "src" / "trial" / "problem.h").read_text(), re.M))


def answer(what, data, etag, asked):
    """What the server says for an object; `asked`: the range, or None."""
    if what in ANSWERS:
        return ANSWERS[what]
    return in_place(OTHERS[what](data), "0" * 32 if what == "etag" else etag, asked)


class Told:
    """What a command said of a copy of the trial: `same` as of a sound one, or `lost`: by its exit code, or by problems of that kind."""

    def __init__(self, same, lost, refused, text, command=None):
        self.same, self.lost, self.refused, self.text, self.command = same, lost, refused, re.sub(r"\s+", " ", text), command

    def with_text(self, text):
        return Told(self.same, self.lost, self.refused, "%s %s" % (self.text, text), self.command)

    def names(self, path):
        if self.command == "why" and path.parent.name == "checkpoint-1" and re.search(r"see \d+ notes?", self.text):
            return True  # `why` looks at the newest checkpoint, and says of what it is held against that `verify --last` has a note
        return self.same or (self.lost and path.name in self.text)


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

    def told(self, got, command, ranks=1):
        return Told(self.same(got, command, ranks), got[0] != 0, got[0] == 2, got[1] + got[2] + got[3].decode(), command)

    def tried(self, what, change, check, environment=None, many=None, copy=None, ranks=1, deep=False):
        """Makes the change to a copy, and checks what the main command says; `many` has that already. What is said of many copies at once
        may lack what the command says on stderr, and `ls`, which it may be found in as well (deep)."""
        if many and check(many):
            return self.checks.expect(True, "")
        if many and deep and check(many.with_text(self.once("ls", trial=copy)[1])):
            return self.checks.expect(True, "")
        root = self.fresh("alone") if self.main == "run" else self.trial
        change(root)
        got = self.once(self.main, ranks, environment and environment(root), trial=root)
        told = self.told(got, self.main, ranks)
        if deep and self.main == "run":
            told = told.with_text(self.once("ls", trial=root)[1])
        self.checks.expect(check(told), "%s: %s, %s on %d: exit %d, not named: %s" % (self.name, what, self.main, ranks, got[0], (got[1] + got[2])[-800:]))
        if root == self.trial and not environment:  # a fault changes nothing
            self.restore()

    def fresh(self, number):
        root = self.trial.parent / "many" / str(number) / "trial"
        shutil.rmtree(root, True)
        shutil.copytree(self.source, root)
        return root

    def read_many(self, sound, roots, ranks=1, env=None):
        """What one `run` says of each of some copies, beside a sound one. None of those that cannot be read together with others."""
        shutil.rmtree(self.out, True)
        argv = [self.args.assay, "run", self.job, *[o for root in (sound, *roots) for o in ("--trial", root)], "--out", self.out, "--format", "json", "--quiet"]
        done = run(argv, env=env, timeout=120) if ranks == 1 else mpirun(ranks, argv, env=env, timeout=120)
        if done.hung or done.code is None or not 0 <= done.code <= 7:
            self.checks.expect(False, "%s: run of %d copies: %s" % (self.name, len(roots), done))
        path = self.out / "report.json"
        if not path.exists():
            half = len(roots) // 2
            return self.read_many(sound, roots[:half], ranks, env) + self.read_many(sound, roots[half:], ranks, env) if half else [None]
        trials = json.loads(path.read_text())["trials"]
        out = []
        for root in map(str, (sound, *roots)):
            of = [{k: v for k, v in t.items() if k not in ("name", "path")} for t in trials if t["path"] == root or t["path"].startswith(root + "/")]
            kinds = [p["kind"] for t in of for p in t["problems"]]
            known = out[0][1] if out else []
            out.append((of, kinds, Told(bool(out) and of == out[0][0], any(kinds.count(k) > known.count(k) and (k in LOSSES or k == "unread") for k in kinds),
                                        not of or not all("rules" in t for t in of), json.dumps(of, ensure_ascii=False))))
        return [told for _, _, told in out[1:]]

    def try_all(self, tries, ranks=1, rank=None):
        """Of each try (what, change, check, fault, deep); where the main command is `run`, many copies at once."""
        def environment(faults):
            env = {"LD_PRELOAD": self.args.shim, "FAIL_PATHS": "\n".join(faults)}
            return env if rank is None else dict(env, FAIL_RANK=str(rank))
        for first in range(0, len(tries), MANY):
            some, many, roots, faults = tries[first:first + MANY], [None] * MANY, [], []
            if self.main == "run":
                roots = [self.fresh(i) for i in range(len(some) + 1)]
                for (_, change, _, fault, _), root in zip(some, roots[1:]):
                    change(root)
                    faults += [fault(root)] if fault else []
                many = self.read_many(roots[0], roots[1:], ranks, environment(faults) if faults else None)
                if ranks == 1:
                    self.same_on_ranks([what for what, *_ in some], many, roots, environment(faults) if faults else None)
            for i, (what, change, check, fault, deep) in enumerate(some):
                alone = (lambda root, fault=fault: environment([fault(root)])) if fault else None
                self.tried(what, change, check, alone, many[i], roots[i + 1] if roots else None, ranks, deep)

    def same_on_ranks(self, names, many, roots, env):
        """What happened to all ranks alike is said alike at any number of ranks."""
        for ranks in self.args.ranks if self.parallel else []:
            for what, one, several in zip(names, many, self.read_many(roots[0], roots[1:], ranks, env)):
                if one and several:
                    self.checks.expect(one.text == several.text, "%s: %s, another report on %d ranks: %s %s" % (self.name, what, ranks, one.text, several.text))

    def fault(self, path, how, command):
        calls, error = how
        env = {"LD_PRELOAD": self.args.shim, "FAIL_PATHS": "%s %d %s" % (calls, ERRORS[error], path)}
        told = self.told(self.once(command, 1, env), command)
        self.checks.expect(told.names(path), "%s: %s %s, %s: not named: %s" % (self.name, how, path.relative_to(self.trial), command, told.text[-800:]))

    def faults(self):
        def one(path, how):
            relative = path.relative_to(self.trial)
            return ("%s %s %s" % (*how, relative), lambda root: None, lambda told: told.names(path),
                    lambda root: "%s %d %s" % (how[0], ERRORS[how[1]], root / relative), False)
        all_of = [one(path, how) for i, path in enumerate(self.paths) for how in (FAULTS if self.args.long else [FAULTS[i % len(FAULTS)]])]
        self.try_all(all_of)
        for ranks in self.args.ranks if self.parallel else []:
            for rank in range(ranks):
                # But for `run`, each try is a job of its own: of the faults of a path one falls on each rank, another one at each path.
                self.try_all(all_of if self.main == "run" else all_of[rank::(3 if self.args.long else 6) * ranks], ranks, rank)
        others = [name for name, _ in self.commands() if name != self.main and self.sound_of(name)[0] == 0]
        for i, path in enumerate(self.paths):
            for k, command in enumerate(others):
                if self.args.long or i % len(others) == k:
                    self.fault(path, FAULTS[i % 3], command)

    def changes(self):
        sound = self.sound_of(self.main)
        before = sound[1] + sound[3].decode()
        tries = []

        def add(what, change, check, deep=False):
            tries.append((what, change, check, None, deep))
        for path in self.paths:
            relative = path.relative_to(self.trial)
            if is_not_needed(str(relative)):
                continue
            remove = lambda root, relative=relative: (shutil.rmtree if (root / relative).is_dir() else os.unlink)(root / relative)
            if not is_not_needed("hidden:%s" % relative):
                add("without %s the report is the same" % relative, remove, lambda told: not told.same)
            middle = max(i for i in range(len(path.name)) if i <= len(path.name) // 2 and path.name[i].isalnum())
            for at in (middle, len(path.name) - 1, len(path.name)):  # another digit at the end is another step or rank
                name = path.name[:at] + chr(ord(path.name[at]) ^ 1) + path.name[at + 1:] if at < len(path.name) else path.name + ".bak"
                other = path.with_name(name)
                if other.exists() or path.name[at:].isdigit():
                    continue
                word = next((m.group() for m in re.finditer(r"[^\W_]+|[^\w]", name) if m.end() > at + (at == len(path.name))))  # what is another now
                add("%s is called %s" % (relative, name), lambda root, relative=relative, name=name: (root / relative).rename((root / relative).with_name(name)),
                    lambda told, path=path, word=word: told.same or word in told.text or (path.name in told.text and path.name not in before) or told.refused, True)
            stands_in = lambda told, path=path, relative=relative: (
                is_not_needed("instead:%s" % relative) or told.same or path.name in told.text or told.refused)
            put = (lambda place: place.write_text("x")) if path.is_dir() else Path.mkdir
            add("%s is a %s" % (relative, "file" if path.is_dir() else "directory"),
                lambda root, relative=relative, remove=remove, put=put: (remove(root), put(root / relative)), stands_in)
            if path.is_file():
                if not is_not_needed("%s:" % relative) and not is_not_needed("more:%s" % relative):
                    more = lambda place, path=path: place.write_bytes(path.read_bytes() + b"\0{")
                    add("%s has more behind its end" % relative, lambda root, relative=relative, more=more: more(root / relative),
                        lambda told, path=path: not told.same and path.name in told.text, True)
                add("%s is a pipe" % relative, lambda root, relative=relative, remove=remove: (remove(root), os.mkfifo(root / relative)), stands_in)
        self.try_all(tries)

    def keys(self):
        self.sound_of(self.main)
        tries = []
        for path in self.paths:
            relative = path.relative_to(self.trial)
            data = path.read_bytes() if path.is_file() else b""
            seen = set()
            known = KEYS.get(path.suffix, JSON_KEY if self.args.long or data[:1] == b"{" else None)
            for found in re.finditer(known, data.partition(b"\n")[0] if path.suffix == ".csv" else data) if known else ():
                key = found.group(1).decode()
                if key in seen or (self.main == "history" and key not in IN_REPORTS) or is_not_needed("%s:%s" % (relative, key)):
                    continue
                seen.add(key)
                middle = (found.start(1) + found.end(1)) // 2
                for at in range(found.start(1), found.end(1)) if self.args.long else [middle]:
                    for bit in range(8) if self.args.long else [1]:
                        changed = bytearray(data)
                        changed[at] ^= 1 << bit
                        if changed[at] == 92 or (path.suffix == ".csv" and changed[at:at + 1].lower() == data[at:at + 1].lower()):
                            continue  # a backslash means the character behind it; columns are found in any case
                        tries.append(("bit %d of byte %d of %s, in \"%s\"" % (bit, at, relative, key),
                                      lambda root, relative=relative, changed=changed: (root / relative).write_bytes(changed),
                                      lambda told, path=path: not told.same and (told.lost or path.name in told.text), None, False))
        self.try_all(tries)

    def servers(self):
        files = [path for path in self.paths if path.is_file()]
        wanted, met = {}, set()  # what an object is answered with, and which were
        with Server() as server:
            server.client.make_bucket("b")
            for place in ["t"] + ["%03d" % i for i in range(len(files) + 1) if self.main == "run"]:
                for path in files:
                    server.put("b", "%s/%s" % (place, path.relative_to(self.trial)), path.read_bytes())

            def decide(number, method, target):
                key = "/".join(unquote(target.split("?")[0]).split("/")[2:])
                if key in wanted and method == "GET":
                    met.add(key)
                    return answer(wanted[key], *server.buckets["b"][key], server.requests[number - 1][2].get("Range"))
                return None
            server.decide = decide
            environment = s3.environment(server.port, server.key, server.secret, AWS_MAX_ATTEMPTS="1")
            kinds = [*ANSWERS, *OTHERS]
            for shift in range(len(kinds) if self.args.long else 1):
                self.answers(server, files, wanted, [kinds[(i + shift) % len(kinds)] for i in range(len(files))], environment)
            self.checks.expect(len(met) > len(files) // 2, "%s: the server answered of %d objects as it was asked to, of %d" % (self.name, len(met), len(files)))

    def answers(self, server, files, wanted, status, environment):
        """What is said when the server answers of each file what `status` says, of one file of a copy of the trial."""
        many = [None] * len(files)
        if self.main == "run":
            wanted.update(("%03d/%s" % (i + 1, path.relative_to(self.trial)), status[i]) for i, path in enumerate(files))
            roots = ["s3://b/%03d" % i for i in range(len(files) + 1)]
            many = self.read_many(roots[0], roots[1:], env=environment)
            self.same_on_ranks(["%s of %s in S3" % (status[i], path.name) for i, path in enumerate(files)], many, roots, environment)
        wanted.clear()
        others = [c for c in ("ls", "stats", "verify", "diff", "show", "topology", "groups") if c != self.main and self.sound_of(c)[0] == 0]
        for i, path in enumerate(files):
            for command in ([] if many[i] and many[i].names(path) else [self.main]) + (others if self.args.long else others[i % len(others):][:1]):
                if ("s3", command) not in self.sound:
                    self.sound["s3", command] = self.once(command, env=environment, trial="s3://b/t")
                before = self.sound["s3", command]
                if before[0] == 2:  # it reads no store
                    continue
                wanted["t/%s" % path.relative_to(self.trial)] = status[i]
                got = self.once(command, env=environment, trial="s3://b/t")
                wanted.clear()
                same = got[0] == before[0] and got[3:] == before[3:] and (command not in SAYS or got[1] == before[1])
                told = Told(same, got[0] != 0, got[0] == 2, got[1] + got[2] + got[3].decode(), command)
                self.checks.expect(told.names(path), "%s in S3: %s answers %s, %s: exit %d, not named: %s"
                                   % (self.name, path.name, status[i], command, got[0], told.text[-800:]))


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


def is_chosen(args, name):
    """`log-` stands for all names that begin so."""
    among = lambda names: any(name == n or (n.endswith("-") and name.startswith(n)) for n in names)
    return (not args.only or among(args.only)) and not among(args.but)


def try_subject(args, place, name, source, main_command, parallel):
    checks = Checks()
    if is_chosen(args, name) and checks.expect(source.is_dir(), "%s has no small trial %s" % (name, source)):
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
    parser.add_argument("--but", nargs="+", default=[])
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
